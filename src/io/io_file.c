/* SPDX-License-Identifier: Apache-2.0 */
/* The scheme of files: paths of this host, with or without "file://". */
#include "io/io.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/ahead.h"
#include "io/file_ahead.h"
#include "io/file_waits.h"
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
    if (rc < 0)
        return rc;
    file->info = info_of(&st);
    file->object = cw_mem_strdup(path); /* by which ranges that are read ahead are found */
    return 0;
}

static void file_close(struct cw_io_file *file)
{
    close(file->fd);
    cw_mem_free(file->object);
}

/* waits: is called before a read that must wait; may be NULL. */
static int read_all(int fd, uint64_t offset, void *dst, size_t n, void (*waits)(void),
                    struct cw_err *err)
{
    char *p = dst;
    while (n > 0) {
        ssize_t got = cw_file_read_noted(fd, p, n, offset, waits);
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

int cw_io_read_fd(int fd, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    return read_all(fd, offset, dst, n, NULL, err);
}

static int file_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                     const struct cw_stop *stop, struct cw_err *err)
{
    char *p = dst;
    while (n > 0 && cw_file_waits()) {
        const size_t got = cw_ahead_read(file->object, file->info.state, offset, p, n, stop);
        if (got == 0)
            break;
        p += got;
        offset += got;
        n -= got;
    }
    return n > 0 ? read_all(file->fd, offset, p, n, cw_io_waits, err) : 0;
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

/* The bytes count if the file is the same before and after they were read. (file_read would look for them among
 * those that are read ahead.) */
static bool read_range(const char *url, struct cw_io_fetch *asked)
{
    struct cw_io_file file = {0};
    if (file_open(url, NULL, &file, NULL) < 0)
        return false;
    uint64_t size = (uint64_t)file.info.size;
    bool is_there = asked->offset <= size && asked->n <= size - asked->offset &&
                    cw_io_read_fd(file.fd, asked->offset, asked->dst, asked->n, NULL) == 0 &&
                    file_is_unchanged(&file);
    asked->info = file.info;
    file_close(&file);
    return is_there;
}

static void file_fetch(const char *url, struct cw_io_fetch *asked)
{
    cw_file_fetch(url, asked, read_range);
}

const struct cw_io_scheme cw_io_scheme_file = {
    .name = "file",
    .stat = file_stat,
    .open = file_open,
    .close = file_close,
    .read = file_read,
    .is_unchanged = file_is_unchanged,
    .glob = file_glob,
    .fetch = file_fetch,
    .cancel = cw_file_cancel,
};
