/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/shard/rows.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "client/model/trainer_batch.h"
#include "client/tool/tool_graph.h"
#include "data/ragged.h"
#include "graph/sparse.h"

static bool has_group(const struct cw_graph *graph)
{
    for (size_t i = 0; i < graph->n; i++) {
        const struct cw_op *op = cw_op_find(graph->nodes[i].op);
        if (op && op->kind == CW_OP_GROUP)
            return true;
    }
    return false;
}

/* Whether elements of the last node are batches: there is one below it that nothing has taken apart. */
static bool ends_in_batches(const struct cw_checked *checked)
{
    const size_t n = checked->graph->n;
    cw_autofree bool *batches = CW_NEW_ARRAY(bool, n);
    for (size_t i = 0; i < n; i++) {
        const struct cw_checked_node *node = &checked->nodes[i];
        batches[i] = node->op->kind == CW_OP_GROUP && !node->op->takes_apart;
        for (size_t k = 0; k < node->inputs_n && !node->op->takes_apart; k++)
            batches[i] = batches[i] || batches[node->inputs[k]];
    }
    return batches[n - 1];
}

/* Whether what comes are batches whose rows are the elements; pack and others make single elements. */
static bool has_rows(const struct cw_graph *graph, const struct cw_checked *checked)
{
    struct cw_sparse sparse;
    struct cw_err ignored = {0};
    if (checked && cw_sparse_find(checked, &sparse, &ignored) == 0 && sparse.first != SIZE_MAX &&
        cw_sparse_is_inside(&sparse))
        return sparse.batch > 0 || sparse.whole;
    return checked ? ends_in_batches(checked) : has_group(graph);
}

/* Removes the first dimension, which counts the elements of a batch. */
static void drop_dim(struct cw_field *field)
{
    if (field->rank == 0)
        return;
    field->rank--;
    memmove(field->dims, field->dims + 1, (size_t)field->rank * sizeof(field->dims[0]));
    for (int d = 0; d < field->rank; d++)
        field->dims[d] = CW_MAX(field->dims[d], -1); /* what is ragged is just not known */
}

/* Whether elements of these fields can be kept: a batch is not one if its rows have different shapes. */
static int check_fields(const struct tool_rows *rows, struct cw_err *err)
{
    for (size_t i = 0; !rows->unbatch && i < rows->spec.n; i++)
        if (cw_field_is_ragged(&rows->spec.fields[i]))
            return cw_err_set(
                err, CW_E_UNSUPPORTED,
                "field \"%s\": ragged batches cannot be kept: leave out --keep-batches",
                rows->spec.fields[i].name);
    return 0;
}

int tool_rows_init(struct tool_rows *rows, const char *path, bool keep, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_err ignored = {0};
    int rc = cw_graph_load(path, &graph, err);
    if (rc < 0)
        return rc;
    *rows = (struct tool_rows){.unbatch = false};
    /* An error here does not fail the command. The dispatcher reports it, and it may see more files
     * than this process. */
    rows->known = tool_graph_check(graph, NULL, &checked, &ignored) == 0;
    rows->unbatch = !keep && has_rows(graph, rows->known ? checked : NULL);
    if (rows->known)
        rows->spec = cw_spec_copy(&checked->nodes[graph->n - 1].out);
    for (size_t i = 0; rows->unbatch && i < rows->spec.n; i++)
        drop_dim(&rows->spec.fields[i]);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return check_fields(rows, err);
}

int tool_rows_take_spec(struct tool_rows *rows, const struct cachew_batch *batch,
                        struct cw_err *err)
{
    for (size_t i = 0; i < batch->data->n; i++) {
        const struct cw_field *field = &batch->data->tensors[i].field;
        int rc = cw_spec_add(&rows->spec, field->name, field->dtype, field->rank, field->dims, err);
        if (rc < 0)
            return rc;
        if (rows->unbatch)
            drop_dim(&rows->spec.fields[i]);
    }
    rows->known = true;
    return check_fields(rows, err);
}

uint64_t tool_rows_n(const struct tool_rows *rows, const struct cachew_batch *batch)
{
    return rows->unbatch ? cachew_batch_elements(batch) : 1;
}

