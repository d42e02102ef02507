/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transport/recvpool.h"

#include "base/mem.h"
#include "base/thread.h"

#define SMALL_BYTES (16u << 10) /* Smaller buffers are not kept, since malloc is as good. */
#define CLASSES 128             /* There are four classes for each power of two. */

struct piece { /* A header at the start of a piece of idle memory. */
    struct piece *next;
};
struct cw_recvpool {
    struct cw_mutex mutex;
    struct piece *idle[CLASSES];
    size_t idle_bytes, keep_bytes;
    uint64_t refs; /* The number of references: one of the owner, and one of each buffer in use. */
};

/* Returns the size class for `bytes`, and the size of its buffers. */
static size_t class_of(size_t bytes, size_t *ret_size)
{
    size_t log2 = 63 - (size_t)__builtin_clzll((unsigned long long)bytes - 1);
    size_t quarter = (size_t)1 << (log2 - 2);
    size_t size = CW_ALIGN_UP(bytes, quarter);
    size_t step = (size - ((size_t)1 << log2)) / quarter; /* `step` becomes 1 to 4. */
    *ret_size = size;
    return log2 * 4 + step - 1 - 13 * 4;
}

struct cw_recvpool *cw_recvpool_new(size_t keep_bytes)
{
    struct cw_recvpool *pool = CW_NEW(struct cw_recvpool);
    cw_mutex_init(&pool->mutex);
    pool->keep_bytes = keep_bytes;
    pool->refs = 1;
    return pool;
}

/* Drops a reference, and unlocks the mutex. With the last reference it frees all idle memory, which
 * it takes under the lock. */
static void unref_locked(struct cw_recvpool *pool)
{
    bool last = --pool->refs == 0;
    cw_mutex_unlock(&pool->mutex);
    if (!last)
        return;
    for (size_t i = 0; i < CLASSES; i++)
        while (pool->idle[i]) {
            struct piece *piece = pool->idle[i];
            pool->idle[i] = piece->next;
            cw_mem_free(piece);
        }
    cw_mutex_fini(&pool->mutex);
    cw_mem_free(pool);
}

void cw_recvpool_free(struct cw_recvpool *pool)
{
    if (!pool)
        return;
    cw_mutex_lock(&pool->mutex);
    pool->keep_bytes = 0;
    unref_locked(pool);
}

static void on_release(void *arg, struct cw_buf *buf)
{
    struct cw_recvpool *pool = arg;
    size_t size, class = class_of(buf->cap, &size);
    struct piece *piece = buf->data;
    cw_mutex_lock(&pool->mutex);
    bool keep = pool->idle_bytes + size <= pool->keep_bytes;
    if (keep) {
        piece->next = pool->idle[class];
        pool->idle[class] = piece;
        pool->idle_bytes += size;
    }
    unref_locked(pool);
    if (!keep)
        cw_mem_free(piece);
}

struct cw_buf *cw_recvpool_get(struct cw_recvpool *pool, size_t bytes)
{
    if (bytes < SMALL_BYTES || bytes > (size_t)1 << 40)
        return cw_buf_new(bytes);
    size_t size, class = class_of(bytes, &size);
    cw_mutex_lock(&pool->mutex);
    struct piece *piece = pool->idle[class];
    if (piece) {
        pool->idle[class] = piece->next;
        pool->idle_bytes -= size;
    }
    pool->refs++;
    cw_mutex_unlock(&pool->mutex);
    if (!piece)
        piece = cw_mem_try_aligned(CW_BUF_ALIGN, size);
    if (!piece) {
        cw_mutex_lock(&pool->mutex);
        unref_locked(pool);
        return NULL;
    }
    struct cw_buf *buf = cw_buf_wrap(piece, bytes, on_release, pool);
    buf->cap = size;
    return buf;
}
