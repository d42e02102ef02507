/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of surveys share. */
#ifndef CW_PLAN_SURVEY_INT_H
#define CW_PLAN_SURVEY_INT_H

#include <stdatomic.h>

#include "ops/index/surveyed.h"
#include "ops/source/index_parts.h"
#include "plan/plan_int.h"
#include "plan/survey.h"

/* A survey at work. */
struct cw_survey {
    struct cw_plan *plan; /* its last node is that whose elements are looked at; borrowed */
    const char *name;     /* of the surveyed operator, or of that which needs values; borrowed */
    struct cw_str key;    /* what all that is kept of it has in its key */
    uint64_t n;           /* number of elements that come in */
    uint64_t part_rows;   /* of them in a part; a multiple of 64, so that parts share no byte */
    size_t parts_n;
    struct cw_fates fates;
    int64_t began_ns;
};
/* Sets who computes (cw_survey_set). */
void cw_survey_set_compute(cw_survey_fn *fn);
/* Begins it; nothing is known then. plan: as cw_survey_plan makes it. */
int cw_survey_begin(struct cw_survey *survey, struct cw_plan *plan, const char *name,
                    struct cw_err *err);
void cw_survey_end(struct cw_survey *survey);
/* Finds out all fates, with those who have leases of `parts` (NULL: nobody). sources: the manifest that those are
 * given. */
int cw_survey_make(struct cw_survey *survey, struct cw_index_parts *parts,
                   const struct cw_value *sources, struct cw_err *err);
/* Makes part i, or finds it where it is kept (cw_index_part_fn). */
int cw_survey_make_part(void *survey, size_t i, int64_t *ret_records, struct cw_err *err);
/* Computes element i alone, of a survey of values, and returns its error if it is bad. */
int cw_survey_compute_one(const struct cw_survey *survey, uint64_t i, struct cw_err *err);
/* Writes what is known of part i as the row of an answer. */
void cw_survey_write_row(const struct cw_survey *survey, size_t i, struct cw_value *ret_row);
/* All fates are found where they are kept, or are kept from now on. */
bool cw_survey_find_kept(struct cw_survey *survey);
void cw_survey_keep(const struct cw_survey *survey);

static inline bool cw_survey_has_values(const struct cw_survey *survey)
{
    return survey->plan->survey_field != SIZE_MAX;
}

static inline enum cw_fates_kind cw_survey_kind(const struct cw_survey *survey)
{
    if (cw_survey_has_values(survey))
        return CW_FATES_VALUES;
    return cw_plan_counts_parts(survey->plan) ? CW_FATES_PARTS : CW_FATES_ALONE;
}

/* Makes a plan for the survey of a node: that of a surveyed operator, or of what comes into one with
 * surveyed_field. lent: the plan from whose nodes it borrows what is open; NULL: it opens the sources of the
 * manifest itself. */
int cw_survey_plan(struct cw_checked *checked, uint64_t seed, size_t node, struct cw_plan *lent,
                   const struct cw_value *manifest, struct cw_stop *stop, struct cw_plan **ret_plan,
                   struct cw_err *err);

#endif