/* Joins n strings of a tensor into one value: offsets from 0, then the bytes. */
static int join_strings(const struct cachew_tensor *tensor, size_t first, size_t n,
                        struct cw_view *view, struct cw_arena *arena, struct cw_err *err)
{
    const int64_t *offsets = tensor->offsets + first;
    size_t offsets_n = (n + 1) * sizeof(int64_t), bytes = (size_t)(offsets[n] - offsets[0]);
    int64_t *p = cw_arena_alloc(arena, offsets_n + bytes);
    if (!p)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes of strings", bytes);
    for (size_t i = 0; i <= n; i++)
        p[i] = offsets[i] - offsets[0];
    if (bytes)
        memcpy((char *)p + offsets_n, (const char *)tensor->data + offsets[0], bytes);
    view->data = p;
    view->bytes = offsets_n + bytes;
    return 0;
}

static void *without_const(const void *p)
{
    return (void *)(uintptr_t)p;
}

static int get_view(const struct tool_rows *rows, const struct cachew_tensor *tensor, uint64_t n,
                    uint64_t i, struct cw_view *view, struct cw_arena *arena, struct cw_err *err)
{
    int skip = rows->unbatch ? 1 : 0;
    size_t count = 1;
    if (tensor->rank < skip || (skip && (uint64_t)tensor->dims[0] != n))
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "field \"%s\": has no row for each element: give --keep-batches",
                          tensor->name);
    *view = (struct cw_view){.dtype = (enum cw_dtype)tensor->dtype, .rank = tensor->rank - skip};
    for (int d = 0; d < view->rank; d++) {
        view->dims[d] = tensor->dims[d + skip];
        count *= (size_t)view->dims[d];
    }
    if (!tensor->offsets) {
        view->bytes = count * cachew_dtype_bytes(tensor->dtype);
        view->data = without_const((const char *)tensor->data + i * view->bytes);
        return 0;
    }
    if (view->rank > 0)
        return join_strings(tensor, i * count, count, view, arena, err);
    view->bytes = (size_t)(tensor->offsets[i + 1] - tensor->offsets[i]);
    view->data = without_const((const char *)tensor->data + tensor->offsets[i]);
    return 0;
}

static int copy_list(const struct cw_ragged *ragged, const void *data, uint64_t i,
                     struct cw_view *view, struct cw_arena *arena, struct cw_err *err)
{
    view->data = cw_arena_alloc(arena, view->bytes);
    if (!view->data)
        return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes of strings", view->bytes);
    cw_ragged_copy_strings(ragged, data, (int64_t)i, view->data);
    return 0;
}

/* Takes a row of a ragged field: an element's own value again. */
static int get_ragged(const struct tool_rows *rows, const struct cachew_batch *batch, size_t f,
                      uint64_t i, struct cw_view *view, struct cw_arena *arena, struct cw_err *err)
{
    const struct cw_tensor *tensor = &batch->data->tensors[f];
    struct cw_ragged ragged;
    if (!rows->unbatch)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "field \"%s\": ragged batches cannot be kept: leave out --keep-batches",
                          tensor->field.name);
    int rc = cw_ragged_init(&ragged, &tensor->field, err);
    if (rc < 0)
        return rc;
    cw_ragged_row(&ragged, cw_batch_data(batch->data, f), (int64_t)i, view);
    return ragged.strings ? copy_list(&ragged, cw_batch_data(batch->data, f), i, view, arena, err)
                          : 0;
}

int tool_rows_get(const struct tool_rows *rows, const struct cachew_batch *batch, uint64_t i,
                  struct cw_element *ret_element, struct cw_arena *arena, struct cw_err *err)
{
    ret_element->n = cachew_batch_tensors(batch);
    if (ret_element->n != rows->spec.n)
        return cw_err_set(err, CW_E_INTERNAL, "a batch of %zu tensors, the pipeline says %zu",
                          ret_element->n, rows->spec.n);
    for (size_t f = 0; f < ret_element->n; f++) {
        struct cachew_tensor tensor, begins;
        int rc = cachew_batch_tensor(batch, f, &tensor);
        if (cachew_batch_ragged(batch, f, &begins, NULL) == 0)
            rc = get_ragged(rows, batch, f, i, &ret_element->fields[f], arena, err);
        else if (rc == 0)
            rc = get_view(rows, &tensor, cachew_batch_elements(batch), i, &ret_element->fields[f],
                          arena, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
