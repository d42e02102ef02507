/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs have used, and what the removed jobs of tenants have used. */
#include "dispatcher/state/state_int.h"

static void put(struct cw_state *state, enum cw_state_statement which, const char *name,
                const struct cw_usage *usage, const char *doing)
{
    struct cw_state_op *op = cw_state_op_new(which, doing);
    const uint64_t counts[] = {usage->elements, usage->bytes, usage->cpu_ns};
    const double reals[] = {usage->remote_s, usage->local_s, usage->client_s, usage->cost};
    cw_state_add_text(op, name);
    for (size_t i = 0; i < CW_ARRAY_LEN(counts); i++)
        cw_state_add_u64(op, counts[i]);
    for (size_t i = 0; i < CW_ARRAY_LEN(reals); i++)
        cw_state_add_f64(op, reals[i]);
    cw_state_add(state, op);
}

void cw_state_put_usage(struct cw_state *state, const char *id, const struct cw_usage *usage)
{
    put(state, CW_STATE_PUT_USAGE, id, usage, "storing what a job has used");
}

void cw_state_put_tenant(struct cw_state *state, const char *name, const struct cw_usage *usage)
{
    put(state, CW_STATE_PUT_TENANT, name, usage, "storing what a tenant has used");
}

void cw_state_put_counts(struct cw_state *state, const char *id, const uint64_t *counts, size_t n)
{
    CW_STR_AUTO bytes = {0};
    for (size_t i = 0; i < 8 * n; i++)
        cw_str_add_char(&bytes, (char)(unsigned char)(counts[i / 8] >> (8 * (i % 8))));
    struct cw_state_op *op =
        cw_state_op_new(CW_STATE_PUT_COUNTS, "storing what was counted of a job");
    cw_state_add_text(op, id);
    cw_state_add_blob(op, cw_str_text(&bytes), bytes.len);
    cw_state_add(state, op);
}

size_t cw_state_counts_read(const void *p, size_t n, uint64_t *ret_counts, size_t max)
{
    const unsigned char *b = p;
    size_t count = CW_MIN(n / 8, max);
    for (size_t i = 0; i < count; i++) {
        ret_counts[i] = 0;
        for (size_t k = 0; k < 8; k++)
            ret_counts[i] |= (uint64_t)b[8 * i + k] << (8 * k);
    }
    return count;
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
