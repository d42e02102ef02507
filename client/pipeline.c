/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of the public API: a graph behind an opaque pointer, and the builder. The builder
 * collects one node at a time, and hands it to the builder of src/graph when the next begins. */
#include "client/pipeline.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "client/model/public.h"

struct cachew_builder {
    struct cw_graph_builder *graph;
    struct cw_node node; /* The node that is being described. */
    bool open;           /* A node is being described, so `node` is valid. */
    bool source;         /* The node has no inputs. */
    char **inputs;
    size_t inputs_n, inputs_cap;
    size_t fields_cap, depends_cap;
    size_t nodes_n;
    struct cw_err err; /* The first error; its code is 0 if there was none. */
};

/* cachew_pipeline is a cw_graph under another name: both are refcounted and immutable. */
static struct cachew_pipeline *pipeline_of(struct cw_graph *graph)
{
    return (struct cachew_pipeline *)(void *)graph;
}

struct cw_graph *cw_pipeline_graph(const struct cachew_pipeline *pipeline)
{
    union {
        const struct cachew_pipeline *pipeline;
        struct cw_graph *graph;
    } cast = {pipeline};
    return cast.graph;
}

int cachew_pipeline_load(const char *path, struct cachew_pipeline **ret_pipeline,
                         struct cachew_error *error)
{
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    if (!path || !ret_pipeline)
        return cw_public_set(error, CW_E_INVALID,
                             "cachew_pipeline_load: path and ret_pipeline must not be NULL");
    if (cw_graph_load(path, &graph, &err) != 0)
        return cw_public_fail(error, &err);
    *ret_pipeline = pipeline_of(graph);
    return 0;
}

int cachew_pipeline_parse(const char *json, size_t length, struct cachew_pipeline **ret_pipeline,
                          struct cachew_error *error)
{
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    if (!json || !ret_pipeline)
        return cw_public_set(error, CW_E_INVALID,
                             "cachew_pipeline_parse: json and ret_pipeline must not be NULL");
    if (cw_graph_parse(json, length, "pipeline", &graph, &err) != 0)
        return cw_public_fail(error, &err);
    *ret_pipeline = pipeline_of(graph);
    return 0;
}

char *cachew_pipeline_text(const struct cachew_pipeline *pipeline)
{
    if (!pipeline)
        return NULL;
    CW_STR_AUTO text = {0};
    cw_graph_print(cw_pipeline_graph(pipeline), &text);
    return strdup(cw_str_text(&text));
}

void cachew_pipeline_release(struct cachew_pipeline *pipeline)
{
    if (pipeline)
        cw_graph_unref(cw_pipeline_graph(pipeline));
}

struct cachew_builder *cachew_builder_new(const char *name)
{
    struct cachew_builder *builder = CW_NEW(struct cachew_builder);
    builder->graph = cw_graph_builder_new(name ? name : "");
    return builder;
}

static void clear_inputs(struct cachew_builder *builder)
{
    for (size_t i = 0; i < builder->inputs_n; i++)
        cw_mem_free(builder->inputs[i]);
    builder->inputs_n = 0;
}

static void flush_node(struct cachew_builder *builder)
{
    if (!builder->open)
        return;
    /* Without a list the input is the node before; an empty list means no input. */
    bool given = builder->inputs_n > 0 || builder->source;
    static const char *const none[] = {""};
    const char *const *inputs = builder->inputs_n ? (const char *const *)builder->inputs : none;
    cw_graph_builder_add(builder->graph, &builder->node, given ? inputs : NULL, builder->inputs_n);
    clear_inputs(builder);
    builder->node = (struct cw_node){0};
    builder->fields_cap = builder->depends_cap = 0;
    builder->open = builder->source = false;
}

/* Returns whether a node is being described and the text is not NULL. Otherwise it records the
 * error, unless there was one before. */
static bool is_usable(struct cachew_builder *builder, const char *call, const void *given)
{
    if (builder->err.code != 0)
        return false;
    if (!given)
        cw_err_set(&builder->err, CW_E_INVALID, "%s: NULL was given%s%s", call,
                   builder->open ? " for operator " : "", builder->open ? builder->node.op : "");
    else if (!builder->open)
        cw_err_set(&builder->err, CW_E_INVALID, "%s was called before cachew_add", call);
    return builder->err.code == 0;
}

void cachew_add(struct cachew_builder *builder, const char *op)
{
    flush_node(builder);
    if (builder->err.code != 0)
        return;
    if (!op || !*op) {
        cw_err_set(&builder->err, CW_E_INVALID, "cachew_add: operator %zu has no name",
                   builder->nodes_n);
        return;
    }
    builder->node.op = cw_mem_strdup(op);
    cw_value_set_object(&builder->node.options);
    builder->nodes_n++;
    builder->open = true;
}

size_t cw_builder_nodes(const struct cachew_builder *builder)
{
    return builder->nodes_n;
}

void cw_builder_fail(struct cachew_builder *builder, const struct cw_err *err)
{
    if (builder->err.code == 0)
        builder->err = *err;
}

void cachew_set_name(struct cachew_builder *builder, const char *name)
{
    if (!is_usable(builder, "cachew_set_name", name))
        return;
    cw_mem_free(builder->node.name);
    builder->node.name = cw_mem_strdup(name);
    builder->node.named = true;
}

