/* SPDX-License-Identifier: Apache-2.0 */
/* Reads elements of sources of tables. */
#include "ops/source/table_rows_int.h"

#include <string.h>

#include "data/strings.h"

/* Lays out the fields of fixed size, each aligned to 8 bytes. */
static void lay_out(struct cw_table_rows *r)
{
    for (size_t i = 0; i < r->fields->spec.n; i++) {
        const struct cw_field *field = &r->fields->spec.fields[i];
        r->is_fixed[i] = cw_field_is_fixed(field);
        r->at[i] = r->fixed_bytes;
        if (r->is_fixed[i])
            r->fixed_bytes += CW_ALIGN_UP((size_t)cw_field_bytes(field), (size_t)8);
    }
}

void cw_table_rows_init(struct cw_table_rows *r, const struct cw_file_source *source,
                        const struct cw_table_fields *fields, struct cw_table_cache *cache,
                        cw_table_find_fn *find, void *arg)
{
    r->source = source;
    r->fields = fields;
    r->cache = cache;
    r->find = find;
    r->arg = arg;
    lay_out(r);
    cw_table_cache_lend(cache, cw_table_rows_let_go, r);
}

void cw_table_rows_fini(struct cw_table_rows *r)
{
    if (r->cache) {
        cw_table_cache_shut(r->cache);
        cw_table_seats_fini(r);
    }
    cw_table_cache_free(r->cache);
    r->cache = NULL;
}

/* What a row with a null, or a list of another length, is refused with. */
static int refuse(const struct cw_table_rows *r, size_t column, int64_t pos, const char *why,
                  struct cw_err *err)
{
    const struct cw_file_set *files = r->source->files;
    const struct cw_file *file = &files->v[cw_file_set_locate(files, pos)];
    return cw_err_set(err, CW_E_INVALID, "%s: row %lld: column %s %s", file->path,
                      (long long)(pos - file->first), r->fields->columns[column].name, why);
}

static bool is_null(const struct cw_table_slab *slab, size_t row)
{
    return slab->null && slab->null[row];
}

static int refuse_null(const struct cw_table_rows *r, size_t column, int64_t pos,
                       struct cw_err *err)
{
    return refuse(r, column, pos, "is null, and `fill` has no value for it", err);
}

/* Finds a slab, and checks that the row is no null. */
static int find_row(struct cw_table_rows *r, struct cw_table_seat *seat, size_t column, int64_t pos,
                    const struct cw_table_slab **ret_slab, size_t *ret_row, struct cw_err *err)
{
    int rc = cw_table_seat_find(r, seat, column, pos, ret_slab, err);
    if (rc < 0)
        return rc;
    *ret_row = (size_t)(pos - (*ret_slab)->begin);
    return is_null(*ret_slab, *ret_row) ? refuse_null(r, column, pos, err) : 0;
}

/* ---- elements ---- */

size_t cw_table_entry_bytes(const struct cw_field *field)
{
    size_t bytes = cw_dtype_bytes(field->dtype);
    for (int i = 1; i < field->rank; i++)
        bytes *= (size_t)field->dims[i];
    return bytes;
}

int cw_table_value_copy(struct cw_table_rows *r, const struct cw_table_slab *slab, size_t column,
                        int64_t pos, size_t bytes, uint8_t *dst, struct cw_err *err)
{
    const size_t row = (size_t)(pos - slab->begin);
    if (is_null(slab, row))
        return refuse_null(r, column, pos, err);
    if (!slab->entry) {
        cw_table_copy(dst, slab->fixed + row * bytes, bytes);
        return 0;
    }
    const size_t each =
        cw_table_entry_bytes(&r->fields->spec.fields[r->fields->columns[column].field]);
    const uint64_t first = slab->entry[row], n = slab->entry[row + 1] - first;
    if (n * each != bytes)
        return refuse(r, column, pos, "has a list of another length than its type says", err);
    if (bytes > 0)
        memcpy(dst, slab->fixed + first * each, bytes);
    return 0;
}

static int read_fixed(struct cw_table_rows *r, struct cw_table_seat *seat, size_t column,
                      int64_t pos, size_t bytes, uint8_t *dst, struct cw_err *err)
{
    const struct cw_table_slab *slab;
    int rc = cw_table_seat_find(r, seat, column, pos, &slab, err);
    return rc < 0 ? rc : cw_table_value_copy(r, slab, column, pos, bytes, dst, err);
}

