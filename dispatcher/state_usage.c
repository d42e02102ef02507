/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs have used, and tenants by jobs that are no more. */
#include "dispatcher/state_int.h"

static void put(struct cw_state *state, enum cw_state_statement which, const char *name, const struct cw_usage *usage, const char *doing)
{
    sqlite3_stmt *stmt = cw_state_begin(state, which);
    if (!stmt)
        return;
    const uint64_t counts[] = {usage->elements, usage->bytes, usage->cpu_ns};
    const double reals[] = {usage->remote_s, usage->local_s, usage->client_s, usage->cost};
    cw_state_bind_text(stmt, 1, name);
    for (size_t i = 0; i < CW_ARRAY_LEN(counts); i++)
        cw_state_bind_u64(stmt, (int)i + 2, counts[i]);
    for (size_t i = 0; i < CW_ARRAY_LEN(reals); i++)
        sqlite3_bind_double(stmt, (int)i + 5, reals[i]);
    cw_state_finish(state, stmt, doing);
}

void cw_state_put_usage(struct cw_state *state, const char *id, const struct cw_usage *usage)
{
    put(state, CW_STATE_PUT_USAGE, id, usage, "storing what a job has used");
}

void cw_state_put_tenant(struct cw_state *state, const char *name, const struct cw_usage *usage)
{
    put(state, CW_STATE_PUT_TENANT, name, usage, "storing what a tenant has used");
}

struct cw_usage cw_state_usage_at(sqlite3_stmt *stmt)
{
    return (struct cw_usage){
        .elements = (uint64_t)sqlite3_column_int64(stmt, 1),
        .bytes = (uint64_t)sqlite3_column_int64(stmt, 2),
        .cpu_ns = (uint64_t)sqlite3_column_int64(stmt, 3),
        .remote_s = sqlite3_column_double(stmt, 4),
        .local_s = sqlite3_column_double(stmt, 5),
        .client_s = sqlite3_column_double(stmt, 6),
        .cost = sqlite3_column_double(stmt, 7),
    };
}
