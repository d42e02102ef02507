/* SPDX-License-Identifier: Apache-2.0 */
#include "exec/row_pieces.h"

#include <string.h>

#include "data/ragged.h"
#include "data/strings.h"
#include "exec/item_batch.h"
#include "exec/op_call.h"
#include "exec/task.h"

_Static_assert(CW_SOURCE_ROWS_MAX <= (int)CW_LOOSE_ROWS_MAX, "a source can read them at once");

struct cw_row_piece {
    struct cw_row_piece *before; /* the one with rows before these; NULL: it has the first ones */
    int64_t first;
    size_t n;
    struct cw_loose_column columns[]; /* of each field */
};

/* Whether the field is a list of numbers of which only the first dimension is unknown, in the rows of a ragged
 * batch. */
static bool is_list(const struct cw_field *field, const struct cw_field *out)
{
    if (field->dtype == CW_DTYPE_STR || field->rank == 0 || field->dims[0] >= 0)
        return false;
    for (int i = 1; i < field->rank; i++)
        if (field->dims[i] < 0)
            return false;
    return cw_field_is_ragged(out);
}

bool cw_row_pieces_fit(const struct cw_exec_task *task)
{
    const size_t group = task->cut.group;
    if (task->fixed || group == SIZE_MAX || task->plan->inside_n > 0 ||
        task->plan->nodes[group].op->group_pad)
        return false;
    for (size_t f = 0; f < task->spec->n; f++) {
        const struct cw_field *field = &task->spec->fields[f];
        const bool is_string = field->dtype == CW_DTYPE_STR && field->rank == 0;
        if (!is_string && !cw_field_is_fixed(field) && !is_list(field, &task->out->fields[f]))
            return false;
    }
    return true;
}

/* ---- reading ---- */

struct memory {
    struct cw_exec_task *task;
    struct cw_thread_context *work;
};

static void *get(void *arg, size_t bytes)
{
    const struct memory *memory = arg;
    return cw_row_memory_get(memory->task, memory->work, bytes);
}

static bool make_columns(const struct cw_spec *spec, struct cw_row_piece *piece,
                         struct memory *memory)
{
    for (size_t f = 0; f < spec->n; f++) {
        const int64_t bytes = cw_field_bytes(&spec->fields[f]);
        struct cw_loose_column *column = &piece->columns[f];
        void *p = get(memory, piece->n * (bytes < 0 ? sizeof(int64_t) : (size_t)bytes) + 1);
        *column = bytes < 0 ? (struct cw_loose_column){.ends = p}
                            : (struct cw_loose_column){.data = p, .bytes = (size_t)bytes};
        if (!p)
            return false;
    }
    return true;
}

/* Puts a piece in its place, which is near the first, since rows are taken in order. */
static void add(struct cw_exec_task *task, struct cw_row_piece *piece)
{
    struct cw_row_piece **at = &task->pieces.last;
    cw_mutex_lock(&task->mutex);
    while (*at && (*at)->first > piece->first)
        at = &(*at)->before;
    piece->before = *at;
    *at = piece;
    task->pieces.rows += (int64_t)piece->n;
    cw_mutex_unlock(&task->mutex);
}

bool cw_row_pieces_read(struct cw_exec_task *task, struct cw_thread_context *work, int64_t row,
                        const int64_t *positions, size_t n, size_t *ret_bytes)
{
    const struct cw_spec *spec = task->spec;
    struct memory memory = {task, work};
    struct cw_row_piece *piece = get(&memory, sizeof(*piece) + spec->n * sizeof(*piece->columns));
    if (!piece)
        return false;
    piece->first = row;
    piece->n = n;
    if (!make_columns(spec, piece, &memory))
        return false;
    const struct cw_loose_rows rows = {
        .positions = positions, .n = n, .columns = piece->columns, .get = get, .arg = &memory};
    if (!cw_op_call_read_loose(work, work->way->rows_source, &rows))
        return false;
    *ret_bytes = 0;
    for (size_t f = 0; f < spec->n; f++)
        *ret_bytes += cw_loose_bytes(&piece->columns[f], n);
    add(task, piece);
    return true;
}

/* ---- joining ---- */

/* The pieces in order: turns the list round. */
static struct cw_row_piece *in_order(struct cw_row_pieces *pieces)
{
    struct cw_row_piece *first = NULL;
    while (pieces->last) {
        struct cw_row_piece *piece = pieces->last;
        pieces->last = piece->before;
        piece->before = first; /* now the one behind it */
        first = piece;
    }
    return first;
}

static int measure(const struct cw_exec_task *task, const struct cw_row_piece *first, size_t f,
                   struct cw_tensor *tensor, struct cw_err *err)
{
    const struct cw_field *spec = &task->spec->fields[f];
    struct cw_field *field = &tensor->field;
    struct cw_ragged ragged;
    *field = task->out->fields[f];
    field->dtype = spec->dtype;
    field->rank = spec->rank + 1;
    field->dims[0] = task->rows;
    for (int i = 0; i < spec->rank; i++)
        field->dims[i + 1] = spec->dims[i] < 0 ? CW_DIM_RAGGED : spec->dims[i];
    tensor->bytes = 0;
    for (const struct cw_row_piece *p = first; p; p = p->before)
        tensor->bytes += cw_loose_bytes(&p->columns[f], p->n);
    if (spec->dtype == CW_DTYPE_STR)
        tensor->bytes += cw_strings_table_bytes(task->rows);
    if (!cw_field_is_ragged(field))
        return 0;
    int rc = cw_ragged_init(&ragged, field, err);
    if (rc < 0)
        return cw_err_wrap(err, "field \"%s\"", spec->name);
    tensor->bytes += ragged.values_at;
    return 0;
}

