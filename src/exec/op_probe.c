/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what comes into an operator, as a pipeline of its own that ends there, and shows it to the
 * operator. */
#include "exec/op_probe.h"

#include <string.h>

#include "base/mem.h"
#include "exec/exec.h"
#include "plan/plan.h"

/* Items are computed until there are enough elements, or so many are done: a filter may leave out
 * nearly all. */
#define ITEMS_MAX 256

struct shown {
    struct cw_spec spec;
    size_t n, batches_n;
    struct cw_element elements[CW_PROBE_ELEMENTS];
    struct cw_batch *batches[CW_PROBE_ELEMENTS]; /* what the elements lie in */
};

static void shown_free(struct shown *shown)
{
    for (size_t i = 0; i < shown->batches_n; i++)
        cw_batch_unref(shown->batches[i]);
    cw_spec_fini(&shown->spec);
    cw_mem_free(shown);
}

/* Makes a graph of a node and all that it reads. */
static int cut_behind(const struct cw_graph *graph, size_t last, struct cw_graph **ret_graph,
                      struct cw_err *err)
{
    cw_autofree bool *used = CW_NEW_ARRAY(bool, graph->n);
    cw_autofree size_t *place = CW_NEW_ARRAY(size_t, graph->n);
    used[last] = true;
    for (size_t i = last + 1; i-- > 0;)
        for (size_t k = 0; used[i] && k < graph->nodes[i].inputs_n; k++)
            used[graph->nodes[i].inputs[k]] = true;
    struct cw_graph_builder *builder = cw_graph_builder_new(graph->name);
    cw_graph_builder_set_identity(builder, graph->identity);
    for (size_t i = 0, n = 0; i <= last; i++) {
        struct cw_node node;
        if (!used[i])
            continue;
        cw_node_copy(&graph->nodes[i], &node);
        for (size_t k = 0; k < node.inputs_n; k++)
            node.inputs[k] = place[node.inputs[k]];
        place[i] = n++;
        cw_graph_builder_add_indexed(builder, &node);
    }
    int rc = cw_graph_builder_finish(builder, ret_graph, err);
    cw_graph_builder_free(builder);
    return rc;
}

/* ---- elements of outputs ---- */

/* A row of a tensor as an operator sees it; lead: the first dimension is that of rows. */
static bool row_view(const struct cw_batch *batch, size_t i, size_t row, bool lead,
                     struct cw_view *ret_view)
{
    const struct cw_tensor *tensor = &batch->tensors[i];
    const struct cw_field *field = &tensor->field;
    unsigned char *data = (unsigned char *)batch->buf->data + tensor->offset;
    *ret_view = (struct cw_view){.data = data, .bytes = tensor->bytes, .dtype = field->dtype};
    if (field->dtype == CW_DTYPE_STR) {
        int64_t offsets[2];
        memcpy(offsets, data + row * sizeof(int64_t), sizeof(offsets));
        size_t rows = lead ? (size_t)field->dims[0] : 1;
        ret_view->data = data + (rows + 1) * sizeof(int64_t) + offsets[0];
        ret_view->bytes = (size_t)(offsets[1] - offsets[0]);
        return field->rank == (lead ? 1 : 0);
    }
    ret_view->rank = field->rank - lead;
    memcpy(ret_view->dims, field->dims + lead, (size_t)ret_view->rank * sizeof(field->dims[0]));
    if (lead) {
        ret_view->bytes = tensor->bytes / CW_MAX((size_t)field->dims[0], 1);
        ret_view->data = data + row * ret_view->bytes;
    }
    return !cw_field_is_ragged(field);
}

/* Adds the elements of an output. One whose rows cannot be told apart (ragged rows of a sparse
 * pipeline) has none. */
static void add_elements(struct shown *shown, struct cw_batch *batch, bool lead)
{
    size_t rows = lead ? (size_t)batch->elements : 1;
    for (size_t row = 0; row < rows && shown->n < CW_PROBE_ELEMENTS; row++) {
        struct cw_element *element = &shown->elements[shown->n];
        bool whole = true;
        element->id = shown->n;
        element->n = batch->n;
        for (size_t i = 0; whole && i < batch->n; i++)
            whole = row_view(batch, i, row, lead, &element->fields[i]);
        shown->n += whole;
    }
    shown->batches[shown->batches_n++] = batch;
}

