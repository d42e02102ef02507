/* SPDX-License-Identifier: Apache-2.0 */
/* The bad elements that were left out of what a job's trainers have consumed: how many, and the
 * first of them, for people. Each process of a trainer tells its own total, again and again, so
 * nothing is counted twice when a connection or a dispatcher breaks. Loop thread. */
#ifndef CW_DISPATCHER_JOB_BAD_ELEMENTS_H
#define CW_DISPATCHER_JOB_BAD_ELEMENTS_H

#include "base/limits.h"
#include "cachew/v1/job.pb-c.h"
#include "data/bad_list.h"

struct cw_job;

/* One of the first, with the batch that it was left out of and its place among those of it. */
struct cw_bad_first {
    uint64_t epoch, batch, place;
    struct cw_bad_list *list; /* has this element alone; one reference */
};
/* What the process that holds a consumer slot, or held it last, has told. */
struct cw_bad_teller {
    uint64_t client_id, n;
};
struct cw_bad_report {
    uint64_t gone;                 /* what processes have told whose slot another one holds now */
    uint64_t stored_n;             /* what is stored of the number of all */
    struct cw_bad_teller *tellers; /* one for each consumer slot */
    size_t tellers_n;
    struct cw_bad_first first[CW_BAD_FIRST_MAX]; /* in the order of epochs and batches */
    size_t first_n;
};

/* Takes what the client of a consumer slot tells. */
void cw_bad_report_told(struct cw_bad_report *report, uint32_t consumer, uint64_t client_id,
                        uint64_t bad_n, Cachew__V1__BadElement *const *bad, size_t n);
/* Makes room for the tellers of so many consumer slots. */
void cw_bad_report_make_room(struct cw_bad_report *report, size_t consumers);
/* Returns how many elements all processes have told of. */
uint64_t cw_bad_report_n(const struct cw_bad_report *report);
void cw_bad_report_fini(struct cw_bad_report *report);

#endif
