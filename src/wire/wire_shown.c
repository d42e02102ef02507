/* SPDX-License-Identifier: Apache-2.0 */
/* The first elements of a batch, for people to look at. What is large is thinned out, so that a look
 * costs little: images keep their shape with fewer pixels, and of a long row the beginning is shown. */
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "data/ragged.h"
#include "data/strings.h"
#include "wire/wire.h"

#define SIDE_MAX 128            /* values along a dim of what has several dims */
#define ROW_MAX 4096            /* values along a row */
#define ROWS_MAX 8              /* so many rows are no image */
#define VALUE_BYTES (192 << 10) /* the most bytes that are shown of one value */
#define STRINGS_MAX 20

/* ---- how much of a value is shown ---- */

struct thinned {
    int64_t steps[CW_RANK_MAX], shown[CW_RANK_MAX];
    size_t values;
};

/* Shows less of the first dim that is long enough until the value is small enough. */
static void cut(const struct cw_view *view, struct thinned *t)
{
    size_t most = VALUE_BYTES / cw_dtype_bytes(view->dtype);
    for (int i = 0; i < view->rank && t->values > most; i++) {
        size_t others = t->values / (size_t)t->shown[i];
        t->shown[i] = others >= most ? 1 : (int64_t)(most / others);
        t->values = others * (size_t)t->shown[i];
    }
}

/* Whether values stand in rows, such as the channels of a waveform, of which leaving some out says nothing. */
static bool is_rows(const struct cw_view *view)
{
    return view->rank == 1 || (view->rank == 2 && CW_MIN(view->dims[0], view->dims[1]) <= ROWS_MAX);
}

static void thin(const struct cw_view *view, struct thinned *t)
{
    bool rows = is_rows(view);
    t->values = 1;
    for (int i = 0; i < view->rank; i++) {
        int64_t n = view->dims[i];
        t->steps[i] = !rows && n > SIDE_MAX ? (n + SIDE_MAX - 1) / SIDE_MAX : 1;
        t->shown[i] = rows ? CW_MIN(n, ROW_MAX) : (n + t->steps[i] - 1) / t->steps[i];
        t->values *= (size_t)t->shown[i];
    }
    if (t->values > 0)
        cut(view, t);
}

static void copy(const struct cw_view *view, const struct thinned *t, uint8_t *dst)
{
    size_t size = cw_dtype_bytes(view->dtype);
    const uint8_t *src = view->data;
    int64_t at[CW_RANK_MAX] = {0};
    for (size_t i = 0; i < t->values; i++) {
        size_t offset = 0;
        for (int d = 0; d < view->rank; d++)
            offset = offset * (size_t)view->dims[d] + (size_t)(at[d] * t->steps[d]);
        memcpy(&dst[i * size], &src[offset * size], size);
        for (int d = view->rank - 1; d >= 0 && ++at[d] == t->shown[d]; d--)
            at[d] = 0;
    }
}

/* ---- fields ---- */

static void set_dims(Cachew__V1__ShownField *f, const struct cw_view *view)
{
    f->n_dims = (size_t)view->rank;
    f->dims = CW_NEW_ARRAY(int64_t, f->n_dims + 1);
    for (size_t i = 0; i < f->n_dims; i++)
        f->dims[i] = view->dims[i];
}

static void show_numbers(Cachew__V1__ShownField *f, const struct cw_view *view)
{
    struct thinned t;
    thin(view, &t);
    f->n_shown = (size_t)view->rank;
    f->shown = CW_NEW_ARRAY(int64_t, f->n_shown + 1);
    for (size_t i = 0; i < f->n_shown; i++)
        f->shown[i] = t.shown[i];
    f->data.len = t.values * cw_dtype_bytes(view->dtype);
    f->data.data = CW_NEW_ARRAY(uint8_t, f->data.len + 1);
    copy(view, &t, f->data.data);
}

/* Strings [first, first + n) of a list of `count`. */
static void show_strings(Cachew__V1__ShownField *f, const void *list, int64_t count, int64_t first,
                         int64_t n)
{
    f->strings = CW_NEW_ARRAY(ProtobufCBinaryData, STRINGS_MAX);
    for (size_t left = VALUE_BYTES; f->n_strings < (size_t)CW_MIN(n, STRINGS_MAX);) {
        size_t bytes;
        const char *text = cw_strings_get(list, count, first + (int64_t)f->n_strings, &bytes);
        ProtobufCBinaryData *s = &f->strings[f->n_strings++];
        s->len = CW_MIN(bytes, left);
        s->data = CW_NEW_ARRAY(uint8_t, s->len + 1);
        if (s->len > 0)
            memcpy(s->data, text, s->len);
        left -= s->len;
    }
    if (n > 0)
        f->bytes = (uint64_t)(cw_strings_offset(list, first + n) - cw_strings_offset(list, first));
}

