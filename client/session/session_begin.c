/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include "base/mem.h"
#include "client/session/session_int.h"
#include "wire/wire.h"

/* Reads the position that the dispatcher has stored. It is as exact as a token, unless items were
 * skipped by request since; then the step is assumed to begin at a multiple of the number of
 * consumers. */
static void kept_position(const struct cachew_job *job, const Cachew__V1__ClientWelcome *welcome,
                          struct cw_pos *ret_pos)
{
    struct cw_pos pos = {welcome->first_epoch, welcome->first_item, welcome->first_row, 0, 0, 0};
    const Cachew__V1__Position *at = welcome->position;
    uint64_t n = job->mode == CW_MODE_COORDINATED ? CW_MAX(job->consumers, 1u) : 1;
    if (at)
        pos = (struct cw_pos){at->epoch, at->item, at->row, at->rows, at->batches, 0};
    if (job->sparse)
        pos.floor = (pos.batches + n - 1) / n * n;
    else
        pos.floor = pos.batches == pos.item ? pos.item : pos.item - pos.item % n;
    *ret_pos = pos;
}

static int start_position(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome,
                          struct cw_pos *ret_pos, struct cw_set *ret_consumed, struct cw_err *err)
{
    const struct cw_token *token = &session->conf.token;
    const struct cachew_job *job = session->job;
    if (session->conf.token_bytes) {
        if (!cw_hash_eq(token->fingerprint, job->fingerprint) || token->seed != job->seed)
            return cw_err_set(err, CW_E_STATE,
                              "the token belongs to another pipeline, other source files or "
                              "another seed: resume with what the "
                              "job was started with, or start without a token");
        *ret_pos = (struct cw_pos){token->epoch, token->item,    token->row,
                                   token->rows,  token->batches, token->batches + token->to_come};
        cw_set_copy(ret_consumed, &token->beyond);
        return 0;
    }
    *ret_pos = (struct cw_pos){0};
    if (job->items > 0) { /* Without items, the ends of all epochs are given out again. */
        kept_position(job, welcome, ret_pos);
        /* A job that is over stands at the end of its last epoch, or behind that epoch. */
        if (ret_pos->item > job->items || (job->epochs > 0 && ret_pos->epoch > job->epochs))
            return cw_err_set(err, CW_E_CORRUPT,
                              "the dispatcher's welcome begins behind the end: epoch %llu of %llu, "
                              "item %llu of %llu",
                              (unsigned long long)ret_pos->epoch, (unsigned long long)job->epochs,
                              (unsigned long long)ret_pos->item, (unsigned long long)job->items);
    }
    for (size_t i = 0; i < welcome->n_consumed; i++)
        if (welcome->consumed[i]->epoch == ret_pos->epoch &&
            cw_wire_set_from(welcome->consumed[i]->items, welcome->consumed[i]->n_items,
                             ret_consumed, err) != 0)
            return err->code;
    return 0;
}

int cw_session_begin(struct cw_session *session, const Cachew__V1__ClientWelcome *welcome,
                     struct cw_err *err)
{
    struct cachew_job *job = session->job;
    struct cw_plan_info info = {0};
    struct cw_pos from = {0};
    struct cw_set consumed = {0};
    if (!welcome->info)
        return cw_err_set(err, CW_E_CORRUPT,
                          "the dispatcher's welcome does not say what the job is");
    int rc = cw_wire_info_from(welcome->info, &info, err);
    if (rc != 0)
        return rc;
    if (info.join.skip < 0 || info.join.batch < 0 ||
        (info.join.take > 0 && info.join.skip > INT64_MAX - info.join.take))
        rc = cw_err_set(err, CW_E_CORRUPT, "the dispatcher's welcome has an impossible row count");
    if (rc != 0) {
        cw_wire_info_fini(&info);
        return rc;
    }
    cw_mem_free(job->id); /* An earlier welcome, which was refused, has set it. */
    job->id = cw_mem_strdup(welcome->job_id);
    job->seed = welcome->seed;
    job->epochs = welcome->epochs;
    job->fingerprint = info.fingerprint;
    job->pipeline_sum = info.pipeline_sum;
    job->files_sum = info.files_sum;
    job->identity = (uint32_t)info.identity;
    job->items = info.items;
    job->elements = info.elements;
    job->sparse = info.sparse;
    cw_spec_fini(&job->spec.of); /* an earlier welcome has set it */
    job->spec.of = cw_spec_take(&info.out);
    cw_pads_unref(job->pads);
    job->pads = info.pads;
    rc = start_position(session, welcome, &from, &consumed, err);
    if (rc == 0) {
        cw_ledger_init(&session->ledger, job, &info.join, &from, &consumed);
        session->begun = true;
        job->pos = job->last_pos = from;
        cw_set_copy(&job->used, &consumed);
        atomic_store(&job->counts.epoch, from.epoch);
        const struct cw_set *had = cw_reorder_received(&session->ledger.reorder, from.epoch);
        atomic_store(&job->counts.done_items, had ? cw_set_count(had) : 0);
        job->over = cw_reorder_is_over(&session->ledger.reorder);
    }
    cw_set_fini(&consumed);
    return rc;
}
