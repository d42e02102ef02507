/* SPDX-License-Identifier: Apache-2.0 */
/* Prints snapshots as JSON, and reads them. */
#include <string.h>
#include "base/mem.h"
#include "policies/numbers.h"
#include "policies/policy.h"

#define NODE(field) CW_NUMBER_ANY(cw_autocache_node, field)
#define STORE(field) CW_NUMBER_ANY(cw_autocache_store, field)
#define SNAPSHOT(field) CW_NUMBER_ANY(cw_autocache_snapshot, field)
static const struct cw_number node_flags[] = {CW_NUMBER_FLAG_OF(cw_autocache_node, asked, false)};
static const struct cw_number node_numbers[] = {NODE(per_output), NODE(elements_n), NODE(records),
                                                NODE(samples),    NODE(cpu_ns),     NODE(wall_ns),
                                                NODE(bytes),      NODE(cached),     NODE(epoch_ns)};
static const struct cw_number store_numbers[] = {
    STORE(read_ns),       STORE(read_byte_ns),
    STORE(write_ns),      STORE(write_byte_ns),
    STORE(write_bytes_s), STORE(read_bytes_s),
    STORE(samples),       CW_NUMBER(cw_autocache_store, free_bytes, -DBL_MAX, DBL_MAX, -1)};
static const struct cw_number snapshot_numbers[] = {
    SNAPSHOT(workers),
    SNAPSHOT(threads),
    SNAPSHOT(inside),
    SNAPSHOT(epochs_left),
    SNAPSHOT(elements_measured),
    SNAPSHOT(epoch_ns),
    SNAPSHOT(predicted_ns),
    SNAPSHOT(compute_ns),
    SNAPSHOT(trainer_ns),
    CW_NUMBER(cw_autocache_snapshot, wait_share, -DBL_MAX, DBL_MAX, -1),
    CW_NUMBER_FLAG_OF(cw_autocache_snapshot, standing, true)};

/* ---- printing ---- */

static void add_text(struct cw_str *out, const char *key, const char *text)
{
    if (!text)
        return;
    cw_str_addf(out, ",\"%s\":", key);
    cw_str_add_json(out, text, strlen(text));
}

static void add_node(struct cw_str *out, const struct cw_autocache_node *node)
{
    cw_str_add(out, "{\"name\":");
    cw_str_add_json(out, node->name, strlen(node->name));
    add_text(out, "op", node->op);
    add_text(out, "why_not", node->why_not);
    add_text(out, "mark", node->mark);
    cw_numbers_print(node, CW_NUMBERS(node_flags), out);
    cw_str_add(out, ",\"inputs\":[");
    for (size_t i = 0; i < node->inputs_n; i++)
        cw_str_addf(out, "%s%zu", i > 0 ? "," : "", node->inputs[i]);
    cw_str_add(out, "]");
    cw_numbers_print(node, CW_NUMBERS(node_numbers), out);
    cw_str_add(out, "}");
}

static void add_points(struct cw_str *out, const struct cw_autocache_store *store)
{
    cw_str_add(out, ",\"points\":[");
    for (size_t i = 0; i < store->points_n; i++) {
        cw_str_add(out, i > 0 ? ",[" : "[");
        cw_str_add_f64(out, store->points[i].bytes);
        cw_str_add(out, ",");
        cw_str_add_f64(out, store->points[i].ns);
        cw_str_add(out, "]");
    }
    cw_str_add(out, "]");
}

void cw_autocache_snapshot_print(const struct cw_autocache_snapshot *snapshot, struct cw_str *out)
{
    cw_str_add(out, "{\"nodes\":[");
    for (size_t i = 0; i < snapshot->n; i++) {
        cw_str_add(out, i > 0 ? "," : "");
        add_node(out, &snapshot->nodes[i]);
    }
    cw_str_add(out, "],\"store\":{\"kind\":\"cache\"");
    cw_numbers_print(&snapshot->store, CW_NUMBERS(store_numbers), out);
    add_text(out, "assumed", snapshot->store.assumed);
    if (snapshot->store.points_n > 0)
        add_points(out, &snapshot->store);
    cw_str_add(out, "}");
    cw_numbers_print(snapshot, CW_NUMBERS(snapshot_numbers), out);
    if (snapshot->current < snapshot->n)
        add_text(out, "current", snapshot->nodes[snapshot->current].name);
    cw_str_add(out, "}");
}

/* ---- reading ---- */

static int read_text(const struct cw_value *value, const char *key, const char **ret_text,
                     struct cw_err *err)
{
    const struct cw_value *v = cw_value_get(value, key);
    if (v && v->type != CW_VALUE_STR)
        return cw_err_set(err, CW_E_INVALID, "\"%s\" must be a string", key);
    *ret_text = v ? cw_mem_strdup(v->s) : NULL;
    return 0;
}

static int read_inputs(const struct cw_value *value, size_t self, struct cw_autocache_node *node,
                       struct cw_err *err)
{
    const struct cw_value *list = cw_value_get(value, "inputs");
    size_t n = list && list->type == CW_VALUE_LIST ? list->n : 0;
    size_t *inputs = CW_NEW_ARRAY(size_t, n + 1);
    node->inputs = inputs;
    for (size_t i = 0; i < n; i++) {
        const struct cw_value *v = &list->items[i];
        if (v->type != CW_VALUE_I64 || v->i < 0 || (uint64_t)v->i >= self)
            return cw_err_set(err, CW_E_INVALID, "inputs must be numbers of earlier nodes");
        inputs[i] = (size_t)v->i;
        node->inputs_n++;
    }
    return 0;
}

