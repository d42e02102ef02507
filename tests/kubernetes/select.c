/* SPDX-License-Identifier: Apache-2.0 */
/* Label and field selectors. */
#include "kubernetes/fk_int.h"
#include <ctype.h>
#include <string.h>
#include "base/mem.h"

static const char *skip_spaces(const char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

/* Takes the next word: up to a character of `ends` or a space. */
static char *word_at(const char **s, const char *ends)
{
    const char *begin = *s = skip_spaces(*s);
    while (**s && !isspace((unsigned char)**s) && !strchr(ends, **s))
        ++*s;
    char *word = cw_mem_strndup(begin, (size_t)(*s - begin));
    *s = skip_spaces(*s);
    return word;
}

/* "(a, b)": an array; NULL: it is not that. */
static json_t *values_at(const char **s)
{
    if (**s != '(')
        return NULL;
    json_t *values = json_array();
    do {
        ++*s;
        cw_autofree char *word = word_at(s, ",)");
        json_array_append_new(values, json_string(word));
    } while (**s == ',');
    if (**s != ')') {
        json_decref(values);
        return NULL;
    }
    *s = skip_spaces(*s + 1);
    return values;
}

/* "= value", "in (a,b)", or nothing: a requirement on a key; NULL: cannot be read. */
static json_t *requirement_at(const char *key, const char **s)
{
    bool differs = **s == '!';
    if (**s == '=' || differs) {
        *s += differs ? 2 : (*s)[1] == '=' ? 2 : 1;
        cw_autofree char *value = word_at(s, ",");
        return json_pack("{s:s, s:s, s:[s]}", "key", key, "op", differs ? "NotIn" : "In", "values",
                         value);
    }
    if (!**s || **s == ',')
        return json_pack("{s:s, s:s, s:[]}", "key", key, "op", "Exists", "values");
    cw_autofree char *op = word_at(s, "(");
    json_t *values = values_at(s);
    if (!values || (!cw_str_eq(op, "in") && !cw_str_eq(op, "notin"))) {
        json_decref(values);
        return NULL;
    }
    return json_pack("{s:s, s:s, s:o}", "key", key, "op", cw_str_eq(op, "in") ? "In" : "NotIn",
                     "values", values);
}

static json_t *parsed_labels(const char *s)
{
    json_t *all = json_array();
    for (s = skip_spaces(s); *s;) {
        bool absent = *s == '!';
        s += absent;
        cw_autofree char *key = word_at(&s, "=!,(");
        json_t *one =
            absent ? json_pack("{s:s, s:s, s:[]}", "key", key, "op", "DoesNotExist", "values")
                   : requirement_at(key, &s);
        if (!one || !*key || (*s && *s != ',')) {
            json_decref(one);
            json_decref(all);
            return NULL;
        }
        json_array_append_new(all, one);
        s = skip_spaces(*s ? s + 1 : s);
    }
    return all;
}

static bool is_among(const json_t *values, const char *text)
{
    size_t i;
    json_t *value;
    json_array_foreach ((json_t *)values, i, value)
        if (cw_str_eq(json_string_value(value), text))
            return true;
    return false;
}

static bool label_matches(const json_t *one, const json_t *labels)
{
    const char *op = fk_text_or(one, "op", fk_text_or(one, "operator", ""));
    const char *value = json_string_value(json_object_get(labels, fk_text(one, "key")));
    if (cw_str_eq(op, "Exists"))
        return value;
    if (cw_str_eq(op, "DoesNotExist"))
        return !value;
    bool among = value && is_among(json_object_get(one, "values"), value);
    return cw_str_eq(op, "In") ? among : !among;
}

/* ---- fields ---- */
static bool is_field(const struct fk_kind *kind, const char *path)
{
    static const char *const OF_PODS[] = {"spec.nodeName", "status.phase", "spec.schedulerName",
                                          "spec.restartPolicy", "status.podIP"};
    static const char *const OF_EVENTS[] = {
        "regarding.kind",      "regarding.name",     "reason", "type", "involvedObject.kind",
        "involvedObject.name", "reportingController"};
    if (cw_str_eq(path, "metadata.name") ||
        (kind->namespaced && cw_str_eq(path, "metadata.namespace")))
        return true;
    for (size_t i = 0; cw_str_eq(kind->plural, "pods") && i < sizeof(OF_PODS) / sizeof(*OF_PODS);
         i++)
        if (cw_str_eq(path, OF_PODS[i]))
            return true;
    for (size_t i = 0;
         cw_str_eq(kind->plural, "events") && i < sizeof(OF_EVENTS) / sizeof(*OF_EVENTS); i++)
        if (cw_str_eq(path, OF_EVENTS[i]))
            return true;
    size_t i;
    json_t *field;
    json_array_foreach (fk_at(kind->definition, "selectableFields"), i, field)
        if (cw_str_eq(fk_text_or(field, "jsonPath", ".") + 1, path))
            return true;
    return cw_str_eq(kind->plural, "jobs") && cw_str_eq(path, "status.successful");
}

static bool fail_field(struct fk_call *call, const char *path)
{
    bool has_own = call->kind->custom || cw_str_eq(call->kind->plural, "pods") ||
                   cw_str_eq(call->kind->plural, "events") || cw_str_eq(call->kind->plural, "jobs");
    if (has_own)
        return fk_fail(call, 400, "BadRequest", NULL, "field label not supported: %s", path);
    return fk_fail(call, 400, "BadRequest", NULL,
                   "\"%s\" is not a known field selector: only \"metadata.name\", "
                   "\"metadata.namespace\"",
                   path);
}

static bool parse_fields(struct fk_call *call, const char *s, json_t *ret)
{
    for (s = skip_spaces(s); *s;) {
        cw_autofree char *path = word_at(&s, "=!,");
        bool differs = *s == '!';
        if (*s != '=' && !differs)
            return fk_fail(call, 400, "BadRequest", NULL,
                           "unable to parse field selector: invalid selector: '%s'; can't "
                           "understand '%s'",
                           path, path);
        s += differs ? 2 : s[1] == '=' ? 2 : 1;
        cw_autofree char *value = word_at(&s, ",");
        if (!is_field(call->kind, path))
            return fail_field(call, path);
        json_array_append_new(
            ret, json_pack("{s:s, s:b, s:s}", "path", path, "differs", differs, "value", value));
        s = skip_spaces(*s ? s + 1 : s);
    }
    return true;
}

bool fk_selector_init(struct fk_call *call, struct fk_selector *ret)
{
    const char *labels = fk_text(call->query, "labelSelector");
    const char *fields = fk_text(call->query, "fieldSelector");
    *ret = (struct fk_selector){.labels = labels ? parsed_labels(labels) : json_array(),
                                .fields = json_array()};
    if (!ret->labels)
        return fk_fail(call, 400, "BadRequest", NULL,
                       "unable to parse requirement: found '%s', expected: a label selector",
                       labels);
    return !fields || parse_fields(call, fields, ret->fields);
}

void fk_selector_fini(struct fk_selector *selector)
{
    json_decref(selector->labels);
    json_decref(selector->fields);
    *selector = (struct fk_selector){0};
}

bool fk_selector_matches(const struct fk_selector *selector, const json_t *object)
{
    size_t i;
    json_t *one;
    json_array_foreach (selector->labels, i, one)
        if (!label_matches(one, fk_at(object, "metadata.labels")))
            return false;
    json_array_foreach (selector->fields, i, one) {
        const char *value = fk_text_or(object, fk_text(one, "path"), "");
        if (cw_str_eq(value, fk_text(one, "value")) == fk_true(one, "differs"))
            return false;
    }
    return true;
}

bool fk_labels_match(const json_t *selector, const json_t *object)
{
    const json_t *labels = fk_at(object, "metadata.labels");
    if (!json_is_object(selector))
        return false;
    const char *key;
    json_t *value;
    json_object_foreach (fk_at(selector, "matchLabels"), key, value)
        if (!json_equal(json_object_get(labels, key), value))
            return false;
    size_t i;
    json_array_foreach (fk_at(selector, "matchExpressions"), i, value)
        if (!label_matches(value, labels))
            return false;
    return true;
}
