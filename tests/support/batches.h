/* SPDX-License-Identifier: Apache-2.0 */
/* Small batches for tests. */
#ifndef CW_TESTS_BATCHES_H
#define CW_TESTS_BATCHES_H

#include <string.h>

#include "data/batch.h"

/* x: f32[3], name: str[2] = "ab", "c"; zeros between. */
static inline struct cw_batch *cw_test_batch(void)
{
    static const float x[] = {1, 2, 3};
    static const int64_t offsets[] = {0, 2, 3};
    struct cw_batch *batch = cw_batch_new(2);
    size_t bytes = 0;

    batch->epoch = 4;
    batch->item = 5;
    batch->elements = 3;
    batch->skipped = 1;
    batch->tensors[0].field =
        (struct cw_field){.name = "x", .dtype = CW_DTYPE_F32, .rank = 1, .dims = {3}};
    batch->tensors[1].field =
        (struct cw_field){.name = "name", .dtype = CW_DTYPE_STR, .rank = 1, .dims = {2}};
    batch->tensors[1].bytes = sizeof(offsets) + 3;
    if (cw_batch_layout(batch, &bytes, NULL) != 0)
        return cw_batch_unref(batch);
    batch->buf = cw_buf_new(bytes);
    char *data = batch->buf->data;
    memset(data, 0, bytes);
    memcpy(data + batch->tensors[0].offset, x, sizeof(x));
    memcpy(data + batch->tensors[1].offset, offsets, sizeof(offsets));
    memcpy(data + batch->tensors[1].offset + sizeof(offsets), "abc", 3);
    return batch;
}

#endif
