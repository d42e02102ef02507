/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a command line. Values take precedence in this order: command line, environment, what the
 * target holds. */
#include "base/args.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"

#define ROWS_MAX 96
#define NAME_BYTES 96

struct parser {
    const struct cw_args_spec *spec;
    int argc;
    char **argv;
    int at;
    bool reset_list[ROWS_MAX]; /* the command line replaces a list from the environment */
    struct cw_err *err;
};

static bool to_flag(const char *text, bool *ret)
{
    static const char *const yes[] = {"1", "true", "yes", "on"};
    static const char *const no[] = {"0", "false", "no", "off", ""};

    for (size_t i = 0; i < CW_ARRAY_LEN(yes); i++) {
        if (strcmp(text, yes[i]) == 0) {
            *ret = true;
            return true;
        }
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(no); i++) {
        if (strcmp(text, no[i]) == 0) {
            *ret = false;
            return true;
        }
    }
    return false;
}

static int check_range(const struct cw_arg *row, double v, const char *from, const char *text,
                       struct cw_err *err)
{
    if (row->min == 0 && row->max == 0)
        return CW_OK;
    if (v < row->min)
        return cw_err_set(err, CW_E_INVALID, "%s: must be at least %.15g (given %s)", from,
                          row->min, text);
    if (v > row->max)
        return cw_err_set(err, CW_E_INVALID, "%s: must be at most %.15g (given %s)", from, row->max,
                          text);
    return CW_OK;
}

static int set_list(struct cw_arg_list *list, const char *text, const char *from,
                    struct cw_err *err)
{
    if (list->n == CW_ARRAY_LEN(list->v))
        return cw_err_set(err, CW_E_LIMIT, "%s: more than %zu times", from, CW_ARRAY_LEN(list->v));
    list->v[list->n++] = text;
    return CW_OK;
}

static int set_int(const struct cw_arg *row, const char *text, const char *from, struct cw_err *err)
{
    int64_t v;
    bool is_time = row->type == CW_ARG_MS;

    if (is_time ? !cw_str_to_ms(text, &v) : !cw_str_to_i64(text, &v))
        return cw_err_set(err, CW_E_INVALID, "%s: not %s: \"%s\"", from,
                          is_time ? "a time like 250ms, 3s, 2m" : "a whole number", text);
    int rc = check_range(row, (double)v, from, text, err);
    if (rc == CW_OK)
        *(int64_t *)row->target = v;
    return rc;
}

static int set_unsigned(const struct cw_arg *row, const char *text, const char *from,
                        struct cw_err *err)
{
    uint64_t v;
    bool is_size = row->type == CW_ARG_BYTES;

    if (is_size ? !cw_str_to_bytes(text, &v) : !cw_str_to_u64(text, &v))
        return cw_err_set(err, CW_E_INVALID, "%s: not %s: \"%s\"", from,
                          is_size ? "a size like 512K, 64M, 2GiB" : "a whole number from 0", text);
    int rc = check_range(row, (double)v, from, text, err);
    if (rc == CW_OK)
        *(uint64_t *)row->target = v;
    return rc;
}

static int set_real(const struct cw_arg *row, const char *text, const char *from,
                    struct cw_err *err)
{
    double v;

    if (!cw_str_to_f64(text, &v))
        return cw_err_set(err, CW_E_INVALID, "%s: not a number: \"%s\"", from, text);
    int rc = check_range(row, v, from, text, err);
    if (rc == CW_OK)
        *(double *)row->target = v;
    return rc;
}

static int set_value(const struct cw_arg *row, const char *text, const char *from,
                     struct cw_err *err)
{
    switch (row->type) {
    case CW_ARG_FLAG:
        if (!to_flag(text, row->target))
            return cw_err_set(err, CW_E_INVALID, "%s: neither true nor false: \"%s\"", from, text);
        return CW_OK;
    case CW_ARG_STR:
        *(const char **)row->target = text;
        return CW_OK;
    case CW_ARG_I64:
    case CW_ARG_MS:
        return set_int(row, text, from, err);
    case CW_ARG_U64:
    case CW_ARG_BYTES:
        return set_unsigned(row, text, from, err);
    case CW_ARG_F64:
        return set_real(row, text, from, err);
    case CW_ARG_LIST:
        return set_list(row->target, text, from, err);
    default:
        return cw_err_set(err, CW_E_INTERNAL, "%s: bad row", from);
    }
}

static int read_environment(struct parser *parser)
{
    const struct cw_args_spec *spec = parser->spec;
    char name[NAME_BYTES];

    if (!spec->env_prefix)
        return CW_OK;
    for (size_t i = 0; spec->rows[i].name; i++) {
        snprintf(name, sizeof(name), "%s_%s", spec->env_prefix, spec->rows[i].name);
        for (char *c = name; *c; c++)
            *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
        const char *text = getenv(name);
        if (!text)
            continue;
        int rc = set_value(&spec->rows[i], text, name, parser->err);
        if (rc != CW_OK)
            return rc;
        parser->reset_list[i] = spec->rows[i].type == CW_ARG_LIST;
    }
    return CW_OK;
}

static const struct cw_arg *find_name(const struct cw_args_spec *spec, const char *name, size_t n)
{
    for (const struct cw_arg *row = spec->rows; row->name; row++)
        if (strncmp(row->name, name, n) == 0 && row->name[n] == '\0')
            return row;
    return NULL;
}

