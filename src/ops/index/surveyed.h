/* SPDX-License-Identifier: Apache-2.0 */
/* What a survey has found out of the elements that come to a filter, and the index operator that
 * stands in the filter's place from then on: position p is that of the p-th element that is kept
 * (docs/decisions/0006-survey.md). */
#ifndef CW_OPS_INDEX_SURVEYED_H
#define CW_OPS_INDEX_SURVEYED_H

#include "base/select.h"
#include "ops/index/fates.h"
#include "ops/op.h"

/* A permutation that stood before the filter, and that is done behind it (shuffle). */
struct cw_surveyed_order {
    const struct cw_op *op;
    const void *opts; /* belong to the graph */
    uint64_t tag;
};
/* The state of the operator in the filter's place, which is `op`. Immutable. */
struct cw_surveyed {
    struct cw_op op;
    struct cw_select select;
    uint8_t *bad; /* NULL: none of those that are given is bad */
    struct cw_survey_note note;
    struct cw_surveyed_order *orders; /* the last one before the filter is the first */
    size_t orders_n;
};
/* Makes the state for a filter `op`. It takes the fates. */
int cw_surveyed_new(const struct cw_op *op, struct cw_fates *fates,
                    const struct cw_survey_note *note, struct cw_surveyed **ret_surveyed,
                    struct cw_err *err);
void cw_surveyed_free(struct cw_surveyed *surveyed);
void cw_surveyed_add_order(struct cw_surveyed *surveyed, const struct cw_op *op, const void *opts,
                           uint64_t tag);
/* Whether the element with this position at the filter's input is bad. */
static inline bool cw_surveyed_is_bad(const struct cw_surveyed *surveyed, int64_t pos)
{
    return surveyed->bad && cw_fates_has(surveyed->bad, (uint64_t)pos);
}

#endif
