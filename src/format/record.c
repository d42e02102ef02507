/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes elements to records, and decodes records to elements without copying. */
#include "format/record.h"

#include <endian.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "data/ragged.h"
#include "data/strings.h"

#define BIG_BYTES 256 /* parts of at least so many bytes begin at a cache line */
#define RECORD_MAX ((uint64_t)1 << 31)

static size_t align_of(uint64_t bytes)
{
    return bytes >= BIG_BYTES ? 64 : 8;
}

size_t cw_record_align(size_t record_bytes)
{
    return align_of(record_bytes);
}

/* Returns the bytes at the record's beginning: for each field that is not of fixed size its dims
 * and its number of bytes. */
static size_t head_bytes(const struct cw_spec *spec)
{
    size_t n = 0;

    for (size_t i = 0; i < spec->n; i++)
        if (!cw_field_is_fixed(&spec->fields[i]))
            n += 8 * ((size_t)spec->fields[i].rank + 1);
    return n;
}

/* Whether a ragged batch of such dims may take so many bytes. */
static bool fits_ragged(const struct cw_field *found, size_t bytes)
{
    struct cw_ragged ragged;
    struct cw_err ignored = {0};

    return cw_ragged_init(&ragged, found, &ignored) == 0 && bytes >= ragged.values_at;
}

/* Whether a view fits a field of the spec: the dims agree, and the bytes follow from them. */
static bool fits(const struct cw_field *field, const struct cw_view *view)
{
    struct cw_field found = {.dtype = field->dtype, .rank = field->rank};

    if (view->dtype != field->dtype || view->rank != field->rank || view->bytes > RECORD_MAX)
        return false;
    if (field->dtype == CW_DTYPE_STR && field->rank == 0)
        return true;
    for (int d = 0; d < field->rank; d++) {
        if (field->dims[d] != -1 && field->dims[d] != view->dims[d])
            return false;
        found.dims[d] = view->dims[d];
    }
    if (cw_field_is_ragged(field))
        return fits_ragged(&found, view->bytes);
    if (field->dtype == CW_DTYPE_STR)
        return cw_field_count(&found) >= 0 &&
               view->bytes / sizeof(int64_t) > (uint64_t)cw_field_count(&found);
    return cw_field_bytes(&found) == (int64_t)view->bytes;
}

int64_t cw_record_bytes(const struct cw_spec *spec, const struct cw_element *element)
{
    uint64_t n = head_bytes(spec);

    if (element->n != spec->n)
        return -1;
    for (size_t i = 0; i < spec->n; i++) {
        const struct cw_view *view = &element->fields[i];
        if (view->full_h || view->stamp || !fits(&spec->fields[i], view))
            return -1;
        n = CW_ALIGN_UP(n, align_of(view->bytes)) + view->bytes;
    }
    return n > RECORD_MAX ? -1 : (int64_t)n;
}

static unsigned char *put_u64(unsigned char *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof(v));
    return p + sizeof(v);
}

static void put_head(const struct cw_spec *spec, const struct cw_element *element,
                     unsigned char *head)
{
    for (size_t i = 0; i < spec->n; i++) {
        const struct cw_view *view = &element->fields[i];
        if (cw_field_is_fixed(&spec->fields[i]))
            continue;
        for (int d = 0; d < spec->fields[i].rank; d++)
            head = put_u64(head, (uint64_t)view->dims[d]);
        head = put_u64(head, view->bytes);
    }
}

/* Writes the record. With a hasher: bypasses the caches, and adds the bytes to the hash. */
static void encode(const struct cw_spec *spec, const struct cw_element *element, char *dst,
                   struct cw_hasher *hasher)
{
    size_t at = head_bytes(spec);

    put_head(spec, element, (unsigned char *)dst);
    if (hasher)
        cw_hasher_add(hasher, dst, at);
    for (size_t i = 0; i < spec->n; i++) {
        const struct cw_view *view = &element->fields[i];
        size_t begin = CW_ALIGN_UP(at, align_of(view->bytes));
        memset(dst + at, 0, begin - at);
        if (hasher) {
            cw_hasher_add(hasher, dst + at, begin - at);
            cw_hasher_add(hasher, view->data, view->bytes);
            cw_mem_copy_nontemporal(dst + begin, view->data, view->bytes);
        } else if (view->bytes) {
            memcpy(dst + begin, view->data, view->bytes);
        }
        at = begin + view->bytes;
    }
}

void cw_record_encode(const struct cw_spec *spec, const struct cw_element *element, void *dst)
{
    encode(spec, element, dst, NULL);
}

uint64_t cw_record_encode_nontemporal(const struct cw_spec *spec, const struct cw_element *element,
                                      void *dst)
{
    struct cw_hasher *hasher = cw_hasher_new();

    encode(spec, element, dst, hasher);
    uint64_t sum = cw_hasher_get_u64(hasher);
    cw_hasher_free(hasher);
    return sum;
}

