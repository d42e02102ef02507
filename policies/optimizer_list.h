/* SPDX-License-Identifier: Apache-2.0 */
/* The list of policies of --optimize, sorted by name. CW_OPTIMIZER(NAME) stands for cw_optimizer_NAME in
 * optimize_NAME.c. It is included with CW_OPTIMIZER defined. */
CW_OPTIMIZER(auto)
CW_OPTIMIZER(cedar)
CW_OPTIMIZER(off)
CW_OPTIMIZER(pecan)
