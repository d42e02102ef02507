/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files of the backend dir:, by a mapping, through the page cache, or past it. */
#include "cache/store/backend_dir_read.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mapped.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cache/store/backend_dir_write.h"

struct file {
    int fd;
    uint64_t bytes;
    bool is_maps;
    atomic_bool is_direct; /* the file system has not refused direct reads so far */
    struct cw_mutex lock;
    struct cw_mapped *map; /* guarded by lock */
    /* guarded by lock: a descriptor of the same file that reads past the page cache; -1: not
     * open */
    int direct;
};

void *cw_dir_read_new(int fd, uint64_t bytes, bool maps, bool direct)
{
    struct file *file = CW_NEW(struct file);

    file->fd = fd;
    file->bytes = bytes;
    file->is_maps = maps;
    atomic_init(&file->is_direct, direct);
    file->direct = -1;
    cw_mutex_init(&file->lock);
    return file;
}
int cw_dir_read_piece(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    struct file *file = arg;

    for (size_t at = 0; at < n;) {
        ssize_t some = pread(file->fd, (char *)dst + at, n - at, (off_t)(offset + at));
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return cw_backend_dir_fail(err, errno, "cannot read", "a file");
        if (some == 0)
            return cw_err_set(err, CW_E_CORRUPT, "a file was %llu bytes long, and ends at %llu now",
                              (unsigned long long)file->bytes, (unsigned long long)(offset + at));
        at += (size_t)some;
    }
    return 0;
}
bool cw_dir_read_may_read_past(void *arg)
{
    struct file *file = arg;

    return atomic_load_explicit(&file->is_direct, memory_order_relaxed);
}
/* Returns the descriptor that reads past the page cache, or -1 if the file system refuses. */
static int direct_of(struct file *file)
{
    char path[32];

    cw_mutex_lock(&file->lock);
    if (file->direct < 0 && cw_dir_read_may_read_past(file)) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
        file->direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
        atomic_store_explicit(&file->is_direct, file->direct >= 0, memory_order_relaxed);
    }
    int fd = file->direct;
    cw_mutex_unlock(&file->lock);
    return fd;
}
int cw_dir_read_past(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    struct file *file = arg;
    size_t lead = (size_t)(offset % CW_MEM_PAGE), whole = CW_ALIGN_UP(lead + n, CW_MEM_PAGE);
    int fd = direct_of(file);
    ssize_t got;

    do
        got = fd < 0 ? -1 : pread(fd, (char *)dst - lead, whole, (off_t)(offset - lead));
    while (fd >= 0 && got < 0 && errno == EINTR);
    if (got >= (ssize_t)(lead + n))
        return 0;
    if (fd >= 0 && got < 0 && (errno == EINVAL || errno == EOPNOTSUPP))
        atomic_store_explicit(&file->is_direct, false, memory_order_relaxed);
    return cw_dir_read_piece(file, offset, dst, n, err); /* the plain read reports what is wrong */
}
/* Maps the file, unless it became shorter since it was opened. */
const void *cw_dir_read_map(void *arg)
{
    struct file *file = arg;
    struct stat st;

    if (!file->is_maps)
        return NULL;
    cw_mutex_lock(&file->lock);
    if (!file->map && fstat(file->fd, &st) == 0 && (uint64_t)st.st_size == file->bytes)
        file->map = cw_mapped_new(file->fd, (size_t)file->bytes);
    const struct cw_mapped *map = file->map;
    cw_mutex_unlock(&file->lock);
    return map ? cw_mapped_data(map) : NULL;
}
bool cw_dir_read_is_broken(void *arg, uint64_t *ret_offset)
{
    struct file *file = arg;
    size_t at = 0;

    cw_mutex_lock(&file->lock);
    bool broken = file->map && cw_mapped_is_broken(file->map, &at);
    cw_mutex_unlock(&file->lock);
    *ret_offset = at;
    return broken;
}
void cw_dir_read_close(void *arg)
{
    struct file *file = arg;

    cw_mapped_free(file->map);
    if (file->direct >= 0)
        close(file->direct);
    close(file->fd);
    cw_mutex_fini(&file->lock);
    cw_mem_free(file);
}