/* A list of strings. */
static int read_list(const struct cw_op_ctx *ctx, const struct cw_table_slab *slab, size_t row,
                     struct cw_view *view, struct cw_err *err)
{
    const struct cw_byte_ref *from = slab->refs + slab->entry[row];
    const int64_t n = (int64_t)(slab->entry[row + 1] - slab->entry[row]);
    int64_t at = 0;
    if (view->dims[0] >= 0 && view->dims[0] != n)
        return cw_err_set(err, CW_E_INVALID, "a list of %lld strings, and its type says %lld",
                          (long long)n, (long long)view->dims[0]);
    view->dims[0] = n;
    view->bytes = cw_strings_table_bytes(n);
    for (int64_t i = 0; i < n; i++)
        view->bytes += from[i].n;
    int rc = cw_op_output(ctx, view, err);
    if (rc < 0)
        return rc;
    char *table = view->data, *bytes = table + cw_strings_table_bytes(n);
    memcpy(table, &at, sizeof(at));
    for (int64_t i = 0; i < n; i++) {
        if (from[i].n > 0)
            memcpy(bytes + at, slab->bytes + from[i].at, from[i].n);
        at += (int64_t)from[i].n;
        memcpy(table + (size_t)(i + 1) * sizeof(at), &at, sizeof(at));
    }
    return 0;
}

/* A string, or a list of any length. */
static int read_loose(const struct cw_op_ctx *ctx, struct cw_table_rows *r,
                      struct cw_table_seat *seat, size_t column, int64_t pos, struct cw_view *view,
                      struct cw_err *err)
{
    const struct cw_table_slab *slab;
    const uint8_t *from;
    size_t row;
    int rc = find_row(r, seat, column, pos, &slab, &row, err);
    if (rc < 0)
        return rc;
    if (view->dtype == CW_DTYPE_STR && view->rank > 0)
        return slab->entry ? read_list(ctx, slab, row, view, err)
                           : refuse(r, column, pos, "has no list", err);
    if (view->dtype == CW_DTYPE_STR) {
        from = slab->bytes + slab->refs[row].at;
        view->bytes = slab->refs[row].n;
    } else if (slab->entry) {
        const struct cw_field *field = &r->fields->spec.fields[r->fields->columns[column].field];
        from = slab->fixed + slab->entry[row] * cw_table_entry_bytes(field);
        view->dims[0] = (int64_t)(slab->entry[row + 1] - slab->entry[row]);
    } else { /* bytes of one length, whose type says that any is possible */
        return refuse(r, column, pos, "has one length, and its type says ?", err);
    }
    rc = cw_op_output(ctx, view, err);
    if (rc == 0 && view->bytes > 0)
        memcpy(view->data, from, view->bytes);
    return rc;
}

static int read_field(const struct cw_op_ctx *ctx, struct cw_table_rows *r,
                      struct cw_table_seat *seat, size_t *column, int64_t pos, uint8_t *fixed,
                      struct cw_view *view, struct cw_err *err)
{
    const struct cw_table_fields *f = r->fields;
    const size_t i = f->columns[*column].field;
    const struct cw_field *field = &f->spec.fields[i];
    int rc = 0;
    *view = (struct cw_view){.dtype = field->dtype, .rank = field->rank};
    memcpy(view->dims, field->dims, sizeof(view->dims));
    if (!r->is_fixed[i])
        return read_loose(ctx, r, seat, (*column)++, pos, view, err);
    view->bytes = (size_t)cw_field_bytes(field);
    view->data = fixed + r->at[i];
    const size_t bytes = f->is_packed[i] ? cw_dtype_bytes(field->dtype) : view->bytes;
    uint8_t *dst = view->data;
    while (rc == 0 && *column < f->columns_n && f->columns[*column].field == i) {
        rc = read_fixed(r, seat, (*column)++, pos, bytes, dst, err);
        dst += bytes;
    }
    return rc;
}

/* Memory for the fields of fixed size: the slot if there is one field and it fits. */
static uint8_t *fixed_memory(const struct cw_table_rows *r, const struct cw_op_ctx *ctx,
                             struct cw_err *err)
{
    if (ctx->slot && r->fields->spec.n == 1 && r->is_fixed[0] &&
        ctx->slot_bytes == (size_t)cw_field_bytes(&r->fields->spec.fields[0]))
        return ctx->slot;
    return cw_op_scratch(ctx, r->fixed_bytes, err);
}

int cw_table_rows_read(struct cw_table_rows *r, const struct cw_op_ctx *ctx, int64_t pos,
                       struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_op_ctx anywhere = *ctx;
    uint8_t *fixed = r->fixed_bytes > 0 ? fixed_memory(r, ctx, err) : NULL;
    size_t column = 0;
    int rc = 0;
    if (r->fixed_bytes > 0 && !fixed)
        return CW_E_NOMEM;
    if (r->fields->spec.n > 1)
        anywhere.slot = NULL; /* it would be the same one for all fields */
    struct cw_table_seat *seat = cw_table_seat_take(r);
    for (size_t i = 0; rc == 0 && i < r->fields->spec.n; i++)
        rc = read_field(&anywhere, r, seat, &column, pos, fixed, &ret_element->fields[i], err);
    cw_table_seat_leave(r, seat);
    ret_element->n = r->fields->spec.n;
    return rc;
}
