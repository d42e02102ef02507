/* SPDX-License-Identifier: Apache-2.0 */
/* Frame, all numbers little endian:
 *
 *   0  8  "cachewF1"          magic and version
 *   8  8  XXH3-64 of everything from 16 to the end of the header
 *  16  8  XXH3-64 of the payload
 *  24  4  header bytes (from 40, padded so that the payload begins at a multiple of 64)
 *  28  4  tensors
 *  32  8  payload bytes
 *  40     header: epoch, item, elements, skipped (u64 each), then a tensor: name length u8, name,
 *         dtype u8, rank u8, dims i64, offset into the payload u64, bytes u64
 *
 * The encoder lays the tensors out anew and writes zeros between them: equal batches give equal frames. */
#include <endian.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "data/batch.h"

#define MAGIC "cachewF1"
#define MAGIC_BYTES ((size_t)8)
#define PREFIX_BYTES ((size_t)40)
#define HEAD_SUM_AT ((size_t)8)
#define PAYLOAD_SUM_AT ((size_t)16)
#define HEADER_MAX ((size_t)64 << 10)
#define PAYLOAD_MAX ((uint64_t)1 << 40)

static void put_u64(struct cw_str *out, uint64_t v)
{
    uint64_t le = htole64(v);

    cw_str_add_bytes(out, &le, sizeof(le));
}

static void put_u32(struct cw_str *out, uint32_t v)
{
    uint32_t le = htole32(v);

    cw_str_add_bytes(out, &le, sizeof(le));
}

static void put_tensor(struct cw_str *out, const struct cw_tensor *tensor)
{
    size_t n = strlen(tensor->field.name);

    cw_str_add_char(out, (char)n);
    cw_str_add_bytes(out, tensor->field.name, n);
    cw_str_add_char(out, (char)tensor->field.dtype);
    cw_str_add_char(out, (char)tensor->field.rank);
    for (int i = 0; i < tensor->field.rank; i++)
        put_u64(out, (uint64_t)tensor->field.dims[i]);
    put_u64(out, tensor->offset);
    put_u64(out, tensor->bytes);
}

static void put_header(struct cw_str *out, const struct cw_batch *batch)
{
    put_u64(out, batch->epoch);
    put_u64(out, batch->item);
    put_u64(out, batch->elements);
    put_u64(out, batch->skipped);
    for (size_t i = 0; i < batch->n; i++)
        put_tensor(out, &batch->tensors[i]);
    while ((PREFIX_BYTES + out->len) % CW_BUF_ALIGN != 0)
        cw_str_add_char(out, '\0'); /* `out` begins behind the prefix */
}

static void pad_to_line(struct cw_str *out, size_t from)
{
    static const char zeros[CW_BUF_ALIGN];
    size_t over = (out->len - from) % CW_BUF_ALIGN;

    if (over)
        cw_str_add_bytes(out, zeros, CW_BUF_ALIGN - over);
}

static void set_u64(struct cw_str *out, size_t at, uint64_t v)
{
    uint64_t le = htole64(v);

    memcpy(out->s + at, &le, sizeof(le));
}

/* Where the tensors will lie in the frame. */
static int lay_out(const struct cw_batch *batch, struct cw_batch *ret_plan, size_t *ret_bytes, struct cw_err *err)
{
    ret_plan->epoch = batch->epoch;
    ret_plan->item = batch->item;
    ret_plan->elements = batch->elements;
    ret_plan->skipped = batch->skipped;
    ret_plan->n = batch->n;
    memcpy(ret_plan->tensors, batch->tensors, sizeof(batch->tensors));
    return cw_batch_layout(ret_plan, ret_bytes, err);
}

static void put_payload(struct cw_str *out, const struct cw_batch *batch, size_t payload_at)
{
    for (size_t i = 0; i < batch->n; i++) {
        cw_str_add_bytes(out, cw_batch_data(batch, i), batch->tensors[i].bytes);
        pad_to_line(out, payload_at);
    }
}

int cw_frame_encode(const struct cw_batch *batch, struct cw_str *out, struct cw_err *err)
{
    CW_STR_AUTO header = {0};
    struct cw_batch plan = {.n = 0};
    size_t start = out->len, payload_n = 0;
    int rc = cw_batch_validate(batch, err);

    if (rc == CW_OK)
        rc = lay_out(batch, &plan, &payload_n, err);
    if (rc != CW_OK)
        return rc;
    put_header(&header, &plan);
    cw_str_add_bytes(out, MAGIC, MAGIC_BYTES);
    put_u64(out, 0);
    put_u64(out, 0);
    put_u32(out, (uint32_t)header.len);
    put_u32(out, (uint32_t)batch->n);
    put_u64(out, payload_n);
    cw_str_add_bytes(out, header.s, header.len);
    size_t payload_at = out->len;
    put_payload(out, batch, payload_at);
    CW_ASSERT(out->len - payload_at == payload_n);
    set_u64(out, start + PAYLOAD_SUM_AT, cw_hash_u64(out->s + payload_at, payload_n));
    set_u64(out, start + HEAD_SUM_AT, cw_hash_u64(out->s + start + PAYLOAD_SUM_AT, payload_at - start - PAYLOAD_SUM_AT));
    return CW_OK;
}

/* Reads forward and remembers when it ran out of bytes. */
struct cursor {
    const unsigned char *p;
    size_t left;
    bool short_of;
};

static void get(struct cursor *in, void *to, size_t n)
{
    memset(to, 0, n);
    if (n > in->left) {
        in->short_of = true;
        in->left = 0;
        return;
    }
    memcpy(to, in->p, n);
    in->p += n;
    in->left -= n;
}

