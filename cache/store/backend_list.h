/* SPDX-License-Identifier: Apache-2.0 */
/* Every store: CW_BACKEND(name), the descriptor cw_backend_NAME of backend_NAME.c. */
CW_BACKEND(dir)
CW_BACKEND(gluster)
CW_BACKEND(mem)
