/* SPDX-License-Identifier: Apache-2.0 */
/* Reads elements of sources of tables. */
#include "ops/source/table_rows.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
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
    for (size_t i = 0; i < CW_TABLE_SEATS; i++)
        r->seats[i].pins = CW_NEW_ARRAY(struct cw_table_pin, fields->columns_n * CW_TABLE_PINS);
    lay_out(r);
}

void cw_table_rows_fini(struct cw_table_rows *r)
{
    for (size_t i = 0; r->cache && i < CW_TABLE_SEATS; i++) {
        for (size_t k = 0; k < r->fields->columns_n * CW_TABLE_PINS; k++)
            cw_table_cache_put(r->cache, r->seats[i].pins[k].thing);
        cw_mem_free(r->seats[i].pins);
    }
    cw_table_cache_free(r->cache);
    r->cache = NULL;
}

/* ---- seats ---- */

static struct cw_table_seat *seat_take(struct cw_table_rows *r)
{
    static _Atomic(unsigned) threads;
    static _Thread_local unsigned mine; /* number of this thread, from 1 */
    if (mine == 0)
        mine = atomic_fetch_add(&threads, 1) + 1;
    for (unsigned i = mine;; i++) {
        struct cw_table_seat *seat = &r->seats[i % CW_TABLE_SEATS];
        if (!atomic_exchange_explicit(&seat->is_taken, true, memory_order_acquire))
            return seat;
    }
}

static void seat_leave(struct cw_table_seat *seat)
{
    atomic_store_explicit(&seat->is_taken, false, memory_order_release);
}

static bool has(const struct cw_table_slab *slab, int64_t pos)
{
    return pos >= slab->begin && pos < slab->end;
}

/* Finds the slab that has a position of a column; it stays until the seat is asked for other slabs of
 * the column. */
