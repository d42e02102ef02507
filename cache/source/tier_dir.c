/* SPDX-License-Identifier: Apache-2.0 */
/* The tier in a directory. Each block is a file DIR/ab/KEY: a header with a checksum, then the
 * bytes. It is written under a temporary name and renamed. The processes of a host share the
 * directory: the file DIR/usage holds the sum of all bytes, and it is the lock (flock) that guards
 * the sum. The lock is held while a block is written, so the quota holds whichever process writes.
 * Bytes that a process had not added to the sum when it died are found when the directory is
 * listed: at the start, and whenever it is full. The modification time of a block's file is the
 * time of its last use. */
#include "cache/source/tiers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/str.h"

#define QUOTA_DEFAULT ((uint64_t)10 << 30)
#define TOUCH_MS 60000     /* precision of the time of last use */
#define TEMP_OLD_MS 600000 /* age at which the writer of a temporary file is surely dead */
#define FULL_NS ((int64_t)5 * 1000000000)
/* While the directory is full, one of so many blocks is let in even if none is idle
 * (CW_SOURCE_IDLE_MS). */
#define ONE_IN 16
#define FREE_PART 50 /* when room is made, one part in so many of the quota is freed in addition */

static const char magic[8] = "CWBLOCK1";
struct head {
    char magic[8];
    uint64_t key_hi, key_lo, bytes, sum;
};

struct cw_tier_dir {
    int fd, usage_fd;
    char *path;
    uint64_t quota;
    int64_t idle_ms;
    struct cw_tier_counters tally;
    struct cw_fill_queue queue;
    struct cw_thread thread;
    _Atomic uint64_t bytes;  /* bytes of all processes, as this process last saw them */
    _Atomic int64_t full_ns; /* when a block was last refused for lack of room */
    /* Used by the tier's own thread only. */
    int64_t oldest_ms; /* last use of the oldest block at the last listing */
    uint64_t admitted, passed, serial;
};

#define NAME_BYTES (CW_HASH_TEXT_BYTES + 3)
static void name_of(struct cw_hash key, char ret_name[NAME_BYTES])
{
    char text[CW_HASH_TEXT_BYTES];
    cw_hash_text(key, text);
    snprintf(ret_name, NAME_BYTES, "%.2s/%s", text, text);
}

/* ---- the sum of all bytes: guarded by the file lock, from usage_lock to usage_unlock ---- */

/* Takes the file lock and reads the sum. Returns false if there is no lock, as on some network
 * mounts. Then nothing may be added, since the sum is that of all processes. */
static bool usage_lock(struct cw_tier_dir *d, uint64_t *ret_bytes)
{
    int rc;
    do
        rc = flock(d->usage_fd, LOCK_EX);
    while (rc < 0 && errno == EINTR);
    if (rc < 0) {
        char text[256];
        snprintf(text, sizeof(text), "%s/usage cannot be locked, nothing is kept there: %s",
                 d->path, strerror(errno));
        cw_tier_counters_error(&d->tally, text);
        return false;
    }
    if (pread(d->usage_fd, ret_bytes, sizeof(*ret_bytes), 0) != (ssize_t)sizeof(*ret_bytes))
        *ret_bytes = 0;
    return true;
}