/* Row r of a ragged tensor; r < 0: there are no rows, and only the shape is told. */
static void show_ragged(Cachew__V1__ShownField *f, const struct cw_field *field, const void *data,
                        int64_t r)
{
    struct cw_ragged ragged;
    struct cw_view row;
    if (r < 0 || cw_ragged_init(&ragged, field, NULL) != 0)
        return;
    cw_ragged_row(&ragged, data, r, &row);
    set_dims(f, &row);
    f->bytes = row.bytes;
    if (!ragged.strings) {
        show_numbers(f, &row);
        return;
    }
    int64_t n = cw_ragged_begin(data, r + 1) - cw_ragged_begin(data, r);
    cw_autofree void *list = cw_mem_new(cw_strings_table_bytes(n) + row.bytes);
    cw_ragged_copy_strings(&ragged, data, r, list);
    show_strings(f, list, n, 0, n);
}

/* Row r of a tensor; r < 0: all of it, since it has no rows. bytes: so many of the element are shown already;
 * behind the limit only shapes are told. */
static void show_field(Cachew__V1__ShownField *f, const struct cw_batch *batch, size_t i, int64_t r,
                       size_t bytes)
{
    const struct cw_field *field = &batch->tensors[i].field;
    const char *data = cw_batch_data(batch, i);
    struct cw_view view = {.dtype = field->dtype, .rank = field->rank - (r >= 0)};
    cachew__v1__shown_field__init(f);
    f->name = cw_mem_strdup(field->name);
    f->dtype = cw_mem_strdup(cw_dtype_name(field->dtype));
    if (cw_field_is_ragged(field)) {
        if (bytes < CW_SHOWN_BYTES)
            show_ragged(f, field, data, r);
        return;
    }
    int64_t values = 1, first = CW_MAX(r, 0);
    for (int d = 0; d < view.rank; d++)
        values *= view.dims[d] = field->dims[d + (r >= 0)];
    set_dims(f, &view);
    if (bytes >= CW_SHOWN_BYTES)
        return;
    if (field->dtype == CW_DTYPE_STR) {
        show_strings(f, data, cw_field_count(field), first * values, values);
        return;
    }
    f->bytes = view.bytes = (size_t)values * cw_dtype_bytes(field->dtype);
    view.data = (void *)(uintptr_t)(view.bytes > 0 ? data + (size_t)first * view.bytes : data);
    show_numbers(f, &view);
}

static size_t shown_bytes(const Cachew__V1__ShownField *f)
{
    size_t bytes = f->data.len;
    for (size_t i = 0; i < f->n_strings; i++)
        bytes += f->strings[i].len;
    return bytes;
}

/* ---- elements ---- */

/* Whether the first dim of all tensors counts the elements. */
static bool has_rows(const struct cw_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        const struct cw_field *field = &batch->tensors[i].field;
        if (field->rank == 0 || (uint64_t)field->dims[0] != batch->elements)
            return false;
    }
    return true;
}

/* Returns the bytes that are shown of the element. */
static size_t show_element(const struct cw_batch *batch, int64_t r, Cachew__V1__ShownElement *e)
{
    size_t bytes = 0;
    cachew__v1__shown_element__init(e);
    e->fields = CW_NEW_ARRAY(Cachew__V1__ShownField *, batch->n + 1);
    for (; e->n_fields < batch->n; e->n_fields++) {
        Cachew__V1__ShownField *f = e->fields[e->n_fields] = CW_NEW(Cachew__V1__ShownField);
        show_field(f, batch, e->n_fields, r, bytes);
        bytes += shown_bytes(f);
    }
    return bytes;
}

Cachew__V1__ElementsShown *cw_wire_shown_new(const struct cw_batch *batch, uint32_t most)
{
    Cachew__V1__ElementsShown *shown = CW_NEW(Cachew__V1__ElementsShown);
    bool rows = has_rows(batch);
    uint64_t n = CW_MIN(rows ? batch->elements : 1, CW_MIN(most, CW_SHOWN_ELEMENTS_MAX));
    cachew__v1__elements_shown__init(shown);
    shown->epoch = batch->epoch;
    shown->item = batch->item;
    shown->rows = batch->elements;
    shown->elements = CW_NEW_ARRAY(Cachew__V1__ShownElement *, CW_SHOWN_ELEMENTS_MAX);
    for (size_t bytes = 0; shown->n_elements < n && bytes < CW_SHOWN_BYTES;) {
        Cachew__V1__ShownElement *e = CW_NEW(Cachew__V1__ShownElement);
        bytes += show_element(batch, rows ? (int64_t)shown->n_elements : -1, e);
        shown->elements[shown->n_elements++] = e;
    }
    return shown;
}

static void free_field(Cachew__V1__ShownField *f)
{
    for (size_t i = 0; i < f->n_strings; i++)
        cw_mem_free(f->strings[i].data);
    cw_mem_free(f->strings);
    cw_mem_free(f->data.data);
    cw_mem_free(f->dims);
    cw_mem_free(f->shown);
    cw_mem_free(f->name);
    cw_mem_free(f->dtype);
    cw_mem_free(f);
}

void cw_wire_shown_free(Cachew__V1__ElementsShown *shown)
{
    for (size_t i = 0; i < shown->n_elements; i++) {
        for (size_t k = 0; k < shown->elements[i]->n_fields; k++)
            free_field(shown->elements[i]->fields[k]);
        cw_mem_free(shown->elements[i]->fields);
        cw_mem_free(shown->elements[i]);
    }
    cw_mem_free(shown->elements);
    cw_mem_free(shown);
}