static uint8_t *copy_values(const struct cw_row_piece *piece, size_t f, uint8_t *dst)
{
    const size_t bytes = cw_loose_bytes(&piece->columns[f], piece->n);
    if (bytes > 0)
        memcpy(dst, piece->columns[f].data, bytes);
    return dst + bytes;
}

/* Writes where rows end, counted in units of so many bytes. */
static void copy_ends(const int64_t *ends, size_t n, int64_t before, size_t unit, int64_t *dst)
{
    const unsigned shift = (unsigned)__builtin_ctzll(unit);
    if ((unit & (unit - 1)) == 0)
        for (size_t i = 0; i < n; i++)
            dst[i] = before + (int64_t)((uint64_t)ends[i] >> shift);
    else
        for (size_t i = 0; i < n; i++)
            dst[i] = before + ends[i] / (int64_t)unit;
}

/* Writes where rows begin and end, and then the values. */
static void copy_loose(const struct cw_row_piece *first, size_t f, size_t unit, int64_t *begins,
                       uint8_t *values)
{
    int64_t before = *begins++ = 0;
    for (const struct cw_row_piece *p = first; p; p = p->before) {
        copy_ends(p->columns[f].ends, p->n, before, CW_MAX(unit, 1), begins);
        begins += p->n;
        before = begins[-1];
        values = copy_values(p, f, values);
    }
}

static void copy_field(const struct cw_exec_task *task, const struct cw_row_piece *first, size_t f)
{
    const struct cw_tensor *tensor = &task->batch->tensors[f];
    uint8_t *dst = (uint8_t *)task->batch->buf->data + tensor->offset;
    struct cw_ragged_writer writer;
    struct cw_err impossible = {0}; /* it was measured */
    if (!first->columns[f].ends) {
        for (const struct cw_row_piece *p = first; p; p = p->before)
            dst = copy_values(p, f, dst);
    } else if (!cw_field_is_ragged(&tensor->field)) {
        copy_loose(first, f, 1, (int64_t *)(void *)dst, dst + cw_strings_table_bytes(task->rows));
    } else if (cw_ragged_write_begin(&writer, &tensor->field, dst, &impossible) == 0) {
        copy_loose(first, f, (size_t)writer.ragged.unit_bytes, (int64_t *)(void *)dst,
                   dst + writer.ragged.values_at);
    }
}

int cw_row_pieces_join(struct cw_exec_task *task, struct cw_err *err)
{
    const struct cw_row_piece *first = in_order(&task->pieces);
    struct cw_batch *batch = task->batch = cw_batch_new(task->spec->n);
    int rc = 0;
    for (size_t f = 0; rc == 0 && f < batch->n; f++)
        rc = measure(task, first, f, &batch->tensors[f], err);
    if (rc == 0)
        rc = cw_exec_batch_alloc(task, !task->cut.above_n, batch, err);
    for (size_t f = 0; rc >= 0 && batch->buf && f < batch->n; f++)
        copy_field(task, first, f);
    return rc;
}

/* ---- rows of their own ---- */

/* Sets the views of a row of a piece. */
static void view_row(const struct cw_spec *spec, const struct cw_row_piece *piece, size_t row,
                     struct cw_view *views)
{
    for (size_t f = 0; f < spec->n; f++) {
        const struct cw_field *field = &spec->fields[f];
        const struct cw_loose_column *c = &piece->columns[f];
        const size_t begin = !c->ends   ? row * c->bytes
                             : row == 0 ? 0
                                        : (size_t)c->ends[row - 1],
                     end = c->ends ? (size_t)c->ends[row] : begin + c->bytes;
        views[f] = (struct cw_view){.data = (uint8_t *)c->data + begin,
                                    .bytes = end - begin,
                                    .dtype = field->dtype,
                                    .rank = field->rank};
        memcpy(views[f].dims, field->dims, sizeof(views[f].dims));
        if (field->rank > 0 && field->dims[0] < 0) {
            size_t entry = cw_dtype_bytes(field->dtype);
            for (int i = 1; i < field->rank; i++)
                entry *= (size_t)field->dims[i];
            views[f].dims[0] = (int64_t)(entry > 0 ? (end - begin) / entry : 0);
        }
    }
}

int cw_row_pieces_keep(struct cw_exec_task *task, struct cw_thread_context *work,
                       struct cw_err *err)
{
    const size_t fields = task->spec->n;
    for (const struct cw_row_piece *p = task->pieces.last; p; p = p->before) {
        struct cw_view *views = cw_row_memory_get(task, work, p->n * fields * sizeof(*views));
        if (!views)
            return cw_err_set(err, CW_E_NOMEM, "no memory for %zu rows", p->n);
        for (size_t i = 0; i < p->n; i++, views += fields) {
            view_row(task->spec, p, i, views);
            task->kept[(size_t)p->first + i] = views;
        }
    }
    cw_row_memory_pause(task, work);
    task->pieces = (struct cw_row_pieces){0};
    return 0;
}
