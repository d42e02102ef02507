/* SPDX-License-Identifier: Apache-2.0 */
/* Structural schemas of custom kinds: defaults, unknown fields, and what is wrong with a value, in the
 * words of real servers. */
#include "kubernetes/fk_int.h"
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"

static json_t *schema_of(const struct fk_kind *kind)
{
    return fk_at(kind->definition, "schema.openAPIV3Schema");
}

static char *below(const char *where, const char *name)
{
    return cw_mem_printf("%s%s%s", where, *where ? "." : "", name);
}

/* ---- defaults and unknown fields ---- */
static void prune_value(const json_t *schema, json_t *value, const char *where, json_t *unknown);

static void add_defaults(const json_t *properties, json_t *value)
{
    const char *name;
    json_t *property;
    json_object_foreach ((json_t *)properties, name, property) {
        const json_t *otherwise = json_object_get(property, "default");
        if (otherwise && !json_object_get(value, name))
            json_object_set_new(value, name, json_deep_copy(otherwise));
    }
}

static void prune_object(const json_t *schema, json_t *value, const char *where, json_t *unknown)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    bool keeps = fk_true(schema, "x-kubernetes-preserve-unknown-fields");
    const char *name;
    json_t *member;
    void *next;
    json_object_foreach_safe (value, next, name, member) {
        cw_autofree char *at = below(where, name);
        const json_t *of_member = json_object_get(properties, name);
        of_member = of_member ? of_member : others;
        if (json_is_object(of_member)) {
            prune_value(of_member, member, at, unknown);
        } else if (!keeps && !json_is_true(others)) {
            json_array_append_new(unknown, json_string(at));
            json_object_del(value, name);
        }
    }
    add_defaults(properties, value);
    json_object_foreach ((json_t *)properties, name,
                         member) { /* what a default has put in has defaults of its own */
        json_t *inner = json_object_get(value, name);
        if (json_is_object(inner))
            add_defaults(json_object_get(member, "properties"), inner);
    }
}

static void prune_value(const json_t *schema, json_t *value, const char *where, json_t *unknown)
{
    size_t i;
    json_t *item;
    if (json_is_object(value))
        prune_object(schema, value, where, unknown);
    json_array_foreach (value, i, item) {
        cw_autofree char *at = cw_mem_printf("%s[%zu]", where, i);
        prune_value(json_object_get(schema, "items"), item, at, unknown);
    }
}

/* The texts of an array in their order; takes it. */
static json_t *sorted(json_t *texts)
{
    for (size_t i = 1; i < json_array_size(texts); i++)
        for (size_t j = i; j > 0; j--) {
            json_auto_t *a = json_incref(json_array_get(texts, j - 1));
            json_auto_t *b = json_incref(json_array_get(texts, j));
            if (strcmp(json_string_value(a), json_string_value(b)) <= 0)
                break;
            json_array_set(texts, j - 1, b);
            json_array_set(texts, j, a);
        }
    return texts;
}

json_t *fk_schema_prune(const struct fk_kind *kind, json_t *object)
{
    json_t *unknown = json_array();
    if (!schema_of(kind))
        return unknown;
    json_auto_t *schema = json_deep_copy(schema_of(kind)); /* with what every object has */
    json_t *open =
        json_pack("{s:s, s:b}", "type", "object", "x-kubernetes-preserve-unknown-fields", 1);
    fk_put(schema, "properties.metadata", open);
    prune_value(schema, object, "", unknown);
    return sorted(unknown);
}

/* ---- checks ---- */
static bool is_type(const json_t *schema, const json_t *value)
{
    const char *type = fk_text_or(schema, "type", "");
    if (fk_true(schema, "x-kubernetes-int-or-string"))
        return json_is_string(value) || json_is_integer(value);
    return !*type || (cw_str_eq(type, "object") && json_is_object(value)) ||
           (cw_str_eq(type, "array") && json_is_array(value)) ||
           (cw_str_eq(type, "string") && json_is_string(value)) ||
           (cw_str_eq(type, "boolean") && json_is_boolean(value)) ||
           (cw_str_eq(type, "integer") && json_is_integer(value)) ||
           (cw_str_eq(type, "number") && json_is_number(value));
}

static const char *type_of(const json_t *value)
{
    static const char *const NAMES[] = {"object", "array",   "string",  "integer",
                                        "number", "boolean", "boolean", "null"};
    return NAMES[json_typeof(value)];
}

