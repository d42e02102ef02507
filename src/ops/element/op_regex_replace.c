/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `regex_replace`: texts in which matches of a pattern are replaced. */
#include "base/mem.h"
#include "ops/element/text_op.h"
#include "ops/text/regex.h"

struct regex_opts {
    char *pattern, *with;
};

static const struct cw_opt options[] = {
    {.name = "pattern",
     .help = "regular expression, as PCRE2 has them",
     .type = CW_OPT_STR,
     .offset = offsetof(struct regex_opts, pattern),
     .flags = CW_OPT_REQUIRED},
    {.name = "with",
     .help = "what takes the place of a match; $1 and ${name} are groups, $$ is a $",
     .type = CW_OPT_STR,
     .offset = offsetof(struct regex_opts, with),
     .def = "\"\""},
    {0},
};

struct scratch {
    struct cw_regex_match *match;
    struct cw_text_op_scratch text;
};

static int check(const void *opts, struct cw_err *err)
{
    const struct regex_opts *o = opts;
    struct cw_regex *regex = NULL;
    int rc = cw_regex_new(o->pattern, &regex, err);
    if (rc == 0)
        rc = cw_regex_check_template(regex, o->with, err);
    cw_regex_free(regex);
    return rc;
}

static int open_state(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct regex_opts *o = opts;
    struct cw_regex *regex = NULL;
    (void)how;
    int rc = cw_regex_new(o->pattern, &regex, err);
    if (rc == 0)
        *ret_state = regex;
    return rc;
}

static void close_state(void *state)
{
    cw_regex_free(state);
}

static void *scratch_new(const void *opts, void *state)
{
    struct scratch *s = CW_NEW(struct scratch);
    (void)opts;
    s->match = cw_regex_match_new(state);
    return s;
}

static void scratch_free(void *scratch)
{
    struct scratch *s = scratch;
    if (!s)
        return;
    cw_regex_match_free(s->match);
    cw_text_op_scratch_fini(&s->text);
    cw_mem_free(s);
}

static int replace(const void *opts, void *state, void *scratch, const void *p, size_t n,
                   struct cw_str *ret_text, struct cw_err *err)
{
    const struct regex_opts *o = opts;
    const struct scratch *s = scratch;
    return cw_regex_replace(state, s->match, p, n, o->with, ret_text, err);
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    struct scratch *s = scratch;
    return cw_text_op_apply(ctx, replace, opts, state, s, &s->text, in, out, err);
}

const struct cw_op cw_op_regex_replace = {
    .name = "regex_replace",
    .version = 1,
    .summary = "texts in which matches of a pattern are replaced",
    .doc =
        "Replaces every match of `pattern` by `with`, from left to right. Patterns are PCRE2's, "
        "on\n"
        "UTF-8 with Unicode's classes; bytes that are no UTF-8 match nothing and stay. A text for\n"
        "which matching takes more than 1,000,000 steps is an error of the element. Works on all\n"
        "str fields, also on lists of strings, unless `fields` says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct regex_opts),
    .check = check,
    .takes_lists = true,
    .accepts = cw_text_op_accepts,
    .infer_field = cw_text_op_infer,
    .open = open_state,
    .close = close_state,
    .scratch_new = scratch_new,
    .scratch_free = scratch_free,
    .apply_field = apply_field,
    .facts = cw_text_op_facts,
};
