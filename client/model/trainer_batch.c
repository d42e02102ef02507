/* SPDX-License-Identifier: Apache-2.0 */
#include "client/model/trainer_batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/str.h"
#include "client/model/public.h"
#include "data/ragged.h"
#include "data/strings.h"

#define MAGIC 0x63774241u

struct cachew_batch *cw_public_batch_new(void)
{
    struct cachew_batch *batch = CW_NEW(struct cachew_batch);
    batch->magic = MAGIC;
    batch->refs = 1;
    batch->pid = getpid();
    return batch;
}

void cachew_batch_release(struct cachew_batch *batch)
{
    if (!batch)
        return;
    CW_ASSERT(batch->magic == MAGIC);
    if (atomic_fetch_sub_explicit(&batch->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (batch->pid != getpid())
        return; /* In a forked child, buffers, slots and locks belong to the parent. */
    cw_batch_unref(batch->data);
    cw_bad_list_unref(batch->end_bad);
    batch->magic = 0;
    cw_mem_free(batch);
}

size_t cachew_batch_tensors(const struct cachew_batch *batch)
{
    return batch->data->n;
}

static void set_view(const struct cw_view *view, struct cachew_tensor *tensor)
{
    tensor->dtype = (enum cachew_dtype)view->dtype;
    tensor->rank = view->rank;
    memcpy(tensor->dims, view->dims, sizeof(tensor->dims));
    tensor->data = view->bytes > 0 ? view->data : NULL;
    tensor->bytes = view->bytes;
}

static int split(const struct cw_batch *batch, size_t i, struct cw_ragged_parts *ret_parts)
{
    const struct cw_tensor *tensor = &batch->tensors[i];
    return cw_ragged_split(&tensor->field, cw_batch_data(batch, i), tensor->bytes, ret_parts);
}

int cachew_batch_ragged(const struct cachew_batch *batch, size_t i,
                        struct cachew_tensor *ret_begins, struct cachew_tensor *ret_shapes)
{
    struct cachew_tensor begins = {0}, shapes = {0};
    struct cw_ragged_parts parts;
    int rc = i < batch->data->n ? 0 : CACHEW_E_NOT_FOUND;
    if (rc == 0 && split(batch->data, i, &parts) < 0)
        rc = CACHEW_E_UNSUPPORTED;
    if (rc == 0) {
        begins.name = batch->data->tensors[i].field.name;
        set_view(&parts.begins, &begins);
    }
    if (rc == 0 && parts.shapes.rank > 0) {
        shapes.name = begins.name;
        set_view(&parts.shapes, &shapes);
    }
    *ret_begins = begins;
    if (ret_shapes)
        *ret_shapes = shapes;
    return rc;
}

/* Of strings: the offsets, and the bytes behind them. */
static void set_offsets(struct cachew_tensor *tensor)
{
    int64_t count = 1;
    if (tensor->dtype != CACHEW_STR || !tensor->data)
        return;
    for (int d = 0; d < tensor->rank; d++)
        count *= tensor->dims[d];
    tensor->offsets = tensor->data;
    tensor->data = (const char *)tensor->data + cw_strings_table_bytes(count);
    tensor->bytes -= cw_strings_table_bytes(count);
}

int cachew_batch_tensor(const struct cachew_batch *batch, size_t i,
                        struct cachew_tensor *ret_tensor)
{
    const struct cw_batch *data = batch->data;
    if (i >= data->n) {
        *ret_tensor = (struct cachew_tensor){0};
        return CACHEW_E_NOT_FOUND;
    }
    const struct cw_tensor *from = &data->tensors[i];
    struct cachew_tensor *to = ret_tensor;
    *to = (struct cachew_tensor){.name = from->field.name,
                                 .dtype = (enum cachew_dtype)from->field.dtype,
                                 .rank = from->field.rank};
    struct cw_ragged_parts parts;
    if (split(data, i, &parts) == 0) {
        set_view(&parts.values, to);
    } else {
        memcpy(to->dims, from->field.dims, sizeof(to->dims));
        to->data = from->bytes ? cw_batch_data(data, i) : NULL;
        to->bytes = from->bytes;
    }
    set_offsets(to);
    return 0;
}

void *cachew_batch_writable(struct cachew_batch *batch, size_t i)
{
    struct cachew_tensor tensor;
    if (!batch->writable || cachew_batch_tensor(batch, i, &tensor) != 0 || !tensor.data)
        return NULL;
    const char *begin = batch->data->buf->data;
    return (char *)batch->data->buf->data + ((const char *)tensor.data - begin);
}

int cachew_batch_find(const struct cachew_batch *batch, const char *name,
                      struct cachew_tensor *ret_tensor)
{
    for (size_t i = 0; i < batch->data->n; i++)
        if (strcmp(batch->data->tensors[i].field.name, name) == 0)
            return cachew_batch_tensor(batch, i, ret_tensor);
    return cachew_batch_tensor(batch, batch->data->n, ret_tensor);
}

uint64_t cachew_batch_elements(const struct cachew_batch *batch)
{
    return batch->data->elements;
}

uint64_t cachew_batch_epoch(const struct cachew_batch *batch)
{
    return batch->epoch;
}

uint64_t cachew_batch_number(const struct cachew_batch *batch)
{
    return batch->number;
}

uint64_t cachew_batch_skipped(const struct cachew_batch *batch)
{
    return batch->data->skipped;
}

int cw_recipe_print(struct cw_hash fingerprint, uint64_t seed, uint64_t epoch, uint64_t number,
                    char *ret_text, size_t cap)
{
    char hex[CW_HASH_TEXT_BYTES];
    cw_hash_text(fingerprint, hex);
    int n = snprintf(ret_text, cap, "cachew1:%s:%" PRIu64 ":%" PRIu64 ":%" PRIu64, hex, seed, epoch,
                     number);
    return n < 0 || (size_t)n >= cap ? CACHEW_E_LIMIT : 0;
}

bool cw_recipe_parse(const char *text, struct cw_recipe *ret_recipe)
{
    static const char prefix[] = "cachew1:";
    char copy[CW_RECIPE_BYTES];
    char *words[4] = {copy};
    if (!cw_str_starts(text, prefix) || strlen(text) >= sizeof copy)
        return false;
    snprintf(copy, sizeof copy, "%s", text + strlen(prefix));
    for (size_t i = 1; i < CW_ARRAY_LEN(words); i++) {
        words[i] = strchr(words[i - 1], ':');
        if (!words[i])
            return false;
        *words[i]++ = 0;
    }
    struct cw_recipe recipe;
    bool ok = cw_hash_parse(words[0], &recipe.fingerprint) &&
              cw_str_to_u64(words[1], &recipe.seed) && cw_str_to_u64(words[2], &recipe.epoch) &&
              cw_str_to_u64(words[3], &recipe.number);
    if (ok)
        *ret_recipe = recipe;
    return ok;
}

int cachew_batch_recipe(const struct cachew_batch *batch, char *ret_text, size_t cap)
{
    return cw_recipe_print(batch->fingerprint, batch->seed, batch->epoch, batch->number, ret_text,
                           cap);
}