static bool check_type(json_t *causes, const json_t *schema, const json_t *value, const char *where)
{
    if (is_type(schema, value))
        return true;
    const char *wanted = fk_true(schema, "x-kubernetes-int-or-string")
                             ? "integer,string"
                             : fk_text_or(schema, "type", "");
    fk_cause(causes, "FieldValueTypeInvalid", where,
             "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", type_of(value), where,
             wanted, type_of(value));
    if (fk_at(schema, "anyOf")) {
        const char *first =
            fk_text_or(json_array_get(fk_at(schema, "anyOf"), 0), "type", "integer");
        fk_cause(causes, "FieldValueInvalid", "<nil>",
                 "Invalid value: \"\": \"%s\" must validate at least one schema (anyOf)", where);
        fk_cause(causes, "FieldValueTypeInvalid", where,
                 "Invalid value: \"%s\": %s in body must be of type %s: \"%s\"", type_of(value),
                 where, first, type_of(value));
    }
    return false;
}

static void check_enum(json_t *causes, const json_t *schema, const json_t *value, const char *where)
{
    const json_t *words = json_object_get(schema, "enum");
    struct cw_str CW_CLEANUP(cw_str_fini) text = {0};
    size_t i;
    json_t *word;
    json_array_foreach ((json_t *)words, i, word) {
        if (json_equal(word, value))
            return;
        cw_str_addf(&text, "%s\"%s\"", i ? ", " : "", json_string_value(word));
    }
    if (words)
        fk_cause(causes, "FieldValueNotSupported", where,
                 "Unsupported value: \"%s\": supported values: %s", json_string_value(value),
                 cw_str_text(&text));
}

