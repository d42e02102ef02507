/* SPDX-License-Identifier: Apache-2.0 */
/* test_decisions FILE: replays the cases of a file (README.md). Prints what fails; exit status 1
 * then. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/mem.h"
#include "conf/value.h"
#include "policies/policy.h"

static double number(const struct cw_value *v)
{
    return v->type == CW_VALUE_I64 ? (double)v->i : v->f;
}

/* ---- snapshots that stand on others ---- */

static struct cw_value *find_node(struct cw_value *nodes, const char *name)
{
    for (size_t i = 0; nodes && i < nodes->n; i++) {
        const struct cw_value *v = cw_value_get(&nodes->items[i], "name");
        if (v && cw_str_eq(v->s, name))
            return &nodes->items[i];
    }
    return NULL;
}

static struct cw_value *get(struct cw_value *object, const char *key)
{
    for (size_t i = 0; i < object->n; i++) {
        if (strcmp(object->keys[i], key) == 0)
            return &object->items[i];
    }
    return NULL;
}

static void replace(struct cw_value *object, const char *key, const struct cw_value *v)
{
    cw_value_copy(cw_value_member(object, key), v);
}

static void replace_all(struct cw_value *object, const struct cw_value *members)
{
    for (size_t i = 0; i < members->n; i++)
        replace(object, members->keys[i], &members->items[i]);
}

static bool change_nodes(struct cw_value *nodes, const struct cw_value *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        struct cw_value *node = find_node(nodes, changes->keys[i]);
        if (!node)
            return false;
        replace_all(node, &changes->items[i]);
    }
    return true;
}

static const struct cw_value *find_case(const struct cw_value *cases, const char *name)
{
    for (size_t i = 0; i < cases->n; i++) {
        if (cw_str_eq(cw_value_get(&cases->items[i], "name")->s, name))
            return &cases->items[i];
    }
    return NULL;
}

static bool make_snapshot(const struct cw_value *cases, const struct cw_value *c,
                          struct cw_value *ret_value)
{
    const struct cw_value *base = cw_value_get(c, "base"), *own = cw_value_get(c, "snapshot");
    const struct cw_value *from = base ? find_case(cases, base->s) : NULL;
    if (base && (!from || !cw_value_get(from, "snapshot") || cw_value_get(from, "base")))
        return false;
    if (!base) {
        cw_value_copy(ret_value, own);
        return true;
    }
    cw_value_copy(ret_value, cw_value_get(from, "snapshot"));
    for (size_t i = 0; own && i < own->n; i++) {
        struct cw_value *at = get(ret_value, own->keys[i]);
        if (at && strcmp(own->keys[i], "nodes") == 0) {
            if (!change_nodes(at, &own->items[i]))
                return false;
        } else if (at && strcmp(own->keys[i], "store") == 0) {
            replace_all(at, &own->items[i]);
        } else {
            replace(ret_value, own->keys[i], &own->items[i]);
        }
    }
    return true;
}

/* ---- what is expected ---- */

static bool text_has(const char *what, const char *text, const struct cw_value *want)
{
    if (!want || strstr(text, want->s))
        return true;
    printf("  the %s has no \"%s\": %s\n", what, want->s, text);
    return false;
}

static bool number_is(const char *what, double got, const struct cw_value *want)
{
    if (!want || fabs(got - number(want)) <= 1e-3 * fabs(number(want)))
        return true;
    printf("  %s is %.0f, expected %.0f\n", what, got, number(want));
    return false;
}

static bool node_is(const struct cw_autocache_snapshot *s, size_t node, const struct cw_value *want)
{
    const char *name = node < s->n ? s->nodes[node].name : "null";
    if (!want || strcmp(name, want->type == CW_VALUE_STR ? want->s : "null") == 0)
        return true;
    printf("  the node is %s\n", name);
    return false;
}

