/* SPDX-License-Identifier: Apache-2.0 */
/* What a survey has found out of the elements that come to an operator, and the index operator that stands
 * in that one's place from then on: of a filter, position p is that of the p-th element that is kept; of one
 * that takes elements apart, that of the element whose part is the p-th of all
 * (docs/decisions/0006-survey.md). */
#ifndef CW_OPS_INDEX_SURVEYED_H
#define CW_OPS_INDEX_SURVEYED_H

#include "base/select.h"
#include "ops/index/fates.h"
#include "ops/index/part_sums.h"
#include "ops/op.h"

/* A permutation that stood before the filter, and that is done behind it (shuffle). */
struct cw_surveyed_order {
    const struct cw_op *op;
    const void *opts; /* belong to the graph */
    uint64_t tag;
};
/* The state of the operator in the other one's place, which is `op`. Immutable. */
struct cw_surveyed {
    struct cw_op op;
    bool has_parts;
    struct cw_select select;   /* of a filter */
    struct cw_part_sums parts; /* has_parts */
    uint8_t *bad;              /* NULL: none of those that are given is bad */
    struct cw_survey_note note;
    struct cw_surveyed_order *orders; /* the last one before the filter is the first */
    size_t orders_n;
};
/* Makes the state for an operator `op`. It takes the fates. */
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
/* Returns the position at the operator's input of the element whose part is asked for, and which part it is. */
static inline int64_t cw_surveyed_part_at(const struct cw_surveyed *surveyed, int64_t pos,
                                          uint64_t *ret_part)
{
    return (int64_t)cw_part_sums_at(&surveyed->parts, (uint64_t)pos, ret_part);
}

#endif
