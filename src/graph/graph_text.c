/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of a pipeline (docs/pipelines.md): parses JSON to a graph, and prints a graph as
 * JSON. */
#include "base/mem.h"
#include "graph/graph.h"
#include <string.h>

static const char *const top_keys[] = {"name", "identity", "pipeline", NULL};
static const char *const node_keys[] = {"op",         "name", "inputs", "fields", "keep_position",
                                        "depends_on", NULL};

static bool is_one_of(const char *key, const char *const *keys)
{
    for (; *keys; keys++)
        if (cw_str_eq(key, *keys))
            return true;
    return false;
}

static int wrong_type(const char *where, const char *key, const char *want,
                      const struct cw_value *got, struct cw_err *err)
{
    return cw_err_set(err, CW_E_INVALID, "%s: %s must be %s, not %s", where, key, want,
                      cw_value_type_name(got->type));
}

/* Reads a list of strings, or one string. The strings are borrowed. */
static int read_names(const struct cw_value *value, const char *where, const char *key,
                      const char ***ret_v, size_t *ret_n, struct cw_err *err)
{
    size_t n = value->type == CW_VALUE_LIST ? value->n : 1;
    const struct cw_value *items = value->type == CW_VALUE_LIST ? value->items : value;
    for (size_t i = 0; i < n; i++)
        if (items[i].type != CW_VALUE_STR)
            return wrong_type(where, key, "a name or a list of names", &items[i], err);
    *ret_v = CW_NEW_ARRAY(const char *, n + 1);
    *ret_n = n;
    for (size_t i = 0; i < n; i++)
        (*ret_v)[i] = items[i].s;
    return 0;
}

static int read_owned_names(const struct cw_value *value, const char *where, const char *key,
                            char ***ret_v, size_t *ret_n, struct cw_err *err)
{
    const char **names = NULL;
    size_t n = 0;
    int rc = read_names(value, where, key, &names, &n, err);
    if (rc)
        return rc;
    *ret_v = CW_NEW_ARRAY(char *, n + 1);
    *ret_n = n;
    for (size_t i = 0; i < n; i++)
        (*ret_v)[i] = cw_mem_strdup(names[i]);
    cw_mem_free(names);
    return 0;
}

/* Reads one member of a node. inputs are borrowed from the parsed text until the node is added. */
static int read_member(const char *key, const struct cw_value *value, const char *where,
                       struct cw_node *node, const char ***inputs, size_t *inputs_n,
                       struct cw_err *err)
{
    if (cw_str_eq(key, "op") || cw_str_eq(key, "name")) {
        if (value->type != CW_VALUE_STR)
            return wrong_type(where, key, "a string", value, err);
        *(key[0] == 'o' ? &node->op : &node->name) = cw_mem_strdup(value->s);
        return 0;
    }
    if (cw_str_eq(key, "inputs"))
        return read_names(value, where, key, inputs, inputs_n, err);
    if (cw_str_eq(key, "fields"))
        return read_owned_names(value, where, key, &node->fields, &node->fields_n, err);
    if (cw_str_eq(key, "depends_on"))
        return read_owned_names(value, where, key, &node->depends_on, &node->depends_n, err);
    if (cw_str_eq(key, "keep_position")) {
        if (value->type != CW_VALUE_BOOL)
            return wrong_type(where, key, "true or false", value, err);
        node->keep_position = value->b;
        return 0;
    }
    cw_value_copy(cw_value_member(&node->options, key), value);
    return 0;
}

/* Makes the error for a missing "op", which is often a misspelt one. */
static int no_op(const struct cw_value *object, const char *where, struct cw_err *err)
{
    static const char *const op[] = {"op", NULL};
    for (size_t i = 0; i < object->n; i++) {
        const char *near =
            is_one_of(object->keys[i], node_keys) ? NULL : cw_str_nearest(object->keys[i], op);
        if (near)
            return cw_err_set(err, CW_E_INVALID,
                              "%s: \"op\" is missing; there is \"%s\": did you mean \"op\"?", where,
                              object->keys[i]);
    }
    return cw_err_set(err, CW_E_INVALID, "%s: \"op\" is missing", where);
}

