/* SPDX-License-Identifier: Apache-2.0 */
/* Every store: CW_STORE(name), the descriptor cw_store_NAME of store_NAME.c. */
CW_STORE(dir)
CW_STORE(gluster)
CW_STORE(mem)
