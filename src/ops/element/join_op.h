/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of `stack` and `concat_fields`: one field of several, which are its parts along an
 * axis. stack makes that axis, in concat_fields the fields have it. */
#ifndef CW_OPS_ELEMENT_JOIN_OP_H
#define CW_OPS_ELEMENT_JOIN_OP_H

#include "ops/op.h"

struct cw_join_opts {
    int64_t axis;
    struct cw_str_list names;
    char *out; /* NULL: the name of the first field */
};

/* The option rows of both. */
extern const struct cw_opt cw_join_options[];

/* infer and apply; is_new: the axis is made. */
int cw_join_infer(const struct cw_join_opts *o, bool is_new, const struct cw_spec *in,
                  struct cw_spec *ret_spec, struct cw_err *err);
int cw_join_apply(const struct cw_op_ctx *ctx, const struct cw_join_opts *o, bool is_new,
                  struct cw_element *element, struct cw_err *err);
bool cw_join_names(const void *opts, struct cw_op_names *names);
void cw_join_facts(const struct cw_join_opts *o, const struct cw_spec *in,
                   struct cw_op_facts *ret_facts);

#endif
