/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `python_filter`: keeps the elements for which a function in Python says so. */
#include "ops/element/python_op.h"

static const struct cw_opt options[] = {
    CW_PYTHON_OPT_ROWS,
    {0},
};

/* The options with the mark that this operator filters. Strings and lists stay those of opts. */
static struct cw_python_opts filtering(const void *opts)
{
    struct cw_python_opts o = *(const struct cw_python_opts *)opts;
    o.filters = true;
    return o;
}

static bool is_complete(const void *opts)
{
    (void)opts;
    return true;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct cw_python_opts o = filtering(opts);
    struct cw_python_layout layout = {0};
    (void)in_n;
    int rc = cw_python_layout(&o, in, &layout, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&layout.out);
    cw_python_layout_fini(&layout);
    return rc;
}

static int probe(const void *opts, const struct cw_op_probe *elements, struct cw_value *said,
                 struct cw_err *err)
{
    const struct cw_python_opts o = filtering(opts);
    return cw_python_op_probe(&o, elements, said, err);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct cw_python_opts o = filtering(opts);
    return cw_python_op_apply(ctx, &o, state, scratch, element, err);
}

const struct cw_op cw_op_python_filter = {
    .name = "python_filter",
    .version = 1,
    .summary = "keeps the elements for which a function in Python says so",
    .doc =
        "Calls a function of the program that made the pipeline, and keeps the elements for which "
        "its result is true.\n"
        "The Python package writes this operator down: `pipeline.filter(fn)` (see `python_map`).",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_OPAQUE | CW_OP_RANDOM | CW_OP_CHANGES_COUNT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct cw_python_opts),
    .is_complete = is_complete,
    .completed = "nothing",
    .probe = probe,
    .infer = infer,
    .open = cw_python_op_open_filter,
    .close = cw_python_op_close,
    .scratch_new = cw_python_op_scratch_new,
    .scratch_free = cw_python_op_scratch_free,
    .apply = apply,
    .draws = cw_python_op_draws,
    .varies = cw_python_op_varies,
};
