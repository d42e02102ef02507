/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of files that are read before anybody needs them (io/ahead.h). libgfapi reads without a thread
 * that waits, but opens and closes with one: a few threads do so for all. They begin with the first
 * request and run until the process ends, as libgfapi's own do: a call may be stuck. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "io/gluster/gluster_file.h"
#include "io/step_pool.h"

#define THREADS 8

struct request {
    struct cw_pool_step step; /* first: it is the request */
    struct cw_io_fetch *asked;
    char *url;
    atomic_bool is_cancelled;
    struct cw_gluster_place place;
    glfs_fd_t *fd;
    struct cw_io_info info;
    size_t got;
    bool has_failed;
};

static struct cw_step_pool pool = {
    .name = "cachew-gahead", .limit = THREADS, .mutex = CW_MUTEX_INIT};

static const struct cw_gluster_api *api(void)
{
    return cw_gluster_connection_api();
}

static struct request *request_of(struct cw_pool_step *step)
{
    return (struct request *)(void *)step;
}

/* ---- the steps ---- */

static bool is_same(const struct request *r)
{
    struct cw_io_info now;
    struct stat st;
    return api()->fstat(r->fd, &st) == 0 && cw_gluster_info(r->url, &st, &now, NULL) == 0 &&
           cw_hash_eq(now.state, r->info.state);
}

/* The bytes count if the file is the same before and after they were read. */
static void end(struct request *r)
{
    struct cw_io_fetch *asked = r->asked;
    asked->is_there = r->fd && !r->has_failed && r->got == asked->n && is_same(r);
    asked->info = r->info;
    if (r->fd)
        api()->close(r->fd);
    if (r->place.fs)
        cw_gluster_connection_leave(r->place.link);
    asked->done(asked); /* from here on nobody cancels it */
    cw_mem_free(r->url);
    cw_mem_free(r);
}

static void read_on(struct cw_pool_step *step);

/* By a thread of libgfapi, which must not wait. */
static void on_read(glfs_fd_t *fd, ssize_t n, struct glfs_stat *before, struct glfs_stat *after,
                    void *arg)
{
    struct request *r = arg;
    (void)fd;
    (void)before;
    (void)after;
    r->has_failed = n <= 0;
    r->got += n > 0 ? (size_t)n : 0;
    cw_step_pool_add(&pool, &r->step, read_on);
}

static void read_on(struct cw_pool_step *step)
{
    struct request *r = request_of(step);
    const struct cw_io_fetch *asked = r->asked;
    if (r->has_failed || r->got >= asked->n || atomic_load(&r->is_cancelled)) {
        end(r);
        return;
    }
    if (api()->pread_async(r->fd, asked->dst + r->got, asked->n - r->got,
                           (off_t)(asked->offset + r->got), 0, on_read, r) < 0) {
        r->has_failed = true;
        end(r);
    }
}

static int open_file(struct request *r)
{
    struct stat st;
    int rc = cw_gluster_reach(r->url, &r->place, NULL);
    if (rc < 0)
        return rc;
    r->fd = api()->open(r->place.fs, r->place.address.path, O_RDONLY | O_NONBLOCK);
    if (!r->fd || api()->fstat(r->fd, &st) < 0)
        return CW_E_IO;
    return cw_gluster_info(r->url, &st, &r->info, NULL);
}

static void begin(struct cw_pool_step *step)
{
    struct request *r = request_of(step);
    const uint64_t size =
        atomic_load(&r->is_cancelled) || open_file(r) < 0 ? 0 : (uint64_t)r->info.size;
    r->has_failed = r->asked->offset > size || r->asked->n > size - r->asked->offset;
    read_on(step);
}

void cw_gluster_fetch(const char *url, struct cw_io_fetch *asked)
{
    struct request *r = CW_NEW(struct request);
    r->url = cw_mem_strdup(url);
    r->asked = asked;
    asked->request = r;
    cw_step_pool_add(&pool, &r->step, begin);
}

void cw_gluster_cancel(struct cw_io_fetch *asked)
{
    struct request *r = asked->request;
    atomic_store(&r->is_cancelled, true);
}