static uint64_t get_u64(struct cursor *in)
{
    uint64_t v;

    get(in, &v, sizeof(v));
    return le64toh(v);
}

static uint32_t get_u32(struct cursor *in)
{
    uint32_t v;

    get(in, &v, sizeof(v));
    return le32toh(v);
}

static unsigned get_u8(struct cursor *in)
{
    unsigned char v;

    get(in, &v, sizeof(v));
    return v;
}

static int get_tensor(struct cursor *in, size_t i, struct cw_tensor *tensor, struct cw_err *err)
{
    unsigned name_n = get_u8(in);

    if (name_n >= CW_FIELD_NAME_BYTES)
        return cw_err_set(err, CW_E_CORRUPT, "frame: tensor %zu: name of %u bytes", i, name_n);
    get(in, tensor->field.name, name_n);
    if (strlen(tensor->field.name) != name_n)
        return cw_err_set(err, CW_E_CORRUPT, "frame: tensor %zu: NUL in its name", i);
    unsigned dtype = get_u8(in), rank = get_u8(in);
    if (dtype >= CW_DTYPE_N || rank > CW_RANK_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "frame: tensor %zu: dtype %u, rank %u", i, dtype, rank);
    tensor->field.dtype = (enum cw_dtype)dtype;
    tensor->field.rank = (int)rank;
    for (unsigned k = 0; k < rank; k++)
        tensor->field.dims[k] = (int64_t)get_u64(in);
    tensor->offset = get_u64(in);
    tensor->bytes = get_u64(in);
    return CW_OK;
}

static int get_header(struct cursor *in, struct cw_batch *batch, struct cw_err *err)
{
    batch->epoch = get_u64(in);
    batch->item = get_u64(in);
    batch->elements = get_u64(in);
    batch->skipped = get_u64(in);
    for (size_t i = 0; i < batch->n && !in->short_of; i++) {
        int rc = get_tensor(in, i, &batch->tensors[i], err);
        if (rc != CW_OK)
            return rc;
    }
    if (in->short_of)
        return cw_err_set(err, CW_E_CORRUPT, "frame: header too short for its %zu tensors", batch->n);
    return CW_OK;
}

struct prefix {
    size_t header_n, tensors_n, payload_n;
    uint64_t head_sum, payload_sum;
};

static int get_prefix(const unsigned char *p, size_t n, struct prefix *ret, struct cw_err *err)
{
    struct cursor in = {p, n, false};
    char magic[MAGIC_BYTES];

    if (n < PREFIX_BYTES)
        return cw_err_set(err, CW_E_CORRUPT, "frame: %zu bytes, less than its first %zu", n, PREFIX_BYTES);
    get(&in, magic, sizeof(magic));
    if (memcmp(magic, MAGIC, MAGIC_BYTES) != 0)
        return cw_err_set(err, CW_E_CORRUPT, "frame: does not begin with %s", MAGIC);
    ret->head_sum = get_u64(&in);
    ret->payload_sum = get_u64(&in);
    ret->header_n = get_u32(&in);
    ret->tensors_n = get_u32(&in);
    uint64_t payload_n = get_u64(&in);
    if (ret->header_n > HEADER_MAX || ret->tensors_n > CW_FIELDS_MAX || payload_n > PAYLOAD_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "frame: impossible sizes: header %zu, tensors %zu, payload %" PRIu64,
                          ret->header_n, ret->tensors_n, payload_n);
    ret->payload_n = (size_t)payload_n;
    if (PREFIX_BYTES + ret->header_n + ret->payload_n > n)
        return cw_err_set(err, CW_E_CORRUPT, "frame: cut off: %zu of %zu bytes", n,
                          PREFIX_BYTES + ret->header_n + ret->payload_n);
    return CW_OK;
}

static int read_frame(const unsigned char *p, const struct prefix *prefix, struct cw_batch *batch, struct cw_err *err)
{
    struct cursor in = {p + PREFIX_BYTES, prefix->header_n, false};
    const unsigned char *payload = p + PREFIX_BYTES + prefix->header_n;

    if (cw_hash_u64(p + PAYLOAD_SUM_AT, PREFIX_BYTES - PAYLOAD_SUM_AT + prefix->header_n) != prefix->head_sum)
        return cw_err_set(err, CW_E_CORRUPT, "frame: header checksum is wrong");
    batch->n = prefix->tensors_n;
    int rc = get_header(&in, batch, err);
    if (rc != CW_OK)
        return rc;
    if (cw_hash_u64(payload, prefix->payload_n) != prefix->payload_sum)
        return cw_err_set(err, CW_E_CORRUPT, "frame: payload checksum is wrong (%zu bytes at %zu)", prefix->payload_n,
                          (size_t)(payload - p));
    batch->buf = cw_buf_copy(payload, prefix->payload_n);
    if (!batch->buf)
        return cw_err_set(err, CW_E_NOMEM, "frame: no memory for %zu bytes", prefix->payload_n);
    rc = cw_batch_validate(batch, err);
    return rc == CW_OK ? rc : cw_err_wrap(err, "frame");
}

int cw_frame_decode(const void *p, size_t n, struct cw_batch **ret_batch, size_t *ret_used, struct cw_err *err)
{
    struct cw_err own = {0};
    struct prefix prefix = {0};
    int rc = get_prefix(p, n, &prefix, err ? err : &own);

    if (rc != CW_OK)
        return rc;
    struct cw_batch *batch = cw_batch_new();
    rc = read_frame(p, &prefix, batch, err ? err : &own);
    if (rc != CW_OK) {
        cw_batch_unref(batch);
        return rc;
    }
    *ret_batch = batch;
    *ret_used = PREFIX_BYTES + prefix.header_n + prefix.payload_n;
    return CW_OK;
}
