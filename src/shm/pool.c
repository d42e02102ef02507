/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's pool of memfd slots. A slot is made once, mapped once on each side, and reused for
 * batches of about its size, since a new memfd for each batch costs more in page faults than a
 * copy.
 *
 * A slot is sealed against shrinking, so that no reader can get a SIGBUS. Its pages are reserved
 * when it is made, so that a host without memory gives an error and not a signal. */
#include "shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"

#define SLOT_ROUND ((size_t)64 << 10)
#define SLOTS_MAX 4096

struct slot {
    struct cw_shm_pool *pool;
    struct slot *next; /* next in the ring `idle` */
    struct slot *prev;
    uint64_t id;
    size_t cap;
    void *data;
    int fd;
    bool retired; /* guarded by the pool's lock */
};
struct cw_shm_pool {
    struct cw_mutex lock;
    int refs; /* one reference of the owner, and one of each buffer in use */
    bool closed;
    size_t limit, bytes;
    size_t used, peak;         /* bytes in use now, and the most that were in use at any time */
    size_t slots_max, slots_n; /* the most slots, and their present number; each has a descriptor */
    uint64_t last_id;
    struct slot idle; /* ring of idle slots; the first one was used last */
    uint64_t *gone;
    size_t gone_n, gone_cap;
};

/* Returns how many slots there may be: half of the descriptors that this process may open are left
 * for sockets and files. */
static size_t slots_max(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY)
        return SLOTS_MAX;
    return CW_MAX(CW_MIN((size_t)files.rlim_cur / 2, (size_t)SLOTS_MAX), (size_t)1);
}

struct cw_shm_pool *cw_shm_pool_new(size_t limit_bytes)
{
    struct cw_shm_pool *pool = CW_NEW(struct cw_shm_pool);
    cw_mutex_init(&pool->lock);
    pool->refs = 1;
    pool->limit = limit_bytes;
    pool->slots_max = slots_max();
    pool->idle.next = pool->idle.prev = &pool->idle;
    return pool;
}

static void slot_unlink(struct slot *slot)
{
    slot->prev->next = slot->next;
    slot->next->prev = slot->prev;
}

static void slot_link_first(struct cw_shm_pool *pool, struct slot *slot)
{
    slot->prev = &pool->idle;
    slot->next = pool->idle.next;
    slot->next->prev = slot;
    pool->idle.next = slot;
}

/* Frees a slot that is not in `idle`. Called with the lock held. */
static void slot_destroy(struct cw_shm_pool *pool, struct slot *slot)
{
    pool->bytes -= slot->cap;
    pool->slots_n--;
    if (!pool->closed) {
        CW_GROW(pool->gone, pool->gone_n, pool->gone_cap);
        pool->gone[pool->gone_n++] = slot->id;
    }
    munmap(slot->data, slot->cap);
    close(slot->fd);
    cw_mem_free(slot);
}

/* Frees idle slots, least recently used first. Called with the lock held. */
static void trim(struct cw_shm_pool *pool, size_t bytes, size_t slots)
{
    while ((pool->bytes > bytes || pool->slots_n > slots) && pool->idle.prev != &pool->idle) {
        struct slot *slot = pool->idle.prev;
        slot_unlink(slot);
        slot_destroy(pool, slot);
    }
}

/* Gives up a reference, and unlocks. The pool is freed with its last reference. */
static void pool_unref(struct cw_shm_pool *pool)
{
    bool last = --pool->refs == 0;
    cw_mutex_unlock(&pool->lock);
    if (!last)
        return;
    cw_mutex_fini(&pool->lock);
    cw_mem_free(pool->gone);
    cw_mem_free(pool);
}

void cw_shm_pool_free(struct cw_shm_pool *pool)
{
    if (!pool)
        return;
    cw_mutex_lock(&pool->lock);
    pool->closed = true;
    trim(pool, 0, 0);
    pool_unref(pool);
}

