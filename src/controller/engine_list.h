/* SPDX-License-Identifier: Apache-2.0 */
/* The engines: CW_ENGINE(NAME), of which cw_engine_NAME in engine_NAME.c is the descriptor. It is
 * included with CW_ENGINE defined. */
CW_ENGINE(fluid)
CW_ENGINE(glusterfs)
CW_ENGINE(localfs)
CW_ENGINE(memory)
