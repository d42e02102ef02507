/* SPDX-License-Identifier: Apache-2.0 */
/* Exports a tensor of a batch as a DLManagedTensor. The structs are those of DLPack 0.8, which are
 * its ABI, under our own names. */
#include <stdatomic.h>
#include "base/mem.h"
#include "client/model/trainer_batch.h"
#include "client/model/public.h"

struct dl_device {
    int32_t type, id;
};
struct dl_dtype {
    uint8_t code, bits;
    uint16_t lanes;
};
struct dl_tensor {
    void *data;
    struct dl_device device;
    int32_t ndim;
    struct dl_dtype dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
};
struct DLManagedTensor {
    struct dl_tensor tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};
struct export
{
    /* This member must be the first, since the deleter frees the struct by its address. */
    struct DLManagedTensor managed;
    int64_t shape[CW_RANK_MAX];
    struct cachew_batch *batch;
};

#define DL_CPU 1

static const uint8_t dl_codes[] = {
#define CW_DTYPE(name, text, bytes, dl) dl,
    CW_DTYPE_LIST
#undef CW_DTYPE
};

static void on_delete(struct DLManagedTensor *self)
{
    struct export *export = self->manager_ctx;
    struct cachew_batch *batch = export->batch;
    cw_mem_free(export);
    cachew_batch_release(batch);
}

/* DLPack has no const: the consumer must keep to the contract that data is read-only. */
static void *without_const(const void *p)
{
    union {
        const void *from;
        void *to;
    } cast = {p};
    return cast.to;
}

int cachew_batch_dlpack(struct cachew_batch *batch, size_t i, struct DLManagedTensor **ret_tensor,
                        struct cachew_error *error)
{
    struct cachew_tensor tensor;
    if (cachew_batch_tensor(batch, i, &tensor) != 0)
        return cw_public_set(error, CW_E_NOT_FOUND,
                             "the batch has %zu tensors: there is no number %zu",
                             cachew_batch_tensors(batch), i);
    if (tensor.dtype == CACHEW_STR)
        return cw_public_set(error, CW_E_UNSUPPORTED,
                             "tensor %s holds strings: DLPack has no type for them", tensor.name);
    struct export *export = CW_NEW(struct export);
    for (int d = 0; d < tensor.rank; d++)
        export->shape[d] = tensor.dims[d];
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    export->batch = batch;
    export->managed = (struct DLManagedTensor){
        .tensor = {.data = without_const(tensor.data),
                   .device = {DL_CPU, 0},
                   .ndim = tensor.rank,
                   .dtype = {dl_codes[tensor.dtype],
                             (uint8_t)(8 * cachew_dtype_bytes(tensor.dtype)), 1},
                   .shape = export->shape},
        .manager_ctx = export,
        .deleter = on_delete};
    *ret_tensor = &export->managed;
    return 0;
}