static const struct cw_arg *find_letter(const struct cw_args_spec *spec, char letter)
{
    for (const struct cw_arg *row = spec->rows; row->name; row++)
        if (row->letter == letter)
            return row;
    return NULL;
}

static int fail_unknown(struct parser *parser, const char *name, size_t n)
{
    const char *candidates[ROWS_MAX + 3] = {"help", "version"};
    size_t count = 2;
    cw_autofree char *word = cw_mem_strndup(name, n);

    for (const struct cw_arg *row = parser->spec->rows; row->name && count < ROWS_MAX + 2; row++)
        candidates[count++] = row->name;
    const char *near = cw_str_nearest(word, candidates);
    if (near)
        return cw_err_set(parser->err, CW_E_INVALID, "unknown option --%s (did you mean --%s?)",
                          word, near);
    return cw_err_set(parser->err, CW_E_INVALID, "unknown option --%s (see %s --help)", word,
                      parser->spec->program);
}

static int set_from_line(struct parser *parser, const struct cw_arg *row, const char *text,
                         const char *from)
{
    size_t i = (size_t)(row - parser->spec->rows);

    if (parser->reset_list[i]) {
        ((struct cw_arg_list *)row->target)->n = 0;
        parser->reset_list[i] = false;
    }
    return set_value(row, text, from, parser->err);
}

/* Returns the option's value: the text behind "=", or the next word. Returns NULL with the error
 * set if there is none. */
static const char *take_value(struct parser *parser, const char *attached, const char *from)
{
    if (attached)
        return attached;
    if (parser->at + 1 >= parser->argc) {
        cw_err_set(parser->err, CW_E_INVALID, "%s needs a value", from);
        return NULL;
    }
    return parser->argv[++parser->at];
}

static int read_long(struct parser *parser, const char *word)
{
    const char *name = word + 2;
    const char *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    const struct cw_arg *row = find_name(parser->spec, name, n);
    char from[NAME_BYTES];

    if (!row && !equals && n > 3 && strncmp(name, "no-", 3) == 0) {
        row = find_name(parser->spec, name + 3, n - 3);
        if (row && row->type == CW_ARG_FLAG) {
            *(bool *)row->target = false;
            return CW_OK;
        }
        row = NULL;
    }
    if (!row)
        return fail_unknown(parser, name, n);
    snprintf(from, sizeof(from), "--%s", row->name);
    if (row->type == CW_ARG_FLAG)
        return set_value(row, equals ? equals + 1 : "true", from, parser->err);
    const char *value = take_value(parser, equals ? equals + 1 : NULL, from);
    return value ? set_from_line(parser, row, value, from) : CW_E_INVALID;
}

/* Reads -x, -xVALUE, -x VALUE, and flags together: -xy. */
static int read_short(struct parser *parser, const char *word)
{
    for (const char *c = word + 1; *c; c++) {
        const struct cw_arg *row = find_letter(parser->spec, *c);
        char from[NAME_BYTES];

        if (!row)
            return cw_err_set(parser->err, CW_E_INVALID, "unknown option -%c (see %s --help)", *c,
                              parser->spec->program);
        if (row->type == CW_ARG_FLAG) {
            *(bool *)row->target = true;
            continue;
        }
        snprintf(from, sizeof(from), "-%c", *c);
        const char *value = take_value(parser, c[1] ? c + 1 : NULL, from);
        return value ? set_from_line(parser, row, value, from) : CW_E_INVALID;
    }
    return CW_OK;
}

static bool wants_text(const struct cw_args_spec *spec, const char *word)
{
    if (strcmp(word, "--help") == 0 || (strcmp(word, "-h") == 0 && !find_letter(spec, 'h'))) {
        cw_autofree char *text = cw_args_help(spec);
        fputs(text, stdout);
        return true;
    }
    if (strcmp(word, "--version") == 0) {
        printf("%s %s\n", spec->program, CW_VERSION);
        if (spec->print_version)
            spec->print_version();
        return true;
    }
    return false;
}

static int read_option(struct parser *parser, const char *word)
{
    if (wants_text(parser->spec, word))
        return CW_ARGS_DONE;
    return word[1] == '-' ? read_long(parser, word) : read_short(parser, word);
}

int cw_args_parse(const struct cw_args_spec *spec, int argc, char **argv,
                  const char **ret_positional, size_t max, size_t *ret_positional_n,
                  struct cw_err *err)
{
    struct parser parser = {.spec = spec, .argc = argc, .argv = argv, .err = err};
    bool options = true;
    size_t n = 0;
    int rc = read_environment(&parser);

    for (parser.at = 1; rc == CW_OK && parser.at < argc; parser.at++) {
        const char *word = argv[parser.at];

        if (options && strcmp(word, "--") == 0)
            options = false;
        else if (options && word[0] == '-' && word[1] != '\0')
            rc = read_option(&parser, word);
        else if (n < max)
            ret_positional[n++] = word;
        else
            rc = cw_err_set(err, CW_E_INVALID, "unexpected argument \"%s\"", word);
    }
    if (ret_positional_n)
        *ret_positional_n = n;
    return rc;
}
