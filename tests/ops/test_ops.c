/* SPDX-License-Identifier: Apache-2.0 */
/* test_ops NAME FOLDER: runs FOLDER/NAME.json (README.md there). Prints what fails; exit status
 * 1 then. */
#include "ops/cases.h"

#include "base/mem.h"
#include "support/completed.h"

#include <stdio.h>
#include <string.h>

int64_t test_number(const struct cw_value *object, const char *key, int64_t otherwise)
{
    const struct cw_value *v = cw_value_get(object, key);
    return v && v->type == CW_VALUE_I64 ? v->i : otherwise;
}

static double decimal(const struct cw_value *object, const char *key, double otherwise)
{
    const struct cw_value *v = cw_value_get(object, key);
    if (!v)
        return otherwise;
    return v->type == CW_VALUE_I64 ? (double)v->i : v->f;
}

int test_check_spec(const struct test_case *c, const struct cw_spec *spec, struct cw_err *err)
{
    const struct cw_value *want = cw_value_get(c->expect, "spec");
    CW_STR_AUTO text = {0};
    cw_spec_print(spec, &text);
    if (want && strcmp(want->s, cw_str_text(&text)) != 0)
        return cw_err_set(err, CW_E_INVALID, "spec is \"%s\", expected \"%s\"", cw_str_text(&text),
                          want->s);
    return 0;
}

int test_input_spec(const struct test_case *c, struct cw_spec *ret_spec, struct cw_err *err)
{
    const struct cw_value *spec = cw_value_get(c->json, "input_spec");
    const struct cw_value *input = cw_value_get(c->json, "input");
    if (!spec && (!input || input->n == 0))
        return cw_err_set(err, CW_E_INVALID, "the case has no input");
    return test_spec_parse(spec ? spec : &input->items[0], ret_spec, err);
}

/* Whether a field is named in `unchecked`. */
static bool is_unchecked(const struct test_case *c, const char *name)
{
    const struct cw_value *names = cw_value_get(c->expect, "unchecked");
    for (size_t i = 0; names && i < names->n; i++)
        if (strcmp(names->items[i].s, name) == 0)
            return true;
    return false;
}

int test_check_element(const struct test_case *c, size_t i, const struct cw_spec *spec,
                       const struct cw_element *got, struct cw_err *err)
{
    const struct cw_value *wants = cw_value_get(c->expect, "elements");
    struct test_element want;
    int rc = test_element_parse(&wants->items[i], c->folder, &want, err);
    const struct cw_value *unchecked = cw_value_get(c->expect, "unchecked");
    if (rc == 0 && want.e.n + (unchecked ? unchecked->n : 0) != got->n)
        rc = cw_err_set(err, CW_E_INVALID, "%zu fields, expected %zu", got->n, want.e.n);
    for (size_t k = 0; k < got->n && rc == 0; k++) {
        int at = cw_spec_find(&want.spec, spec->fields[k].name);
        if (is_unchecked(c, spec->fields[k].name))
            continue;
        if (at < 0)
            rc =
                cw_err_set(err, CW_E_INVALID, "field \"%s\" is not expected", spec->fields[k].name);
        else
            rc = test_view_compare(spec->fields[k].name, &got->fields[k], &want.e.fields[at],
                                   &c->tolerance, err);
    }
    test_element_fini(&want);
    return rc < 0 ? cw_err_wrap(err, "element %zu", i) : 0;
}

/* ${DATA} in every string below. */
static void expand(struct cw_value *v, const char *data)
{
    static const char word[] = "${DATA}";
    char *at = v->type == CW_VALUE_STR ? strstr(v->s, word) : NULL;
    if (at) {
        cw_autofree char *text =
            cw_mem_printf("%.*s%s%s", (int)(at - v->s), v->s, data, at + strlen(word));
        cw_value_fini(v);
        cw_value_set_str(v, text);
    }
    for (size_t i = 0; i < v->n; i++)
        expand(&v->items[i], data);
}

static int run_options(struct test_case *c, struct cw_err *err)
{
    if (c->op->check) {
        int rc = c->op->check(c->opts, err);
        if (rc < 0)
            return rc;
    }
    switch (c->op->kind) {
    case CW_OP_SOURCE:
        return test_run_source(c, err);
    case CW_OP_INDEX:
        return test_run_index(c, err);
    case CW_OP_GROUP:
        return c->op->inside ? test_run_inside(c, err) : test_run_group(c, err);
    case CW_OP_ELEMENT:
        break;
    }
    return test_run_element(c, err);
}

static int run_case(struct test_case *c, struct cw_err *err)
{
    static const struct cw_opt none[] = {
        {0},
    };
    const struct cw_opt *table = c->op->options ? c->op->options : none;
    c->opts = cw_mem_new(c->op->options_bytes + 1);
    int rc = cw_test_parse_completed(c->op, cw_value_get(c->json, "options"), c->opts, err);
    if (rc == 0) {
        rc = run_options(c, err);
        cw_opt_fini(table, c->opts);
    }
    cw_mem_free(c->opts);
    return rc;
}

static bool passes(const struct cw_op *op, const struct cw_value *json, const char *folder)
{
    const struct cw_value *name = cw_value_get(json, "name"),
                          *expect = cw_value_get(json, "expect");
    if (!name || !expect) {
        printf("%s: a case without name or expect\n", op->name);
        return false;
    }
    const struct cw_value *error = cw_value_get(expect, "error");
    struct test_case c = {
        .op = op,
        .json = json,
        .expect = expect,
        .folder = folder,
        .seed = (uint64_t)test_number(json, "seed", 0),
        .epoch = (uint64_t)test_number(json, "epoch", 0),
        .rep = (uint64_t)test_number(json, "rep", 0),
        .tag = (uint64_t)test_number(json, "tag", 7),
        .tolerance = {decimal(expect, "tolerance", 0), decimal(expect, "mean_tolerance", -1)}};
    struct cw_err err = {0};
    int rc = run_case(&c, &err);
    if (error && rc < 0 && strstr(err.msg, error->s))
        return true;
    if (error)
        printf("%s: %s: expected an error with \"%s\", got \"%s\"\n", op->name, name->s, error->s,
               rc < 0 ? err.msg : "none");
    else if (rc < 0)
        printf("%s: %s: %s\n", op->name, name->s, err.msg);
    return !error && rc == 0;
}

int main(int argc, char **argv)
{
    const struct cw_op *op = argc == 3 ? cw_op_find(argv[1]) : NULL;
    struct cw_value file = {0};
    struct cw_err err = {0};
    size_t failed = 0;
    if (!op) {
        printf("usage: test_ops OPERATOR FOLDER\n");
        return 2;
    }
    cw_autofree char *path = cw_mem_printf("%s/%s.json", argv[2], op->name);
    cw_autofree char *data = cw_mem_printf("%s/data", argv[2]);
    if (cw_value_load(path, &file, &err) < 0) {
        printf("%s\n", err.msg);
        return 1;
    }
    expand(&file, data);
    const struct cw_value *cases = cw_value_get(&file, "cases");
    for (size_t i = 0; cases && i < cases->n; i++)
        failed += !passes(op, &cases->items[i], argv[2]);
    printf("%s: %zu cases, %zu failed\n", op->name, cases ? cases->n : 0, failed);
    bool none = !cases || cases->n == 0;
    cw_value_fini(&file);
    return failed || none ? 1 : 0;
}
