/* SPDX-License-Identifier: Apache-2.0 */
#include "data/pad.h"

#include <stdatomic.h>
#include <string.h>
#include "base/mem.h"

int cw_pad_measure(const struct cw_pad *pad, enum cw_dtype dtype, int rank, const int64_t *most,
                   struct cw_pad_shape *ret_shape, struct cw_err *err)
{
    struct cw_field whole = {.dtype = dtype, .rank = rank};
    struct cw_pad_shape shape = {.mask_rank = 0};
    for (int d = 0; d < rank; d++) {
        int64_t to = CW_MAX(pad->to[d], 0);
        if (pad->to[d] < 0 && most[d] > CW_PAD_LENGTH_MAX)
            return cw_err_set(err, CW_E_LIMIT, "dimension %d is %lld, too large to be filled up", d,
                              (long long)most[d]);
        if (pad->to[d] < 0)
            to = (most[d] + pad->multiple - 1) / pad->multiple * pad->multiple;
        whole.dims[d] = shape.dims[d] = to;
        shape.mask_rank = pad->on[d] ? d + 1 : shape.mask_rank;
    }
    int64_t bytes = cw_field_bytes(&whole);
    if (bytes < 0)
        return cw_err_set(err, CW_E_LIMIT, "it is too large when it is filled up");
    whole.dtype = CW_DTYPE_BOOL;
    whole.rank = shape.mask_rank;
    shape.bytes = (size_t)bytes;
    shape.mask_bytes = (size_t)CW_MAX(cw_field_bytes(&whole), 0);
    *ret_shape = shape;
    return 0;
}

/* Fills memory with values of `unit` bytes. */
static void fill(char *to, size_t bytes, const unsigned char *value, size_t unit)
{
    size_t done = CW_MIN(unit, bytes);
    if (bytes == 0)
        return;
    memcpy(to, value, done);
    for (size_t n; done < bytes; done += n) {
        n = CW_MIN(done, bytes - done);
        memcpy(to + done, to, n);
    }
}

/* Copies an array of `dims` into its place in a larger one; each value has `unit` bytes. from: NULL sets
 * all bytes to 1 instead. */
static void place(const struct cw_pad *pad, const struct cw_pad_shape *shape, int rank,
                  const int64_t *dims, size_t unit, const char *from, char *to)
{
    size_t run = unit, step[CW_RANK_MAX] = {0}, outer = 1;
    int last = rank - 1;
    for (int d = rank - 1; d >= 0; d--)
        step[d] = d == rank - 1 ? unit : step[d + 1] * (size_t)shape->dims[d + 1];
    while (last > 0 && dims[last] == shape->dims[last])
        last--;
    for (int d = last; d < rank; d++)
        run *= (size_t)dims[d];
    for (int d = 0; d < last; d++)
        outer *= (size_t)dims[d];
    for (int d = 0; pad->left && d <= last; d++)
        to += (size_t)(shape->dims[d] - dims[d]) * step[d];
    for (size_t o = 0; run > 0 && o < outer; o++) {
        size_t at = 0, rest = o;
        for (int d = last - 1; d >= 0; d--) {
            at += rest % (size_t)dims[d] * step[d];
            rest /= (size_t)dims[d];
        }
        if (from)
            memcpy(to + at, from + o * run, run);
        else
            memset(to + at, 1, run);
    }
}

void cw_pad_row(const struct cw_pad *pad, const struct cw_pad_shape *shape, enum cw_dtype dtype,
                int rank, const int64_t *dims, const void *from, void *to)
{
    const size_t unit = cw_dtype_bytes(dtype);
    size_t own = unit;
    for (int d = 0; d < rank; d++)
        own *= (size_t)dims[d];
    const size_t rest = shape->bytes - CW_MIN(own, shape->bytes);
    if (rank == 1) /* only what the row has no values for */
        fill((char *)to + (pad->left ? 0 : own), rest, pad->value, unit);
    else if (rest > 0)
        fill(to, shape->bytes, pad->value, unit);
    place(pad, shape, rank, dims, unit, from, to);
}

void cw_pad_mask(const struct cw_pad *pad, const struct cw_pad_shape *shape, const int64_t *dims,
                 void *to)
{
    memset(to, 0, shape->mask_bytes);
    place(pad, shape, shape->mask_rank, dims, 1, NULL, to);
}

