/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of named caches, and of what was warmed into them. */
#include "dispatcher/state/state_int.h"

void cw_state_put_cache(struct cw_state *state, const struct cw_state_cache *row)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_CACHE, "storing a named cache");
    cw_state_add_u64(op, row->id);
    cw_state_add_text(op, row->name);
    cw_state_add_text(op, row->url);
    cw_state_add_text(op, row->tenant);
    cw_state_add_u64(op, row->quota);
    cw_state_add_u64(op, row->source_quota);
    cw_state_add_f64(op, row->high);
    cw_state_add_f64(op, row->low);
    cw_state_add_u64(op, row->gone ? 2 : row->leaving);
    cw_state_add_u64(op, (uint64_t)row->created_ms);
    cw_state_add_u64(op, (uint64_t)row->used_ms);
    cw_state_add(state, op);
}

static void add_by_id(struct cw_state *state, enum cw_state_statement which, uint64_t id)
{
    struct cw_state_op *op = cw_state_op_new(which, "forgetting a named cache");
    cw_state_add_u64(op, id);
    cw_state_add(state, op);
}

void cw_state_forget_cache(struct cw_state *state, uint64_t id)
{
    add_by_id(state, CW_STATE_FORGET_CACHE_KEYS, id);
    add_by_id(state, CW_STATE_FORGET_CACHE_SOURCES, id);
}

void cw_state_remove_cache(struct cw_state *state, uint64_t id)
{
    cw_state_forget_cache(state, id);
    add_by_id(state, CW_STATE_REMOVE_CACHE, id);
}

void cw_state_put_cache_source(struct cw_state *state, const struct cw_state_cache_source *row)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_CACHE_SOURCE, "storing a warmed source");
    cw_state_add_u64(op, row->cache);
    cw_state_add_text(op, row->source);
    cw_state_add_u64(op, row->bytes);
    cw_state_add_u64(op, row->files);
    cw_state_add_u64(op, row->cached_bytes);
    cw_state_add_u64(op, (uint64_t)row->time_ms);
    cw_state_add(state, op);
}
