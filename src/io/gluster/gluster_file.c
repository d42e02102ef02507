/* SPDX-License-Identifier: Apache-2.0 */
#include "io/gluster/gluster_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "io/ahead.h"

#define CONNECT_NS INT64_C(60000000000)

struct file {
    char *url;
    struct cw_io_info info;
    struct cw_mutex mutex; /* guards what follows, until it is open; then it is constant */
    struct cw_gluster_connection *link;
    glfs_fd_t *fd; /* NULL: it is not open */
};

static const struct cw_gluster_api *api(void)
{
    return cw_gluster_connection_api();
}

int cw_gluster_reach(const char *url, struct cw_gluster_place *ret_place, struct cw_err *err)
{
    memset(ret_place, 0, sizeof(*ret_place));
    if (cw_gluster_address_parse(url + strlen("gluster:"), &ret_place->address) < 0)
        return cw_err_set(err, CW_E_INVALID, "%s: is not gluster://HOST/VOLUME/PATH", url);
    ret_place->link = cw_gluster_connection_get(&ret_place->address);
    int rc = cw_gluster_connection_use(ret_place->link, CONNECT_NS, err);
    if (rc == 0)
        ret_place->fs = cw_gluster_connection_fs(ret_place->link);
    return rc < 0 ? cw_err_wrap(err, "%s", url) : 0;
}

/* A file that another client has replaced is gone for those that knew it. */
int cw_gluster_failed(const char *url, int failure, struct cw_err *err)
{
    return cw_err_errno(err, failure == ESTALE ? ENOENT : failure, "%s", url);
}

static int64_t ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
}

/* All clients of a volume see the same times and numbers. */
int cw_gluster_info(const char *url, const struct stat *st, struct cw_io_info *ret_info,
                    struct cw_err *err)
{
    struct cw_io_info info = {
        .size = st->st_size, .mtime_ns = ns(st->st_mtim), .ctime_ns = ns(st->st_ctim)};
    struct cw_hash name = cw_hash_bytes(url, strlen(url));
    const uint64_t words[] = {name.hi,
                              name.lo,
                              (uint64_t)st->st_ino,
                              (uint64_t)st->st_size,
                              (uint64_t)info.mtime_ns,
                              (uint64_t)info.ctime_ns};
    if (!S_ISREG(st->st_mode))
        return cw_err_set(err, CW_E_INVALID, "%s: is not a regular file", url);
    info.state = cw_hash_bytes(words, sizeof(words));
    *ret_info = info;
    return 0;
}

/* ---- opening ---- */

static int open_fd(const char *url, struct cw_gluster_connection **ret_link, glfs_fd_t **ret_fd,
                   struct cw_io_info *ret_info, struct cw_err *err)
{
    struct cw_gluster_place place;
    struct stat st;
    int rc = cw_gluster_reach(url, &place, err);
    if (rc < 0)
        return rc;
    cw_io_waits();
    glfs_fd_t *fd = api()->open(place.fs, place.address.path, O_RDONLY | O_NONBLOCK);
    if (!fd)
        rc = cw_gluster_failed(url, errno, err);
    else if (api()->fstat(fd, &st) < 0)
        rc = cw_gluster_failed(url, errno, err);
    else
        rc = cw_gluster_info(url, &st, ret_info, err);
    if (rc < 0) {
        if (fd)
            api()->close(fd);
        cw_gluster_connection_leave(place.link);
        return rc;
    }
    *ret_link = place.link;
    *ret_fd = fd;
    return 0;
}

/* Opens a file of which only bytes that were read ahead were needed so far: it must be the same still. */
static int open_late(struct file *f, struct cw_err *err)
{
    struct cw_gluster_connection *link = NULL;
    struct cw_io_info info;
    glfs_fd_t *fd = NULL;
    int rc = open_fd(f->url, &link, &fd, &info, err);
    if (rc < 0)
        return rc;
    if (!cw_hash_eq(info.state, f->info.state)) {
        api()->close(fd);
        cw_gluster_connection_leave(link);
        return cw_err_set(err, CW_E_OTHER_FILE, "%s: it has changed while it is read", f->url);
    }
    f->link = link;
    f->fd = fd;
    return 0;
}

static int ensure_open(struct file *f, struct cw_err *err)
{
    cw_mutex_lock(&f->mutex);
    int rc = f->fd ? 0 : open_late(f, err);
    cw_mutex_unlock(&f->mutex);
    return rc;
}

int cw_gluster_file_open(const char *url, const struct cw_stop *stop, struct cw_io_file *file,
                         struct cw_err *err)
{
    struct cw_gluster_connection *link = NULL;
    struct cw_io_info info;
    glfs_fd_t *fd = NULL;
    int rc = cw_ahead_info(url, stop, &info) ? 0 : open_fd(url, &link, &fd, &info, err);
    if (rc < 0)
        return rc;
    struct file *f = CW_NEW(struct file);
    f->url = cw_mem_strdup(url);
    f->info = info;
    f->link = link;
    f->fd = fd;
    cw_mutex_init(&f->mutex);
    file->info = info;
    file->object = f;
    return 0;
}

void cw_gluster_file_close(struct cw_io_file *file)
{
    struct file *f = file->object;
    if (f->fd) {
        api()->close(f->fd);
        cw_gluster_connection_leave(f->link);
    }
    cw_mutex_fini(&f->mutex);
    cw_mem_free(f->url);
    cw_mem_free(f);
    file->object = NULL;
}

/* ---- reading ---- */

static int read_fd(const struct file *f, uint64_t offset, char *p, size_t n,
                   const struct cw_stop *stop, struct cw_err *err)
{
    cw_io_waits();
    while (n > 0) {
        ssize_t got = api()->pread(f->fd, p, n, (off_t)offset, 0, NULL);
        if (got < 0 && errno == EINTR && !cw_stop_is_set(stop))
            continue;
        if (got < 0)
            return cw_err_errno(err, errno, "read %zu bytes at byte %llu", n,
                                (unsigned long long)offset);
        if (got == 0)
            return cw_err_set(err, CW_E_CORRUPT, "the file ends at byte %llu: cut while it is read",
                              (unsigned long long)offset);
        p += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

int cw_gluster_file_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                         const struct cw_stop *stop, struct cw_err *err)
{
    struct file *f = file->object;
    char *p = dst;
    while (n > 0) {
        const size_t got = cw_ahead_read(f->url, f->info.state, offset, p, n, stop);
        if (got == 0)
            break;
        p += got;
        offset += got;
        n -= got;
    }
    int rc = n > 0 ? ensure_open(f, err) : 0;
    return rc < 0 || n == 0 ? rc : read_fd(f, offset, p, n, stop, err);
}

bool cw_gluster_file_is_unchanged(const struct cw_io_file *file)
{
    struct file *f = file->object;
    struct stat st;
    cw_mutex_lock(&f->mutex);
    glfs_fd_t *fd = f->fd;
    cw_mutex_unlock(&f->mutex);
    if (!fd) /* bytes that were read ahead came with their version */
        return true;
    return api()->fstat(fd, &st) == 0 && st.st_size == f->info.size &&
           ns(st.st_mtim) == f->info.mtime_ns;
}
