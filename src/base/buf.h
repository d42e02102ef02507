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
    size_t cap; /* bytes allocated */
    /* called once, at the last unref, to free the data (not the struct); NULL = the data are
     * part of the struct's allocation, or belong to someone else */
    cw_buf_release_fn *release;
    void *arg;
    uint64_t tag; /* chosen by whoever made it (the id of a shared-memory slot); 0 = none */
};

/* Makes a buffer with one ref, len = bytes, not zeroed. NULL when there is no memory. */
struct cw_buf *cw_buf_new(size_t bytes) CW_MUST_CHECK;
struct cw_buf *cw_buf_copy(const void *data, size_t bytes) CW_MUST_CHECK;
/* Wraps foreign memory; release (may be NULL) is called at the last unref. Never NULL. */
struct cw_buf *cw_buf_wrap(void *data, size_t bytes, cw_buf_release_fn *release,
                           void *arg) CW_MUST_CHECK;
/* Bytes of memory that the buffer occupies; `cap` for wrapped memory. */
size_t cw_buf_held(const struct cw_buf *buf);
struct cw_buf *cw_buf_ref(struct cw_buf *buf);
/* Returns NULL, so that `b = cw_buf_unref(b)`. Accepts NULL. */
struct cw_buf *cw_buf_unref(struct cw_buf *buf);

#endif
