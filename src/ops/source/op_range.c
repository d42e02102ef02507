/* SPDX-License-Identifier: Apache-2.0 */
/* Source `range`: the integers start, start + step, ... below stop. */
#include "ops/op_util.h"

#include <string.h>

struct range_opts {
    int64_t start, stop, step;
    char *field;
};

#define OFFSET(member) offsetof(struct range_opts, member)
static const struct cw_opt options[] = {
    {.name = "start",
     .help = "first number",
     .type = CW_OPT_I64,
     .offset = OFFSET(start),
     .def = "0"},
    {.name = "stop",
     .help = "the first number that is not there any more",
     .type = CW_OPT_I64,
     .offset = OFFSET(stop),
     .flags = CW_OPT_REQUIRED},
    {.name = "step",
     .help = "from one number to the next; may be negative, not 0",
     .type = CW_OPT_I64,
     .offset = OFFSET(step),
     .def = "1"},
    {.name = "field",
     .help = "name of the field",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"x\""},
    {0},
};

/* Returns how many numbers there are. The distance of two int64_t fits into uint64_t. */
static uint64_t numbers_n(const struct range_opts *o)
{
    uint64_t distance, step;
    if (o->step > 0) {
        if (o->stop <= o->start)
            return 0;
        distance = (uint64_t)o->stop - (uint64_t)o->start;
        step = (uint64_t)o->step;
    } else {
        if (o->stop >= o->start)
            return 0;
        distance = (uint64_t)o->start - (uint64_t)o->stop;
        step = 0 - (uint64_t)o->step;
    }
    return (distance - 1) / step + 1;
}

static int64_t number_at(const struct range_opts *o, int64_t pos)
{
    return (int64_t)((uint64_t)o->start + (uint64_t)pos * (uint64_t)o->step);
}

static int check(const void *opts, struct cw_err *err)
{
    const struct range_opts *o = opts;
    if (o->step == 0)
        return cw_err_set(err, CW_E_INVALID, "option step: must not be 0");
    if (numbers_n(o) > INT64_MAX)
        return cw_err_set(err, CW_E_LIMIT, "option stop: more than 2^63 - 1 numbers");
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct range_opts *o = opts;
    (void)in;
    (void)in_n;
    return cw_op_infer_one(o->field, CW_DTYPE_I64, 0, NULL, ret_spec, err);
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    (void)state;
    (void)in_n;
    (void)inputs_n;
    (void)err;
    *ret_n = (int64_t)numbers_n(opts);
    return 0;
}

static int read(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_view view = {.dtype = CW_DTYPE_I64};
    int64_t number = number_at(opts, pos);
    (void)state;
    int rc = cw_op_output(ctx, &view, err);
    if (rc < 0)
        return rc;
    memcpy(view.data, &number, sizeof(number));
    ret_element->n = 1;
    ret_element->fields[0] = view;
    return 0;
}

static int read_rows(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns)
{
    int64_t *numbers = columns[0].data;
    (void)state;
    for (size_t i = 0; i < n; i++)
        numbers[i] = number_at(opts, positions[i]);
    return 0;
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    (void)state;
    cw_str_addf(out, "number %lld", (long long)number_at(opts, pos));
}

const struct cw_op cw_op_range = {
    .name = "range",
    .version = 1,
    .summary = "integers from start up to, not including, stop",
    .doc =
        "Gives the i64 numbers start, start + step, start + 2 step and so on, as long as they are\n"
        "below stop (above it when step is negative). Element id is the position, not the number.",
    .kind = CW_OP_SOURCE,
    .options = options,
    .options_bytes = sizeof(struct range_opts),
    .check = check,
    .infer = infer,
    .count = count,
    .read = read,
    .read_rows = read_rows,
    .describe = describe,
};
