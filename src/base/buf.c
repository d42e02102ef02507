/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <string.h>

#include "base/mem.h"

static void release_own(void *arg, struct cw_buf *buf)
{
    (void)arg;
    cw_mem_free(buf->data);
}

struct cw_buf *cw_buf_wrap(void *data, size_t bytes, cw_buf_release_fn *release, void *arg)
{
    struct cw_buf *buf = CW_NEW(struct cw_buf);

    atomic_init(&buf->refs, 1);
    buf->data = data;
    buf->len = bytes;
    buf->cap = bytes;
    buf->release = release;
    buf->arg = arg;
    return buf;
}

struct cw_buf *cw_buf_new(size_t bytes)
{
    if (bytes > SIZE_MAX - CW_BUF_ALIGN)
        return NULL;
    /* Whole cache lines, so that vector code may read to the end of the last one. */
    size_t cap = bytes ? CW_ALIGN_UP(bytes, (size_t)CW_BUF_ALIGN) : CW_BUF_ALIGN;
    void *data = cw_mem_try_aligned(CW_BUF_ALIGN, cap);

    if (!data)
        return NULL;
    struct cw_buf *buf = cw_buf_wrap(data, bytes, release_own, NULL);
    buf->cap = cap;
    return buf;
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