size_t cw_pad_lengths(const struct cw_pad *pad, int rank, const int64_t *dims, int64_t *to)
{
    size_t n = 0;
    for (int d = 0; d < rank; d++)
        if (pad->on[d])
            to[n++] = dims[d];
    return n;
}

/* ---- those of a batch ---- */

struct cw_pads *cw_pads_new(size_t n)
{
    struct cw_pads *pads = cw_mem_new(sizeof(*pads) + n * sizeof(pads->field[0]));
    atomic_init(&pads->refs, 1);
    pads->n = n;
    return pads;
}

struct cw_pads *cw_pads_ref(struct cw_pads *pads)
{
    if (pads)
        atomic_fetch_add_explicit(&pads->refs, 1, memory_order_relaxed);
    return pads;
}

struct cw_pads *cw_pads_unref(struct cw_pads *pads)
{
    if (pads && atomic_fetch_sub_explicit(&pads->refs, 1, memory_order_acq_rel) == 1)
        cw_mem_free(pads);
    return NULL;
}

static bool is_same(const struct cw_pad *a, const struct cw_pad *b)
{
    bool same = a->multiple == b->multiple && a->left == b->left && a->length == b->length &&
                a->mask == b->mask && memcmp(a->value, b->value, sizeof(a->value)) == 0;
    for (int d = 0; same && d < CW_RANK_MAX; d++)
        same = a->on[d] == b->on[d] && a->to[d] == b->to[d];
    return same;
}

bool cw_pads_eq(const struct cw_pads *a, const struct cw_pads *b)
{
    if (!a || !b)
        return a == b;
    bool same = a->n == b->n;
    for (size_t f = 0; same && f < a->n; f++)
        same = a->field[f].is == b->field[f].is &&
               (!a->field[f].is || is_same(&a->field[f].how, &b->field[f].how));
    return same;
}

/* Whether a field of the batch may be filled up so. */
static bool is_sound(const struct cw_pad *pad, const struct cw_field *out)
{
    const int rank = out->rank - 1;
    bool any = false;
    if (out->dtype == CW_DTYPE_STR || rank < 1 || pad->multiple < 1 ||
        pad->multiple > CW_PAD_LENGTH_MAX)
        return false;
    for (int d = 0; d < rank; d++) {
        const int64_t to = pad->to[d];
        any = any || pad->on[d];
        if (to != out->dims[d + 1] || to > CW_PAD_LENGTH_MAX || to < (pad->on[d] ? -1 : 0))
            return false;
    }
    return any;
}

/* How many of the dims are filled up, and the last of them. */
static int count_on(const struct cw_pad *pad, int rank, int *ret_last)
{
    int n = 0;
    for (int d = 0; d < rank; d++)
        if (pad->on[d]) {
            n++;
            *ret_last = d;
        }
    return n;
}

/* Whether the fields of lengths and mask are the next ones, with the shapes that they have to have. */
static bool has_extras(const struct cw_pads *pads, const struct cw_pad *pad, int rank,
                       const struct cw_spec *out, size_t *extra)
{
    int last = 0;
    const int on = count_on(pad, rank, &last);
    const size_t next = pads->n + *extra;
    const bool has_length = pad->length >= 0, has_mask = pad->mask >= 0;
    *extra += has_length + has_mask;
    if (pads->n + *extra > out->n || (has_length && (size_t)pad->length != next) ||
        (has_mask && (size_t)pad->mask != next + has_length))
        return false;
    const struct cw_field *length = has_length ? &out->fields[pad->length] : NULL;
    const struct cw_field *mask = has_mask ? &out->fields[pad->mask] : NULL;
    return (!length || (length->dtype == CW_DTYPE_I64 && length->rank == (on > 1 ? 2 : 1))) &&
           (!mask || (mask->dtype == CW_DTYPE_BOOL && mask->rank == last + 2));
}

int cw_pads_check(struct cw_pads *pads, const struct cw_spec *out, struct cw_err *err)
{
    bool ok = pads->n <= out->n;
    pads->extra = 0;
    for (size_t f = 0; ok && f < pads->n; f++) {
        const struct cw_pads_field *field = &pads->field[f];
        ok = !field->is ||
             (is_sound(&field->how, &out->fields[f]) &&
              has_extras(pads, &field->how, out->fields[f].rank - 1, out, &pads->extra));
    }
    ok = ok && pads->n + pads->extra == out->n;
    return ok ? 0 : cw_err_set(err, CW_E_CORRUPT, "how rows are filled up does not fit the batch");
}
