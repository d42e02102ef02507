/* SPDX-License-Identifier: Apache-2.0 */
/* Every built-in operator, sorted by name: CW_OP(name) for the descriptor cw_op_<name> in op_<name>.c.
 * Include with CW_OP defined. */
CW_OP(batch)
CW_OP(burn)
CW_OP(inflate)
CW_OP(range)
CW_OP(repeat)
CW_OP(shard)
CW_OP(shuffle)
CW_OP(skip)
CW_OP(sleep)
CW_OP(take)
CW_OP(zip)
