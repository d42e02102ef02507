/* SPDX-License-Identifier: Apache-2.0 */
/* Refcounted byte buffers, aligned to 64 bytes if made here. The data are read-only once the buffer
 * is published (handed to another thread or owner). The refcount is atomic, so any thread may use a
 * buffer. */
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
    /* Called once, with the last unref, to free the data (not the struct). NULL: the data are part
     * of the struct's allocation, or belong to someone else. */
    cw_buf_release_fn *release;
    void *arg;
    uint64_t tag; /* set by whoever made the buffer (the id of a shared-memory slot); 0: none */
};

/* Makes a buffer with one reference and len = bytes, not zeroed. Returns NULL if there is no
 * memory. */
struct cw_buf *cw_buf_new(size_t bytes) CW_MUST_CHECK;
struct cw_buf *cw_buf_copy(const void *data, size_t bytes) CW_MUST_CHECK;
/* Wraps memory of someone else; release (may be NULL) is called with the last unref. Never returns
 * NULL. */
struct cw_buf *cw_buf_wrap(void *data, size_t bytes, cw_buf_release_fn *release,
                           void *arg) CW_MUST_CHECK;
/* Returns the bytes of memory that the buffer occupies; `cap` for wrapped memory. */
size_t cw_buf_held(const struct cw_buf *buf);
struct cw_buf *cw_buf_ref(struct cw_buf *buf);
/* Gives up a reference. Returns NULL, so that `b = cw_buf_unref(b)` can be written. Accepts
 * NULL. */
struct cw_buf *cw_buf_unref(struct cw_buf *buf);

#endif
