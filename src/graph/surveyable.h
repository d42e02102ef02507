/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators of a pipeline are surveyed (docs/decisions/0006-survey.md): which elements a filter keeps, or
 * how many an operator makes that takes them apart (takes_apart in ops/op.h), is found out once, when a job is
 * prepared, and from then on it is an index operator and the pipeline is dense. It follows from the pipeline
 * alone, since it shows in the order of elements: a shuffle before such a filter permutes what the filter keeps. */
#ifndef CW_GRAPH_SURVEYABLE_H
#define CW_GRAPH_SURVEYABLE_H

#include "graph/check.h"

/* Sets the flags of all nodes (graph/flags.h) with `surveyed`, `folded` and `survey_for`, so that every
 * operator behind one that changes the count can be computed. Those that ask are surveyed, and those behind which
 * something stands that needs to know how many elements there are. An error if neither a survey nor the client helps. */
int cw_survey_find(struct cw_checked *checked, struct cw_err *err);
/* Returns the node whose positions the survey of a surveyed node goes over: it computes the element operators
 * and filters from there up to that node, and passes shuffles by. */
size_t cw_survey_base(const struct cw_checked *checked, size_t top);
/* Whether the node lies between: it is the surveyed one itself, or comes in below it, above the base. */
bool cw_survey_has(const struct cw_checked *checked, size_t top, size_t i);
/* Says why the elements that a filter keeps, or into how many one is taken apart, cannot be found out once; NULL:
 * it can. */
const char *cw_survey_why_not(const struct cw_checked *checked, size_t top);

/* Whether there is a survey of the node: it is surveyed, or needs the values of a field. */
bool cw_survey_is_of(const struct cw_checked_node *node);
/* Marks the nodes of which there is a survey, and all that they read: in another order of these the survey
 * would be another one. The caller frees the result, which has a place for each node. */
bool *cw_survey_mark(const struct cw_checked *checked);

#endif
