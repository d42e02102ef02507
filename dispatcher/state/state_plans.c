/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of the plans of jobs. */
#include "dispatcher/state/state_int.h"

void cw_state_put_plan(struct cw_state *state, const char *id, uint64_t number,
                       struct cw_buf *graph)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_PLAN, "storing the plan of a job");
    const struct cw_state_blob blob = {graph ? graph->data : NULL, graph ? graph->len : 0};
    cw_state_add_text(op, id);
    cw_state_add_u64(op, number);
    cw_state_add_buf(op, &blob, graph);
    cw_state_add(state, op);
}
