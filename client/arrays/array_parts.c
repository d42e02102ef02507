/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file of parts. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "client/arrays/array_write.h"

#define WRITE_MAX ((size_t)1 << 30) /* what one call is given */

static int write_all(int fd, const struct iovec *part)
{
    const char *p = part->iov_base;
    for (size_t done = 0; done < part->iov_len;) {
        ssize_t n = write(fd, p + done, CW_MIN(part->iov_len - done, WRITE_MAX));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

int cw_array_write_parts(const char *path, const struct iovec *parts, size_t n, struct cw_err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), rc = fd < 0 ? -1 : 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = write_all(fd, &parts[i]);
    if (rc == 0)
        rc = fsync(fd);
    int failure = rc < 0 ? errno : 0;
    if (fd >= 0 && close(fd) < 0 && failure == 0)
        failure = errno;
    return failure == 0 ? 0 : cw_err_errno(err, failure, "%s", path);
}
