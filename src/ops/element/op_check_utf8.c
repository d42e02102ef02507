/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `check_utf8`: elements whose texts are no UTF-8 are bad, or get U+FFFD there. A text that
 * is sound is not copied. */
#include "ops/element/text_op.h"

enum { FAIL, REPLACE };
static const char *const invalid_words[] = {"fail", "replace", NULL};

struct check_utf8_opts {
    int invalid; /* index into invalid_words */
};

static const struct cw_opt options[] = {
    {.name = "invalid",
     .help = "what becomes of bytes that are no UTF-8: fail (the element is bad), or replace (by "
             "U+FFFD)",
     .type = CW_OPT_ENUM,
     .offset = offsetof(struct check_utf8_opts, invalid),
     .def = "\"fail\"",
     .names = invalid_words},
    {0},
};

/* Returns the length of what begins like a character at p, but is none: it is replaced as one. */
static size_t bad_bytes(const unsigned char *p, size_t n)
{
    const unsigned char c = p[0];
    const size_t len = c >= 0xf0 && c < 0xf5   ? 4
                       : c >= 0xe0 && c < 0xf0 ? 3
                       : c >= 0xc2 && c < 0xe0 ? 2
                                               : 1;
    const unsigned char least = c == 0xe0   ? 0xa0
                                : c == 0xf0 ? 0x90
                                            : 0x80,
                        most = c == 0xed   ? 0x9f
                               : c == 0xf4 ? 0x8f
                                           : 0xbf;
    size_t i = 1;
    if (i < len && i < n && p[1] >= least && p[1] <= most)
        for (i = 2; i < len && i < n && (p[i] & 0xc0) == 0x80;)
            i++;
    return i;
}

static int replace(const void *opts, void *state, void *scratch, const void *text, size_t n,
                   struct cw_str *ret_text, struct cw_err *err)
{
    const unsigned char *p = text;
    (void)opts;
    (void)state;
    (void)scratch;
    (void)err;
    while (n > 0) {
        const size_t sound = cw_str_utf8_valid(p, n);
        cw_str_add_bytes(ret_text, p, sound);
        p += sound;
        n -= sound;
        if (n == 0)
            break;
        const size_t bad = bad_bytes(p, n);
        cw_str_add(ret_text, "\xef\xbf\xbd");
        p += bad;
        n -= bad;
    }
    return 0;
}

/* Returns where the first byte of a text is that is no UTF-8; SIZE_MAX: all are. */
static size_t find_bad(const char *p, size_t n)
{
    const size_t sound = n > 0 ? cw_str_utf8_valid((const unsigned char *)p, n) : 0;
    return sound < n ? sound : SIZE_MAX;
}

static int not_utf8(const struct cw_view *in, int64_t string, const char *p, size_t at,
                    struct cw_err *err)
{
    cw_err_set(err, CW_E_CORRUPT, "byte %zu of the text, 0x%02x, is no UTF-8", at,
               (unsigned)(unsigned char)p[at]);
    return in->rank > 0 ? cw_err_wrap(err, "string %lld", (long long)string) : CW_E_CORRUPT;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const struct check_utf8_opts *o = opts;
    const int64_t count = in->rank > 0 ? cw_strings_count(in) : 1;
    for (int64_t i = 0; i < count; i++) {
        size_t n = in->bytes;
        const char *p = in->rank > 0 ? cw_strings_get(in->data, count, i, &n) : in->data;
        const size_t at = find_bad(p, n);
        if (at != SIZE_MAX)
            return o->invalid == FAIL
                       ? not_utf8(in, i, p, at, err)
                       : cw_text_op_apply(ctx, replace, opts, state, NULL, scratch, in, out, err);
    }
    return 0;
}

const struct cw_op cw_op_check_utf8 = {
    .name = "check_utf8",
    .version = 1,
    .summary = "texts that are UTF-8, else the element is bad",
    .doc =
        "Sources give the bytes of strings as they stand in their files (JSON, Parquet, Arrow, "
        "CSV, "
        "lines), also where\n"
        "they promise text. This operator looks at them: an element with other bytes is bad, with "
        "its record and the byte\n"
        "in the message, or each such piece becomes one U+FFFD, as with Python's errors='replace'. "
        "Works on all str\n"
        "fields, also on lists of strings, unless `fields` says which; name them where others hold "
        "images or sounds.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct check_utf8_opts),
    .takes_lists = true,
    .accepts = cw_text_op_accepts,
    .infer_field = cw_text_op_infer,
    .scratch_new = cw_text_op_scratch_new,
    .scratch_free = cw_text_op_scratch_free,
    .apply_field = apply_field,
    .facts = cw_text_op_facts,
};
