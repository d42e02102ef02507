/* SPDX-License-Identifier: Apache-2.0 */
/* The features that parse_example is asked for, and the fields that it makes of them. */
#ifndef CW_OPS_ELEMENT_EXAMPLE_FEATURE_H
#define CW_OPS_ELEMENT_EXAMPLE_FEATURE_H

#include "conf/value.h"
#include "data/element.h"
#include "format/example.h"
#include "ops/op.h"

struct cw_example_field {
    struct cw_field field;
    char *feature; /* name in the message */
    bool is_list;  /* a feature list */
    enum cw_example_kind kind;
    struct cw_value def; /* null: no default */
};
struct cw_example_features {
    struct cw_example_field *v;
    size_t n;
};
void cw_example_features_fini(struct cw_example_features *features);
/* Reads the options of the two kinds, either of which may be null, but not both. */
int cw_example_features_parse(const struct cw_value *features, const struct cw_value *lists,
                              struct cw_example_features *ret_features, struct cw_err *err);
/* Makes the field of a feature that was looked for in the record. */
int cw_example_feature_make(const struct cw_op_ctx *ctx, const void *record,
                            const struct cw_example_field *its,
                            const struct cw_example_feature *found, struct cw_view *ret_view,
                            struct cw_err *err);

#endif
