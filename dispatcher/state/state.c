/* SPDX-License-Identifier: Apache-2.0 */
/* Writes. Each becomes an operation in memory that waits for the next transaction (state_queue.c,
 * state_writer.c). */
#include <string.h>
#include "base/mem.h"
#include "dispatcher/state/state_int.h"

void cw_state_add(struct cw_state *state, struct cw_state_op *op)
{
    state->seq++;
    cw_state_queue_add(&state->pending, op);
}

void cw_state_put_job(struct cw_state *state, const struct cw_state_job *job)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_JOB, "storing a job");
    cw_state_add_text(op, job->id);
    cw_state_add_text(op, job->name);
    cw_state_add_u64(op, (uint64_t)(int)job->status);
    cw_state_add_blob(op, job->options.p, job->options.n);
    cw_state_add_buf(op, &job->graph, job->graph_buf);
    cw_state_add_buf(op, &job->manifest, job->manifest_buf);
    cw_state_add_blob(op, job->info.p, job->info.n);
    cw_state_add_u64(op, job->first_epoch);
    cw_state_add_u64(op, (uint64_t)job->error_code);
    cw_state_add_text(op, job->error);
    cw_state_add_u64(op, (uint64_t)job->created_ms);
    cw_state_add_blob(op, job->secrets.p, job->secrets.n);
    cw_state_add(state, op);
}

void cw_state_set_options(struct cw_state *state, const char *id,
                          const struct cw_state_blob *options)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_SET_OPTIONS, "storing a job's options");
    cw_state_add_text(op, id);
    cw_state_add_blob(op, options->p, options->n);
    cw_state_add(state, op);
}

static void drop_below(struct cw_state *state, enum cw_state_statement which, const char *id,
                       uint64_t epoch)
{
    struct cw_state_op *op = cw_state_op_new(which, "dropping the progress of past epochs");
    cw_state_add_text(op, id);
    cw_state_add_u64(op, epoch);
    cw_state_add(state, op);
}

void cw_state_set_job(struct cw_state *state, const char *id, enum cw_job_status status,
                      uint64_t first_epoch, int error_code, const char *error)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_SET_JOB, "storing a job's state");
    cw_state_add_text(op, id);
    cw_state_add_u64(op, (uint64_t)(int)status);
    cw_state_add_u64(op, first_epoch);
    cw_state_add_u64(op, (uint64_t)error_code);
    cw_state_add_text(op, error);
    cw_state_add(state, op);
    drop_below(state, CW_STATE_DROP_PROGRESS, id, first_epoch);
    drop_below(state, CW_STATE_DROP_SKIPPED, id, first_epoch);
}

static void one_text(struct cw_state *state, enum cw_state_statement which, const char *id,
                     const char *doing)
{
    struct cw_state_op *op = cw_state_op_new(which, doing);
    cw_state_add_text(op, id);
    cw_state_add(state, op);
}

void cw_state_remove_job(struct cw_state *state, const char *id)
{
    one_text(state, CW_STATE_REMOVE_JOB, id, "removing a job");
}

void cw_state_clear_progress(struct cw_state *state, const char *id)
{
    one_text(state, CW_STATE_CLEAR_PROGRESS, id, "clearing a job's progress");
    one_text(state, CW_STATE_CLEAR_SKIPPED, id, "clearing a job's skipped items");
}

void cw_state_put_progress(struct cw_state *state, const char *id, uint64_t epoch, int consumer,
                           const struct cw_set *consumed)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_PROGRESS, "storing progress");
    cw_state_add_text(op, id);
    cw_state_add_u64(op, epoch);
    cw_state_add_u64(op, (uint64_t)consumer);
    cw_state_add_set(op, consumed);
    cw_state_add(state, op);
}

static void put_items(struct cw_state *state, enum cw_state_statement which, const char *id,
                      uint64_t epoch, const struct cw_set *items)
{
    struct cw_state_op *op = cw_state_op_new(which, "storing skipped items");
    cw_state_add_text(op, id);
    cw_state_add_u64(op, epoch);
    cw_state_add_set(op, items);
    cw_state_add(state, op);
}

void cw_state_put_skipped(struct cw_state *state, const char *id, uint64_t epoch,
                          const struct cw_set *skipped)
{
    put_items(state, CW_STATE_PUT_SKIPPED, id, epoch, skipped);
}

void cw_state_put_left_out(struct cw_state *state, const char *id, uint64_t epoch,
                           const struct cw_set *items)
{
    put_items(state, CW_STATE_PUT_LEFT_OUT, id, epoch, items);
}

void cw_state_put_position(struct cw_state *state, const char *id, uint32_t consumer,
                           uint64_t client_id, const struct cw_state_position *position)
{
    struct cw_state_op *op =
        cw_state_op_new(CW_STATE_PUT_POSITION, "storing a consumer's position");
    cw_state_add_text(op, id);
    const uint64_t v[] = {consumer,      client_id,      position->epoch,  position->item,
                          position->row, position->rows, position->batches};
    for (size_t i = 0; i < CW_ARRAY_LEN(v); i++)
        cw_state_add_u64(op, v[i]);
    cw_state_add(state, op);
}

void cw_state_put_worker(struct cw_state *state, uint64_t worker_id, const char *address)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_WORKER, "storing a worker");
    cw_state_add_u64(op, worker_id);
    cw_state_add_text(op, address);
    cw_state_add(state, op);
}

void cw_state_remove_worker(struct cw_state *state, uint64_t worker_id)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_REMOVE_WORKER, "removing a worker");
    cw_state_add_u64(op, worker_id);
    cw_state_add(state, op);
}

void cw_state_put_cache_key(struct cw_state *state, const struct cw_state_cache_key *row)
{
    struct cw_state_op *op = cw_state_op_new(CW_STATE_PUT_CACHE_KEY, "storing a key of the cache");
    cw_state_add_u64(op, row->cache);
    const char *const texts[] = {row->tenant, row->key, row->pipeline, row->node, row->op};
    const uint64_t numbers[] = {row->ids,
                                row->hits,
                                row->misses,
                                row->saved_ns,
                                row->cost_ns,
                                row->cost_records,
                                (uint64_t)row->created_ms,
                                (uint64_t)row->used_ms,
                                row->pinned};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_state_add_text(op, texts[i]);
    for (size_t i = 0; i < CW_ARRAY_LEN(numbers); i++)
        cw_state_add_u64(op, numbers[i]);
    cw_state_add(state, op);
}

void cw_state_remove_cache_key(struct cw_state *state, uint64_t cache, const char *tenant,
                               const char *key)
{
    struct cw_state_op *op =
        cw_state_op_new(CW_STATE_REMOVE_CACHE_KEY, "removing a key of the cache");
    cw_state_add_u64(op, cache);
    cw_state_add_text(op, tenant);
    cw_state_add_text(op, key);
    cw_state_add(state, op);
}
