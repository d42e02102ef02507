/* SPDX-License-Identifier: Apache-2.0 */
/* Surveys (docs/decisions/0006-survey.md): while a plan is opened, all elements that come to a surveyed
 * operator, or to one that needs the values of a field, are computed up to it, in parts, by this process and by
 * those that have leases (ops/source/index_parts.h). What became of each, and how many elements are made of it, is
 * kept where indices are (format/kept_index.h), each part and the whole, and the plan has an index operator in the
 * place of the surveyed one; the other operator is opened with the values. */
#ifndef CW_PLAN_SURVEY_H
#define CW_PLAN_SURVEY_H

#include "plan/plan.h"

/* What leases of a survey's parts call the work (IndexLease.op). */
#define CW_SURVEY_OP "survey"
/* A survey of more elements has to be asked for. */
#define CW_SURVEY_UNASKED_MAX INT64_C(1000000000)

/* Finds out the fate (enum cw_fate) of n elements of a node, from position `first` on, and, unless ret_values is
 * NULL, the values of the plan's survey_field, or the numbers of parts (ops/index/fates.h). An error if some of them cannot be told, since a
 * file cannot be read. Several threads call it. */
typedef int cw_survey_fn(struct cw_plan *plan, size_t node, int64_t first, size_t n,
                         uint8_t *ret_fates, uint64_t *ret_values, struct cw_err *err);
/* Sets who computes for surveys in this process. Before any plan is opened. */
void cw_survey_set(cw_survey_fn *fn);

/* Makes parts for another process: `options` and `files` are those of a lease. Opens the sources as it says,
 * and replaces `files` by the answer. checked: of the graph in the options. */
int cw_survey_help(struct cw_checked *checked, const struct cw_value *options,
                   struct cw_value *files, struct cw_stop *stop, struct cw_err *err);

#endif
