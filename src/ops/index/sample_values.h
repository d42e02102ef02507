/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of `sample` that stand in the elements: the values of a field, or how rare a label is. */
#ifndef CW_OPS_INDEX_SAMPLE_VALUES_H
#define CW_OPS_INDEX_SAMPLE_VALUES_H

#include "data/spec.h"
#include "ops/index/fates.h"
#include "ops/index/weights.h"

/* Whether a field can be a weight, or a label; errors name the option. */
int cw_sample_check_weight(const struct cw_spec *spec, const char *field, struct cw_err *err);
int cw_sample_check_label(const struct cw_spec *spec, const char *field, struct cw_err *err);
/* Makes weights of values of a dtype. Elements that are not kept have none: 0. */
int cw_sample_by_weight(const struct cw_fates *fates, enum cw_dtype dtype,
                        struct cw_weights *ret_weights, struct cw_err *err);
/* Each label is drawn as often as each other: an element's weight is 1 / number of those with its label. */
int cw_sample_by_label(const struct cw_fates *fates, struct cw_weights *ret_weights,
                       struct cw_err *err);

#endif
