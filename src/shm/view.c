/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side: the slots of one worker, each mapped once, read-only or, if the trainer may
 * write, privately: pages that it writes become copies of its own (copy on write). A mapping is refcounted,
 * since the trainer may hold a buffer long after the worker is gone. */
#include "shm/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "shm/private_pages.h"

struct mapping {
    _Atomic int refs; /* one reference of the view, and one of each buffer */
    size_t cap;
    void *data;
    bool with_writes;
};
struct cw_shm_view {
    bool with_writes;
    struct cw_map slots; /* maps the id of a slot to its mapping */
};
struct held {
    struct mapping *mapping;
    cw_shm_released_fn *released;
    void *arg;
    uint64_t slot;
    size_t bytes;
};

static void mapping_unref(struct mapping *m)
{
    if (!m || atomic_fetch_sub(&m->refs, 1) != 1)
        return;
    munmap(m->data, m->cap);
    cw_mem_free(m);
}

struct cw_shm_view *cw_shm_view_new(bool with_writes)
{
    struct cw_shm_view *view = CW_NEW(struct cw_shm_view);
    view->with_writes = with_writes;
    return view;
}

void cw_shm_view_free(struct cw_shm_view *view)
{
    if (!view)
        return;
    uint64_t slot;
    void *m;
    for (size_t i = 0; cw_map_next(&view->slots, &i, &slot, &m);)
        mapping_unref(m);
    cw_map_fini(&view->slots);
    cw_mem_free(view);
}

static int map_slot(size_t cap, int memfd, bool with_writes, void **ret_data, struct cw_err *err)
{
    struct stat st;
    if (fstat(memfd, &st) != 0)
        return cw_err_errno(err, errno, "shared memory: a slot's descriptor");
    if (cap == 0 || st.st_size < 0 || (uint64_t)st.st_size < cap)
        return cw_err_set(err, CW_E_CORRUPT, "shared memory: a slot of %zu bytes in a file of %lld",
                          cap, (long long)st.st_size);
    int seals = fcntl(memfd, F_GET_SEALS);
    if (seals < 0 || !(seals & F_SEAL_SHRINK))
        return cw_err_set(err, CW_E_CORRUPT,
                          "shared memory: a slot that could shrink under its reader");
    void *data = mmap(NULL, cap, with_writes ? PROT_READ | PROT_WRITE : PROT_READ,
                      with_writes ? MAP_PRIVATE : MAP_SHARED, memfd, 0);
    if (data == MAP_FAILED)
        return cw_err_errno(err, errno, "shared memory: mapping a slot of %zu bytes", cap);
    /* mlockall(MCL_FUTURE) has copied each page, and locked pages cannot be given up. */
    if (with_writes && munlock(data, cap) == 0)
        (void)madvise(data, cap, MADV_DONTNEED);
    *ret_data = data;
    return 0;
}

int cw_shm_view_add(struct cw_shm_view *view, uint64_t slot, size_t cap, int memfd,
                    struct cw_err *err)
{
    void *data = NULL;
    int rc = cw_map_get(&view->slots, slot)
                 ? cw_err_set(err, CW_E_EXISTS, "shared memory: slot %llu came twice",
                              (unsigned long long)slot)
                 : map_slot(cap, memfd, view->with_writes, &data, err);
    close(memfd);
    if (rc != 0)
        return rc;
    struct mapping *m = CW_NEW(struct mapping);
    m->refs = 1;
    m->cap = cap;
    m->data = data;
    m->with_writes = view->with_writes;
    cw_map_set(&view->slots, slot, m);
    return 0;
}

void cw_shm_view_drop(struct cw_shm_view *view, uint64_t slot)
{
    mapping_unref(cw_map_remove(&view->slots, slot));
}

static void on_buf_released(void *arg, struct cw_buf *buf)
{
    (void)buf;
    struct held *held = arg;
    /* The next batch in this slot must show in place of what was written. */
    if (held->mapping->with_writes)
        cw_private_pages_drop(held->mapping->data, held->bytes);
    /* The slot is unmapped before the worker gets the message, since the worker may free it at
     * once. */
    mapping_unref(held->mapping);
    held->released(held->arg, held->slot);
    cw_mem_free(held);
}

int cw_shm_view_buf(struct cw_shm_view *view, uint64_t slot, size_t bytes,
                    cw_shm_released_fn *released, void *arg, struct cw_buf **ret_buf,
                    struct cw_err *err)
{
    struct mapping *m = cw_map_get(&view->slots, slot);
    if (!m)
        return cw_err_set(err, CW_E_NOT_FOUND, "shared memory: slot %llu is not here",
                          (unsigned long long)slot);
    if (bytes > m->cap)
        return cw_err_set(err, CW_E_CORRUPT, "shared memory: %zu bytes in a slot of %zu", bytes,
                          m->cap);
    if (m->with_writes)
        cw_private_pages_check(m->data, bytes, m->cap);
    struct held *held = CW_NEW(struct held);
    atomic_fetch_add(&m->refs, 1);
    *held = (struct held){m, released, arg, slot, bytes};
    *ret_buf = cw_buf_wrap(m->data, bytes, on_buf_released, held);
    (*ret_buf)->tag = slot;
    return 0;
}
