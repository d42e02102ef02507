/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `batch`: makes one element of `size` elements. Only the shape is decided here; the
 * engine computes elements straight into their rows of the batch. */
#include "ops/op.h"

#include <string.h>

struct batch_opts {
    int64_t size;
    bool drop_remainder;
};

#define OFFSET(member) offsetof(struct batch_opts, member)
static const struct cw_opt options[] = {
    {.name = "size",
     .help = "elements of a batch",
     .type = CW_OPT_I64,
     .offset = OFFSET(size),
     .min = 1,
     .max = 1 << 24,
     .flags = CW_OPT_REQUIRED},
    {.name = "drop_remainder",
     .help = "leave out a last batch that is not full",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(drop_remainder),
     .def = "false"},
    {0},
};

static int add_dimension(struct cw_field *field, int64_t n, struct cw_err *err)
{
    if (field->rank >= CW_RANK_MAX)
        return cw_err_set(err, CW_E_INVALID,
                          "field \"%s\" has %d dimensions already, one more is too many",
                          field->name, field->rank);
    memmove(&field->dims[1], &field->dims[0], (size_t)field->rank * sizeof(field->dims[0]));
    field->dims[0] = n;
    field->rank++;
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct batch_opts *o = opts;
    struct cw_spec spec = in[0];
    (void)in_n;
    for (size_t i = 0; i < spec.n; i++) {
        int rc = add_dimension(&spec.fields[i], o->drop_remainder ? o->size : -1, err);
        if (rc < 0)
            return rc;
    }
    *ret_spec = spec;
    return 0;
}

static int64_t group_size(const void *opts)
{
    const struct batch_opts *o = opts;
    return o->size;
}

static bool group_drops(const void *opts)
{
    const struct batch_opts *o = opts;
    return o->drop_remainder;
}

const struct cw_op cw_op_batch = {
    .name = "batch",
    .version = 1,
    .summary = "joins elements to batches",
    .doc = "Puts `size` elements after each other along a new first dimension. Fields must have "
           "the same\n"
           "shape in all elements of a batch; strings of any length go together. The last batch of "
           "an\n"
           "epoch may be shorter, or is left out with drop_remainder.",
    .kind = CW_OP_GROUP,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct batch_opts),
    .infer = infer,
    .group_size = group_size,
    .group_drops = group_drops,
};
