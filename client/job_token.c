/* SPDX-License-Identifier: Apache-2.0 */
/* cachew_job_token: writes the trainer's position, from which a job can be resumed. */
#include "client/model/client_job.h"
#include "client/model/public.h"
#include "wire/token.h"

/* Unordered jobs: the token has the first item that is not consumed, and the set of items beyond
 * it that are. Items of other coordinated consumers count as consumed up to the position of this
 * one, since all consumers are at the same step. */
static void token_unordered(const struct cachew_job *job, bool with_last, struct cw_token *token)
{
    uint64_t step = job->mode == CW_MODE_COORDINATED ? job->consumers : 1,
             mine = job->mode == CW_MODE_COORDINATED ? job->consumer : 0;
    struct cw_set used = {0};
    cw_set_copy(&used, &job->used);
    if (with_last && job->last_pending)
        cw_set_add(&used, job->last_item, job->last_item + 1);
    uint64_t item = job->pos.item;
    if (step > 1)
        item = item / step * step;
    while (cw_set_has(&used, item + mine))
        item = step > 1 ? item + step : cw_set_first_absent(&used, item);
    token->item = token->batches = CW_MIN(item, job->items);
    cw_set_remove(&used, 0, token->item);
    token->beyond = used;
}

int cachew_job_token(struct cachew_job *job, int with_last, void *ret_token, size_t cap,
                     size_t *ret_bytes, struct cachew_error *error)
{
    struct cw_err err = {0};
    if (cw_client_job_check(job, &err) != 0)
        return cw_public_fail(error, &err);
    if ((!ret_token && cap > 0) || !ret_bytes)
        return cw_public_set(error, CW_E_INVALID,
                             "cachew_job_token: ret_bytes must not be NULL, and ret_token only if "
                             "cap is 0");
    if (job->mode == CW_MODE_SHARED)
        return cw_public_set(
            error, CW_E_UNSUPPORTED,
            "a shared consumer has no place of its own in the epoch: start the job with a name, "
            "and it goes on where all its consumers stand");
    const struct cw_pos *pos = with_last ? &job->last_pos : &job->pos;
    struct cw_token token = {
        .fingerprint = job->fingerprint,
        .pipeline_sum = job->pipeline_sum,
        .files_sum = job->files_sum,
        .identity = job->identity,
        .seed = job->seed,
        .epoch = pos->epoch,
        .item = pos->item,
        .row = pos->row,
        .rows = pos->rows,
        .batches = pos->batches,
        .mode = job->mode,
        .consumers = job->consumers,
        .to_come = (uint32_t)(pos->floor > pos->batches ? pos->floor - pos->batches : 0)};
    if (job->unordered && !job->sparse)
        token_unordered(job, with_last != 0, &token);
    int rc = cw_token_encode(&token, ret_token, cap, ret_bytes, &err);
    cw_token_fini(&token);
    return rc == 0 ? 0 : cw_public_fail(error, &err);
}
