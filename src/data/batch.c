/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: layout of tensors in the buffer, and validation of what a peer claims. */
#include "data/batch.h"

#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "data/ragged.h"
#include "data/strings.h"

#define BYTES_MAX ((uint64_t)1 << 40)

struct cw_batch *cw_batch_new(size_t tensors)
{
    CW_ASSERT(tensors <= CW_FIELDS_MAX);
    struct cw_batch *batch = cw_mem_new(sizeof(*batch) + tensors * sizeof(batch->tensors[0]));

    atomic_init(&batch->refs, 1);
    batch->n = tensors;
    return batch;
}

struct cw_batch *cw_batch_ref(struct cw_batch *batch)
{
    int before = atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);

    CW_ASSERT(before > 0);
    return batch;
}

struct cw_batch *cw_batch_unref(struct cw_batch *batch)
{
    if (!batch)
        return NULL;
    int before = atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel);
    CW_ASSERT(before > 0);
    if (before == 1) {
        cw_buf_unref(batch->buf);
        cw_bad_list_unref(batch->bad);
        cw_mem_free(batch);
    }
    return NULL;
}

size_t cw_batch_held(const struct cw_batch *batch)
{
    return cw_mem_cost(sizeof(*batch) + batch->n * sizeof(batch->tensors[0])) +
           (batch->buf ? cw_buf_held(batch->buf) : 0) + cw_bad_list_held(batch->bad);
}

const void *cw_batch_data(const struct cw_batch *batch, size_t i)
{
    static const _Alignas(CW_BUF_ALIGN) char nothing[CW_BUF_ALIGN];

    CW_ASSERT(i < batch->n);
    return batch->buf && batch->buf->data
               ? (const char *)batch->buf->data + batch->tensors[i].offset
               : nothing;
}

static int fail(struct cw_err *err, int code, const struct cw_tensor *tensor, const char *what)
{
    return cw_err_set(err, code, "tensor \"%.47s\": %s", tensor->field.name, what);
}

/* Sets the bytes of a tensor that follow from its dims. */
static int set_bytes(struct cw_tensor *tensor, struct cw_err *err)
{
    const struct cw_field *field = &tensor->field;

    if (cw_field_is_ragged(field))
        return CW_OK;
    if (cw_field_count(field) < 0)
        return fail(err, CW_E_INVALID, tensor, "its size is not known or too large");
    if (field->dtype == CW_DTYPE_STR)
        return CW_OK;
    int64_t bytes = cw_field_bytes(field);
    if (bytes < 0)
        return fail(err, CW_E_LIMIT, tensor, "larger than 1 TiB");
    tensor->bytes = (size_t)bytes;
    return CW_OK;
}

int cw_batch_layout(struct cw_batch *batch, size_t *ret_bytes, struct cw_err *err)
{
    uint64_t at = 0;

    for (size_t i = 0; i < batch->n; i++) {
        struct cw_tensor *tensor = &batch->tensors[i];
        int rc = set_bytes(tensor, err);

        if (rc != CW_OK)
            return rc;
        tensor->offset = at;
        if (tensor->bytes > BYTES_MAX || at + tensor->bytes > BYTES_MAX)
            return fail(err, CW_E_LIMIT, tensor, "the batch would be larger than 1 TiB");
        at = CW_ALIGN_UP(at + tensor->bytes, (uint64_t)CW_BUF_ALIGN);
    }
    *ret_bytes = at;
    return CW_OK;
}

/* Checks a list of strings. data: at least tensor->bytes; NULL if the batch has no buffer, and then there
 * are no bytes to check. */
static int check_strings(const struct cw_tensor *tensor, const char *data, struct cw_err *err)
{
    struct cw_err why = {0};

    if (cw_strings_check(data, tensor->bytes, cw_field_count(&tensor->field), &why) == CW_OK)
        return CW_OK;
    return fail(err, CW_E_CORRUPT, tensor, why.msg);
}

/* Checks where the rows of a ragged tensor begin, and their shapes. */
static int check_ragged(const struct cw_tensor *tensor, const char *data, struct cw_err *err)
{
    struct cw_ragged ragged;
    struct cw_err why = {0};

    if (cw_ragged_init(&ragged, &tensor->field, &why) == CW_OK &&
        cw_ragged_check(&ragged, data, tensor->bytes, &why) == CW_OK)
        return CW_OK;
    return fail(err, CW_E_CORRUPT, tensor, why.msg);
}

/* Whether the dims of a field are those of a batch: each is known, or ragged. */
static bool has_dims(const struct cw_field *field)
{
    struct cw_ragged ragged;
    struct cw_err ignored = {0};

    return cw_field_is_ragged(field) ? cw_ragged_init(&ragged, field, &ignored) == CW_OK
                                     : cw_field_count(field) >= 0;
}