static int compute(struct cw_plan *plan, struct shown *shown, struct cw_stop *stop,
                   struct cw_err *err)
{
    const struct cw_plan_info *info = cw_plan_info(plan);
    int rc = 0;
    for (uint64_t item = 0; rc == 0 && item < CW_MIN(info->items, ITEMS_MAX); item++) {
        struct cw_batch *batch = NULL;
        if (shown->n == CW_PROBE_ELEMENTS || shown->batches_n == CW_PROBE_ELEMENTS)
            break;
        rc = cw_stop_check(stop, err);
        if (rc == 0)
            rc = cw_exec_run(plan, 0, item, CW_BAD_SKIP, &batch, err);
        if (rc == 0 && batch->elements > 0 && batch->buf)
            add_elements(shown, batch, info->sparse);
        else
            cw_batch_unref(batch);
    }
    return rc;
}

static int compute_inputs(const struct cw_graph *graph, size_t node, uint64_t seed,
                          struct cw_stop *stop, struct shown *shown, struct cw_err *err)
{
    struct cw_graph *cut = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    int rc = cut_behind(graph, graph->nodes[node].inputs[0], &cut, err);
    if (rc == 0)
        rc = cw_graph_check(cut, &checked, err);
    if (rc == 0)
        shown->spec = cw_spec_copy(&checked->nodes[cut->n - 1].out);
    if (rc == 0)
        rc = cw_plan_prepare(checked, seed, NULL, true, stop, &plan, err);
    if (rc == 0)
        rc = compute(plan, shown, stop, err);
    cw_plan_unref(plan);
    cw_checked_unref(checked);
    cw_graph_unref(cut);
    return rc;
}

/* ---- operators ---- */

static bool wants_probe(const struct cw_node *node)
{
    const struct cw_op *op = cw_op_find_for(node->op, &node->options);
    return op && op->probe && node->inputs_n == 1;
}

static int show(const struct cw_node *node, const struct shown *shown, struct cw_stop *stop,
                struct cw_value *said, struct cw_err *err)
{
    const struct cw_op *op = cw_op_find_for(node->op, &node->options);
    const struct cw_op_probe probe = {
        .in = &shown->spec, .elements = shown->elements, .n = shown->n, .stop = stop};
    cw_autofree void *opts = cw_mem_new(CW_MAX(op->options_bytes, 1));
    int rc = cw_opt_parse(op->options, &node->options, opts, err);
    if (rc != 0)
        return rc;
    if (shown->n > 0)
        rc = op->probe(opts, &probe, said, err);
    else if (!op->is_complete(opts))
        rc =
            cw_err_set(err, CW_E_INVALID,
                       "no element comes in that could tell what it gives: give %s", op->completed);
    cw_opt_fini(op->options, opts);
    return rc;
}

/* Replaces *graph by one in which the node has what it found out. */
static int replace(struct cw_graph **graph, size_t at, const struct cw_value *said,
                   struct cw_err *err)
{
    struct cw_graph *old = *graph, *made = NULL;
    struct cw_graph_builder *builder = cw_graph_builder_new(old->name);
    cw_graph_builder_set_identity(builder, old->identity);
    for (size_t i = 0; i < old->n; i++) {
        struct cw_node node;
        cw_node_copy(&old->nodes[i], &node);
        if (i == at) {
            cw_value_fini(&node.options);
            cw_value_copy(&node.options, said);
        }
        cw_graph_builder_add_indexed(builder, &node);
    }
    int rc = cw_graph_builder_finish(builder, &made, err);
    cw_graph_builder_free(builder);
    if (rc == 0) {
        cw_graph_unref(old);
        *graph = made;
    }
    return rc;
}

static int probe_node(struct cw_graph **graph, size_t i, uint64_t seed, struct cw_stop *stop,
                      struct cw_err *err)
{
    struct shown *shown = CW_NEW(struct shown);
    struct cw_value said = {0};
    cw_value_copy(&said, &(*graph)->nodes[i].options);
    int rc = compute_inputs(*graph, i, seed, stop, shown, err);
    if (rc == 0) {
        const struct cw_node *node = &(*graph)->nodes[i];
        rc = show(node, shown, stop, &said, err);
        if (rc < 0)
            rc = cw_err_wrap(err, "node \"%s\" (%s)", node->name, node->op);
    }
    if (rc == 0)
        rc = replace(graph, i, &said, err);
    cw_value_fini(&said);
    shown_free(shown);
    return rc;
}

int cw_exec_probe(struct cw_graph *graph, uint64_t seed, struct cw_stop *stop,
                  struct cw_graph **ret_graph, struct cw_err *err)
{
    struct cw_graph *now = cw_graph_ref(graph);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < graph->n; i++)
        if (wants_probe(&now->nodes[i]))
            rc = probe_node(&now, i, seed, stop, err);
    if (rc == 0)
        *ret_graph = cw_steal(&now);
    cw_graph_unref(now);
    return rc;
}
