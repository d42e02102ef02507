/* SPDX-License-Identifier: Apache-2.0 */
#include "conf/conf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FILE_MAX ((size_t)64 << 20)

static int read_all(int fd, const char *path, struct cw_str *out, struct cw_err *err)
{
    char chunk[4096];

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof(chunk));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return cw_err_errno(err, errno, "cannot read %s", path);
        if (n == 0)
            return CW_OK;
        if (out->len + (size_t)n > FILE_MAX)
            return cw_err_set(err, CW_E_LIMIT,
                              "%s: more than 64 MiB: name files by a pattern, or keep values in a "
                              "file that a source reads",
                              path);
        cw_str_add_bytes(out, chunk, (size_t)n);
    }
}

int cw_conf_file_read(const char *path, struct cw_str *out, struct cw_err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return cw_err_errno(err, errno, "cannot open %s", path);
    int rc = read_all(fd, path, out, err);
    close(fd);
    return rc;
}
