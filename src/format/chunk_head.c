/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a chunk. It is at the beginning of the file, and again at the beginning of the index:
 *
 *    0  8  "cachewC1"
 *    8 16  key: hi, lo
 *   24  4  bytes of the head, a multiple of 8
 *   28  4  number of fields
 *   32     the fields: name length u8, name, dtype u8, rank u8, dims i64; then zeros up to the sum
 *   -8  8  XXH3-64 of all bytes before it */
#include "format/chunk_int.h"

#include <endian.h>
#include <string.h>

const char cw_chunk_magic[8] = {'c', 'a', 'c', 'h', 'e', 'w', 'C', '1'};
const char cw_chunk_end_magic[CW_CHUNK_END_BYTES] = CW_CHUNK_END;

static void put_u64(struct cw_str *out, uint64_t v)
{
    v = htole64(v);
    cw_str_add_bytes(out, &v, sizeof(v));
}

static void put_u32(struct cw_str *out, uint32_t v)
{
    v = htole32(v);
    cw_str_add_bytes(out, &v, sizeof(v));
}

static void put_field(struct cw_str *out, const struct cw_field *field)
{
    size_t n = strlen(field->name);

    cw_str_add_char(out, (char)n);
    cw_str_add_bytes(out, field->name, n);
    cw_str_add_char(out, (char)field->dtype);
    cw_str_add_char(out, (char)field->rank);
    for (int d = 0; d < field->rank; d++)
        put_u64(out, (uint64_t)field->dims[d]);
}

void cw_chunk_head_put(const struct cw_chunk_head *head, struct cw_str *out)
{
    size_t begin = out->len;

    cw_str_add_bytes(out, cw_chunk_magic, sizeof(cw_chunk_magic));
    put_u64(out, head->key.hi);
    put_u64(out, head->key.lo);
    put_u32(out, 0);
    put_u32(out, (uint32_t)head->spec.n);
    for (size_t i = 0; i < head->spec.n; i++)
        put_field(out, &head->spec.fields[i]);
    while ((out->len - begin) % 8)
        cw_str_add_char(out, '\0');
    uint32_t bytes = htole32((uint32_t)(out->len - begin + 8));
    memcpy(out->s + begin + 24, &bytes, sizeof(bytes));
    put_u64(out, cw_hash_u64(out->s + begin, out->len - begin));
}

/* Reads one field from p[*at, n). */
static int get_field(const unsigned char *p, size_t n, size_t *at, struct cw_spec *spec,
                     struct cw_err *err)
{
    char name[CW_FIELD_NAME_BYTES] = {0};
    int64_t dims[CW_RANK_MAX] = {0};
    size_t name_n = *at < n ? p[*at] : 0;

    if (*at + 1 + name_n + 2 > n || name_n >= sizeof(name))
        return cw_err_set(err, CW_E_CORRUPT, "chunk: head: field %zu: its name does not fit",
                          spec->n);
    memcpy(name, p + *at + 1, name_n);
    unsigned dtype = p[*at + 1 + name_n], rank = p[*at + 2 + name_n];
    *at += 3 + name_n;
    if (strlen(name) != name_n || dtype >= CW_DTYPE_N || rank > CW_RANK_MAX || 8 * rank > n - *at)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: head: field %zu: dtype %u, rank %u", spec->n,
                          dtype, rank);
    for (unsigned d = 0; d < rank; d++, *at += 8)
        dims[d] = (int64_t)cw_chunk_u64(p + *at);
    if (cw_spec_add(spec, name, (enum cw_dtype)dtype, (int)rank, dims, err) < 0) {
        cw_err_wrap(err, "chunk: head");
        return err ? (err->code = CW_E_CORRUPT) : CW_E_CORRUPT;
    }
    return 0;
}

int cw_chunk_head_get(const void *p, size_t n, struct cw_chunk_head *ret_head, size_t *ret_bytes,
                      struct cw_err *err)
{
    struct cw_chunk_head head = {0};
    CW_SPEC_AUTO spec = {0};
    const unsigned char *bytes = p;
    size_t at = CW_CHUNK_PREFIX_BYTES;

    if (n < CW_CHUNK_PREFIX_BYTES + 8 || memcmp(p, cw_chunk_magic, sizeof(cw_chunk_magic)) != 0)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: does not begin with cachewC1");
    size_t head_n = cw_chunk_u32(bytes + 24), fields_n = cw_chunk_u32(bytes + 28);
    if (head_n > n || head_n > CW_CHUNK_HEAD_MAX || head_n < CW_CHUNK_PREFIX_BYTES + 8 ||
        head_n % 8 || fields_n > CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: head: impossible sizes: %zu bytes, %zu fields",
                          head_n, fields_n);
    if (cw_hash_u64(p, head_n - 8) != cw_chunk_u64(bytes + head_n - 8))
        return cw_err_set(err, CW_E_CORRUPT, "chunk: head: checksum is wrong");
    head.key = (struct cw_hash){cw_chunk_u64(bytes + 8), cw_chunk_u64(bytes + 16)};
    for (size_t i = 0; i < fields_n; i++) {
        int rc = get_field(bytes, head_n - 8, &at, &spec, err);
        if (rc < 0)
            return rc;
    }
    if (CW_ALIGN_UP(at, (size_t)8) != head_n - 8)
        return cw_err_set(err, CW_E_CORRUPT, "chunk: head: %zu bytes, its fields take %zu", head_n,
                          at);
    head.spec = cw_spec_take(&spec);
    *ret_head = head;
    *ret_bytes = head_n;
    return 0;
}

uint64_t cw_chunk_ids_sum(const struct cw_chunk_record *records, size_t n)
{
    struct cw_hasher *hasher = cw_hasher_new();
    uint64_t ids[256];

    for (size_t i = 0; i < n;) {
        size_t k = 0;
        for (; k < CW_ARRAY_LEN(ids) && i < n; k++, i++)
            ids[k] = htole64(records[i].id);
        cw_hasher_add(hasher, ids, k * sizeof(*ids));
    }
    uint64_t sum = cw_hasher_get_u64(hasher);
    cw_hasher_free(hasher);
    return sum;
}