static bool check(const struct cw_autocache_snapshot *s, const struct cw_policy_decision *d,
                  const struct cw_value *expect)
{
    const struct cw_value *decided = cw_value_get(expect, "decided");
    bool ok = !decided || decided->b == d->decided;
    if (!ok)
        printf("  decided is %d\n", (int)d->decided);
    ok = node_is(s, d->node, cw_value_get(expect, "node")) && ok;
    ok = number_is("epoch_ns", d->epoch_ns, cw_value_get(expect, "epoch_ns")) && ok;
    ok = number_is("total_ns", d->total_ns, cw_value_get(expect, "total_ns")) && ok;
    ok = text_has("reason", cw_str_text(&d->reason), cw_value_get(expect, "reason")) && ok;
    ok = text_has("candidates", cw_str_text(&d->candidates), cw_value_get(expect, "candidates")) &&
         ok;
    if (!ok)
        printf("  reason: %s\n  candidates:\n%s\n", cw_str_text(&d->reason),
               cw_str_text(&d->candidates));
    return ok;
}

/* Printed and read again it is the same. */
static bool survives_printing(const struct cw_autocache_snapshot *s)
{
    CW_STR_AUTO once = {0};
    CW_STR_AUTO twice = {0};
    struct cw_autocache_snapshot *again = NULL;
    struct cw_err err = {0};
    cw_autocache_snapshot_print(s, &once);
    if (cw_autocache_snapshot_parse(cw_str_text(&once), once.len, &again, &err) < 0) {
        printf("  the printed snapshot cannot be read: %s\n", err.msg);
        return false;
    }
    cw_autocache_snapshot_print(again, &twice);
    cw_autocache_snapshot_free(again);
    bool same = cw_str_eq(cw_str_text(&once), cw_str_text(&twice));
    if (!same)
        printf("  printed again it differs:\n%s\n%s\n", cw_str_text(&once), cw_str_text(&twice));
    return same;
}

static bool fails_as_expected(const struct cw_value *expect, const struct cw_err *err)
{
    const struct cw_value *want = cw_value_get(expect, "error");
    if (want && strstr(err->msg, want->s))
        return true;
    printf("  error: %s\n", err->msg);
    return false;
}

static bool decide(const struct cw_value *c, const struct cw_autocache_snapshot *s)
{
    const struct cw_autocache_policy *policy = NULL;
    const char *argument = NULL;
    struct cw_err err = {0};
    struct cw_policy_decision d = {0};
    const struct cw_value *expect = cw_value_get(c, "expect");
    int rc = cw_autocache_find(cw_value_get(c, "policy")->s, &policy, &argument, &err);
    if (rc == 0)
        rc = policy->decide(s, argument, &d, &err);
    if (rc < 0)
        return fails_as_expected(expect, &err);
    bool ok = !cw_value_get(expect, "error");
    if (!ok)
        printf("  it does not fail\n");
    ok = ok && check(s, &d, expect);
    cw_policy_decision_fini(&d);
    return ok;
}

static bool passes(const struct cw_value *cases, const struct cw_value *c)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    struct cw_autocache_snapshot *s = NULL;
    bool ok = make_snapshot(cases, c, &value);
    if (!ok)
        printf("  its base or a node of it is not there\n");
    else if (cw_autocache_snapshot_from(&value, &s, &err) < 0)
        ok = fails_as_expected(cw_value_get(c, "expect"), &err);
    else
        ok = survives_printing(s) && decide(c, s);
    cw_autocache_snapshot_free(s);
    cw_value_fini(&value);
    return ok;
}

int main(int argc, char **argv)
{
    struct cw_value cases = {0};
    struct cw_err err = {0};
    if (argc != 2 || cw_value_load(argv[1], &cases, &err) < 0 || cases.type != CW_VALUE_LIST ||
        cases.n == 0) {
        printf("usage: test_decisions FILE.json: %s\n", err.msg);
        return 1;
    }
    size_t failed = 0;
    for (size_t i = 0; i < cases.n; i++) {
        const struct cw_value *name = cw_value_get(&cases.items[i], "name");
        if (passes(&cases, &cases.items[i]))
            continue;
        failed++;
        printf("FAILED: %s\n", name->s);
    }
    printf("%zu cases, %zu failed\n", cases.n, failed);
    cw_value_fini(&cases);
    return failed > 0;
}
