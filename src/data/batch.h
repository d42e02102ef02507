/* SPDX-License-Identifier: Apache-2.0 */
/* A finished output: named tensors in one contiguous buffer, each aligned to 64 bytes in it. A
 * batch is immutable once published, and refcounted; any thread may use it. The same layout is sent
 * over the network, lies in shared memory, and is what the trainer's pointers point into.
 *
 * A ragged tensor, whose rows have different shapes, is laid out as data/ragged.h says.
 * A STR tensor, of any dims, is a list of strings (data/strings.h). */
#ifndef CW_DATA_BATCH_H
#define CW_DATA_BATCH_H

#include "base/buf.h"
#include "data/bad_list.h"
#include "data/element.h"

struct cw_tensor {
    struct cw_field field; /* name, dtype, rank, and dims, each of which is known or ragged */
    size_t offset;         /* offset in the batch's buffer, a multiple of 64 */
    size_t bytes;
};
struct cw_batch {
    _Atomic int refs;
    uint64_t epoch, item;
    uint64_t elements; /* number of rows; 1 for an output without a batch dimension */
    uint64_t skipped;  /* number of bad elements that were left out of it (bad_elements=skip) */
    /* Descriptions of these, or of the first of them: one reference; NULL if there are none. */
    struct cw_bad_list *bad;
    struct cw_buf *buf; /* holds one reference; NULL if there are no bytes */
    size_t n;
    /* Only as many as the batch was made for, since millions of small batches may be held. */
    struct cw_tensor tensors[];
};

/* Makes a zeroed batch with one reference and n = tensors (at most CW_FIELDS_MAX); n may be lowered
 * later. */
struct cw_batch *cw_batch_new(size_t tensors) CW_MUST_CHECK;
struct cw_batch *cw_batch_ref(struct cw_batch *batch);
/* Gives up a reference. Returns NULL; accepts NULL. */
struct cw_batch *cw_batch_unref(struct cw_batch *batch);
/* Returns the bytes of memory that the batch occupies, including its buffer and what it says of bad elements. */
size_t cw_batch_held(const struct cw_batch *batch);
const void *cw_batch_data(const struct cw_batch *batch, size_t i);
/* Sets offset and bytes of every tensor, and returns the buffer size that is needed. The bytes of
 * numeric tensors follow from dims; those of STR and ragged tensors are set by the caller before. Returns
 * LIMIT for more than 2^40 bytes, INVALID for unknown dims. */
int cw_batch_layout(struct cw_batch *batch, size_t *ret_bytes, struct cw_err *err);
/* Checks what a peer or a file claims about a batch before anything of it is read: offsets and
 * sizes lie inside of `bytes`, dims and dtype agree with sizes, STR offsets do not decrease. The
 * buffer must be set. */
int cw_batch_validate(const struct cw_batch *batch, struct cw_err *err);
/* A part of it: that no two tensors have one name. */
int cw_batch_check_names(const struct cw_batch *batch, struct cw_err *err);
/* Adds names, dtypes, shapes and bytes to a hash; `cachew run` compares such hashes. */
void cw_batch_hash(const struct cw_batch *batch, struct cw_hasher *hasher);

#endif
