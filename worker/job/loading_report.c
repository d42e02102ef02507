/* SPDX-License-Identifier: Apache-2.0 */
/* What is reported of plans that are being opened. */
#include "base/clock.h"
#include "base/mem.h"
#include "worker/job/loading.h"
#include "worker/job/plan_loader.h"

static void report_those(const struct cw_loading *list, Cachew__V1__Progress *progress, size_t *cap)
{
    for (const struct cw_loading *o = list; o; o = o->next) {
        if (!o->prepare || o->unwanted)
            continue;
        Cachew__V1__Progress__Preparing *preparing = CW_NEW(Cachew__V1__Progress__Preparing);
        cachew__v1__progress__preparing__init(preparing);
        preparing->job_id = o->job_id;
        preparing->steps = cw_stop_looks(o->stop);
        preparing->at = CW_NEW_ARRAY(char, CW_STOP_AT_BYTES);
        cw_stop_at(o->stop, preparing->at);
        CW_GROW(progress->preparing, progress->n_preparing, *cap);
        progress->preparing[progress->n_preparing++] = preparing;
    }
}

/* Plans that are opened for long with the manifest of another worker. */
static void report_slow_plans(const struct cw_worker_state *w, int64_t now_ms,
                              Cachew__V1__Progress *progress, size_t *cap)
{
    for (const struct cw_loading *o = w->loader.running; o; o = o->next) {
        if (o->prepare || o->help || o->unwanted || now_ms - o->began_ms < CW_REPORT_SLOW_MS)
            continue;
        Cachew__V1__Progress__Slow *slow = CW_NEW(Cachew__V1__Progress__Slow);
        cachew__v1__progress__slow__init(slow);
        slow->job_id = o->job_id;
        slow->ms = (uint64_t)(now_ms - o->began_ms);
        slow->at = CW_NEW_ARRAY(char, CW_STOP_AT_BYTES);
        cw_stop_at(o->stop, slow->at);
        CW_GROW(progress->slow, progress->n_slow, *cap);
        progress->slow[progress->n_slow++] = slow;
    }
}

void cw_loader_report(const struct cw_worker_state *w, Cachew__V1__Progress *progress)
{
    size_t cap = 0, slow_cap = 0;
    report_those(w->loader.running, progress, &cap);
    report_those(w->loader.waiting, progress, &cap);
    report_slow_plans(w, cw_clock_ms(), progress, &slow_cap);
}

void cw_loader_report_free(Cachew__V1__Progress *progress)
{
    for (size_t i = 0; i < progress->n_preparing; i++) {
        cw_mem_free(progress->preparing[i]->at);
        cw_mem_free(progress->preparing[i]);
    }
    for (size_t i = 0; i < progress->n_slow; i++) {
        if (progress->slow[i]->at != protobuf_c_empty_string)
            cw_mem_free(progress->slow[i]->at);
        cw_mem_free(progress->slow[i]);
    }
    cw_mem_free(progress->preparing);
    cw_mem_free(progress->slow);
}
