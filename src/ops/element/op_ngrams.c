/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `ngrams`: runs of neighbouring strings of a list. */
#include <string.h>

#include "ops/element/text_op.h"

#define WIDTH_MAX 64
struct ngrams_opts {
    char *sep;
    struct cw_i64_list widths;
};

static const struct cw_opt options[] = {
    {.name = "sep",
     .help = "what is put between the strings of a run",
     .type = CW_OPT_STR,
     .offset = offsetof(struct ngrams_opts, sep),
     .def = "\" \""},
    {.name = "widths",
     .help = "how many strings a run has; with several: all runs of the first, then of the next",
     .type = CW_OPT_I64_LIST,
     .offset = offsetof(struct ngrams_opts, widths),
     .flags = CW_OPT_REQUIRED,
     .min = 1,
     .max = WIDTH_MAX,
     .len_min = 1,
     .len_max = WIDTH_MAX},
    {0},
};

static bool accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_STR && field->rank == 1;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    const struct ngrams_opts *o = opts;
    if (!accepts(in))
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is no list of strings (str[?])",
                          in->name);
    *ret_field = *in;
    if (in->dims[0] < 0)
        return 0;
    ret_field->dims[0] = 0;
    for (size_t i = 0; i < o->widths.n; i++)
        ret_field->dims[0] += CW_MAX(in->dims[0] - o->widths.v[i] + 1, 0);
    return 0;
}

/* Adds the run of `width` strings from string i on. */
static int add_run(const struct cw_view *in, int64_t i, int64_t width, const char *sep,
                   struct cw_strings *list, struct cw_err *err)
{
    for (int64_t k = i; k < i + width; k++) {
        size_t n;
        const char *p = cw_strings_get(in->data, in->dims[0], k, &n);
        if (k > i && sep)
            cw_str_add(&list->text, sep);
        cw_str_add_bytes(&list->text, p, n);
    }
    return cw_strings_end(list, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct ngrams_opts *o = opts;
    struct cw_strings *list = &((struct cw_text_op_scratch *)scratch)->list;
    int rc = 0;
    (void)state;
    cw_strings_clear(list);
    for (size_t w = 0; w < o->widths.n; w++)
        for (int64_t i = 0; rc == 0 && i + o->widths.v[w] <= in->dims[0]; i++)
            rc = add_run(in, i, o->widths.v[w], o->sep, list, err);
    return rc == 0 ? cw_text_op_output_list(list, ctx, out, err) : rc;
}

const struct cw_op cw_op_ngrams = {
    .name = "ngrams",
    .version = 1,
    .summary = "runs of neighbouring strings of a list",
    .doc = "Makes of a list of strings that of its runs of `widths` neighbours, with `sep` between "
           "them, "
           "as TensorFlow's\n"
           "tf.strings.ngrams does: [\"a\", \"b\", \"c\"] becomes [\"a\", \"b\", \"c\", \"a b\", "
           "\"b c\"] "
           "with the widths 1 and 2. A list that is\n"
           "shorter than a width has no such runs. Works on all fields that are lists of strings "
           "unless "
           "`fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE | CW_OP_GROW,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct ngrams_opts),
    .takes_lists = true,
    .accepts = accepts,
    .infer_field = infer_field,
    .scratch_new = cw_text_op_scratch_new,
    .scratch_free = cw_text_op_scratch_free,
    .apply_field = apply_field,
    .facts = cw_text_op_facts,
};
