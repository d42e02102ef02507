/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `enumerate`: adds a field with the position of the element. The engine adds it
 * (CW_OP_POSITION in ops/op.h). */
#include "ops/op_util.h"

struct enumerate_opts {
    char *field;
};

static const struct cw_opt options[] = {
    {.name = "field",
     .help = "name of the field, i64",
     .type = CW_OPT_STR,
     .offset = offsetof(struct enumerate_opts, field),
     .def = "\"position\""},
    {0},
};

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct enumerate_opts *o = opts;
    CW_SPEC_AUTO spec = cw_spec_copy(&in[0]);
    (void)in_n;
    int rc = cw_spec_add(&spec, o->field, CW_DTYPE_I64, 0, NULL, err);
    if (rc < 0)
        return cw_err_wrap(err, "option field");
    *ret_spec = cw_spec_take(&spec);
    return 0;
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    (void)opts;
    (void)state;
    (void)inputs_n;
    (void)err;
    *ret_n = in_n[0];
    return 0;
}

const struct cw_op cw_op_enumerate = {
    .name = "enumerate",
    .version = 1,
    .summary = "adds the position as a field",
    .doc = "Adds the field `field`: the position of each element among those that come in, from 0. "
           "Behind a\n"
           "`shuffle` it is the place in the epoch's order, before it the place in the data.",
    .kind = CW_OP_INDEX,
    .traits = CW_OP_POSITION | CW_OP_IN_ORDER,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct enumerate_opts),
    .infer = infer,
    .count = count,
    .map = cw_op_map_same,
};
