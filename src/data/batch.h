/* SPDX-License-Identifier: Apache-2.0 */
/* A finished output: named tensors in one contiguous buffer, each 64-byte aligned in it.
 * Immutable once published; refcounted, any thread. The same layout is what crosses the wire,
 * what lies in shared memory and what the trainer's pointers point into.
 *
 * A STR tensor of dims [n] (or of rank 0) is Arrow's layout: (count + 1) int64 offsets from the
 * start of its bytes, then the bytes (offsets[0] = 0). */
#ifndef CW_DATA_BATCH_H
#define CW_DATA_BATCH_H

#include "base/buf.h"
#include "data/element.h"

struct cw_tensor {
    struct cw_field field; /* all dims known; name, dtype, rank */
    size_t offset;         /* into the batch's buffer, multiple of 64 */
    size_t bytes;
};
struct cw_batch {
    _Atomic int refs;
    uint64_t epoch, item;
    uint64_t elements;  /* rows; 1 for an output without a batch dimension */
    uint64_t skipped;   /* bad elements left out of it (bad_elements=skip) */
    struct cw_buf *buf; /* one ref; NULL when there are no bytes */
    size_t n;
    /* as many as it was made for: small batches are held by the million */
    struct cw_tensor tensors[];
};

/* Zeroed, refs 1, n = tensors (at most CW_FIELDS_MAX); n may be lowered. */
struct cw_batch *cw_batch_new(size_t tensors) CW_MUST_CHECK;
struct cw_batch *cw_batch_ref(struct cw_batch *batch);
struct cw_batch *cw_batch_unref(struct cw_batch *batch); /* NULL; accepts NULL */
/* Bytes of memory that it takes, its buffer included. */
size_t cw_batch_held(const struct cw_batch *batch);
const void *cw_batch_data(const struct cw_batch *batch, size_t i);
/* Sets offset and bytes of every tensor (numeric: from dims; STR: bytes must be set by the caller
 * before) and returns the buffer size needed; LIMIT over 2^40, INVALID on unknown dims. */
int cw_batch_layout(struct cw_batch *batch, size_t *ret_bytes, struct cw_err *err);
/* What a peer or a file says of a batch, checked before anything is read: offsets and sizes
 * inside `bytes`, dims and dtype agree with sizes, STR offsets are monotonic. The buffer must be
 * there. */
int cw_batch_validate(const struct cw_batch *batch, struct cw_err *err);
/* Adds names, dtypes, shapes and bytes to a hash: the oracle of `cachew run`. */
void cw_batch_hash(const struct cw_batch *batch, struct cw_hasher *hasher);

#endif
