/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of pipelines between struct cw_graph and cachew.v1.Graph. A graph from a peer goes
 * through the graph builder, so that names, inputs and cycles are checked in one place. */
#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "wire/wire_int.h"

typedef Cachew__V1__Value value_pb;
typedef Cachew__V1__Node node_pb;
typedef Cachew__V1__Graph graph_pb;

#define KIND(name) CACHEW__V1__VALUE__KIND_##name
#define VALUE_DEPTH_MAX 40 /* a little more than the text form allows */

/* ---- to a message ---- */

static value_pb *value_to(const struct cw_value *value);

static void list_to(const struct cw_value *value, value_pb *message)
{
    message->kind_case = KIND(LIST);
    message->list = CW_NEW(Cachew__V1__Value__List);
    cachew__v1__value__list__init(message->list);
    message->list->n_items = value->n;
    message->list->items = CW_NEW_ARRAY(value_pb *, value->n + 1);
    for (size_t i = 0; i < value->n; i++)
        message->list->items[i] = value_to(&value->items[i]);
}

static char **strings_to(char *const *strings, size_t n)
{
    char **copy = CW_NEW_ARRAY(char *, n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = cw_mem_strdup(strings[i]);
    return copy;
}

static void object_to(const struct cw_value *value, value_pb *message)
{
    message->kind_case = KIND(OBJECT);
    message->object = CW_NEW(Cachew__V1__Value__Object);
    cachew__v1__value__object__init(message->object);
    message->object->n_keys = message->object->n_values = value->n;
    message->object->keys = strings_to(value->keys, value->n);
    message->object->values = CW_NEW_ARRAY(value_pb *, value->n + 1);
    for (size_t i = 0; i < value->n; i++)
        message->object->values[i] = value_to(&value->items[i]);
}

static value_pb *value_to(const struct cw_value *value)
{
    value_pb *message = CW_NEW(value_pb);
    cachew__v1__value__init(message);
    switch (value->type) {
    case CW_VALUE_NULL:
        message->kind_case = KIND(NULL);
        message->null = 1;
        break;
    case CW_VALUE_BOOL:
        message->kind_case = KIND(BOOLEAN);
        message->boolean = value->b;
        break;
    case CW_VALUE_I64:
        message->kind_case = KIND(INTEGER);
        message->integer = value->i;
        break;
    case CW_VALUE_F64:
        message->kind_case = KIND(NUMBER);
        message->number = value->f;
        break;
    case CW_VALUE_STR:
        message->kind_case = KIND(TEXT);
        message->text = cw_mem_strdup(value->s);
        break;
    case CW_VALUE_LIST:
        list_to(value, message);
        break;
    case CW_VALUE_OBJECT:
        object_to(value, message);
        break;
    }
    return message;
}

static node_pb *node_to(const struct cw_node *node)
{
    node_pb *message = CW_NEW(node_pb);
    cachew__v1__node__init(message);
    message->name = cw_mem_strdup(node->name);
    message->named = node->named;
    message->op = cw_mem_strdup(node->op);
    message->n_inputs = node->inputs_n;
    message->inputs = CW_NEW_ARRAY(uint32_t, node->inputs_n + 1);
    for (size_t i = 0; i < node->inputs_n; i++)
        message->inputs[i] = (uint32_t)node->inputs[i];
    message->chained = node->chained;
    message->n_fields = node->fields_n;
    message->fields = strings_to(node->fields, node->fields_n);
    message->keep_position = node->keep_position;
    message->n_depends_on = node->depends_n;
    message->depends_on = strings_to(node->depends_on, node->depends_n);
    message->options = value_to(&node->options);
    return message;
}

graph_pb *cw_wire_graph_to(const struct cw_graph *graph)
{
    graph_pb *message = CW_NEW(graph_pb);
    cachew__v1__graph__init(message);
    message->name = cw_mem_strdup(graph->name);
    message->identity = (uint32_t)graph->identity;
    message->n_nodes = graph->n;
    message->nodes = CW_NEW_ARRAY(node_pb *, graph->n + 1);
    for (size_t i = 0; i < graph->n; i++)
        message->nodes[i] = node_to(&graph->nodes[i]);
    return message;
}

void cw_wire_graph_free(graph_pb *message)
{
    if (message)
        cachew__v1__graph__free_unpacked(message, &cw_wire_allocator);
}

struct cw_buf *cw_wire_graph_pack(const struct cw_graph *graph)
{
    graph_pb *message = cw_wire_graph_to(graph);
    struct cw_buf *buf = cw_wire_pack(&message->base);
    cw_wire_graph_free(message);
    return buf;
}

void cw_wire_graph_strip(graph_pb *message)
{
    for (size_t i = 0; i < message->n_nodes; i++)
        if (message->nodes[i]->options)
            cachew__v1__value__free_unpacked(cw_steal(&message->nodes[i]->options), NULL);
}

/* ---- from a message ---- */

static int value_from(const value_pb *message, struct cw_value *value, int depth,
                      struct cw_err *err);

static int list_from(const Cachew__V1__Value__List *list, struct cw_value *value, int depth,
                     struct cw_err *err)
{
    struct cw_value *items = cw_value_set_list(value, list->n_items);
    int code = 0;
    for (size_t i = 0; i < list->n_items && code == 0; i++)
        code = value_from(list->items[i], &items[i], depth, err);
    return code;
}

static int object_from(const Cachew__V1__Value__Object *object, struct cw_value *value, int depth,
                       struct cw_err *err)
{
    cw_value_set_object(value);
    if (object->n_keys != object->n_values)
        return cw_err_set(err, CW_E_CORRUPT, "an object with %zu keys and %zu values",
                          object->n_keys, object->n_values);
    if (object->n_keys > CW_GRAPH_NODES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "an object with %zu keys", object->n_keys);
    struct cw_strmap seen = {0}; /* a peer's keys: looking for each in all others takes too long */
    int code = 0;
    for (size_t i = 0; i < object->n_keys && code == 0; i++) {
        if (cw_strmap_set(&seen, object->keys[i], value))
            code = cw_err_set(err, CW_E_CORRUPT, "key \"%.100s\" comes twice", object->keys[i]);
        else
            code =
                value_from(object->values[i], cw_value_append(value, object->keys[i]), depth, err);
    }
    cw_strmap_fini(&seen);
    return code;
}

static int value_from(const value_pb *message, struct cw_value *value, int depth,
                      struct cw_err *err)
{
    if (depth == VALUE_DEPTH_MAX)
        return cw_err_set(err, CW_E_LIMIT, "options are nested deeper than %d", VALUE_DEPTH_MAX);
    switch ((int)message->kind_case) {
    case KIND(NULL):
        return 0;
    case KIND(BOOLEAN):
        cw_value_set_bool(value, message->boolean != 0);
        return 0;
    case KIND(INTEGER):
        cw_value_set_i64(value, message->integer);
        return 0;
    case KIND(NUMBER):
        if (!isfinite(message->number))
            return cw_err_set(err, CW_E_CORRUPT, "an option is a number that is not finite");
        cw_value_set_f64(value, message->number);
        return 0;
    case KIND(TEXT):
        cw_value_set_str(value, message->text);
        return 0;
    case KIND(LIST):
        return list_from(message->list, value, depth + 1, err);
    case KIND(OBJECT):
        return object_from(message->object, value, depth + 1, err);
    default:
        return cw_err_set(err, CW_E_CORRUPT, "an option has a value of a kind that is not known");
    }
}

static int node_from(const node_pb *message, struct cw_node *node, struct cw_err *err)
{
    node->name = message->name[0] ? cw_mem_strdup(message->name) : NULL;
    node->named = message->named != 0;
    node->op = cw_mem_strdup(message->op);
    node->inputs_n = message->n_inputs;
    node->inputs = CW_NEW_ARRAY(size_t, message->n_inputs + 1);
    for (size_t i = 0; i < message->n_inputs; i++)
        node->inputs[i] = message->inputs[i];
    node->chained = message->chained != 0;
    node->fields_n = message->n_fields;
    node->fields = strings_to(message->fields, message->n_fields);
    node->keep_position = message->keep_position != 0;
    node->depends_n = message->n_depends_on;
    node->depends_on = strings_to(message->depends_on, message->n_depends_on);
    if (!message->options)
        return 0;
    if (message->options->kind_case != KIND(OBJECT))
        return cw_err_set(err, CW_E_CORRUPT, "the options are not an object");
    return value_from(message->options, &node->options, 0, err);
}

int cw_wire_graph_from(const graph_pb *message, struct cw_graph **ret_graph, struct cw_err *err)
{
    if (!message)
        return cw_err_set(err, CW_E_INVALID, "the pipeline is missing");
    if (message->n_nodes > CW_GRAPH_NODES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "pipeline has %zu nodes, the limit is %d",
                          message->n_nodes, CW_GRAPH_NODES_MAX);
    size_t name_n = strlen(message->name);
    if (name_n > CW_PIPELINE_NAME_MAX)
        return cw_err_set(err, CW_E_LIMIT, "the pipeline's name has %zu bytes, the limit is %d",
                          name_n, CW_PIPELINE_NAME_MAX);
    if (message->identity >= CW_IDENTITY_N)
        return cw_err_set(
            err, CW_E_UNSUPPORTED,
            "the pipeline asks for an identity of files that this version does not know");
    struct cw_graph_builder *builder = cw_graph_builder_new(message->name);
    cw_graph_builder_set_identity(builder, (enum cw_identity)message->identity);
    int code = 0;
    for (size_t i = 0; i < message->n_nodes && code == 0; i++) {
        struct cw_node node = {0};
        code = node_from(message->nodes[i], &node, err);
        if (code)
            cw_err_wrap(err, "node %zu (%.100s)", i + 1, message->nodes[i]->op);
        else
            cw_graph_builder_add_indexed(builder, &node);
        cw_node_fini(&node);
    }
    if (code == 0)
        code = cw_graph_builder_finish(builder, ret_graph, err);
    cw_graph_builder_free(builder);
    return code;
}

int cw_wire_graph_unpack(const void *p, size_t n, struct cw_graph **ret_graph, struct cw_err *err)
{
    if (n > CW_RPC_CONTROL_MAX)
        return cw_err_set(err, CW_E_LIMIT, "a packed pipeline of %zu bytes", n);
    struct cw_err own = {0};
    ProtobufCMessage *message = cw_wire_unpack_bytes(&cachew__v1__graph__descriptor, p, n, &own);
    if (!message)
        return cw_err_set(err, own.code, "%s", own.msg);
    int code = cw_wire_graph_from((graph_pb *)message, ret_graph, err);
    protobuf_c_message_free_unpacked(message, NULL);
    return code;
}