/* Makes a slot. Returns NULL with err set if there is no memory. */
static struct slot *slot_make(struct cw_shm_pool *pool, uint64_t id, size_t cap, struct cw_err *err)
{
    int fd = memfd_create("cachew-batch", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        cw_err_errno(err, errno, "shared memory for a batch");
        return NULL;
    }
    int rc = ftruncate(fd, (off_t)cap) == 0 ? 0 : errno;
    if (rc == 0 && fallocate(fd, 0, 0, (off_t)cap) != 0 && errno != EOPNOTSUPP)
        rc = errno;
    if (rc == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        rc = errno;
    void *data = MAP_FAILED;
    if (rc == 0 &&
        (data = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) == MAP_FAILED)
        rc = errno;
    if (rc != 0) {
        close(fd);
        cw_err_errno(err, rc, "%zu bytes of shared memory for a batch", cap);
        return NULL;
    }
    struct slot *slot = CW_NEW(struct slot);
    slot->pool = pool;
    slot->cap = cap;
    slot->fd = fd;
    slot->data = data;
    slot->id = id;
    return slot;
}

/* Returns the smallest idle slot that fits without wasting more than a quarter of it. Called with
 * the lock held. */
static struct slot *take_idle(struct cw_shm_pool *pool, size_t cap)
{
    struct slot *best = NULL;
    for (struct slot *s = pool->idle.next; s != &pool->idle; s = s->next) {
        if (s->cap < cap || s->cap - s->cap / 4 > cap || (best && best->cap <= s->cap))
            continue;
        best = s;
        if (s->cap == cap)
            break;
    }
    if (best)
        slot_unlink(best);
    return best;
}

static void on_buf_released(void *arg, struct cw_buf *buf)
{
    (void)buf;
    struct slot *slot = arg;
    struct cw_shm_pool *pool = slot->pool;
    cw_mutex_lock(&pool->lock);
    pool->used -= slot->cap;
    if (slot->retired || pool->closed)
        slot_destroy(pool, slot);
    else
        slot_link_first(pool, slot);
    pool_unref(pool);
}

/* Counts bytes as used. Called with the lock held. */
static void note_used(struct cw_shm_pool *pool, size_t cap)
{
    pool->used += cap;
    pool->peak = CW_MAX(pool->peak, pool->used);
}

struct cw_buf *cw_shm_pool_get(struct cw_shm_pool *pool, size_t bytes, struct cw_err *err)
{
    size_t cap = CW_ALIGN_UP(CW_MAX(bytes, (size_t)1), SLOT_ROUND);
    cw_mutex_lock(&pool->lock);
    struct slot *slot = take_idle(pool, cap);
    if (slot) {
        pool->refs++;
        note_used(pool, slot->cap);
        cw_mutex_unlock(&pool->lock);
    } else {
        /* Idle slots of other sizes are freed: all slots together take little more than the most
         * that was in use at one time. */
        size_t most = CW_MAX(pool->peak, pool->used + CW_MIN(cap, pool->limit));
        most = CW_MIN(pool->limit, most + most / 8);
        if (cap <= pool->limit)
            trim(pool, most - cap, pool->slots_max - 1);
        if (cap < bytes || pool->bytes > pool->limit || cap > pool->limit - pool->bytes ||
            pool->slots_n >= pool->slots_max) {
            cw_mutex_unlock(&pool->lock);
            cw_err_set(
                err, CW_E_LIMIT,
                "shared memory: %zu bytes do not fit under the limits of %zu bytes and %zu slots",
                bytes, pool->limit, pool->slots_max);
            return NULL;
        }
        /* The bytes are counted before the slow part, which runs without the lock. */
        pool->bytes += cap;
        pool->slots_n++;
        pool->refs++;
        note_used(pool, cap);
        uint64_t id = ++pool->last_id;
        cw_mutex_unlock(&pool->lock);
        slot = slot_make(pool, id, cap, err);
        if (!slot) {
            cw_mutex_lock(&pool->lock);
            pool->bytes -= cap;
            pool->used -= cap;
            pool->slots_n--;
            pool_unref(pool);
            return NULL;
        }
    }
    struct cw_buf *buf = cw_buf_wrap(slot->data, slot->cap, on_buf_released, slot);
    buf->len = bytes;
    buf->tag = slot->id;
    return buf;
}

int cw_shm_pool_fd(struct cw_shm_pool *pool, const struct cw_buf *buf, size_t *ret_cap)
{
    const struct slot *slot = buf->arg;
    CW_ASSERT(buf->release == on_buf_released && slot->pool == pool);
    *ret_cap = slot->cap;
    return slot->fd;
}

void cw_shm_pool_retire(struct cw_shm_pool *pool, const struct cw_buf *buf)
{
    struct slot *slot = buf->arg;
    CW_ASSERT(buf->release == on_buf_released && slot->pool == pool);
    cw_mutex_lock(&pool->lock);
    slot->retired = true;
    cw_mutex_unlock(&pool->lock);
}

size_t cw_shm_pool_bytes(struct cw_shm_pool *pool)
{
    cw_mutex_lock(&pool->lock);
    size_t bytes = pool->bytes;
    cw_mutex_unlock(&pool->lock);
    return bytes;
}

void cw_shm_pool_trim(struct cw_shm_pool *pool, size_t bytes)
{
    cw_mutex_lock(&pool->lock);
    trim(pool, bytes, pool->slots_max);
    pool->peak = CW_MAX(pool->used, CW_MIN(pool->peak, bytes));
    cw_mutex_unlock(&pool->lock);
}

size_t cw_shm_pool_take_freed(struct cw_shm_pool *pool, uint64_t *ret_slots, size_t cap)
{
    cw_mutex_lock(&pool->lock);
    size_t n = CW_MIN(cap, pool->gone_n);
    for (size_t i = 0; i < n; i++)
        ret_slots[i] = pool->gone[--pool->gone_n];
    cw_mutex_unlock(&pool->lock);
    return n;
}