static int read_node(const struct cw_value *value, size_t i, struct cw_graph_builder *builder,
                     struct cw_err *err)
{
    char where[192];
    const struct cw_value *op = value->type == CW_VALUE_OBJECT ? cw_value_get(value, "op") : NULL;
    CW_STR_AUTO text = {0};
    cw_str_addf(&text, "node %zu", i + 1);
    if (op && op->type == CW_VALUE_STR)
        cw_str_addf(&text, " (%.*s)", 100, op->s);
    memcpy(where, cw_str_text(&text), CW_MIN(text.len + 1, sizeof(where)));
    where[sizeof(where) - 1] = 0;
    if (value->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "%s: must be an object with \"op\", not %s", where,
                          cw_value_type_name(value->type));
    if (!op)
        return no_op(value, where, err);
    struct cw_node node = {0};
    const char **inputs = NULL;
    size_t inputs_n = 0;
    cw_value_set_object(&node.options);
    int rc = 0;
    for (size_t k = 0; k < value->n && !rc; k++)
        rc = read_member(value->keys[k], &value->items[k], where, &node, &inputs, &inputs_n, err);
    if (rc)
        cw_node_fini(&node);
    else
        cw_graph_builder_add(builder, &node, inputs, inputs_n);
    cw_mem_free(inputs);
    return rc;
}

static int read_identity(const struct cw_value *value, enum cw_identity *ret_identity,
                         struct cw_err *err)
{
    const struct cw_value *word = cw_value_get(value, "identity");
    *ret_identity = CW_IDENTITY_MTIME;
    if (!word)
        return 0;
    if (word->type != CW_VALUE_STR)
        return wrong_type("pipeline", "\"identity\"", "a string", word, err);
    return cw_identity_parse(word->s, "\"identity\" of the pipeline", ret_identity, err);
}

static int check_top(const struct cw_value *value, struct cw_err *err)
{
    if (value->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID,
                          "a pipeline is an object {\"name\": ..., \"pipeline\": [...]}, not %s",
                          cw_value_type_name(value->type));
    for (size_t i = 0; i < value->n; i++) {
        if (is_one_of(value->keys[i], top_keys))
            continue;
        const char *near = cw_str_nearest(value->keys[i], top_keys);
        return cw_err_set(err, CW_E_INVALID, "unknown key \"%.100s\" beside \"pipeline\"%s%s%s",
                          value->keys[i], near ? "; did you mean \"" : "", near ? near : "",
                          near ? "\"?" : "");
    }
    const struct cw_value *list = cw_value_get(value, "pipeline");
    if (!list)
        return cw_err_set(err, CW_E_INVALID, "\"pipeline\" is missing: the list of nodes");
    if (list->type != CW_VALUE_LIST)
        return wrong_type("pipeline", "\"pipeline\"", "a list of nodes", list, err);
    const struct cw_value *name = cw_value_get(value, "name");
    if (name && (name->type != CW_VALUE_STR || strlen(name->s) > CW_GRAPH_NAME_BYTES))
        return cw_err_set(err, CW_E_INVALID,
                          "\"name\" of the pipeline must be a string of at most %d characters",
                          CW_GRAPH_NAME_BYTES);
    return 0;
}

static int read_value(const struct cw_value *value, struct cw_graph **ret_graph, struct cw_err *err)
{
    enum cw_identity identity;
    int rc = check_top(value, err);
    if (!rc)
        rc = read_identity(value, &identity, err);
    if (rc)
        return rc;
    const struct cw_value *name = cw_value_get(value, "name"),
                          *list = cw_value_get(value, "pipeline");
    struct cw_graph_builder *builder = cw_graph_builder_new(name ? name->s : "");
    cw_graph_builder_set_identity(builder, identity);
    for (size_t i = 0; i < list->n && !rc; i++)
        rc = read_node(&list->items[i], i, builder, err);
    if (!rc)
        rc = cw_graph_builder_finish(builder, ret_graph, err);
    cw_graph_builder_free(builder);
    return rc;
}