static int read_node(const struct cw_value *value, size_t self, struct cw_autocache_node *node,
                     struct cw_err *err)
{
    if (value->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "a node must be an object");
    int rc = read_text(value, "name", &node->name, err);
    if (rc == 0 && !node->name)
        rc = cw_err_set(err, CW_E_INVALID, "a node has no name");
    if (rc == 0)
        rc = read_text(value, "op", &node->op, err);
    if (rc == 0)
        rc = read_text(value, "why_not", &node->why_not, err);
    if (rc == 0)
        rc = read_text(value, "mark", &node->mark, err);
    if (rc == 0)
        rc = read_inputs(value, self, node, err);
    if (rc == 0)
        rc = cw_numbers_read(value, CW_NUMBERS(node_flags), node, err);
    return rc < 0 ? rc : cw_numbers_read(value, CW_NUMBERS(node_numbers), node, err);
}

static int read_points(const struct cw_value *value, struct cw_autocache_store *store,
                       struct cw_err *err)
{
    const struct cw_value *list = cw_value_get(value, "points");
    size_t n = list && list->type == CW_VALUE_LIST ? list->n : 0;
    struct cw_autocache_point *points = CW_NEW_ARRAY(struct cw_autocache_point, n + 1);
    store->points = points;
    for (size_t i = 0; i < n; i++) {
        const struct cw_value *pair = &list->items[i];
        bool ok = pair->type == CW_VALUE_LIST && pair->n == 2 &&
                  cw_number_of(&pair->items[0], &points[i].bytes) &&
                  cw_number_of(&pair->items[1], &points[i].ns) &&
                  (i == 0 || points[i].bytes > points[i - 1].bytes);
        if (!ok)
            return cw_err_set(err, CW_E_INVALID, "points must be [bytes, ns], ascending");
        store->points_n++;
    }
    return 0;
}

static int read_store(const struct cw_value *value, struct cw_autocache_store *store,
                      struct cw_err *err)
{
    const struct cw_value none = {.type = CW_VALUE_OBJECT};
    int rc = cw_numbers_read(value ? value : &none, CW_NUMBERS(store_numbers), store, err);
    if (rc == 0)
        rc = read_text(value ? value : &none, "assumed", &store->assumed, err);
    return rc < 0 ? rc : read_points(value ? value : &none, store, err);
}

static int read_current(const struct cw_value *value, struct cw_autocache_snapshot *snapshot,
                        struct cw_err *err)
{
    const struct cw_value *v = cw_value_get(value, "current");
    snapshot->current = CW_POLICY_NONE;
    if (!v)
        return 0;
    for (size_t i = 0; v->type == CW_VALUE_STR && i < snapshot->n; i++) {
        if (cw_str_eq(snapshot->nodes[i].name, v->s))
            snapshot->current = i;
    }
    return snapshot->current == CW_POLICY_NONE
               ? cw_err_set(err, CW_E_INVALID, "\"current\" names no node")
               : 0;
}

static int read_all(const struct cw_value *value, struct cw_autocache_snapshot *snapshot,
                    struct cw_err *err)
{
    const struct cw_value *nodes = cw_value_get(value, "nodes");
    if (!nodes || nodes->type != CW_VALUE_LIST || nodes->n == 0 || nodes->n > CW_POLICY_NODES_MAX)
        return cw_err_set(err, CW_E_INVALID, "\"nodes\" must be a list of 1 to %d",
                          CW_POLICY_NODES_MAX);
    struct cw_autocache_node *list = CW_NEW_ARRAY(struct cw_autocache_node, nodes->n);
    snapshot->nodes = list;
    snapshot->n = nodes->n;
    for (size_t i = 0; i < nodes->n; i++) {
        int rc = read_node(&nodes->items[i], i, &list[i], err);
        if (rc < 0)
            return cw_err_wrap(err, "node %zu", i);
    }
    int rc = read_store(cw_value_get(value, "store"), &snapshot->store, err);
    if (rc == 0)
        rc = cw_numbers_read(value, CW_NUMBERS(snapshot_numbers), snapshot, err);
    return rc < 0 ? rc : read_current(value, snapshot, err);
}

static void free_const(const void *p)
{
    cw_mem_free((void *)(uintptr_t)p);
}

void cw_autocache_snapshot_free(struct cw_autocache_snapshot *snapshot)
{
    if (!snapshot)
        return;
    for (size_t i = 0; i < snapshot->n; i++) {
        const struct cw_autocache_node *node = &snapshot->nodes[i];
        free_const(node->name);
        free_const(node->op);
        free_const(node->why_not);
        free_const(node->mark);
        free_const(node->inputs);
    }
    free_const(snapshot->nodes);
    free_const(snapshot->store.points);
    free_const(snapshot->store.assumed);
    cw_mem_free(snapshot);
}

int cw_autocache_snapshot_from(const struct cw_value *value,
                               struct cw_autocache_snapshot **ret_snapshot, struct cw_err *err)
{
    if (value->type != CW_VALUE_OBJECT)
        return cw_err_set(err, CW_E_INVALID, "a snapshot must be an object");
    struct cw_autocache_snapshot *snapshot = CW_NEW(struct cw_autocache_snapshot);
    int rc = read_all(value, snapshot, err);
    if (rc < 0) {
        cw_autocache_snapshot_free(snapshot);
        return cw_err_wrap(err, "not a snapshot of the autocache policies");
    }
    *ret_snapshot = snapshot;
    return 0;
}

int cw_autocache_snapshot_parse(const char *text, size_t n,
                                struct cw_autocache_snapshot **ret_snapshot, struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = cw_value_parse(text, n, "snapshot", &value, err);
    if (rc == 0)
        rc = cw_autocache_snapshot_from(&value, ret_snapshot, err);
    cw_value_fini(&value);
    return rc;
}
