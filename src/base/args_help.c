/* SPDX-License-Identifier: Apache-2.0 */
/* The text of --help: two columns, wrapped at 80 characters. */
#include <stdio.h>
#include <string.h>

#include "base/args.h"
#include "base/str.h"

#define WIDTH 80
#define COLUMN_MAX 30

/* Adds text wrapped at WIDTH. The cursor is in column `at`, and further lines begin in column
 * `indent`. Newlines are kept. */
static void add_wrapped(struct cw_str *out, const char *text, size_t at, size_t indent)
{
    bool first = true; /* the next word is the first of its line */

    while (*text) {
        size_t n = strcspn(text, " \n");

        if (!first && n > 0 && at + 1 + n > WIDTH) {
            cw_str_addf(out, "\n%*s", (int)indent, "");
            at = indent;
            first = true;
        }
        if (!first && n > 0) {
            cw_str_add_char(out, ' ');
            at++;
        }
        cw_str_add_bytes(out, text, n);
        at += n;
        first = first && n == 0;
        text += n;
        if (*text == '\n') {
            cw_str_addf(out, "\n%*s", text[1] == '\n' ? 0 : (int)indent, "");
            at = indent;
            first = true;
        }
        text += *text != '\0';
    }
    cw_str_add_char(out, '\n');
}

static void add_left(struct cw_str *out, char letter, const char *name, const char *metavar)
{
    if (letter)
        cw_str_addf(out, "  -%c, --%s", letter, name);
    else
        cw_str_addf(out, "      --%s", name);
    if (metavar)
        cw_str_addf(out, " %s", metavar);
}

static const char *metavar_of(const struct cw_arg *row)
{
    static const char *const by_type[] = {
        [CW_ARG_FLAG] = NULL, [CW_ARG_STR] = "TEXT", [CW_ARG_I64] = "N",
        [CW_ARG_U64] = "N",   [CW_ARG_F64] = "X",    [CW_ARG_BYTES] = "SIZE",
        [CW_ARG_MS] = "TIME", [CW_ARG_LIST] = "TEXT"};

    if (row->type == CW_ARG_FLAG)
        return NULL;
    return row->metavar ? row->metavar : by_type[row->type];
}

static void add_row(struct cw_str *out, size_t column, char letter, const char *name,
                    const char *metavar, const char *help)
{
    CW_STR_AUTO left = {0};

    add_left(&left, letter, name, metavar);
    cw_str_add(out, cw_str_text(&left));
    if (left.len + 2 > column)
        cw_str_addf(out, "\n%*s", (int)column, "");
    else
        cw_str_addf(out, "%*s", (int)(column - left.len), "");
    add_wrapped(out, help ? help : "", column, column);
}

static size_t help_column(const struct cw_args_spec *spec)
{
    size_t column = strlen("      --version") + 2;

    for (const struct cw_arg *row = spec->rows; row->name; row++) {
        CW_STR_AUTO left = {0};
        add_left(&left, row->letter, row->name, metavar_of(row));
        if (left.len + 2 <= COLUMN_MAX)
            column = CW_MAX(column, left.len + 2);
    }
    return column;
}

static bool has_letter_h(const struct cw_args_spec *spec)
{
    for (const struct cw_arg *row = spec->rows; row->name; row++)
        if (row->letter == 'h')
            return true;
    return false;
}

char *cw_args_help(const struct cw_args_spec *spec)
{
    struct cw_str out = {0};
    size_t column = help_column(spec);

    cw_str_addf(&out, "Usage: %s %s\n", spec->program, spec->usage ? spec->usage : "[options]");
    if (spec->about) {
        cw_str_add_char(&out, '\n');
        add_wrapped(&out, spec->about, 0, 0);
    }
    cw_str_add(&out, "\nOptions:\n");
    for (const struct cw_arg *row = spec->rows; row->name; row++)
        add_row(&out, column, row->letter, row->name, metavar_of(row), row->help);
    add_row(&out, column, has_letter_h(spec) ? '\0' : 'h', "help", NULL, "show this text");
    add_row(&out, column, '\0', "version", NULL, "show the version");
    if (spec->env_prefix)
        cw_str_addf(&out, "\nEvery option can also be set in the environment, as %s_OPTION.\n",
                    spec->env_prefix);
    if (spec->tail)
        cw_str_addf(&out, "\n%s%s", spec->tail,
                    spec->tail[strlen(spec->tail) - 1] == '\n' ? "" : "\n");
    return cw_str_take(&out);
}
