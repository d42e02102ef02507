/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an operator has stopped all changes of the fleet (cachew scale --fleet hold). */
#include "dispatcher/state/state_int.h"

static const char KEY[] = "fleet_held";

void cw_state_put_fleet_held(struct cw_state *state, bool held)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_META, "storing that the fleet is held");
    cw_state_add_text(op, KEY);
    cw_state_add_u64(op, held);
    cw_state_add(state, op);
}

bool cw_state_fleet_is_held(const struct cw_state *state)
{
    sqlite3_stmt *stmt = NULL;
    bool held = false;
    if (sqlite3_prepare_v2(state->reader, "SELECT value FROM meta WHERE key = 'fleet_held'", -1,
                           &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        held = sqlite3_column_int64(stmt, 0) != 0;
    sqlite3_finalize(stmt);
    return held;
}
