/* SPDX-License-Identifier: Apache-2.0 */
/* Stamps of local files, with a table of checksums that were computed before in this process. */
#include "ops/local_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/thread.h"
#include "format/same_file.h"
#include "format/source_root.h"

/* the most files whose checksums are remembered; when there are more, all are forgotten */
#define KNOWN_MAX ((size_t)1 << 20)
/* A file that changed less than this time ago might change again without new times; its checksum is
 * not remembered. */
#define SETTLE_NS (INT64_C(2) * 1000000000)

static struct {
    struct cw_mutex mutex; /* guards what follows */
    struct cw_map map;     /* maps a hash of `file` to a struct known */
} sums = {.mutex = CW_MUTEX_INIT};

struct known {
    struct cw_hash file, sum;
};

static int64_t ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
}

int64_t cw_local_mtime_ns(const struct stat *st)
{
    return ns(st->st_mtim);
}

static struct cw_hash key_of(enum cw_identity identity, const struct stat *st)
{
    const uint64_t words[] = {(uint64_t)identity,        (uint64_t)st->st_dev,
                              (uint64_t)st->st_ino,      (uint64_t)st->st_size,
                              (uint64_t)ns(st->st_mtim), (uint64_t)ns(st->st_ctim)};
    return cw_hash_bytes(words, sizeof(words));
}

static bool recall(struct cw_hash file, struct cw_hash *ret_sum)
{
    cw_mutex_lock(&sums.mutex);
    const struct known *known = cw_map_get(&sums.map, file.lo);
    bool found = known && cw_hash_eq(known->file, file);
    if (found)
        *ret_sum = known->sum;
    cw_mutex_unlock(&sums.mutex);
    return found;
}

static void remember(enum cw_identity identity, const struct stat *st, struct cw_hash sum)
{
    struct cw_hash file = key_of(identity, st);
    if (cw_clock_wall_ms() * 1000000 - CW_MAX(ns(st->st_mtim), ns(st->st_ctim)) < SETTLE_NS)
        return;
    cw_mutex_lock(&sums.mutex);
    if (sums.map.n >= KNOWN_MAX)
        cw_map_fini_free(&sums.map);
    if (!cw_map_get(&sums.map, file.lo)) {
        struct known *known = CW_NEW(struct known);
        *known = (struct known){file, sum};
        cw_map_set(&sums.map, file.lo, known);
    }
    cw_mutex_unlock(&sums.mutex);
}

static int read_fd(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    return cw_read_fd(*(const int *)arg, offset, dst, n, err);
}

static struct cw_found_file found_of(const char *path, int *fd, const struct stat *st,
                                     const struct cw_stop *stop)
{
    return (struct cw_found_file){.bytes = {.name = path,
                                            .size = (uint64_t)st->st_size,
                                            .read_at = read_fd,
                                            .arg = fd,
                                            .stop = stop},
                                  .mtime_ns = cw_local_mtime_ns(st)};
}

/* Checks that a file did not change while it was read: otherwise its bytes are neither those of the
 * old file nor those of the new one. */
static int check_unchanged(const char *path, int fd, const struct stat *before, struct cw_err *err)
{
    struct stat after;
    if (fstat(fd, &after) < 0)
        return cw_err_errno(err, errno, "%s", path);
    if (after.st_size == before->st_size && cw_local_mtime_ns(&after) == cw_local_mtime_ns(before))
        return 0;
    return cw_err_set(err, CW_E_OTHER_FILE, "%s: changes while it is read", path);
}

static int stamp_by_bytes(enum cw_identity identity, const char *path, int fd,
                          const struct cw_stop *stop, struct cw_file_stamp *ret_stamp,
                          struct cw_err *err)
{
    struct stat st;
    struct cw_hash sum;
    if (fstat(fd, &st) < 0)
        return cw_err_errno(err, errno, "%s", path);
    bool known = recall(key_of(identity, &st), &sum);
    struct cw_found_file found = found_of(path, &fd, &st, stop);
    found.sum = known ? &sum : NULL;
    int rc = cw_same_file_stamp(identity, &found, ret_stamp, err);
    if (rc == 0 && !known)
        rc = check_unchanged(path, fd, &st, err);
    if (rc == 0 && !known)
        remember(identity, &st, ret_stamp->sum);
    return rc;
}

int cw_local_stamp(enum cw_identity identity, const char *path, const struct stat *st,
                   const struct cw_stop *stop, struct cw_file_stamp *ret_stamp, struct cw_err *err)
{
    int fd = -1;
    struct stat opened;
    if (!cw_identity_reads(identity)) {
        const struct cw_found_file found = found_of(path, &fd, st, stop);
        return cw_same_file_stamp(identity, &found, ret_stamp, err);
    }
    int rc = cw_source_open(path, &fd, &opened, err);
    if (rc < 0)
        return rc;
    rc = stamp_by_bytes(identity, path, fd, stop, ret_stamp, err);
    close(fd);
    return rc;
}

int cw_local_same(const struct cw_file_stamp *means, const char *path, int fd,
                  const struct stat *st, const struct cw_stop *stop, struct cw_err *err)
{
    struct cw_hash sum;
    struct cw_found_file found = found_of(path, &fd, st, stop);
    bool reads = cw_identity_reads(means->identity);
    bool known = reads && recall(key_of(means->identity, st), &sum);
    found.sum = known ? &sum : NULL;
    int rc = cw_same_file(means, path, &found, err);
    if (rc == 0 && reads && !known)
        rc = check_unchanged(path, fd, st, err);
    if (rc == 0 && reads && !known)
        remember(means->identity, st, means->sum);
    return rc;
}

int cw_local_same_bytes(const struct cw_file_stamp *means, const char *path, const struct stat *st,
                        const void *p, size_t n, struct cw_err *err)
{
    const struct cw_readable_bytes bytes = {p, n};
    const struct cw_found_file found = {.bytes = cw_readable_mem(path, &bytes),
                                        .mtime_ns = cw_local_mtime_ns(st)};
    return cw_same_file(means, path, &found, err);
}

int cw_local_open(const struct cw_file_stamp *means, const char *path, const struct cw_stop *stop,
                  int *ret_fd, struct stat *ret_st, struct cw_err *err)
{
    int fd = -1;
    int rc = cw_source_open(path, &fd, ret_st, err);
    if (rc == CW_E_NOT_FOUND)
        return cw_same_file(means, path, NULL, err);
    if (rc < 0)
        return rc;
    rc = cw_local_same(means, path, fd, ret_st, stop, err);
    if (rc < 0)
        close(fd);
    else
        *ret_fd = fd;
    return rc;
}