void cachew_add_input(struct cachew_builder *builder, const char *name)
{
    if (!is_usable(builder, "cachew_add_input", builder))
        return;
    if (!name) {
        builder->source = true;
        return;
    }
    CW_GROW(builder->inputs, builder->inputs_n, builder->inputs_cap);
    builder->inputs[builder->inputs_n++] = cw_mem_strdup(name);
}

void cachew_add_field(struct cachew_builder *builder, const char *field)
{
    if (!is_usable(builder, "cachew_add_field", field))
        return;
    CW_GROW(builder->node.fields, builder->node.fields_n, builder->fields_cap);
    builder->node.fields[builder->node.fields_n++] = cw_mem_strdup(field);
}

void cachew_set_keep_position(struct cachew_builder *builder)
{
    if (is_usable(builder, "cachew_set_keep_position", builder))
        builder->node.keep_position = true;
}

void cachew_add_depends_on(struct cachew_builder *builder, const char *name)
{
    if (!is_usable(builder, "cachew_add_depends_on", name))
        return;
    CW_GROW(builder->node.depends_on, builder->node.depends_n, builder->depends_cap);
    builder->node.depends_on[builder->node.depends_n++] = cw_mem_strdup(name);
}

/* Returns the value of the option, which the caller sets; NULL after an error. */
static struct cw_value *option(struct cachew_builder *builder, const char *call, const char *name,
                               const void *given)
{
    if (!is_usable(builder, call, name) || !is_usable(builder, call, given))
        return NULL;
    struct cw_value *value = cw_value_member(&builder->node.options, name);
    cw_value_fini(value);
    *value = (struct cw_value){0};
    return value;
}

void cachew_set_i64(struct cachew_builder *builder, const char *name, int64_t value)
{
    struct cw_value *v = option(builder, "cachew_set_i64", name, builder);
    if (v)
        cw_value_set_i64(v, value);
}

void cachew_set_f64(struct cachew_builder *builder, const char *name, double value)
{
    struct cw_value *v = option(builder, "cachew_set_f64", name, builder);
    if (v)
        cw_value_set_f64(v, value);
}

void cachew_set_bool(struct cachew_builder *builder, const char *name, int value)
{
    struct cw_value *v = option(builder, "cachew_set_bool", name, builder);
    if (v)
        cw_value_set_bool(v, value != 0);
}

void cachew_set_str(struct cachew_builder *builder, const char *name, const char *value)
{
    struct cw_value *v = option(builder, "cachew_set_str", name, value);
    if (v)
        cw_value_set_str(v, value);
}

void cachew_set_i64s(struct cachew_builder *builder, const char *name, const int64_t *values,
                     size_t n)
{
    struct cw_value *v =
        option(builder, "cachew_set_i64s", name, n ? (const void *)values : builder);
    struct cw_value *items = v ? cw_value_set_list(v, n) : NULL;
    for (size_t i = 0; v && i < n; i++)
        cw_value_set_i64(&items[i], values[i]);
}

void cachew_set_f64s(struct cachew_builder *builder, const char *name, const double *values,
                     size_t n)
{
    struct cw_value *v =
        option(builder, "cachew_set_f64s", name, n ? (const void *)values : builder);
    struct cw_value *items = v ? cw_value_set_list(v, n) : NULL;
    for (size_t i = 0; v && i < n; i++)
        cw_value_set_f64(&items[i], values[i]);
}

void cachew_set_strs(struct cachew_builder *builder, const char *name, const char *const *values,
                     size_t n)
{
    struct cw_value *v =
        option(builder, "cachew_set_strs", name, n ? (const void *)values : builder);
    struct cw_value *items = v ? cw_value_set_list(v, n) : NULL;
    for (size_t i = 0; v && i < n; i++)
        cw_value_set_str(&items[i], values[i] ? values[i] : "");
}

void cachew_set_json(struct cachew_builder *builder, const char *name, const char *json)
{
    struct cw_value *v = option(builder, "cachew_set_json", name, json);
    struct cw_err err = {0};
    if (v && cw_value_parse(json, strlen(json), name, v, &err) != 0)
        cw_err_set(&builder->err, err.code, "operator %s: %s", builder->node.op, err.msg);
}

void cachew_builder_free(struct cachew_builder *builder)
{
    if (!builder)
        return;
    clear_inputs(builder);
    cw_mem_free(builder->inputs);
    cw_node_fini(&builder->node);
    cw_graph_builder_free(builder->graph);
    cw_mem_free(builder);
}

int cachew_builder_finish(struct cachew_builder *builder, struct cachew_pipeline **ret_pipeline,
                          struct cachew_error *error)
{
    struct cw_graph *graph = NULL;
    flush_node(builder);
    struct cw_err err = builder->err;
    if (err.code == 0 && !ret_pipeline)
        cw_err_set(&err, CW_E_INVALID, "cachew_builder_finish: ret_pipeline must not be NULL");
    if (err.code == 0)
        (void)!cw_graph_builder_finish(builder->graph, &graph, &err);
    cachew_builder_free(builder);
    if (err.code != 0)
        return cw_public_fail(error, &err);
    *ret_pipeline = pipeline_of(graph);
    return 0;
}
