/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small files such as those of /proc. */
#include "base/text_file.h"

#include <fcntl.h>
#include <unistd.h>

bool cw_text_file_read(const char *path, char *text, size_t cap)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t n = 0;
    ssize_t got;
    while (n + 1 < cap && (got = read(fd, text + n, cap - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(fd);
    return n > 0;
}
