/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/consume.h"

void tool_epoch_sum_init(struct tool_epoch_sum *sum, bool unordered)
{
    *sum = (struct tool_epoch_sum){
        .unordered = unordered, .hasher = cw_hasher_new(), .one = cw_hasher_new()};
}

void tool_epoch_sum_fini(struct tool_epoch_sum *sum)
{
    cw_hasher_free(sum->hasher);
    cw_hasher_free(sum->one);
}

void tool_epoch_sum_begin(struct tool_epoch_sum *sum, uint64_t epoch)
{
    sum->epoch = epoch;
    sum->batches = sum->elements = sum->bytes = 0;
    sum->sum = (struct cw_hash){0, 0};
    cw_hasher_reset(sum->hasher);
}

static void hash_tensor(struct cw_hasher *hasher, const struct cachew_tensor *tensor)
{
    if (!tensor->name)
        return;
    cw_hasher_add_str(hasher, tensor->name);
    cw_hasher_add_u64(hasher, (uint64_t)tensor->dtype);
    cw_hasher_add_u64(hasher, (uint64_t)tensor->rank);
    int64_t count = 1;
    for (int d = 0; d < tensor->rank; d++) {
        cw_hasher_add_u64(hasher, (uint64_t)tensor->dims[d]);
        count *= tensor->dims[d];
    }
    if (tensor->offsets)
        cw_hasher_add(hasher, tensor->offsets, ((size_t)count + 1) * sizeof *tensor->offsets);
    cw_hasher_add(hasher, tensor->data, tensor->bytes);
}

struct cw_hash tool_batch_digest(struct cw_hasher *hasher, const struct cachew_batch *batch)
{
    cw_hasher_reset(hasher);
    for (size_t i = 0; i < cachew_batch_tensors(batch); i++) {
        struct cachew_tensor tensor, begins, shapes;
        if (cachew_batch_tensor(batch, i, &tensor) == 0)
            hash_tensor(hasher, &tensor);
        if (cachew_batch_ragged(batch, i, &begins, &shapes) == 0) {
            hash_tensor(hasher, &begins);
            hash_tensor(hasher, &shapes);
        }
    }
    return cw_hasher_get(hasher);
}

struct cw_hash tool_epoch_sum_add(struct tool_epoch_sum *sum, const struct cachew_batch *batch,
                                  bool hash)
{
    struct cw_hash digest = {0, 0};
    for (size_t i = 0; i < cachew_batch_tensors(batch); i++) {
        struct cachew_tensor tensor;
        if (cachew_batch_tensor(batch, i, &tensor) == 0)
            sum->bytes += tensor.bytes;
    }
    if (hash)
        digest = tool_batch_digest(sum->one, batch);
    sum->batches++;
    sum->elements += cachew_batch_elements(batch);
    if (sum->unordered) {
        sum->sum.lo += digest.lo;
        sum->sum.hi += digest.hi + (sum->sum.lo < digest.lo);
    } else if (hash) {
        cw_hasher_add_u64(sum->hasher, digest.hi);
        cw_hasher_add_u64(sum->hasher, digest.lo);
    }
    return digest;
}

struct cw_hash tool_epoch_sum_get(const struct tool_epoch_sum *sum)
{
    return sum->unordered ? sum->sum : cw_hasher_get(sum->hasher);
}
