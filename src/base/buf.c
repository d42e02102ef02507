/* SPDX-License-Identifier: Apache-2.0 */
/* Refcounted buffers: allocation, wrapping of foreign memory, and release. */
#include "base/buf.h"

#include <string.h>

#include "base/mem.h"

/* Offset of the data in a buffer whose data are in the same allocation. */
#define DATA_AT CW_ALIGN_UP(sizeof(struct cw_buf), (size_t)CW_BUF_ALIGN)

static void init(struct cw_buf *buf, void *data, size_t bytes, size_t cap)
{
    /* This is not a plain write to the field: the thread sanitizer does not see how gRPC orders its
     * threads. */
    atomic_init(&buf->refs, 1);
    buf->data = data;
    buf->len = bytes;
    buf->cap = cap;
    buf->release = NULL;
    buf->arg = NULL;
    buf->tag = 0;
}

struct cw_buf *cw_buf_wrap(void *data, size_t bytes, cw_buf_release_fn *release, void *arg)
{
    struct cw_buf *buf = CW_NEW(struct cw_buf);

    init(buf, data, bytes, bytes);
    buf->release = release;
    buf->arg = arg;
    return buf;
}

struct cw_buf *cw_buf_new(size_t bytes)
{
    if (bytes > SIZE_MAX - DATA_AT - CW_BUF_ALIGN)
        return NULL;
    /* The capacity is rounded up to whole cache lines, so that vector code may read to the end of
     * the last one. */
    size_t cap = bytes ? CW_ALIGN_UP(bytes, (size_t)CW_BUF_ALIGN) : CW_BUF_ALIGN;
    struct cw_buf *buf = cw_mem_try_aligned(CW_BUF_ALIGN, DATA_AT + cap);

    if (buf)
        init(buf, (char *)buf + DATA_AT, bytes, cap);
    return buf;
}

size_t cw_buf_held(const struct cw_buf *buf)
{
    if (buf->data == (const char *)buf + DATA_AT)
        /* the last term is what aligning may waste */
        return cw_mem_cost(DATA_AT + buf->cap) + CW_BUF_ALIGN;
    return cw_mem_cost(sizeof(*buf)) + buf->cap;
}

struct cw_buf *cw_buf_copy(const void *data, size_t bytes)
{
    struct cw_buf *buf = cw_buf_new(bytes);

    if (buf && bytes)
        memcpy(buf->data, data, bytes);
    return buf;
}

struct cw_buf *cw_buf_ref(struct cw_buf *buf)
{
    int before = atomic_fetch_add_explicit(&buf->refs, 1, memory_order_relaxed);

    CW_ASSERT(before > 0);
    return buf;
}

struct cw_buf *cw_buf_unref(struct cw_buf *buf)
{
    if (!buf)
        return NULL;
    int before = atomic_fetch_sub_explicit(&buf->refs, 1, memory_order_acq_rel);
    CW_ASSERT(before > 0);
    if (before == 1) {
        if (buf->release)
            buf->release(buf->arg, buf);
        cw_mem_free(buf);
    }
    return NULL;
}