static int find_slab(struct cw_table_rows *r, struct cw_table_seat *seat, size_t column,
                     int64_t pos, const struct cw_table_slab **ret_slab, struct cw_err *err)
{
    struct cw_table_pin *pins = &seat->pins[CW_TABLE_PINS * column], *pin = pins;
    while (pin < pins + CW_TABLE_PINS && !has(&pin->slab, pos))
        pin++;
    if (pin == pins + CW_TABLE_PINS) {
        struct cw_table_slab slab;
        struct cw_table_thing *thing = NULL;
        int rc = r->find(r->arg, column, pos, &slab, &thing, err);
        if (rc < 0)
            return rc;
        CW_ASSERT(has(&slab, pos));
        pin = pins + pins->next++ % CW_TABLE_PINS;
        cw_table_cache_put(r->cache, pin->thing);
        pin->thing = thing;
        pin->slab = slab;
    }
    *ret_slab = &pin->slab;
    return 0;
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

/* Finds a slab, and checks that the row is no null. */
static int find_row(struct cw_table_rows *r, struct cw_table_seat *seat, size_t column, int64_t pos,
                    const struct cw_table_slab **ret_slab, size_t *ret_row, struct cw_err *err)
{
    int rc = find_slab(r, seat, column, pos, ret_slab, err);
    if (rc < 0)
        return rc;
    *ret_row = (size_t)(pos - (*ret_slab)->begin);
    if ((*ret_slab)->null && (*ret_slab)->null[*ret_row])
        return refuse(r, column, pos, "is null, and `fill` has no value for it", err);
    return 0;
}

/* ---- elements ---- */

/* Copies one value of a column of fixed width. */
static void copy_value(uint8_t *dst, const uint8_t *src, size_t width)
{
    if (width == 4)
        memcpy(dst, src, 4);
    else if (width == 8)
        memcpy(dst, src, 8);
    else
        memcpy(dst, src, width);
}

/* Bytes of one entry of a list: all dims but the first. */
static size_t entry_bytes(const struct cw_field *field)
{
    size_t bytes = cw_dtype_bytes(field->dtype);
    for (int i = 1; i < field->rank; i++)
        bytes *= (size_t)field->dims[i];
    return bytes;
}

/* Fields of fixed size: scalars, packed columns, bytes of one length, and lists that must have
 * one. */
static int read_fixed(struct cw_table_rows *r, struct cw_table_seat *seat, size_t column,
                      int64_t pos, size_t bytes, uint8_t *dst, struct cw_err *err)
{
    const struct cw_table_slab *slab;
    size_t row;
    int rc = find_row(r, seat, column, pos, &slab, &row, err);
    if (rc < 0)
        return rc;
    if (!slab->entry) {
        copy_value(dst, slab->fixed + row * bytes, bytes);
        return 0;
    }
    const size_t each = entry_bytes(&r->fields->spec.fields[r->fields->columns[column].field]);
    const uint64_t first = slab->entry[row], n = slab->entry[row + 1] - first;
    if (n * each != bytes)
        return refuse(r, column, pos, "has a list of another length than its type says", err);
    if (bytes > 0)
        memcpy(dst, slab->fixed + first * each, bytes);
    return 0;
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
        from = slab->fixed + slab->entry[row] * entry_bytes(field);
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
    struct cw_table_seat *seat = seat_take(r);
    for (size_t i = 0; rc == 0 && i < r->fields->spec.n; i++)
        rc = read_field(&anywhere, r, seat, &column, pos, fixed, &ret_element->fields[i], err);
    seat_leave(seat);
    ret_element->n = r->fields->spec.n;
    return rc;
}

/* ---- many at once ---- */

/* How values are copied: bytes of one, and from one to the next where they are written. */
struct copied {
    const struct cw_table_slab *slab;
    size_t bytes, stride;
};

/* Copies the value at the first position and those of the positions behind it that are in the slab as
 * well. Returns how many it has copied; 0: one is null. */
static size_t copy_values(const struct copied *c, const int64_t *positions, size_t n, uint8_t *dst)
{
    const uint8_t *values = c->slab->fixed, *null = c->slab->null;
    size_t i = 0;
    for (; i < n && has(c->slab, positions[i]); i++) {
        const size_t row = (size_t)(positions[i] - c->slab->begin);
        if (null && null[row])
            return 0;
        copy_value(dst + i * c->stride, values + row * c->bytes, c->bytes);
    }
    return i;
}

/* The same for positions that follow each other, if values do so as well; else 0. */
static size_t copy_run(const struct copied *c, const int64_t *positions, size_t n, uint8_t *dst)
{
    const size_t row = (size_t)(positions[0] - c->slab->begin),
                 most = CW_MIN(n, (size_t)(c->slab->end - positions[0]));
    size_t run = 1;
    if (c->stride != c->bytes)
        return 0;
    while (run < most && positions[run] == positions[run - 1] + 1)
        run++;
    if (run < 8 || (c->slab->null && memchr(c->slab->null + row, 1, run)))
        return 0;
    memcpy(dst, c->slab->fixed + row * c->bytes, run * c->bytes);
    return run;
}

/* Copies the values of one column at these positions to every `stride` bytes. */
static int rows_of_column(struct cw_table_rows *r, struct cw_table_seat *seat, size_t column,
                          const int64_t *positions, size_t n, struct copied *c, uint8_t *dst)
{
    for (size_t i = 0, some = 1; i < n; i += some) {
        int rc = find_slab(r, seat, column, positions[i], &c->slab, NULL);
        if (rc == 0 && c->slab->entry) {
            some = 1;
            rc = read_fixed(r, seat, column, positions[i], c->bytes, dst + i * c->stride, NULL);
        } else if (rc == 0) {
            some = copy_run(c, positions + i, n - i, dst + i * c->stride);
            if (some == 0)
                some = copy_values(c, positions + i, n - i, dst + i * c->stride);
            rc = some > 0 ? 0 : CW_E_INVALID;
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Rows at a time: what is written of one column is still in the processor's cache for the next. */
enum { ROWS_AT_ONCE = 256 };

static int read_field_rows(struct cw_table_rows *r, struct cw_table_seat *seat, size_t *column,
                           size_t i, const int64_t *positions, size_t n, uint8_t *dst)
{
    const struct cw_table_fields *f = r->fields;
    const struct cw_field *field = &f->spec.fields[i];
    struct copied c = {.stride = (size_t)cw_field_bytes(field)};
    int rc = 0;
    c.bytes = f->is_packed[i] ? cw_dtype_bytes(field->dtype) : c.stride;
    for (; rc == 0 && *column < f->columns_n && f->columns[*column].field == i;
         (*column)++, dst += c.bytes)
        rc = rows_of_column(r, seat, *column, positions, n, &c, dst);
    return rc;
}

int cw_table_rows_read_many(struct cw_table_rows *r, const int64_t *positions, size_t n,
                            const struct cw_column *columns)
{
    struct cw_table_seat *seat = seat_take(r);
    int rc = 0;
    for (size_t at = 0; rc == 0 && at < n; at += ROWS_AT_ONCE)
        for (size_t i = 0, column = 0; rc == 0 && i < r->fields->spec.n; i++)
            rc = read_field_rows(r, seat, &column, i, positions + at, CW_MIN(n - at, ROWS_AT_ONCE),
                                 (uint8_t *)columns[i].data + at * columns[i].bytes);
    seat_leave(seat);
    return rc;
}