static uint64_t get_u64(const unsigned char **p)
{
    uint64_t v;

    memcpy(&v, *p, sizeof(v));
    *p += sizeof(v);
    return le64toh(v);
}

/* Checks where the rows of a ragged batch begin, and strings of a list, which the record says. Of any
 * other there is nothing to check. */
static int check_rows(const struct cw_field *field, const struct cw_view *view, struct cw_err *err)
{
    struct cw_field found = *field;
    struct cw_ragged ragged;

    if (field->dtype == CW_DTYPE_STR && field->rank > 0 && !cw_field_is_ragged(field)) {
        int rc = cw_strings_check(view->data, view->bytes, cw_strings_count(view), err);
        return rc == 0 ? 0
                       : cw_err_set(err, CW_E_CORRUPT,
                                    "record: field \"%s\": its strings are not where it says",
                                    field->name);
    }
    if (!cw_field_is_ragged(field))
        return 0;
    memcpy(found.dims, view->dims, sizeof(found.dims));
    int rc = cw_ragged_init(&ragged, &found, err);
    if (rc == 0)
        rc = cw_ragged_check(&ragged, view->data, view->bytes, err);
    return rc == 0
               ? 0
               : cw_err_set(err, CW_E_CORRUPT,
                            "record: field \"%s\": its rows are not where it says", field->name);
}

int cw_record_decode(const struct cw_spec *spec, const void *p, size_t n,
                     struct cw_element *element, struct cw_err *err)
{
    const unsigned char *head = p;
    uint64_t at = head_bytes(spec);

    if (n < at)
        return cw_err_set(err, CW_E_CORRUPT,
                          "record: %zu bytes, less than the sizes of its fields take", n);
    element->n = spec->n;
    for (size_t i = 0; i < spec->n; i++) {
        const struct cw_field *field = &spec->fields[i];
        struct cw_view view = {.dtype = field->dtype, .rank = field->rank};
        bool fixed = cw_field_is_fixed(field);
        for (int d = 0; d < field->rank; d++)
            view.dims[d] = fixed ? field->dims[d] : (int64_t)get_u64(&head);
        view.bytes = fixed ? (size_t)cw_field_bytes(field) : get_u64(&head);
        if (!fits(field, &view))
            return cw_err_set(err, CW_E_CORRUPT,
                              "record: field \"%s\": its size is not what the spec says",
                              field->name);
        at = CW_ALIGN_UP(at, align_of(view.bytes));
        if (at > n || view.bytes > n - at)
            return cw_err_set(err, CW_E_CORRUPT,
                              "record: field \"%s\": ends behind the record's %zu bytes",
                              field->name, n);
        view.data = (char *)(uintptr_t)p + at;
        at += view.bytes;
        int rc = check_rows(field, &view, err);
        if (rc != 0)
            return rc;
        element->fields[i] = view;
    }
    if (at != n)
        return cw_err_set(err, CW_E_CORRUPT, "record: %zu bytes, its fields take %llu", n,
                          (unsigned long long)at);
    return 0;
}

void cw_record_shape_init(struct cw_record_shape *ret_shape, const struct cw_spec *spec)
{
    *ret_shape = (struct cw_record_shape){.spec = spec, .fixed = head_bytes(spec) == 0};
    ret_shape->begin = CW_NEW_ARRAY(size_t, spec->n + 1);
    ret_shape->views = CW_NEW_ARRAY(struct cw_view, spec->n + 1);
    for (size_t i = 0; ret_shape->fixed && i < spec->n; i++) {
        const struct cw_field *field = &spec->fields[i];
        struct cw_view *view = &ret_shape->views[i];

        *view = (struct cw_view){
            .bytes = (size_t)cw_field_bytes(field), .dtype = field->dtype, .rank = field->rank};
        memcpy(view->dims, field->dims, (size_t)field->rank * sizeof(field->dims[0]));
        ret_shape->fixed = fits(field, view);
        ret_shape->begin[i] = CW_ALIGN_UP(ret_shape->bytes, align_of(view->bytes));
        ret_shape->bytes = ret_shape->begin[i] + view->bytes;
    }
}

void cw_record_shape_fini(struct cw_record_shape *shape)
{
    cw_mem_free(shape->begin);
    cw_mem_free(shape->views);
    *shape = (struct cw_record_shape){0};
}

int cw_record_decode_shaped(const struct cw_record_shape *shape, const void *p, size_t n,
                            struct cw_element *element, struct cw_err *err)
{
    if (!shape->fixed || n != shape->bytes)
        return cw_record_decode(shape->spec, p, n, element, err);
    element->n = shape->spec->n;
    for (size_t i = 0; i < shape->spec->n; i++) {
        element->fields[i] = shape->views[i];
        element->fields[i].data = (char *)(uintptr_t)p + shape->begin[i];
    }
    return 0;
}