static void usage_unlock(struct cw_tier_dir *d, uint64_t bytes)
{
    if (pwrite(d->usage_fd, &bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        cw_tier_counters_error(&d->tally, "the file \"usage\" cannot be written");
    atomic_store(&d->bytes, bytes);
    (void)flock(d->usage_fd, LOCK_UN);
}

/* ---- listing and making room ---- */

struct found {
    char name[NAME_BYTES];
    uint64_t bytes;
    int64_t used_ms;
};
struct found_list {
    struct found *v;
    size_t n, cap;
    uint64_t bytes;
};

static int64_t used_ms_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}

static void list_part(struct cw_tier_dir *d, const char *part, struct found_list *list)
{
    int fd = openat(d->fd, part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    const struct dirent *e;
    struct stat st;
    while (dir && (e = readdir(dir)) != NULL) {
        if (strlen(e->d_name) != CW_HASH_TEXT_BYTES - 1 ||
            fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        CW_GROW(list->v, list->n, list->cap);
        struct found *f = &list->v[list->n++];
        snprintf(f->name, sizeof(f->name), "%.2s/%.32s", part, e->d_name);
        f->bytes = (uint64_t)st.st_size;
        f->used_ms = used_ms_of(&st);
        list->bytes += f->bytes;
    }
    if (dir)
        closedir(dir);
}

static void list_all(struct cw_tier_dir *d, struct found_list *list)
{
    int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    const struct dirent *e;
    struct stat st;
    while (dir && (e = readdir(dir)) != NULL) {
        if (strlen(e->d_name) == 2 && e->d_name[0] != '.')
            list_part(d, e->d_name, list);
        else if (cw_str_starts(e->d_name, "tmp-") &&
                 fstatat(d->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                 cw_clock_wall_ms() - used_ms_of(&st) > TEMP_OLD_MS)
            (void)unlinkat(d->fd, e->d_name, 0);
    }
    if (dir)
        closedir(dir);
}

static int by_use(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return x->used_ms < y->used_ms   ? -1
           : x->used_ms > y->used_ms ? 1
                                     : memcmp(x->name, y->name, sizeof(x->name));
}

/* Lists the directory. While it has more than `most` bytes, removes the blocks whose last use is
 * longest ago, but unless `force` is set only those that are idle. Returns the sum of what is left.
 * Called with the file lock held. */
static uint64_t make_room(struct cw_tier_dir *d, uint64_t most, bool force)
{
    struct found_list list = {0};
    list_all(d, &list);
    if (list.n > 0)
        qsort(list.v, list.n, sizeof(*list.v), by_use);
    int64_t now = cw_clock_wall_ms();
    size_t i = 0;
    for (; i < list.n && list.bytes > most && (force || now - list.v[i].used_ms >= d->idle_ms);
         i++) {
        cw_fault_point("source.evict");
        if (unlinkat(d->fd, list.v[i].name, 0) == 0 || errno == ENOENT)
            list.bytes -= list.v[i].bytes;
    }
    d->oldest_ms = i < list.n ? list.v[i].used_ms : now;
    cw_mem_free(list.v);
    return list.bytes;
}

/* Whether n bytes may be added. Making room reduces *sum. Called with the file lock held. */
static bool admit(struct cw_tier_dir *d, uint64_t n, uint64_t *sum)
{
    bool ok = true;
    if (*sum + n > d->quota) {
        bool idle = cw_clock_wall_ms() - d->oldest_ms >= d->idle_ms;
        bool turn = ++d->passed >= ONE_IN * d->admitted;
        if ((idle || turn) && n <= d->quota) {
            uint64_t most = d->quota - CW_MIN(d->quota, n + d->quota / FREE_PART);
            *sum = make_room(d, most, turn);
            d->passed = d->admitted = 0;
        }
        ok = *sum + n <= d->quota;
    }
    d->admitted += ok;
    return ok;
}

/* ---- writing ---- */

static int write_all(int fd, struct iovec *parts, int n)
{
    while (n > 0) {
        ssize_t done = writev(fd, parts, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        for (; n > 0 && (size_t)done >= parts->iov_len; parts++, n--)
            done -= (ssize_t)parts->iov_len;
        if (n > 0) {
            parts->iov_base = (char *)parts->iov_base + done;
            parts->iov_len -= (size_t)done;
        }
    }
    return 0;
}

static int write_file(struct cw_tier_dir *d, const struct cw_fill_item *item, const char *name)
{
    struct head head = {.key_hi = item->key.hi,
                        .key_lo = item->key.lo,
                        .bytes = item->buf->len,
                        .sum = cw_hash_u64(item->buf->data, item->buf->len)};
    struct iovec parts[] = {{&head, sizeof(head)}, {item->buf->data, item->buf->len}};
    char temp[64], part[3] = {name[0], name[1], '\0'};
    memcpy(head.magic, magic, sizeof(magic));
    snprintf(temp, sizeof(temp), "tmp-%ld-%llu", (long)getpid(), (unsigned long long)d->serial++);
    int fd = openat(d->fd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    int rc = write_all(fd, parts, 1);
    cw_fault_point("source.dir_write");
    if (rc == 0)
        rc = write_all(fd, parts + 1, 1);
    rc = close(fd) < 0 ? -1 : rc;
    cw_fault_point("source.dir_rename");
    if (rc == 0 && (rc = renameat(d->fd, temp, d->fd, name)) < 0 && errno == ENOENT) {
        (void)mkdirat(d->fd, part, 0755);
        rc = renameat(d->fd, temp, d->fd, name);
    }
    int why = errno;
    if (rc < 0)
        (void)unlinkat(d->fd, temp, 0);
    errno = why;
    return rc;
}

static void refuse(struct cw_tier_dir *d)
{
    atomic_fetch_add(&d->tally.refused, 1);
    atomic_store(&d->full_ns, cw_clock_ns());
}

static void put(struct cw_tier_dir *d, const struct cw_fill_item *item)
{
    char name[NAME_BYTES];
    uint64_t sum = 0, bytes = sizeof(struct head) + item->buf->len;
    name_of(item->key, name);
    if (cw_tier_dir_has(d, item->key, item->buf->len))
        return;
    if (!usage_lock(d, &sum)) {
        refuse(d);
        return;
    }
    /* Another process may have written the block meanwhile. */
    bool had = cw_tier_dir_has(d, item->key, item->buf->len);
    bool admitted = !had && admit(d, bytes, &sum);
    int rc = admitted ? write_file(d, item, name) : 0, why = errno;
    bool written = admitted && rc == 0;
    usage_unlock(d, written ? sum + bytes : sum);
    if (written)
        atomic_fetch_add(&d->tally.filled_bytes, item->buf->len);
    if (had || written)
        return;
    if (rc < 0) {
        char text[256];
        snprintf(text, sizeof(text), "%s: %s", d->path, strerror(why));
        cw_tier_counters_error(&d->tally, text);
    }
    refuse(d);
}

static void write_blocks(void *arg)
{
    struct cw_tier_dir *d = arg;
    struct cw_fill_item item;
    uint64_t sum = 0;
    if (usage_lock(d, &sum))
        usage_unlock(d, make_room(d, d->quota, true));
    while (cw_fill_queue_pop(&d->queue, INT64_MAX, &item) > 0) {
        put(d, &item);
        cw_fill_queue_done(&d->queue, &item);
    }
}

/* ---- reading ---- */

static int open_block(struct cw_tier_dir *d, const char *name, size_t n, struct stat *st)
{
    int fd = openat(d->fd, name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, st) < 0 || st->st_size != (off_t)(n + sizeof(struct head)))) {
        close(fd);
        fd = -2;
    }
    return fd;
}

static bool read_block(int fd, struct cw_hash key, void *dst, size_t n)
{
    struct head head;
    struct cw_err err;
    return cw_io_read_fd(fd, 0, &head, sizeof(head), &err) == 0 &&
           memcmp(head.magic, magic, sizeof(magic)) == 0 && head.key_hi == key.hi &&
           head.key_lo == key.lo && head.bytes == n &&
           cw_io_read_fd(fd, sizeof(head), dst, n, &err) == 0 && head.sum == cw_hash_u64(dst, n);
}

struct cw_buf *cw_tier_dir_get(struct cw_tier_dir *d, struct cw_hash key, size_t n)
{
    char name[NAME_BYTES];
    struct stat st;
    name_of(key, name);
    int fd = open_block(d, name, n, &st);
    struct cw_buf *buf = fd >= 0 ? cw_buf_new(n) : NULL;
    bool good = buf && read_block(fd, key, buf->data, n);
    if (good && cw_clock_wall_ms() - used_ms_of(&st) > TOUCH_MS)
        (void)futimens(fd, NULL);
    if (fd >= 0)
        close(fd);
    if (good) {
        atomic_fetch_add(&d->tally.hits, 1);
        atomic_fetch_add(&d->tally.hit_bytes, n);
        return buf;
    }
    atomic_fetch_add(&d->tally.misses, 1);
    if (fd == -2 || buf) {
        atomic_fetch_add(&d->tally.damaged, 1);
        /* The sum is corrected at the next listing: a reader does not wait for the lock. */
        (void)unlinkat(d->fd, name, 0);
    }
    return cw_buf_unref(buf);
}

bool cw_tier_dir_has(struct cw_tier_dir *d, struct cw_hash key, size_t n)
{
    char name[NAME_BYTES];
    struct stat st;
    name_of(key, name);
    return fstatat(d->fd, name, &st, 0) == 0 && st.st_size == (off_t)(n + sizeof(struct head));
}

/* ---- the tier as a whole ---- */

static int open_dir(struct cw_tier_dir *d, struct cw_err *err)
{
    if (mkdir(d->path, 0755) < 0 && errno != EEXIST)
        return cw_err_errno(err, errno, "source cache: %s", d->path);
    d->fd = open(d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->fd < 0)
        return cw_err_errno(err, errno, "source cache: %s", d->path);
    d->usage_fd = openat(d->fd, "usage", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (d->usage_fd < 0)
        return cw_err_errno(err, errno, "source cache: %s/usage", d->path);
    return 0;
}

int cw_tier_dir_new(const struct cw_source_cache_options *o, uint64_t queue_limit,
                    struct cw_tier_dir **ret_dir, struct cw_err *err)
{
    struct cw_tier_dir *d = CW_NEW(struct cw_tier_dir);
    d->fd = d->usage_fd = -1;
    d->path = cw_mem_strdup(o->dir);
    d->quota = o->dir_bytes ? o->dir_bytes : QUOTA_DEFAULT;
    d->idle_ms = o->idle_ms ? o->idle_ms : CW_SOURCE_IDLE_MS;
    cw_mutex_init(&d->tally.mutex);
    cw_fill_queue_init(&d->queue, queue_limit);
    int rc = open_dir(d, err);
    if (rc < 0) {
        cw_tier_dir_free(d);
        return rc;
    }
    cw_thread_start(&d->thread, "cachew-srcdir", write_blocks, d);
    *ret_dir = d;
    return 0;
}

void cw_tier_dir_free(struct cw_tier_dir *d)
{
    if (!d)
        return;
    cw_fill_queue_stop(&d->queue);
    cw_thread_join(&d->thread);
    cw_fill_queue_fini(&d->queue);
    if (d->fd >= 0)
        close(d->fd);
    if (d->usage_fd >= 0)
        close(d->usage_fd);
    cw_mutex_fini(&d->tally.mutex);
    cw_mem_free(d->path);
    cw_mem_free(d);
}

struct cw_fill_queue *cw_tier_dir_queue(struct cw_tier_dir *d)
{
    return &d->queue;
}

bool cw_tier_dir_is_full(struct cw_tier_dir *d)
{
    int64_t full_ns = atomic_load(&d->full_ns);
    return full_ns != 0 && cw_clock_ns() - full_ns < FULL_NS;
}

void cw_tier_dir_counts(struct cw_tier_dir *d, struct cw_source_counts *ret)
{
    cw_tier_counters_read(&d->tally, ret);
    ret->bytes = atomic_load(&d->bytes);
    ret->capacity = d->quota;
    ret->refused += atomic_load(&d->queue.refused);
    ret->pending = atomic_load(&d->queue.pending);
}
