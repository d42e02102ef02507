/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/model/model.h"

#include <string.h>

enum cw_files_verdict cw_other_files_verdict(const struct cw_files_view *view)
{
    if (view->others || !view->barred)
        return CW_FILES_GO_ON;
    return view->preparer || view->none_ms >= view->grace_ms ? CW_FILES_FAIL : CW_FILES_WAIT;
}

const char *cw_other_files_text(const struct cw_job *job, uint32_t *ret_n)
{
    const char *text = NULL;
    *ret_n = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        if (!share->other_files)
            continue;
        text = text ? text : share->other_files;
        ++*ret_n;
    }
    return text;
}

static void set_barred(struct cw_share *share, bool barred)
{
    if (share->barred == barred)
        return;
    share->barred = barred;
    share->job->barred_n += barred ? 1 : -1u;
    cw_job_leases_due(share->job);
    share->job->d->due.assignment = true;
    cw_job_worker_list_due(share->job);
}

void cw_other_files_forget(struct cw_share *share)
{
    set_barred(share, false);
    cw_mem_free(share->other_files);
    share->other_files = NULL;
}

void cw_other_files_computed(struct cw_share *share)
{
    if (!share->other_files || share->barred)
        return;
    cw_log_info(CW_LOG_MOD, "job=%s worker=%s sees the files that the job was prepared with",
                share->job->id, share->worker->address);
    cw_other_files_forget(share);
}

static struct cw_files_view look(struct cw_job *job, int64_t now)
{
    struct cw_files_view view = {.grace_ms = job->d->options.grace_ms};
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job) {
        /* A worker that is tried again counts as barred until it has computed something. */
        bool barred = share->other_files && cw_worker_is_usable(share->worker);
        view.barred = view.barred || barred;
        view.preparer = view.preparer || (barred && share->worker->id == job->prepared_by);
    }
    for (const struct cw_worker *w = job->d->workers; view.barred && !view.others && w;
         w = w->next) {
        const struct cw_share *share = cw_share_find(job, w);
        /* The worker serves the job, or may be assigned to it. */
        bool its = w->only_job[0] == '\0' || strcmp(w->only_job, job->id) == 0;
        view.others = its && cw_worker_is_usable(w) && !(share && share->other_files);
    }
    if (view.others || !view.barred)
        job->no_files_ms = 0;
    else if (job->no_files_ms == 0)
        job->no_files_ms = now;
    view.none_ms = job->no_files_ms > 0 ? now - job->no_files_ms : 0;
    return view;
}

char *cw_other_files_judge(struct cw_job *job, int64_t now)
{
    uint32_t n = 0;
    const struct cw_files_view view = look(job, now);
    if (cw_other_files_verdict(&view) != CW_FILES_FAIL)
        return NULL;
    const char *text = cw_other_files_text(job, &n);
    return n > 1
               ? cw_mem_printf(
                     "no worker sees the files that the job was prepared with: %s; and %u "
                     "more workers",
                     text, n - 1)
               : cw_mem_printf("no worker sees the files that the job was prepared with: %s", text);
}

void cw_other_files_seen(struct cw_share *share, const char *error, int64_t now)
{
    char *text = cw_mem_printf("worker %s: %s", share->worker->address, error);
    cw_mem_free(share->other_files);
    share->other_files = text;
    share->barred_ms = now;
    set_barred(share, true);
}

void cw_other_files_tick(struct cw_job *job, int64_t now)
{
    for (struct cw_share *share = job->shares; job->barred_n > 0 && share;
         share = share->next_of_job)
        if (share->barred && now - share->barred_ms >= CW_OTHER_FILES_RETRY_MS)
            set_barred(share, false);
}
