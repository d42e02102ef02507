/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `filter`: keeps the elements for which an expression is true. */
#include "ops/element/expr_op.h"
#include "ops/kernels/num.h"
#include "ops/op_util.h"

struct filter_opts {
    char *expr;
    bool survey;
};

static const struct cw_opt options[] = {
    {.name = "expr",
     .help = "expression over the fields; kept is what it is not 0 for",
     .type = CW_OPT_STR,
     .offset = offsetof(struct filter_opts, expr),
     .flags = CW_OPT_REQUIRED},
    {.name = "survey",
     .help = "find out once which elements are kept, when a job is prepared",
     .type = CW_OPT_BOOL,
     .offset = offsetof(struct filter_opts, survey),
     .def = "false",
     .flags = CW_OPT_NO_FINGERPRINT}, /* check.c adds whether the node is surveyed */
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct filter_opts *o = opts;
    struct cw_expr *expr;
    int rc = cw_expr_parse(o->expr, &expr, err);
    if (rc == 0)
        cw_expr_free(expr);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct filter_opts *o = opts;
    struct cw_expr *expr;
    int rc = cw_expr_op_compile(o->expr, &in[0], &expr, err);
    if (rc < 0)
        return rc;
    cw_expr_free(expr);
    return cw_op_infer_same(opts, in, in_n, ret_spec, err);
}

static int apply(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err)
{
    const struct filter_opts *o = opts;
    struct cw_view result;
    (void)state;
    int rc = cw_expr_op_value(scratch, o->expr, ctx, element, &result, err);
    if (rc < 0)
        return rc;
    size_t n = result.bytes / cw_dtype_bytes(result.dtype);
    for (size_t i = 0; i < n; i++) {
        if (cw_num_get_f64(result.dtype, result.data, i) == 0)
            return 1;
    }
    return 0;
}

static void facts(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts)
{
    const struct filter_opts *o = opts;
    struct cw_expr *expr;
    (void)fields;
    (void)fields_n;
    if (cw_expr_op_compile(o->expr, in, &expr, NULL) < 0) {
        *ret_facts = (struct cw_op_facts){0};
        return;
    }
    cw_expr_op_facts(expr, in, ret_facts);
    size_t field = cw_expr_op_main_field(expr, in);
    ret_facts->drops = true;
    if (field < in->n) {
        ret_facts->effect = CW_EFFECT_ALL;
        cw_field_set_add(&ret_facts->effect_on, field);
    }
    cw_expr_free(expr);
}

static bool pin(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                struct cw_value *pinned)
{
    const struct filter_opts *o = opts;
    (void)fields;
    (void)fields_n;
    return cw_expr_op_pin(o->expr, in, cw_value_member(pinned, "expr"));
}

static bool asks_survey(const void *opts)
{
    return ((const struct filter_opts *)opts)->survey;
}

static bool names(const void *opts, struct cw_op_names *names)
{
    return cw_expr_op_names(((const struct filter_opts *)opts)->expr, names);
}

const struct cw_op cw_op_filter = {
    .name = "filter",
    .version = 1,
    .summary = "keeps the elements for which an expression is true",
    .doc = "Keeps an element if `expr` (see `eval`) is true, that is, not 0. If it is a tensor, "
           "all of its values must be\n"
           "true. How many elements there are is known only when they have been computed, so the "
           "pipeline is sparse\n"
           "from here on: batches are still full, and the order is still that of one thread.\n"
           "\n"
           "Where an operator behind it must know that number (`repeat`, `zip`, an operator behind "
           "the batch), and where\n"
           "`survey` says so, all elements are looked at once, when a job is prepared: a survey. "
           "It is "
           "kept like an index of\n"
           "files, and from then on everything may follow, and the number of elements is exact. A "
           "shuffle before the\n"
           "filter then permutes what is kept. It is not possible behind a random operator.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_CHANGES_COUNT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct filter_opts),
    .check = check,
    .infer = infer,
    .scratch_new = cw_expr_op_scratch_new,
    .scratch_free = cw_expr_op_scratch_free,
    .apply = apply,
    .facts = facts,
    .names = names,
    .asks_survey = asks_survey,
    .pin = pin,
};
