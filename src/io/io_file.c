/* SPDX-License-Identifier: Apache-2.0 */
/* The scheme of files: paths of this host, with or without "file://". */
#include "io/io.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/glob.h"
#include "io/source_root.h"

static int64_t ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
}

static const char *path_of(const char *url)
{
    static const char prefix[] = "file://";
    return cw_str_starts(url, prefix) ? url + strlen(prefix) : url;
}

static struct cw_io_info info_of(const struct stat *st)
{
    struct cw_io_info info = {
        .size = st->st_size, .mtime_ns = ns(st->st_mtim), .ctime_ns = ns(st->st_ctim)};
    const uint64_t words[] = {(uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_size,
                              (uint64_t)info.mtime_ns, (uint64_t)info.ctime_ns};
    info.state = cw_hash_bytes(words, sizeof(words));
    return info;
}

static int file_stat(const char *path, const struct cw_stop *stop, struct cw_io_info *ret_info,
                     struct cw_err *err)
{
    struct stat st;
    (void)stop;
    int rc = cw_source_stat(path_of(path), &st, err);
    if (rc == 0)
        *ret_info = info_of(&st);
    return rc;
}

static int file_open(const char *path, const struct cw_stop *stop, struct cw_io_file *file,
                     struct cw_err *err)
{
    struct stat st;
    (void)stop;
    int rc = cw_source_open(path_of(path), &file->fd, &st, err);
    if (rc == 0)
        file->info = info_of(&st);
    return rc;
}

static void file_close(struct cw_io_file *file)
{
    close(file->fd);
}

int cw_io_read_fd(int fd, uint64_t offset, void *dst, size_t n, struct cw_err *err)
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

static int file_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                     const struct cw_stop *stop, struct cw_err *err)
{
    (void)stop;
    return cw_io_read_fd(file->fd, offset, dst, n, err);
}

static bool file_is_unchanged(const struct cw_io_file *file)
{
    struct stat st;
    return fstat(file->fd, &st) == 0 && st.st_size == file->info.size &&
           ns(st.st_mtim) == file->info.mtime_ns;
}

static int file_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                     struct cw_io_list *list, struct cw_err *err)
{
    struct cw_paths paths = {0};
    int rc = cw_glob(pattern, entries_max, stop, &paths, err);
    for (size_t i = 0; i < paths.n && rc == 0; i++)
        cw_io_list_add(list, cw_steal(&paths.v[i]), -1, 0);
    cw_paths_fini(&paths);
    return rc;
}

const struct cw_io_scheme cw_io_scheme_file = {
    .name = "file",
    .stat = file_stat,
    .open = file_open,
    .close = file_close,
    .read = file_read,
    .is_unchanged = file_is_unchanged,
    .glob = file_glob,
};
