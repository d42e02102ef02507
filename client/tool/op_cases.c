/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/op_cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "client/tool/tool.h"
#include "client/tool/tool_graph.h"
#include "exec/exec.h"
#include "ops/kernels/num.h"
#include "plan/plan.h"

/* A case while it runs. */
struct running {
    const struct cw_value *elements; /* what is expected; NULL: anything */
    double tolerance;
    const struct cw_checked *checked;
    const bool *gives; /* which nodes give the elements: an index operator has none of its own */
    size_t n;          /* how many have come */
    struct cw_hasher *hasher;
};

/* ---- comparing ---- */

static int differs(const char *field, size_t i, double got, double want, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID, "field \"%s\": value %zu is %.9g, expected %.9g", field, i,
                      got, want);
}

/* Compares a number, or the numbers of nested lists in order; *at counts them. */
static int compare_numbers(const char *field, const struct cw_view *got,
                           const struct cw_value *want, double tolerance, size_t *at,
                           struct cw_err *err)
{
    if (want->type == CW_VALUE_LIST) {
        int rc = 0;
        for (size_t i = 0; rc == 0 && i < want->n; i++) {
            rc = compare_numbers(field, got, &want->items[i], tolerance, at, err);
        }
        return rc;
    }
    const size_t n = got->bytes / cw_dtype_bytes(got->dtype);
    if (*at >= n)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\": only %zu values have come", field, n);
    const double is = cw_num_get_f64(got->dtype, got->data, *at);
    double wanted = want->type == CW_VALUE_I64    ? (double)want->i
                    : want->type == CW_VALUE_F64  ? want->f
                    : want->type == CW_VALUE_BOOL ? (double)want->b
                                                  : (double)NAN;
    size_t i = (*at)++;
    bool same = isnan(wanted) ? isnan(is) : fabs(is - wanted) <= tolerance;
    return same ? 0 : differs(field, i, is, wanted, err);
}

static int compare_text(const char *field, const struct cw_view *got, const char *want,
                        struct cw_err *err)
{
    if (got->dtype == CW_DTYPE_STR && got->bytes == strlen(want) &&
        (got->bytes == 0 || memcmp(got->data, want, got->bytes) == 0))
        return 0;
    return cw_err_set(err, CW_E_INVALID, "field \"%s\" is \"%.*s\", expected \"%s\"", field,
                      got->dtype == CW_DTYPE_STR ? (int)CW_MIN(got->bytes, (size_t)200) : 0,
                      (const char *)got->data, want);
}

static int compare_field(const struct running *r, const char *name, const struct cw_view *got,
                         const struct cw_value *want, struct cw_err *err)
{
    size_t at = 0;
    if (!want)
        return 0; /* a field that a case does not name may be anything */
    if (want->type == CW_VALUE_STR)
        return compare_text(name, got, want->s, err);
    if (got->dtype == CW_DTYPE_STR)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is a text, which was not expected",
                          name);
    int rc = compare_numbers(name, got, want, r->tolerance, &at, err);
    size_t n = got->bytes / cw_dtype_bytes(got->dtype);
    if (rc == 0 && at != n)
        rc =
            cw_err_set(err, CW_E_INVALID, "field \"%s\" has %zu values, expected %zu", name, n, at);
    return rc;
}

static int check_names(const struct cw_value *want, const struct cw_spec *spec, struct cw_err *err)
{
    for (size_t k = 0; k < want->n; k++)
        if (want->type == CW_VALUE_OBJECT && cw_spec_find(spec, want->keys[k]) < 0)
            return cw_err_set(err, CW_E_INVALID, "there is no field \"%s\"", want->keys[k]);
    return 0;
}

static int on_element(void *arg, int64_t row, const struct cw_node *node,
                      const struct cw_spec *spec, const struct cw_element *element,
                      const char *source, struct cw_err *err)
{
    struct running *r = arg;
    (void)row;
    (void)source;
    if (!r->gives[node - r->checked->graph->nodes])
        return 0;
    const size_t i = r->n++;
    for (size_t f = 0; f < element->n; f++)
        cw_hasher_add(r->hasher, element->fields[f].data, element->fields[f].bytes);
    if (!r->elements)
        return 0;
    if (i >= r->elements->n)
        return cw_err_set(err, CW_E_INVALID, "more than %zu elements come out", r->elements->n);
    const struct cw_value *want = &r->elements->items[i];
    int rc = check_names(want, spec, err);
    for (size_t f = 0; rc == 0 && f < element->n; f++)
        rc = compare_field(
            r, spec->fields[f].name, &element->fields[f],
            want->type == CW_VALUE_OBJECT ? cw_value_get(want, spec->fields[f].name) : want, err);
    return rc < 0 ? cw_err_wrap(err, "element %zu", i) : 0;
}

/* ---- running ---- */

static int run_all(struct cw_plan *plan, uint64_t epoch, struct running *r, struct cw_err *err)
{
    int rc = 0;
    r->n = 0;
    for (uint64_t item = 0; rc == 0 && item < cw_plan_info(plan)->items; item++)
        rc = cw_exec_trace(plan, epoch, item, on_element, r, err);
    return rc;
}

static int64_t number(const struct cw_value *json, const char *key)
{
    const struct cw_value *value = cw_value_get(json, key);
    return value && value->type == CW_VALUE_I64 ? value->i : 0;
}

