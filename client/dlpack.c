/* SPDX-License-Identifier: Apache-2.0 */
/* Exports a tensor of a batch as a DLManagedTensor or a DLManagedTensorVersioned. */
#include <stdatomic.h>
#include "base/mem.h"
#include "client/model/dlpack_abi.h"
#include "client/model/trainer_batch.h"
#include "client/model/public.h"

struct export
{
    union { /* which of the two was asked for */
        struct DLManagedTensor managed;
        struct DLManagedTensorVersioned versioned;
    } as;
    int64_t shape[CW_RANK_MAX], strides[CW_RANK_MAX];
    struct cachew_batch *batch;
};

static const uint8_t dl_codes[] = {
#define CW_DTYPE(name, text, bytes, dl) dl,
    CW_DTYPE_LIST
#undef CW_DTYPE
};

static void release(struct export *export)
{
    struct cachew_batch *batch = export->batch;
    cw_mem_free(export);
    cachew_batch_release(batch);
}
static void on_delete(struct DLManagedTensor *self)
{
    release(self->manager_ctx);
}
static void on_delete_versioned(struct DLManagedTensorVersioned *self)
{
    release(self->manager_ctx);
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

static int check(const struct cachew_batch *batch, size_t i, struct cachew_tensor *ret_tensor,
                 struct cachew_error *error)
{
    if (cachew_batch_tensor(batch, i, ret_tensor) != 0)
        return cw_public_set(error, CW_E_NOT_FOUND,
                             "the batch has %zu tensors: there is no number %zu",
                             cachew_batch_tensors(batch), i);
    if (ret_tensor->dtype == CACHEW_STR)
        return cw_public_set(error, CW_E_UNSUPPORTED,
                             "tensor %s holds strings: DLPack has no type for them",
                             ret_tensor->name);
    return 0;
}

/* Takes a reference to the batch, and describes the tensor in memory of its own. */
static struct export *export_new(struct cachew_batch *batch, const struct cachew_tensor *tensor,
                                 struct dl_tensor *ret_described)
{
    struct export *export = CW_NEW(struct export);
    int64_t stride = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        export->shape[d] = tensor->dims[d];
        export->strides[d] = stride;
        stride *= tensor->dims[d];
    }
    atomic_fetch_add_explicit(&batch->refs, 1, memory_order_relaxed);
    export->batch = batch;
    *ret_described = (struct dl_tensor){
        .data = without_const(tensor->data),
        .device = {CW_DL_CPU, 0},
        .ndim = tensor->rank,
        .dtype = {dl_codes[tensor->dtype], (uint8_t)(8 * cachew_dtype_bytes(tensor->dtype)), 1},
        .shape = export->shape};
    return export;
}

int cachew_batch_dlpack(struct cachew_batch *batch, size_t i, struct DLManagedTensor **ret_tensor,
                        struct cachew_error *error)
{
    struct cachew_tensor tensor;
    struct dl_tensor described;
    int rc = check(batch, i, &tensor, error);
    if (rc != 0)
        return rc;
    struct export *export = export_new(batch, &tensor, &described);
    export->as.managed =
        (struct DLManagedTensor){.tensor = described, .manager_ctx = export, .deleter = on_delete};
    *ret_tensor = &export->as.managed;
    return 0;
}

int cachew_batch_dlpack_versioned(struct cachew_batch *batch, size_t i,
                                  struct DLManagedTensorVersioned **ret_tensor,
                                  struct cachew_error *error)
{
    struct cachew_tensor tensor;
    struct dl_tensor described;
    int rc = check(batch, i, &tensor, error);
    if (rc != 0)
        return rc;
    struct export *export = export_new(batch, &tensor, &described);
    described.strides = export->strides; /* Later versions want them, and 1.0 allows them. */
    export->as.versioned =
        (struct DLManagedTensorVersioned){.version = {1, 0},
                                          .manager_ctx = export,
                                          .deleter = on_delete_versioned,
                                          .flags = batch->writable ? 0 : CW_DL_READ_ONLY,
                                          .tensor = described};
    *ret_tensor = &export->as.versioned;
    return 0;
}
