/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml gives events, and the depth is checked at each, which limits every recursion. */
#include "conf/value_yaml.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/mem.h"
#include "conf/conf_file.h"

#define MEMBERS_MAX 10000

struct reader {
    yaml_parser_t parser;
    const char *where;
    struct cw_err *err;
    int depth;
};

static int fail_at(struct reader *r, yaml_mark_t mark, const char *what)
{
    return cw_err_set(r->err, CW_E_INVALID, "%s%s%zu:%zu: %s", r->where ? r->where : "",
                      r->where ? ":" : "", mark.line + 1, mark.column + 1, what);
}

static int next(struct reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return CW_OK;
    return fail_at(r, r->parser.problem_mark, r->parser.problem ? r->parser.problem : "no YAML");
}

/* ---- plain scalars, by the core schema (YAML 1.2, 10.3) ---- */

static bool is_one_of(const char *text, const char *const words[])
{
    for (; *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return false;
}

static const char *skip_digits(const char *s)
{
    return s + strspn(s, "0123456789");
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool is_float(const char *s)
{
    s += *s == '-' || *s == '+';
    const char *digits = skip_digits(s);
    bool has_digits = digits > s;
    if (*digits == '.') {
        const char *fraction = skip_digits(digits + 1);
        has_digits |= fraction > digits + 1;
        digits = fraction;
    }
    if (!has_digits)
        return false;
    if (*digits != 'e' && *digits != 'E')
        return *digits == '\0';
    digits++;
    digits += *digits == '-' || *digits == '+';
    s = skip_digits(digits);
    return s > digits && *s == '\0';
}

static bool set_integer(struct cw_value *value, const char *text)
{
    const char *digits = text + (*text == '-' || *text == '+');
    int base = 10;
    char *end;

    if (digits == text && strncmp(text, "0x", 2) == 0)
        base = 16;
    else if (digits == text && strncmp(text, "0o", 2) == 0)
        base = 8;
    digits += base != 10 ? 2 : 0;
    if (*digits == '\0' || strspn(digits, "0123456789abcdefABCDEF") != strlen(digits))
        return false;
    errno = 0;
    long long i = strtoll(base == 10 ? text : digits, &end, base);
    if (errno != 0 || *end != '\0')
        return false; /* a decimal number that is too large is one with fractions */
    cw_value_set_i64(value, i);
    return true;
}

/* Returns false if the text is a number that is too large. */
static bool set_plain(struct cw_value *value, const char *text)
{
    static const char *const NULLS[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const TRUES[] = {"true", "True", "TRUE", NULL};
    static const char *const FALSES[] = {"false", "False", "FALSE", NULL};

    if (is_one_of(text, NULLS))
        *value = (struct cw_value){0};
    else if (is_one_of(text, TRUES) || is_one_of(text, FALSES))
        cw_value_set_bool(value, is_one_of(text, TRUES));
    else if (set_integer(value, text))
        return true;
    else if (is_float(text))
        cw_value_set_f64(value, strtod(text, NULL));
    else
        cw_value_set_str(value, text);
    return value->type != CW_VALUE_F64 || isfinite(value->f);
}

static int read_scalar(struct reader *r, const yaml_event_t *event, struct cw_value *value)
{
    static const char *const NO_NUMBERS[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf", ".INF",
                                             "-.inf", "-.Inf", "-.INF", "+.inf", NULL};
    const char *text = (const char *)event->data.scalar.value;
    bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (event->data.scalar.anchor || event->data.scalar.tag)
        return fail_at(r, event->start_mark, "anchors and tags are not read");
    if (strlen(text) != event->data.scalar.length)
        return fail_at(r, event->start_mark, "a text has a NUL in it");
    if (is_plain && (is_one_of(text, NO_NUMBERS) || !set_plain(value, text)))
        return fail_at(r, event->start_mark, "a number that is not finite");
    if (!is_plain)
        cw_value_set_str(value, text);
    return CW_OK;
}

/* ---- collections ---- */

static int read_node(struct reader *r, const yaml_event_t *event, struct cw_value *value);

static int read_list(struct reader *r, struct cw_value *value)
{
    size_t cap = 0;

    value->type = CW_VALUE_LIST;
    for (;;) {
        yaml_event_t event;
        int rc = next(r, &event);
        if (rc != CW_OK)
            return rc;
        bool is_end = event.type == YAML_SEQUENCE_END_EVENT;
        if (!is_end) {
            CW_GROW(value->items, value->n, cap);
            value->items[value->n++] = (struct cw_value){0};
            rc = read_node(r, &event, &value->items[value->n - 1]);
        }
        yaml_event_delete(&event);
        if (rc != CW_OK || is_end)
            return rc;
    }
}

/* Reads a key, and then its value. */
static int read_member(struct reader *r, const yaml_event_t *key, struct cw_value *object)
{
    yaml_event_t event;
    const char *name = (const char *)key->data.scalar.value;

    if (key->type != YAML_SCALAR_EVENT || key->data.scalar.anchor || key->data.scalar.tag ||
        strlen(name) != key->data.scalar.length)
        return fail_at(r, key->start_mark, "a key that is no plain text");
    if (cw_value_get(object, name))
        return fail_at(r, key->start_mark, "a key that is there already");
    if (object->n == MEMBERS_MAX)
        return fail_at(r, key->start_mark, "more than 10000 keys in one object");
    struct cw_value *value = cw_value_member(object, name);
    int rc = next(r, &event);
    if (rc != CW_OK)
        return rc;
    rc = read_node(r, &event, value);
    yaml_event_delete(&event);
    return rc;
}

static int read_object(struct reader *r, struct cw_value *value)
{
    cw_value_set_object(value);
    for (;;) {
        yaml_event_t event;
        int rc = next(r, &event);
        if (rc != CW_OK)
            return rc;
        bool is_end = event.type == YAML_MAPPING_END_EVENT;
        if (!is_end)
            rc = read_member(r, &event, value);
        yaml_event_delete(&event);
        if (rc != CW_OK || is_end)
            return rc;
    }
}

static int read_collection(struct reader *r, const yaml_event_t *event, struct cw_value *value)
{
    bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
    const yaml_char_t *anchor =
        is_list ? event->data.sequence_start.anchor : event->data.mapping_start.anchor;
    const yaml_char_t *tag =
        is_list ? event->data.sequence_start.tag : event->data.mapping_start.tag;

    if (anchor || tag)
        return fail_at(r, event->start_mark, "anchors and tags are not read");
    if (r->depth == CW_VALUE_DEPTH_MAX)
        return fail_at(r, event->start_mark, "lists and objects nested deeper than 32");
    r->depth++;
    int rc = is_list ? read_list(r, value) : read_object(r, value);
    r->depth--;
    return rc;
}

static int read_node(struct reader *r, const yaml_event_t *event, struct cw_value *value)
{
    if (event->type == YAML_SCALAR_EVENT)
        return read_scalar(r, event, value);
    if (event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT)
        return read_collection(r, event, value);
    if (event->type == YAML_ALIAS_EVENT)
        return fail_at(r, event->start_mark, "aliases are not read");
    return fail_at(r, event->start_mark, "nothing where a value is expected");
}

/* Takes events of the stream and the document; the document's one value is read in between. */
static int read_stream(struct reader *r, struct cw_value *value)
{
    bool has_value = false;

    for (;;) {
        yaml_event_t event;
        int rc = next(r, &event);
        if (rc != CW_OK)
            return rc;
        yaml_event_type_t type = event.type;
        bool is_frame = type == YAML_STREAM_START_EVENT || type == YAML_STREAM_END_EVENT ||
                        type == YAML_DOCUMENT_START_EVENT || type == YAML_DOCUMENT_END_EVENT;
        if (type == YAML_DOCUMENT_START_EVENT && has_value)
            rc = fail_at(r, event.start_mark, "a second document");
        else if (type == YAML_STREAM_END_EVENT && !has_value)
            rc = fail_at(r, event.start_mark, "empty where YAML is expected");
        else if (!is_frame)
            rc = read_node(r, &event, value);
        has_value |= !is_frame;
        yaml_event_delete(&event);
        if (rc != CW_OK || type == YAML_STREAM_END_EVENT)
            return rc;
    }
}

int cw_value_parse_yaml(const char *text, size_t n, const char *where, struct cw_value *ret_value,
                        struct cw_err *err)
{
    struct reader r = {.where = where, .err = err};
    struct cw_value value = {0};

    if (!yaml_parser_initialize(&r.parser))
        return cw_err_set(err, CW_E_NOMEM, "no memory to read YAML");
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    int rc = read_stream(&r, &value);
    yaml_parser_delete(&r.parser);
    if (rc == CW_OK)
        *ret_value = value;
    else
        cw_value_fini(&value);
    return rc;
}

int cw_value_load_any(const char *path, struct cw_value *ret_value, struct cw_err *err)
{
    CW_STR_AUTO text = {0};

    size_t n = strlen(path);
    if (n >= 5 && strcmp(path + n - 5, ".json") == 0)
        return cw_value_load(path, ret_value, err);
    int rc = cw_conf_file_read(path, &text, err);
    return rc == CW_OK ? cw_value_parse_yaml(cw_str_text(&text), text.len, path, ret_value, err)
                       : rc;
}
