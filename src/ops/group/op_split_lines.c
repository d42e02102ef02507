/* SPDX-License-Identifier: Apache-2.0 */
/* Group operator `split_lines`: makes an element of each line of a text. */
#include <string.h>

#include "base/mem.h"
#include "ops/group/within.h"

struct lines_opts {
    char *field, *quote;
    bool skip_blank, skip_empty, keep_ends, survey;
    int64_t span;
};

#define OFFSET(member) offsetof(struct lines_opts, member)
static const struct cw_opt options[] = {
    {.name = "field",
     .help = "the str that is taken apart",
     .type = CW_OPT_STR,
     .offset = OFFSET(field),
     .def = "\"text\""},
    {.name = "skip_blank",
     .help = "lines of nothing but spaces and control characters are left out",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(skip_blank),
     .def = "false"},
    {.name = "skip_empty",
     .help = "lines of no byte but \\r are left out",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(skip_empty),
     .def = "false",
     .flags = CW_OPT_NEWER},
    {.name = "keep_ends",
     .help = "the ends of lines are part of them",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(keep_ends),
     .def = "false",
     .flags = CW_OPT_NEWER},
    {.name = "quote",
     .help = "the byte around text in which newlines end no line; \"\" = there is none",
     .type = CW_OPT_STR,
     .offset = OFFSET(quote),
     .def = "\"\"",
     .flags = CW_OPT_NEWER},
    {.name = "span",
     .help = CW_SPAN_HELP,
     .type = CW_OPT_I64,
     .offset = OFFSET(span),
     .def = "4",
     .min = 0,
     .max = CW_SPAN_MAX},
    CW_SURVEY_ROW(OFFSET(survey)),
    {0},
};

static int check(const void *opts, struct cw_err *err)
{
    const struct lines_opts *o = opts;
    if (strlen(o->quote) > 1 || o->quote[0] == '\n' || o->quote[0] == '\r')
        return cw_err_set(err, CW_E_INVALID, "option quote: is one byte, no newline, or \"\"");
    return 0;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct lines_opts *o = opts;
    const int f = cw_spec_find(&in[0], o->field);
    CW_STR_AUTO spec = {0};
    (void)in_n;
    if (f >= 0 && in->fields[f].dtype == CW_DTYPE_STR && in->fields[f].rank == 0) {
        *ret_spec = cw_spec_copy(&in[0]);
        return 0;
    }
    cw_spec_print(&in[0], &spec);
    return cw_err_set(err, CW_E_INVALID, "option field: \"%s\" is no str; what comes in is %s",
                      o->field, cw_str_text(&spec));
}

/* A line of one of the rows. */
struct line {
    const char *p;
    size_t n, row;
};
struct lines {
    struct line *v;
    size_t n;
};

/* Whether a line is left out. */
static bool is_skipped(const struct lines_opts *o, const char *p, size_t n)
{
    bool blank = o->skip_blank, empty = o->skip_empty;
    for (size_t i = 0; i < n && (blank || empty); i++) {
        blank = blank && (unsigned char)p[i] <= ' ';
        empty = empty && p[i] == '\r';
    }
    return blank || empty;
}

/* Finds the first newline that is not inside of quotes. */
static const char *find_end(const char *p, size_t n, char quote)
{
    const char *end = memchr(p, '\n', n), *from = p;
    bool is_open = false;
    while (end && quote) {
        for (; from < end; from++)
            is_open ^= *from == quote;
        if (!is_open)
            break;
        from = end + 1;
        end = memchr(from, '\n', n - (size_t)(from - p));
    }
    return end;
}

/* Takes the first line from a text. Returns its length without its end. */
static size_t next_line(const char *p, size_t n, char quote, size_t *ret_used)
{
    const char *end = find_end(p, n, quote);
    *ret_used = end ? (size_t)(end - p) + 1 : n;
    size_t length = end ? (size_t)(end - p) : n;
    return end && length > 0 && p[length - 1] == '\r' ? length - 1 : length;
}

/* Finds the lines of a row. v NULL: only counts them. */
static size_t lines_of(const struct lines_opts *o, const struct cw_view *text, size_t row,
                       struct line *v)
{
    const char *p = text->data;
    size_t left = text->bytes, n = 0, used;
    for (; left > 0; p += used, left -= used) {
        const size_t length = next_line(p, left, o->quote[0], &used);
        if (is_skipped(o, p, length))
            continue;
        if (v)
            v[n] = (struct line){p, o->keep_ends ? used : length, row};
        n++;
    }
    return n;
}

static int find_lines(const struct cw_op_ctx *ctx, const struct lines_opts *o,
                      const struct cw_op_rows *rows, struct lines *ret, struct cw_err *err)
{
    const int f = cw_spec_find(ctx->in, o->field);
    size_t n = 0, at = 0;
    for (size_t r = 0; r < rows->n; r++)
        n += lines_of(o, &rows->row[r][f], r, NULL);
    ret->v = cw_op_scratch(ctx, (n + 1) * sizeof(*ret->v), err);
    ret->n = n;
    if (!ret->v)
        return CW_E_NOMEM;
    for (size_t r = 0; r < rows->n; r++)
        at += lines_of(o, &rows->row[r][f], r, ret->v + at);
    return cw_stop_check(ctx->stop, err);
}

static int inside(const struct cw_op_ctx *ctx, const void *opts, const struct cw_op_rows *rows,
                  struct cw_err *err)
{
    const struct lines_opts *o = opts;
    const int f = cw_spec_find(ctx->in, o->field);
    struct lines lines;
    struct cw_view *fields = cw_op_scratch(ctx, (ctx->in->n + 1) * sizeof(*fields), err);
    int rc = fields ? find_lines(ctx, o, rows, &lines, err) : CW_E_NOMEM;
    for (size_t k = 0; rc == 0 && k < lines.n; k++) {
        const struct line *line = &lines.v[k];
        memcpy(fields, rows->row[line->row], ctx->in->n * sizeof(*fields));
        fields[f].data = (void *)(uintptr_t)line->p;
        fields[f].bytes = line->n;
        rc = rows->make(rows, line->row, fields, err);
        if (rc == 0 && k % 1024 == 0)
            rc = cw_stop_check(ctx->stop, err);
    }
    return rc;
}

static int64_t span(const void *opts)
{
    return ((const struct lines_opts *)opts)->span;
}

static bool asks_survey(const void *opts)
{
    return ((const struct lines_opts *)opts)->survey;
}

static bool names(const void *opts, struct cw_op_names *names)
{
    cw_op_names_add(names, ((const struct lines_opts *)opts)->field);
    return true;
}

const struct cw_op cw_op_split_lines = {
    .name = "split_lines",
    .version = 1,
    .summary = "makes an element of each line of a text",
    .doc = "Takes a str apart at \\n or \\r\\n, which are no part of the lines unless `keep_ends` "
           "says so; other fields come\n"
           "with each line as they are. Behind `text_ranges` this gives the lines of files without "
           "an index of them. How many\n"
           "there are is not known before they are read.\n"
           "\n" CW_INSIDE_DOC CW_SURVEY_DOC,
    .kind = CW_OP_GROUP,
    .traits = CW_OP_CHANGES_COUNT,
    .inputs_min = 1,
    .inputs_max = 1,
    .options = options,
    .options_bytes = sizeof(struct lines_opts),
    .check = check,
    .infer = infer,
    .inside = inside,
    .span = span,
    .asks_survey = asks_survey,
    .takes_apart = true,
    .names = names,
};