static size_t characters_of(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

static void check_string(json_t *causes, const json_t *schema, const json_t *value,
                         const char *where)
{
    const char *text = json_string_value(value), *pattern = fk_text(schema, "pattern");
    json_int_t n = (json_int_t)characters_of(text), max = fk_int(schema, "maxLength", -1),
               min = fk_int(schema, "minLength", 0);
    if (max >= 0 && n > max)
        fk_cause(causes, "FieldValueTooLong", where, "Too long: may not be more than %lld bytes",
                 (long long)max);
    if (n < min)
        fk_cause(causes, "FieldValueInvalid", where,
                 "Invalid value: \"%s\": %s in body should be at least %lld chars long", text,
                 where, (long long)min);
    regex_t regex;
    if (!pattern || regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return;
    if (regexec(&regex, text, 0, NULL, 0) != 0)
        fk_cause(causes, "FieldValueInvalid", where,
                 "Invalid value: \"%s\": %s in body should match '%s'", text, where, pattern);
    regfree(&regex);
}

static void check_number(json_t *causes, const json_t *schema, const json_t *value,
                         const char *where)
{
    const json_t *min = json_object_get(schema, "minimum"),
                 *max = json_object_get(schema, "maximum");
    double v = json_number_value(value);
    if (min && v < json_number_value(min))
        fk_cause(causes, "FieldValueInvalid", where,
                 "Invalid value: %.0f: %s in body should be greater than or equal to %.0f", v,
                 where, json_number_value(min));
    if (max && v > json_number_value(max))
        fk_cause(causes, "FieldValueInvalid", where,
                 "Invalid value: %.0f: %s in body should be less than or equal to %.0f", v, where,
                 json_number_value(max));
}

static void check_value(json_t *causes, const json_t *schema, const json_t *value,
                        const char *where);

static void check_count(json_t *causes, const json_t *schema, size_t count, const char *where,
                        const char *min_name, const char *max_name)
{
    json_int_t n = (json_int_t)count, min = fk_int(schema, min_name, 0),
               max = fk_int(schema, max_name, -1);
    if (max >= 0 && n > max)
        fk_cause(causes, "FieldValueTooMany", where,
                 "Too many: %lld: must have at most %lld item%s", (long long)n, (long long)max,
                 max == 1 ? "" : "s");
    if (n < min)
        fk_cause(causes, "FieldValueInvalid", where,
                 "Invalid value: %lld: %s in body should have at least %lld %s", (long long)n,
                 where, (long long)min,
                 *min_name == 'm' && min_name[3] == 'P' ? "properties" : "items");
}

static void check_object(json_t *causes, const json_t *schema, const json_t *value,
                         const char *where)
{
    size_t i;
    const char *name;
    json_t *required, *member;
    check_count(causes, schema, json_object_size(value), where, "minProperties", "maxProperties");
    json_object_foreach ((json_t *)value, name, member) {
        const json_t *of_member = json_object_get(json_object_get(schema, "properties"), name);
        cw_autofree char *at = below(where, name);
        of_member = of_member ? of_member : json_object_get(schema, "additionalProperties");
        if (json_is_object(of_member))
            check_value(causes, of_member, member, at);
    }
    json_array_foreach (json_object_get(schema, "required"), i, required) {
        cw_autofree char *at = below(where, json_string_value(required));
        if (!json_object_get(value, json_string_value(required)))
            fk_cause(causes, "FieldValueRequired", at, "Required value");
    }
}

/* The keys of an entry of a list of type map, as they are written in messages. */
static json_t *keys_of(const json_t *keys, const json_t *item)
{
    json_t *ret = json_object();
    size_t i;
    json_t *key;
    json_array_foreach ((json_t *)keys, i, key)
        json_object_set(ret, json_string_value(key), json_object_get(item, json_string_value(key)));
    return ret;
}

static void check_unique(json_t *causes, const json_t *schema, const json_t *value,
                         const char *where)
{
    const json_t *keys = json_object_get(schema, "x-kubernetes-list-map-keys");
    size_t i, j;
    json_t *a, *b;
    json_array_foreach ((json_t *)value, i, a) {
        json_auto_t *of_a = keys_of(keys, a);
        json_array_foreach ((json_t *)value, j, b) {
            json_auto_t *of_b = keys_of(keys, b);
            if (!keys || j >= i || !json_equal(of_a, of_b))
                continue;
            cw_autofree char *at = cw_mem_printf("%s[%zu]", where, i);
            cw_autofree char *text = fk_dump(of_a, true, NULL);
            fk_cause(causes, "FieldValueDuplicate", at, "Duplicate value: %s", text);
            break;
        }
    }
}

static void check_array(json_t *causes, const json_t *schema, const json_t *value,
                        const char *where)
{
    size_t i;
    json_t *item;
    check_count(causes, schema, json_array_size(value), where, "minItems", "maxItems");
    json_array_foreach ((json_t *)value, i, item) {
        cw_autofree char *at = cw_mem_printf("%s[%zu]", where, i);
        check_value(causes, json_object_get(schema, "items"), item, at);
    }
    check_unique(causes, schema, value, where);
}

static void check_time(json_t *causes, const json_t *schema, const json_t *value, const char *where)
{
    if (!cw_str_eq(fk_text(schema, "format"), "date-time"))
        return;
    int y, n = 0;
    const char *text = json_string_value(value);
    int got = sscanf(text, "%4d-%*2d-%*2dT%*2d:%*2d:%*2d%n", &y, &n);
    if (got != 1 || n < 19 ||
        (text[n] != 'Z' && text[n] != '.' && text[n] != '+' && text[n] != '-'))
        fk_cause(causes, "FieldValueTypeInvalid", where,
                 "Invalid value: \"%s\": %s in body must be of type date-time: \"%s\"", text,
                 strrchr(where, '.') ? strrchr(where, '.') + 1 : where, text);
}

static void check_value(json_t *causes, const json_t *schema, const json_t *value,
                        const char *where)
{
    if (!schema || (json_is_null(value) && fk_true(schema, "nullable")) ||
        !check_type(causes, schema, value, where))
        return;
    if (json_is_object(value))
        check_object(causes, schema, value, where);
    else if (json_is_array(value))
        check_array(causes, schema, value, where);
    else if (json_is_number(value))
        check_number(causes, schema, value, where);
    else if (json_is_string(value)) {
        check_enum(causes, schema, value, where);
        check_string(causes, schema, value, where);
        check_time(causes, schema, value, where);
    }
}

/* Whether rules cannot be looked at: what is wrong is more than a value. */
static bool is_blocking(const json_t *causes)
{
    static const char *const BLOCKING[] = {"FieldValueNotSupported", "FieldValueRequired",
                                           "FieldValueTooLong", "FieldValueTooMany",
                                           "FieldValueTypeInvalid"};
    size_t i;
    json_t *cause;
    json_array_foreach ((json_t *)causes, i, cause) {
        for (size_t j = 0; j < sizeof(BLOCKING) / sizeof(*BLOCKING); j++)
            if (cw_str_eq(fk_text(cause, "reason"), BLOCKING[j]))
                return true;
    }
    return false;
}

json_t *fk_schema_check(const struct fk_kind *kind, const json_t *before, const json_t *object)
{
    json_t *causes = json_array();
    if (!schema_of(kind))
        return causes;
    check_value(causes, schema_of(kind), object, "");
    if (!is_blocking(causes))
        fk_rules_check(schema_of(kind), before, object, causes);
    else if (fk_rules_count(schema_of(kind)))
        fk_cause(causes, "FieldValueInvalid", "<nil>",
                 "Invalid value: null: some validation rules were not checked because the object "
                 "was invalid; correct the existing errors to complete validation");
    return causes;
}