static int wrap(int rc, const char *where, struct cw_err *err)
{
    return rc && where && where[0] ? cw_err_wrap(err, "%s", where) : rc;
}

int cw_graph_parse(const char *text, size_t n, const char *where, struct cw_graph **ret_graph,
                   struct cw_err *err)
{
    struct cw_value value = {0};
    struct cw_err local = {0};
    err = err ? err : &local;
    int rc = cw_value_parse(text, n, where, &value, err);
    if (rc)
        return rc;
    rc = wrap(read_value(&value, ret_graph, err), where, err);
    cw_value_fini(&value);
    return rc;
}

int cw_graph_load(const char *path, struct cw_graph **ret_graph, struct cw_err *err)
{
    struct cw_value value = {0};
    struct cw_err local = {0};
    err = err ? err : &local;
    int rc = cw_value_load(path, &value, err);
    if (rc)
        return rc;
    rc = wrap(read_value(&value, ret_graph, err), path, err);
    cw_value_fini(&value);
    return rc;
}

static void print_names(const char *key, char *const *names, size_t n, struct cw_str *out)
{
    cw_str_addf(out, ", \"%s\": [", key);
    for (size_t i = 0; i < n; i++) {
        cw_str_add(out, i ? ", " : "");
        cw_str_add_json(out, names[i], strlen(names[i]));
    }
    cw_str_add(out, "]");
}

static void print_inputs(const struct cw_graph *graph, size_t i, struct cw_str *out)
{
    const struct cw_node *node = &graph->nodes[i];
    if (node->chained || (!i && !node->inputs_n))
        return;
    cw_str_add(out, ", \"inputs\": [");
    for (size_t k = 0; k < node->inputs_n; k++) {
        const char *name = graph->nodes[node->inputs[k]].name;
        cw_str_add(out, k ? ", " : "");
        cw_str_add_json(out, name, strlen(name));
    }
    cw_str_add(out, "]");
}

static void print_node(const struct cw_graph *graph, size_t i, struct cw_str *out)
{
    const struct cw_node *node = &graph->nodes[i];
    cw_str_add(out, "{\"op\": ");
    cw_str_add_json(out, node->op, strlen(node->op));
    if (node->named) {
        cw_str_add(out, ", \"name\": ");
        cw_str_add_json(out, node->name, strlen(node->name));
    }
    print_inputs(graph, i, out);
    if (node->fields_n)
        print_names("fields", node->fields, node->fields_n, out);
    if (node->keep_position)
        cw_str_add(out, ", \"keep_position\": true");
    if (node->depends_n)
        print_names("depends_on", node->depends_on, node->depends_n, out);
    for (size_t k = 0; k < node->options.n; k++) {
        cw_str_add(out, ", ");
        cw_str_add_json(out, node->options.keys[k], strlen(node->options.keys[k]));
        cw_str_add(out, ": ");
        cw_value_print(&node->options.items[k], out);
    }
    cw_str_add(out, "}");
}

void cw_graph_print(const struct cw_graph *graph, struct cw_str *out)
{
    cw_str_add(out, "{");
    if (graph->name[0]) {
        cw_str_add(out, "\"name\": ");
        cw_str_add_json(out, graph->name, strlen(graph->name));
        cw_str_add(out, ",\n ");
    }
    if (graph->identity != CW_IDENTITY_MTIME)
        cw_str_addf(out, "\"identity\": \"%s\",\n ", cw_identity_name(graph->identity));
    cw_str_add(out, "\"pipeline\": [");
    for (size_t i = 0; i < graph->n; i++) {
        cw_str_add(out, i ? ",\n  " : "\n  ");
        print_node(graph, i, out);
    }
    cw_str_add(out, "]}\n");
}
