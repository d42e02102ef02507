/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `python_map`: the result of a function in Python. */
#include "ops/element/python_op.h"

static const struct cw_opt options[] = {
    CW_PYTHON_OPT_ROWS,
    {.name = "spec",
     .help =
         "fields that it returns, such as \"image: u8[224,224,3]\"; default: what it returns for "
         "the first element",
     .type = CW_OPT_STR_LIST,
     .offset = CW_PYTHON_AT(spec)},
    {.name = "batched",
     .help = "it is a function of batches, and gives as many rows as it gets",
     .type = CW_OPT_BOOL,
     .offset = CW_PYTHON_AT(batched),
     .def = "false"},
    {0},
};

static bool is_complete(const void *opts)
{
    return ((const struct cw_python_opts *)opts)->spec.n > 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    struct cw_python_layout layout = {0};
    (void)in_n;
    int rc = cw_python_layout(opts, in, &layout, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&layout.out);
    cw_python_layout_fini(&layout);
    return rc;
}

const struct cw_op cw_op_python_map = {
    .name = "python_map",
    .version = 1,
    .summary = "the result of a function in Python",
    .doc = "Calls a function of the program that made the pipeline. The Python package writes this "
           "operator down:\n"
           "`pipeline.map(fn)` and `pipeline.map_batch(fn)` (python.md). It is computed by workers "
           "with --allow-python,\n"
           "in child processes that can do nothing but compute.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_OPAQUE | CW_OP_RANDOM,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct cw_python_opts),
    .is_complete = is_complete,
    .completed = "spec",
    .probe = cw_python_op_probe,
    .infer = infer,
    .open = cw_python_op_open,
    .close = cw_python_op_close,
    .scratch_new = cw_python_op_scratch_new,
    .scratch_free = cw_python_op_scratch_free,
    .apply = cw_python_op_apply,
    .draws = cw_python_op_draws,
    .varies = cw_python_op_varies,
};
