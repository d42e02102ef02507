/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of DLPack 0.8 and 1.0, which are its ABI (dlpack.h), the parts of them under our own
 * names. */
#ifndef CW_CLIENT_MODEL_DLPACK_ABI_H
#define CW_CLIENT_MODEL_DLPACK_ABI_H

#include <stdint.h>

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
struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct dl_tensor tensor;
};

#define CW_DL_CPU 1
#define CW_DL_READ_ONLY 1 /* a flag */

#endif
