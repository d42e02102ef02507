/* SPDX-License-Identifier: Apache-2.0 */
/* Refcounted byte buffers, 64-byte aligned when made here. The data are read-only once published
 * (handed to another thread or owner). Any thread; the refcount is atomic. */
#ifndef CW_BASE_BUF_H
#define CW_BASE_BUF_H

#include <stdatomic.h>
#include "base/compiler.h"

#define CW_BUF_ALIGN 64

struct cw_buf;
typedef void cw_buf_release_fn(void *arg, struct cw_buf *buf);

struct cw_buf {
    atomic_int refs;
    void *data;
    size_t len; /* bytes in use */
    size_t cap; /* bytes there */
    /* called once at the last unref; frees data (not the struct); NULL = the data go with the
     * struct, or are not ours */
    cw_buf_release_fn *release;
    void *arg;
    uint64_t tag; /* the maker's own number (a shared-memory slot's id); 0 = none */
};

/* New buffer, refs 1, len = bytes, not zeroed. NULL when memory is short. */
struct cw_buf *cw_buf_new(size_t bytes) CW_MUST_CHECK;
struct cw_buf *cw_buf_copy(const void *data, size_t bytes) CW_MUST_CHECK;
/* Wraps foreign memory; release (may be NULL) is called at the last unref. Never NULL. */
struct cw_buf *cw_buf_wrap(void *data, size_t bytes, cw_buf_release_fn *release,
                           void *arg) CW_MUST_CHECK;
/* Bytes of memory that it takes; of wrapped memory `cap` of them. */
size_t cw_buf_held(const struct cw_buf *buf);
struct cw_buf *cw_buf_ref(struct cw_buf *buf);
/* Returns NULL, so that `b = cw_buf_unref(b)`. Accepts NULL. */
struct cw_buf *cw_buf_unref(struct cw_buf *buf);

#endif
