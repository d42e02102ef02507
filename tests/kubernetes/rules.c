/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of definitions that are written in CEL (x-kubernetes-validations). There is no CEL here: for
 * each rule that stands in the table, by its text, there is a check by hand; the others are listed by
 * fk_server_unchecked. */
#include "kubernetes/fk_int.h"
#include <string.h>
#include "base/mem.h"

typedef bool rule_fn(const json_t *before, const json_t *now);

static bool watermarks_are_ordered(const json_t *before, const json_t *now)
{
    (void)before;
    return fk_int(now, "lowWatermarkPercent", 0) < fk_int(now, "highWatermarkPercent", 0);
}

/* The same engine is named as before: a transition rule, which holds when there is no before. */
static bool engine_is_the_same(const json_t *before, const json_t *now)
{
    static const char *const ENGINES[] = {"cacheEngine.glusterfs", "cacheEngine.localfs",
                                          "cacheEngine.memory", "cacheEngine.fluid",
                                          "cacheEngine.plugin"};
    for (size_t i = 0; before && i < sizeof(ENGINES) / sizeof(*ENGINES); i++)
        if (!fk_at(before, ENGINES[i]) != !fk_at(now, ENGINES[i]))
            return false;
    return true;
}

static const struct {
    const char *begins; /* how the rule's text begins */
    rule_fn *holds;
} CHECKS[] = {
    {"self.lowWatermarkPercent < self.highWatermarkPercent", watermarks_are_ordered},
    {"has(self.cacheEngine.glusterfs) == has(oldSelf.cacheEngine.glusterfs)", engine_is_the_same},
};

static rule_fn *check_for(const json_t *rule)
{
    for (size_t i = 0; i < sizeof(CHECKS) / sizeof(*CHECKS); i++)
        if (cw_str_starts(fk_text_or(rule, "rule", ""), CHECKS[i].begins))
            return CHECKS[i].holds;
    return NULL;
}

static void check_own(const json_t *schema, const json_t *before, const json_t *now,
                      const char *where, json_t *causes)
{
    size_t i;
    json_t *rule;
    json_array_foreach (json_object_get(schema, "x-kubernetes-validations"), i, rule) {
        rule_fn *holds = check_for(rule);
        if (holds && !holds(before, now))
            fk_cause(causes, "FieldValueInvalid", where, "Invalid value: \"object\": %s",
                     fk_text(rule, "message"));
    }
}

/* Of objects within objects; no rule of ours is about entries of lists. */
static void check_at(const json_t *schema, const json_t *before, const json_t *now,
                     const char *where, json_t *causes)
{
    const char *name;
    json_t *property;
    json_object_foreach (json_object_get(schema, "properties"), name, property) {
        const json_t *inner = json_object_get(now, name);
        cw_autofree char *at = cw_mem_printf("%s%s%s", where, *where ? "." : "", name);
        if (inner)
            check_at(property, json_object_get(before, name), inner, at, causes);
    }
    check_own(schema, before, now, where, causes);
}

void fk_rules_check(const json_t *schema, const json_t *before, const json_t *object,
                    json_t *causes)
{
    check_at(schema, before, object, "", causes);
}

/* Calls visit for each rule anywhere in a schema. */
static void each_rule(const json_t *schema, void (*visit)(void *arg, const json_t *rule), void *arg)
{
    size_t i;
    const char *name;
    json_t *inner;
    json_array_foreach (json_object_get(schema, "x-kubernetes-validations"), i, inner)
        visit(arg, inner);
    json_object_foreach (json_object_get(schema, "properties"), name, inner)
        each_rule(inner, visit, arg);
    if (json_is_object(json_object_get(schema, "items")))
        each_rule(json_object_get(schema, "items"), visit, arg);
    if (json_is_object(json_object_get(schema, "additionalProperties")))
        each_rule(json_object_get(schema, "additionalProperties"), visit, arg);
}

static void count_rule(void *arg, const json_t *rule)
{
    (void)rule;
    ++*(size_t *)arg;
}

size_t fk_rules_count(const json_t *schema)
{
    size_t n = 0;
    each_rule(schema, count_rule, &n);
    return n;
}

static void note_rule(void *arg, const json_t *rule)
{
    if (!check_for(rule))
        cw_str_addf(arg, "%s\n", fk_text_or(rule, "rule", ""));
}

void fk_schema_note_rules(struct fk_server *server, const struct fk_kind *kind)
{
    each_rule(fk_at(kind->definition, "schema.openAPIV3Schema"), note_rule, &server->unchecked);
}
