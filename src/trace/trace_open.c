/* SPDX-License-Identifier: Apache-2.0 */
/* The way of traced items as the dispatcher sees it: leased, received, consumed. What it tells of an item
 * are the whole way ("batch"), that to the trainer ("to trainer"), and the time in it ("in trainer").
 * Loop thread. */
#include <stdio.h>

#include "base/clock.h"
#include "trace/trace_int.h"

static struct cw_trace_open *find(const char *job, uint64_t epoch, uint64_t item)
{
    size_t *next;
    struct cw_trace_open *all = cw_trace_opened(&next);
    struct cw_hash id = cw_trace_id(job, epoch, item);
    for (size_t i = 0; i < CW_TRACE_OPEN_MAX; i++)
        if (cw_hash_eq(all[i].id, id))
            return &all[i];
    return NULL;
}

static struct cw_trace_open *oldest(void)
{
    size_t *next;
    struct cw_trace_open *all = cw_trace_opened(&next);
    struct cw_trace_open *open = &all[*next];
    *next = (*next + 1) % CW_TRACE_OPEN_MAX;
    return open;
}

void cw_trace_leased(const char *job, uint64_t epoch, const struct cw_set *items,
                     const char *worker)
{
    for (uint64_t item = 0; cw_trace_next(items, item, &item); item++) {
        if (find(job, epoch, item))
            continue; /* it is computed again, or by another worker as well */
        struct cw_trace_open *open = oldest();
        *open = (struct cw_trace_open){
            .id = cw_trace_id(job, epoch, item), .item = item, .leased_ns = cw_clock_ns()};
        snprintf(open->worker, sizeof(open->worker), "%s", worker);
    }
}

/* Whether an open item is in the set. A trainer may say any set, of items that nobody has too: so what is
 * open is looked for in the set, and not the other way round. */
static bool is_said(const struct cw_trace_open *open, const char *job, uint64_t epoch,
                    const struct cw_set *items)
{
    return open->leased_ns != 0 && cw_set_has(items, open->item) &&
           cw_hash_eq(open->id, cw_trace_id(job, epoch, open->item));
}

static void tell_received(struct cw_trace_open *open, const char *job, uint64_t epoch)
{
    if (open->received_ns != 0)
        return;
    open->received_ns = cw_clock_ns();
    cw_trace_add(&(struct cw_trace_span){.job = job,
                                         .epoch = epoch,
                                         .item = open->item,
                                         .name = "to trainer",
                                         .begin_ns = open->leased_ns,
                                         .end_ns = open->received_ns,
                                         .key = "cachew.worker",
                                         .text = open->worker});
}

void cw_trace_received(const char *job, uint64_t epoch, const struct cw_set *items)
{
    size_t *next;
    struct cw_trace_open *all = cw_trace_opened(&next);
    for (size_t i = 0; all && i < CW_TRACE_OPEN_MAX; i++)
        if (is_said(&all[i], job, epoch, items))
            tell_received(&all[i], job, epoch);
}

static void tell_consumed(struct cw_trace_open *open, const char *job, uint64_t epoch)
{
    struct cw_trace_span span = {.job = job,
                                 .epoch = epoch,
                                 .item = open->item,
                                 .name = "in trainer",
                                 .begin_ns = open->received_ns,
                                 .end_ns = cw_clock_ns()};
    cw_trace_add(&span);
    span.name = "batch";
    span.is_root = true;
    span.begin_ns = open->leased_ns;
    cw_trace_add(&span);
    *open = (struct cw_trace_open){0};
}

void cw_trace_consumed(const char *job, uint64_t epoch, const struct cw_set *items)
{
    size_t *next;
    struct cw_trace_open *all = cw_trace_opened(&next);
    for (size_t i = 0; all && i < CW_TRACE_OPEN_MAX; i++) {
        if (!is_said(&all[i], job, epoch, items))
            continue;
        tell_received(&all[i], job, epoch);
        tell_consumed(&all[i], job, epoch);
    }
}
