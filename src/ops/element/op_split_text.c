/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `split_text`: texts as lists of their words. */
#include <string.h>

#include "ops/element/text_op.h"
#include "ops/text/unicode.h"

struct split_opts {
    char *sep;
};

static const struct cw_opt options[] = {
    {.name = "sep",
     .help = "what stands between parts; \"\": white space, and no part is empty",
     .type = CW_OPT_STR,
     .offset = offsetof(struct split_opts, sep),
     .def = "\"\""},
    {0},
};

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    int rc = cw_text_op_infer(opts, in, ret_field, err);
    ret_field->rank = 1;
    ret_field->dims[0] = -1;
    return rc;
}

/* As Python's str.isspace has it. */
static bool is_space(const uint8_t *p, size_t n, size_t *ret_len)
{
    const unsigned class = cw_char_at(p, n, ret_len);
    return (class & CW_CHAR_SPACE) || (*p >= 0x1c && *p <= 0x1f);
}

static int add(struct cw_strings *list, const uint8_t *p, size_t n, struct cw_err *err)
{
    cw_str_add_bytes(&list->text, p, n);
    return cw_strings_end(list, err);
}

static int split_at_spaces(const uint8_t *p, size_t n, struct cw_strings *list, struct cw_err *err)
{
    size_t begin = 0, len = 1;
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n; at += len) {
        if (!is_space(p + at, n - at, &len))
            continue;
        if (at > begin)
            rc = add(list, p + begin, at - begin, err);
        begin = at + len;
    }
    return rc == 0 && n > begin ? add(list, p + begin, n - begin, err) : rc;
}

static int split_at(const char *sep, const uint8_t *p, size_t n, struct cw_strings *list,
                    struct cw_err *err)
{
    const size_t sep_n = strlen(sep);
    const uint8_t *end = p + n, *found;
    int rc = 0;
    while (rc == 0 && n > 0 && (found = memmem(p, (size_t)(end - p), sep, sep_n)) != NULL) {
        rc = add(list, p, (size_t)(found - p), err);
        p = found + sep_n;
    }
    return rc == 0 ? add(list, p, (size_t)(end - p), err) : rc;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct split_opts *o = opts;
    struct cw_strings *list = &((struct cw_text_op_scratch *)scratch)->list;
    (void)state;
    cw_strings_clear(list);
    int rc = o->sep && o->sep[0] ? split_at(o->sep, in->data, in->bytes, list, err)
                                 : split_at_spaces(in->data, in->bytes, list, err);
    return rc == 0 ? cw_text_op_output_list(list, ctx, out, err) : rc;
}

const struct cw_op cw_op_split_text = {
    .name = "split_text",
    .version = 1,
    .summary = "texts as lists of their words",
    .doc =
        "Makes a list of strings of a text: what stands between white space, or with `sep` "
        "between\n"
        "its places, as Python's str.split does (of bytes that are UTF-8 or not). Operators on\n"
        "texts work on each string of such a list; `batch` stacks lists that differ in length\n"
        "if its option `ragged` says so, `unbatch` makes an element of each string, `join_text`\n"
        "makes a text of them again. Works on all str fields that are no lists unless `fields`\n"
        "says which.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE | CW_OP_GROW,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct split_opts),
    .accepts = cw_text_op_accepts,
    .infer_field = infer_field,
    .scratch_new = cw_text_op_scratch_new,
    .scratch_free = cw_text_op_scratch_free,
    .apply_field = apply_field,
    .facts = cw_text_op_facts,
};