static int check_field(const struct cw_batch *batch, size_t i, struct cw_spec *one,
                       struct cw_err *err)
{
    const struct cw_tensor *tensor = &batch->tensors[i];
    const struct cw_field *field = &tensor->field;
    struct cw_err why = {0};

    if (!memchr(field->name, '\0', sizeof(field->name)))
        return cw_err_set(err, CW_E_CORRUPT, "tensor %zu: its name does not end", i);
    if (field->rank < 0 || field->rank > CW_RANK_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "tensor \"%.47s\": rank %d", field->name, field->rank);
    if (cw_spec_add(one, field->name, field->dtype, field->rank, field->dims, &why) != CW_OK)
        return cw_err_set(err, CW_E_CORRUPT, "%s", why.msg);
    if (!has_dims(field))
        return fail(err, CW_E_CORRUPT, tensor, "a dim is unknown or too large");
    one->n = 0;
    return CW_OK;
}

/* Which hashes of names were there: so names are compared with all before only where two fall
 * together. */
#define SEEN_BITS 8192
struct seen {
    uint64_t word[SEEN_BITS / 64];
};

static bool may_be_there(struct seen *seen, const char *name)
{
    const uint64_t bit = cw_hash_u64(name, strlen(name)) % SEEN_BITS;
    const bool was = seen->word[bit / 64] >> bit % 64 & 1;
    seen->word[bit / 64] |= UINT64_C(1) << bit % 64;
    return was;
}

static bool is_there(const struct cw_batch *batch, size_t n, const char *name)
{
    for (size_t k = 0; k < n; k++)
        if (strcmp(batch->tensors[k].field.name, name) == 0)
            return true;
    return false;
}

int cw_batch_check_names(const struct cw_batch *batch, struct cw_err *err)
{
    struct seen seen = {{0}};

    for (size_t i = 0; i < batch->n; i++) {
        const struct cw_tensor *tensor = &batch->tensors[i];
        if (may_be_there(&seen, tensor->field.name) && is_there(batch, i, tensor->field.name))
            return fail(err, CW_E_CORRUPT, tensor, "is there twice");
    }
    return CW_OK;
}

static int check_place(const struct cw_batch *batch, const struct cw_tensor *tensor,
                       struct cw_err *err)
{
    size_t len = batch->buf ? batch->buf->len : 0;

    if (tensor->offset % CW_BUF_ALIGN != 0)
        return fail(err, CW_E_CORRUPT, tensor, "its offset is not a multiple of 64");
    if (tensor->bytes > len || tensor->offset > len - tensor->bytes)
        return cw_err_set(err, CW_E_CORRUPT,
                          "tensor \"%.47s\": bytes %zu to %zu of a buffer of %zu",
                          tensor->field.name, tensor->offset, tensor->offset + tensor->bytes, len);
    const char *data = batch->buf ? (const char *)batch->buf->data + tensor->offset : NULL;
    if (cw_field_is_ragged(&tensor->field))
        return check_ragged(tensor, data, err);
    if (tensor->field.dtype == CW_DTYPE_STR)
        return check_strings(tensor, data, err);
    if (cw_field_bytes(&tensor->field) != (int64_t)tensor->bytes)
        return cw_err_set(err, CW_E_CORRUPT,
                          "tensor \"%.47s\": %zu bytes where dims and dtype need %" PRId64,
                          tensor->field.name, tensor->bytes, cw_field_bytes(&tensor->field));
    return CW_OK;
}

int cw_batch_validate(const struct cw_batch *batch, struct cw_err *err)
{
    if (batch->n > CW_FIELDS_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "%zu tensors, at most %d are allowed", batch->n,
                          CW_FIELDS_MAX);
    CW_SPEC_AUTO one = {0};
    for (size_t i = 0; i < batch->n; i++) {
        int rc = check_field(batch, i, &one, err);
        if (rc == CW_OK)
            rc = check_place(batch, &batch->tensors[i], err);
        if (rc != CW_OK)
            return rc;
    }
    return cw_batch_check_names(batch, err);
}

void cw_batch_hash(const struct cw_batch *batch, struct cw_hasher *hasher)
{
    cw_hasher_add_u64(hasher, batch->n);
    for (size_t i = 0; i < batch->n; i++) {
        const struct cw_tensor *tensor = &batch->tensors[i];

        cw_hasher_add_str(hasher, tensor->field.name);
        cw_hasher_add_str(hasher, cw_dtype_name(tensor->field.dtype));
        cw_hasher_add_u64(hasher, (uint64_t)tensor->field.rank);
        for (int k = 0; k < tensor->field.rank; k++)
            cw_hasher_add_u64(hasher, (uint64_t)tensor->field.dims[k]);
        cw_hasher_add_u64(hasher, tensor->bytes);
        cw_hasher_add(hasher, cw_batch_data(batch, i), tensor->bytes);
    }
}
