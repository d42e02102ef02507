/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline from random bytes: operators that exist, options that have the right names. */
#ifndef CW_TESTS_MAKE_GRAPH_H
#define CW_TESTS_MAKE_GRAPH_H

#include "base/mem.h"
#include "graph/graph.h"
#include "ops/op.h"

/* The rest of the input, as choices. */
struct bytes {
    const uint8_t *p;
    size_t n;
};

static size_t choose(struct bytes *bytes, size_t n)
{
    if (!bytes->n)
        return 0;
    bytes->n--;
    return *bytes->p++ % n;
}

static void make_value(struct bytes *bytes, struct cw_value *value, int depth)
{
    static const int64_t numbers[] = {
        0,         1,        -1, 2, 3, 7, 64, 224, 65536, INT64_C(1) << 31, INT64_C(1) << 62,
        INT64_MAX, INT64_MIN};
    static const double floats[] = {0, -0.0, 0.5, 1e-300, 1e300, -3.5, 255};
    static const char *const texts[] = {
        "",      "x",          "/a/*",          "f32",       "u8",    "str",     "bilinear",
        "x + 1", "x % 2 == 0", "a * (x - 1.5)", "max(x, 3)", "image", "\xc3\xa9"};
    switch (choose(bytes, depth < 3 ? 7 : 4)) {
    case 0:
        cw_value_set_i64(value, numbers[choose(bytes, CW_ARRAY_LEN(numbers))]);
        break;
    case 1:
        cw_value_set_f64(value, floats[choose(bytes, CW_ARRAY_LEN(floats))]);
        break;
    case 2:
        cw_value_set_str(value, texts[choose(bytes, CW_ARRAY_LEN(texts))]);
        break;
    case 3:
        cw_value_set_bool(value, choose(bytes, 2));
        break;
    case 4:
        cw_value_set_object(value);
        for (size_t k = choose(bytes, 3); k > 0; k--)
            make_value(bytes, cw_value_member(value, k == 1 ? "a" : "x"), depth + 1);
        break;
    default: {
        size_t n = choose(bytes, 5);
        struct cw_value *items = cw_value_set_list(value, n);
        for (size_t k = 0; k < n; k++)
            make_value(bytes, &items[k], depth + 1);
    }
    }
}

static void add_node(struct cw_graph_builder *builder, struct bytes *bytes, size_t i,
                     bool (*allowed)(const struct cw_op *op))
{
    size_t ops_n = 0;
    const struct cw_op *const *ops = cw_op_all(&ops_n);
    const struct cw_op *op = ops[choose(bytes, ops_n)];
    if (allowed && !allowed(op))
        op = cw_op_find(i ? "shuffle" : "range");
    struct cw_node node = {.name = cw_mem_printf("n%zu", i), .op = cw_mem_strdup(op->name)};
    char names[CW_FIELDS_MAX][8];
    const char *inputs[CW_FIELDS_MAX];
    size_t inputs_n = choose(bytes, 4);
    for (size_t k = 0; k < inputs_n; k++) {
        names[k][0] = 'n';
        names[k][1] = (char)('0' + choose(bytes, 10));
        names[k][2] = 0;
        inputs[k] = names[k];
    }
    if (!choose(bytes, 4)) {
        node.fields_n = 1;
        node.fields = CW_NEW_ARRAY(char *, 1);
        node.fields[0] = cw_mem_strdup(choose(bytes, 2) ? "x" : "image");
    }
    cw_value_set_object(&node.options);
    for (const struct cw_opt *opt = op->options; opt && opt->name; opt++)
        if ((opt->flags & CW_OPT_REQUIRED) || choose(bytes, 2))
            make_value(bytes, cw_value_member(&node.options, opt->name), 0);
    cw_graph_builder_add(builder, &node, choose(bytes, 3) ? NULL : inputs, inputs_n);
}

/* Pipelines of operators that exist, with options that have the right names: further in than random
 * text comes. */
static struct cw_graph *make_graph(const uint8_t *data, size_t n,
                                   bool (*allowed)(const struct cw_op *op))
{
    struct bytes bytes = {data, n};
    struct cw_graph *graph = NULL;
    struct cw_graph_builder *builder = cw_graph_builder_new("fuzz");
    for (size_t i = 0; i < 10 && bytes.n; i++)
        add_node(builder, &bytes, i, allowed);
    (void)!cw_graph_builder_finish(builder, &graph, NULL);
    cw_graph_builder_free(builder);
    return graph;
}

#endif
