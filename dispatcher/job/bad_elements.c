/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/job/bad_elements.h"

#include <string.h>
#include "base/mem.h"
#include "wire/wire.h"

void cw_bad_report_make_room(struct cw_bad_report *report, size_t consumers)
{
    if (consumers <= report->tellers_n)
        return;
    report->tellers = cw_mem_grow(report->tellers, consumers, sizeof(report->tellers[0]));
    memset(report->tellers + report->tellers_n, 0,
           (consumers - report->tellers_n) * sizeof(report->tellers[0]));
    report->tellers_n = consumers;
}

/* Returns whether a comes before b: -1, 0 if they are the same element, or 1. */
static int compare(const struct cw_bad_first *a, const Cachew__V1__BadElement *b)
{
    const uint64_t x[] = {a->epoch, a->batch, a->place}, y[] = {b->epoch, b->batch, b->place};
    for (size_t i = 0; i < CW_ARRAY_LEN(x); i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Puts an element into its place among the first, unless it is there or there are enough before
 * it. */
static void add_first(struct cw_bad_report *report, const Cachew__V1__BadElement *message)
{
    struct cw_bad_element element = cw_wire_bad_element_from(message);
    size_t at = 0;
    while (at < report->first_n && compare(&report->first[at], message) < 0)
        at++;
    if (at == CW_BAD_FIRST_MAX ||
        (at < report->first_n && compare(&report->first[at], message) == 0))
        return;
    if (report->first_n == CW_BAD_FIRST_MAX)
        cw_bad_list_unref(report->first[--report->first_n].list);
    for (size_t i = report->first_n; i > at; i--)
        report->first[i] = report->first[i - 1];
    report->first[at] =
        (struct cw_bad_first){message->epoch, message->batch, message->place, cw_bad_list_new()};
    cw_bad_list_add(report->first[at].list, 0, &element);
    report->first_n++;
}

void cw_bad_report_told(struct cw_bad_report *report, uint32_t consumer, uint64_t client_id,
                        uint64_t bad_n, Cachew__V1__BadElement *const *bad, size_t n)
{
    struct cw_bad_teller *teller = &report->tellers[consumer];
    if (teller->client_id != client_id) {
        report->gone += teller->n;
        *teller = (struct cw_bad_teller){.client_id = client_id};
    }
    /* The first acknowledgement of a stream may come before what was told on the last one. */
    teller->n = CW_MAX(teller->n, bad_n);
    for (size_t i = 0; i < n && i < CW_BAD_FIRST_MAX; i++)
        add_first(report, bad[i]);
}

uint64_t cw_bad_report_n(const struct cw_bad_report *report)
{
    uint64_t n = report->gone;
    for (size_t i = 0; i < report->tellers_n; i++)
        n += report->tellers[i].n;
    return n;
}

void cw_bad_report_fini(struct cw_bad_report *report)
{
    for (size_t i = 0; i < report->first_n; i++)
        cw_bad_list_unref(report->first[i].list);
    cw_mem_free(report->tellers);
    *report = (struct cw_bad_report){0};
}