/* Computes all elements twice: the same must come. */
static int run_plan(struct cw_plan *plan, const struct cw_value *json, struct running *r,
                    struct cw_err *err)
{
    const uint64_t epoch = (uint64_t)number(json, "epoch");
    int rc = run_all(plan, epoch, r, err);
    if (rc == 0 && r->elements && r->n != r->elements->n)
        rc = cw_err_set(err, CW_E_INVALID, "%zu elements come out, expected %zu", r->n,
                        r->elements->n);
    const struct cw_hash first = cw_hasher_get(r->hasher);
    cw_hasher_reset(r->hasher);
    if (rc == 0)
        rc = run_all(plan, epoch, r, err);
    if (rc == 0 && !cw_hash_eq(first, cw_hasher_get(r->hasher)))
        rc = cw_err_set(err, CW_E_INVALID, "the second time something else comes out");
    return rc;
}

static int check_spec(const struct cw_checked *checked, const struct cw_value *want,
                      struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    cw_spec_print(&checked->nodes[checked->graph->n - 1].out, &text);
    if (!want || (want->type == CW_VALUE_STR && strcmp(want->s, cw_str_text(&text)) == 0))
        return 0;
    return cw_err_set(err, CW_E_INVALID, "it gives \"%s\", expected \"%s\"", cw_str_text(&text),
                      want->type == CW_VALUE_STR ? want->s : "?");
}

static int load_graph(const struct cw_value *json, struct cw_graph **ret_graph, struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    const struct cw_value *pipeline = cw_value_get(json, "pipeline");
    if (!pipeline)
        return cw_err_set(err, CW_E_INVALID, "the case has no pipeline");
    cw_str_add(&text, "{\"pipeline\":");
    cw_value_print(pipeline, &text);
    cw_str_add_char(&text, '}');
    return cw_graph_parse(text.s, text.len, "pipeline", ret_graph, err);
}

static bool *find_givers(const struct cw_checked *checked)
{
    size_t i = checked->graph->n;
    bool *gives = CW_NEW_ARRAY(bool, i);
    gives[i - 1] = true;
    while (i-- > 0) {
        const struct cw_checked_node *node = &checked->nodes[i];
        if (!gives[i] || node->op->kind != CW_OP_INDEX || (node->op->traits & CW_OP_MERGE))
            continue;
        gives[i] = false;
        for (size_t k = 0; k < node->inputs_n; k++)
            gives[node->inputs[k]] = true;
    }
    return gives;
}

static int run_case(const struct cw_value *json, const struct cw_value *expect, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    const struct cw_value *tolerance = cw_value_get(expect, "tolerance"),
                          *elements = cw_value_get(expect, "elements");
    struct running r = {.elements = elements && elements->type == CW_VALUE_LIST ? elements : NULL};
    if (tolerance)
        r.tolerance = tolerance->type == CW_VALUE_I64 ? (double)tolerance->i : tolerance->f;
    int rc = load_graph(json, &graph, err);
    if (rc == 0)
        rc = tool_graph_check(graph, NULL, &checked, err);
    if (rc == 0)
        rc = check_spec(checked, cw_value_get(expect, "spec"), err);
    if (rc == 0)
        rc = cw_plan_new(checked, (uint64_t)number(json, "seed"), NULL, &plan, err);
    if (rc == 0) {
        cw_autofree bool *gives = find_givers(checked);
        r.checked = checked;
        r.gives = gives;
        r.hasher = cw_hasher_new();
        rc = run_plan(plan, json, &r, err);
        cw_hasher_free(r.hasher);
    }
    cw_plan_unref(plan);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return rc;
}

static bool passes(const struct cw_value *json, size_t i)
{
    const struct cw_value *name = cw_value_get(json, "name"),
                          *expect = cw_value_get(json, "expect"),
                          *error = expect ? cw_value_get(expect, "error") : NULL;
    struct cw_err err = {0};
    if (!expect || !name || name->type != CW_VALUE_STR) {
        printf("case %zu has no name, or expects nothing\n", i);
        return false;
    }
    int rc = run_case(json, expect, &err);
    if (error && rc < 0 && error->type == CW_VALUE_STR && strstr(err.msg, error->s))
        return true;
    if (error)
        printf("%s: no error with \"%s\" has come, but \"%s\"\n", name->s,
               error->type == CW_VALUE_STR ? error->s : "?", rc < 0 ? err.msg : "none");
    else if (rc < 0)
        printf("%s: %s\n", name->s, err.msg);
    return !error && rc == 0;
}

int tool_op_cases(const char *path)
{
    struct cw_value file = {0};
    struct cw_err err = {0};
    size_t failed = 0, n = 0;
    if (cw_value_load(path, &file, &err) < 0)
        return tool_fail_err(&err);
    const struct cw_value *cases =
        file.type == CW_VALUE_OBJECT ? cw_value_get(&file, "cases") : NULL;
    for (; cases && cases->type == CW_VALUE_LIST && n < cases->n; n++)
        failed += !passes(&cases->items[n], n);
    printf("%zu cases, %zu failed\n", n, failed);
    cw_value_fini(&file);
    if (n == 0)
        return tool_fail("%s has no cases", path);
    return failed ? TOOL_FAILED : tool_flush_output();
}
