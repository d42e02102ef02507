/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/model/unreachable.h"

#include <string.h>
#include "dispatcher/model/model.h"

#define WHY_BYTES_MAX 300

static struct cw_unreachable **place_of(struct cw_share *share, uint32_t consumer)
{
    struct cw_unreachable **at = &share->unreachable;
    while (*at && (*at)->consumer != consumer)
        at = &(*at)->next;
    return at;
}

bool cw_unreachable_add(struct cw_share *share, uint32_t consumer, const char *why, int64_t now)
{
    struct cw_unreachable **at = place_of(share, consumer), *report = *at;
    if (!report) {
        report = *at = CW_NEW(struct cw_unreachable);
        report->consumer = consumer;
    }
    bool is_new = report->until_ms <= now;
    if (is_new)
        report->since_ms = now;
    report->until_ms = now + CW_UNREACHABLE_MS;
    cw_mem_free(report->why);
    report->why = cw_mem_printf("%.*s", WHY_BYTES_MAX, why);
    return is_new;
}

void cw_unreachable_remove(struct cw_share *share, uint32_t consumer)
{
    struct cw_unreachable **at = place_of(share, consumer), *report = *at;
    if (!report)
        return;
    *at = report->next;
    cw_mem_free(report->why);
    cw_mem_free(report);
}

void cw_unreachable_forget(struct cw_share *share)
{
    while (share->unreachable)
        cw_unreachable_remove(share, share->unreachable->consumer);
}

const struct cw_unreachable *cw_unreachable_find(const struct cw_share *share, uint32_t consumer,
                                                 int64_t now)
{
    const struct cw_unreachable *report = share->unreachable;
    while (report && (report->consumer != consumer || report->until_ms <= now))
        report = report->next;
    return report;
}

const struct cw_unreachable *cw_unreachable_any(const struct cw_share *share, int64_t now)
{
    const struct cw_unreachable *report = share->unreachable;
    while (report && report->until_ms <= now)
        report = report->next;
    return report;
}

bool cw_unreachable_bars(const struct cw_share *share, int64_t now)
{
    const struct cw_job *job = share->job;
    if (!cw_unreachable_any(share, now))
        return false;
    if (job->layout.consumers == 1 || job->layout.to_all)
        return true;
    for (uint32_t c = 0; c < job->layout.consumers; c++)
        if (job->consumers[c].client && !cw_unreachable_find(share, c, now))
            return false;
    return true;
}

bool cw_unreachable_allow(const struct cw_share *share, uint32_t consumer, int64_t now,
                          struct cw_interval *run)
{
    const struct cw_layout *layout = &share->job->layout;
    if (!cw_unreachable_any(share, now))
        return true;
    if (layout->mode == CW_MODE_SHARED)
        return !cw_unreachable_find(share, consumer, now);
    if (layout->to_all)
        return false;
    while (run->lo < run->hi &&
           cw_unreachable_find(share, (uint32_t)(run->lo % layout->consumers), now))
        run->lo++;
    uint64_t end = run->lo;
    while (end < run->hi && !cw_unreachable_find(share, (uint32_t)(end % layout->consumers), now))
        end++;
    run->hi = end;
    return run->lo < run->hi;
}
