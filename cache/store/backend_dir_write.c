/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files of the backend dir:. The functions run on I/O threads of the store; several of them
 * may write pieces of one file at once. */
#include "cache/store/backend_dir_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define FILE_MODE 0666 /* limited by the umask */
#define BLOCK CW_MEM_PAGE

struct cw_dir_out {
    int parent, fd;
    int direct;     /* a descriptor of the same file that writes past the page cache; -1: none */
    bool is_synced; /* its bytes are on the disk; its name will be, too */
    atomic_bool is_direct; /* the file system has not refused direct writes so far */
    char temp[CW_STORE_TEMP_BYTES];
    char name[CW_STORE_NAME_MAX + 1];
    const char *base; /* the last part of name */
};

int cw_backend_dir_fail(struct cw_err *err, int sys_errno, const char *what, const char *name)
{
    int rc = cw_err_errno(err, sys_errno, "%s %s", what, name);

    switch (sys_errno) {
    case ESTALE:
    case ENOTCONN:
    case EHOSTDOWN:
    case ENODEV:
    case EREMOTEIO:
    case ESHUTDOWN:
        if (err)
            err->code = CW_E_UNAVAILABLE;
        return CW_E_UNAVAILABLE;
    default:
        return rc;
    }
}

int cw_dir_write_create(int parent, const char *name, const char *base, bool direct, void **ret_out,
                        struct cw_err *err)
{
    struct cw_dir_out *out = CW_NEW(struct cw_dir_out);

    out->parent = parent;
    snprintf(out->name, sizeof(out->name), "%s", name);
    out->base = out->name + (base - name);
    cw_store_temp_name(out->temp);
    out->fd =
        openat(parent, out->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    if (out->fd < 0) {
        int rc = cw_backend_dir_fail(err, errno, "cannot make a file for", name);
        close(parent);
        cw_mem_free(out);
        return rc;
    }
    out->direct =
        direct ? openat(parent, out->temp, O_WRONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC) : -1;
    atomic_init(&out->is_direct, out->direct >= 0);
    *ret_out = out;
    return 0;
}

/* Writes past the page cache. *ret_at receives the number of bytes that were written; fewer than n
 * if the file system does not take the rest like this. */
static int write_direct(struct cw_dir_out *out, uint64_t offset, const char *p, size_t n,
                        size_t *ret_at, struct cw_err *err)
{
    size_t whole = n - n % BLOCK;

    if (offset % BLOCK || (uintptr_t)p % BLOCK)
        return 0;
    while (*ret_at < whole && *ret_at % BLOCK == 0 &&
           atomic_load_explicit(&out->is_direct, memory_order_relaxed)) {
        ssize_t some = pwrite(out->direct, p + *ret_at, whole - *ret_at, (off_t)(offset + *ret_at));
        if (some < 0 && errno == EINTR)
            continue;
        /* the file system has larger blocks, or cannot write past the page cache */
        if (some < 0 && (errno == EINVAL || errno == EOPNOTSUPP))
            atomic_store_explicit(&out->is_direct, false, memory_order_relaxed);
        else if (some <= 0)
            return cw_backend_dir_fail(err, some < 0 ? errno : EIO, "cannot write", out->name);
        else
            *ret_at += (size_t)some;
    }
    return 0;
}

int cw_dir_write_piece(void *arg, uint64_t offset, const void *p, size_t n, struct cw_err *err)
{
    struct cw_dir_out *out = arg;
    size_t at = 0;
    int rc = write_direct(out, offset, p, n, &at, err);

    while (rc == 0 && at < n) {
        ssize_t some = pwrite(out->fd, (const char *)p + at, n - at, (off_t)(offset + at));
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            return cw_backend_dir_fail(err, some < 0 ? errno : EIO, "cannot write", out->name);
        at += (size_t)some;
    }
    return rc;
}

int cw_dir_write_sync(void *arg, struct cw_err *err)
{
    struct cw_dir_out *out = arg;

    if (fsync(out->fd) < 0)
        return cw_backend_dir_fail(err, errno, "cannot write to disk", out->name);
    out->is_synced = true;
    return 0;
}

static void end(struct cw_dir_out *out, bool removes)
{
    if (out->fd >= 0)
        close(out->fd);
    if (out->direct >= 0)
        close(out->direct);
    if (removes)
        unlinkat(out->parent, out->temp, 0);
    close(out->parent);
    cw_mem_free(out);
}

int cw_dir_write_commit(void *arg, struct cw_err *err)
{
    struct cw_dir_out *out = arg;
    int rc = 0, fd = out->fd;

    out->fd = -1;
    if (close(fd) < 0)
        rc = cw_backend_dir_fail(err, errno, "cannot close", out->name);
    else if (renameat(out->parent, out->temp, out->parent, out->base) < 0)
        rc = cw_backend_dir_fail(err, errno, "cannot rename a file to", out->name);
    /* EINVAL: the file system cannot sync a directory */
    else if (out->is_synced && fsync(out->parent) < 0 && errno != EINVAL)
        rc = cw_backend_dir_fail(err, errno, "cannot write to disk the directory of", out->name);
    end(out, rc < 0);
    return rc;
}

void cw_dir_write_abandon(void *arg)
{
    end(arg, true);
}
