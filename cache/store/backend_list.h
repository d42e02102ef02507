/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all backends: CW_BACKEND(NAME) stands for the descriptor cw_backend_NAME in
 * backend_NAME.c. It is included with CW_BACKEND defined. */
CW_BACKEND(dir)
CW_BACKEND(gluster)
CW_BACKEND(mem)
