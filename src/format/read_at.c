/* SPDX-License-Identifier: Apache-2.0 */
/* Readables for open files and for memory. */
#include "format/read_at.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/source_root.h"

int cw_read_fd(int fd, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    char *p = dst;
    while (n > 0) {
        ssize_t got = pread(fd, p, n, (off_t)offset);
        if (got < 0 && errno == EINTR)
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

static int read_fd(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    return cw_read_fd(*(const int *)arg, offset, dst, n, err);
}

static int read_mem(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    const struct cw_readable_bytes *bytes = arg;
    if (offset > bytes->n || n > bytes->n - offset)
        return cw_err_set(err, CW_E_CORRUPT, "%zu bytes at byte %llu are past the end", n,
                          (unsigned long long)offset);
    if (n > 0)
        memcpy(dst, (const char *)bytes->p + offset, n);
    return 0;
}

/* arg has one pointer type for all kinds of readable; read_mem only reads through it. */
static void *without_const(const void *p)
{
    void *q;
    memcpy(&q, &p, sizeof(q));
    return q;
}

int cw_readable_open(const char *path, int *ret_fd, struct cw_readable *ret_readable,
                     struct cw_err *err)
{
    struct stat st;
    int rc = cw_source_open(path, ret_fd, &st, err);
    if (rc < 0)
        return rc;
    *ret_readable = (struct cw_readable){
        .name = path, .size = (uint64_t)st.st_size, .read_at = read_fd, .arg = ret_fd};
    return 0;
}

struct cw_readable cw_readable_mem(const char *name, const struct cw_readable_bytes *bytes)
{
    return (struct cw_readable){
        .name = name, .size = bytes->n, .read_at = read_mem, .arg = without_const(bytes)};
}

int cw_readable_get(const struct cw_readable *readable, uint64_t offset, void *dst, size_t n,
                    struct cw_err *err)
{
    int rc = cw_stop_check(readable->stop, err);
    if (rc == 0)
        rc = readable->read_at(readable->arg, offset, dst, n, err);
    if (rc < 0)
        cw_err_wrap(err, "%s", readable->name);
    return rc;
}
