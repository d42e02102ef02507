/* SPDX-License-Identifier: Apache-2.0 */
#include "dispatcher/state/state_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "dispatcher/state/state.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define COPIES_MAX 100 /* of files that change all the time; a late writer changes them once */
#define PAUSE_NS 20000000

static const char *const files[] = {"state.db", "state.db-wal"};

/* What a file had when it was read. */
struct sum {
    bool there;
    uint64_t bytes;
    struct cw_hash hash;
};

static bool is_same(const struct sum *a, const struct sum *b)
{
    return a->there == b->there && a->bytes == b->bytes && cw_hash_eq(a->hash, b->hash);
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);
        if (done < 0 && errno != EINTR)
            return -1;
        p += CW_MAX(done, 0);
        n -= (size_t)CW_MAX(done, 0);
    }
    return 0;
}

/* Reads all of a file, and writes it to `to` unless that is < 0. */
static int transfer(int from, int to, struct sum *ret)
{
    cw_autofree char *piece = cw_mem_new(PIECE_BYTES);
    struct cw_hasher *hasher = cw_hasher_new();
    ssize_t n;
    int rc = 0;
    ret->bytes = 0;
    while (rc == 0 && (n = pread(from, piece, PIECE_BYTES, (off_t)ret->bytes)) != 0) {
        if (n < 0) {
            rc = errno == EINTR ? 0 : -1;
            continue;
        }
        cw_hasher_add(hasher, piece, (size_t)n);
        ret->bytes += (uint64_t)n;
        if (to >= 0)
            rc = write_all(to, piece, (size_t)n);
    }
    ret->hash = cw_hasher_get(hasher);
    int failure = errno;
    cw_hasher_free(hasher);
    errno = failure;
    return rc;
}

/* Opens the file anew, so that a network file system asks its server what it has. */
static int read_file(const char *path, int to, struct sum *ret, struct cw_err *err)
{
    *ret = (struct sum){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : cw_err_errno(err, errno, "cannot open %s", path);
    ret->there = true;
    int rc = transfer(fd, to, ret) != 0 ? cw_err_errno(err, errno, "cannot copy %s", path) : 0;
    close(fd);
    return rc;
}

static int copy_file(const char *path, const char *to, struct sum *ret, struct cw_err *err)
{
    int fd = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return cw_err_errno(err, errno, "cannot make %s", to);
    int rc = read_file(path, fd, ret, err);
    if (rc == 0 && fsync(fd) != 0)
        rc = cw_err_errno(err, errno, "cannot write %s", to);
    close(fd);
    if (rc == 0 && !ret->there)
        (void)unlink(to);
    return rc;
}

static int copy_once(const char *from, const char *to, bool *ret_is_same, struct cw_err *err)
{
    struct sum first[CW_ARRAY_LEN(files)], again;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < CW_ARRAY_LEN(files); i++) {
        cw_autofree char *source = cw_mem_printf("%s/%s", from, files[i]);
        cw_autofree char *target = cw_mem_printf("%s/%s", to, files[i]);
        rc = copy_file(source, target, &first[i], err);
    }
    *ret_is_same = true;
    for (size_t i = 0; rc == 0 && i < CW_ARRAY_LEN(files); i++) {
        cw_autofree char *source = cw_mem_printf("%s/%s", from, files[i]);
        rc = read_file(source, -1, &again, err);
        *ret_is_same = *ret_is_same && is_same(&first[i], &again);
    }
    return rc;
}

int cw_state_copy_files(const char *from, const char *to, struct cw_err *err)
{
    for (int i = 0; i < COPIES_MAX; i++) {
        bool same;
        int rc = copy_once(from, to, &same, err);
        if (rc != 0 || same)
            return rc;
        cw_clock_sleep_ns(PAUSE_NS);
    }
    return cw_err_set(err, CW_E_AGAIN, "%s/state.db changes all the time: who writes it?", from);
}

int cw_state_read_generation_file(const char *dir, const char *name, uint64_t *ret_generation,
                                  struct cw_err *err)
{
    cw_autofree char *path = cw_mem_printf("%s/%s", dir, name);
    char text[64] = "";
    unsigned long long generation = 0;
    *ret_generation = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : cw_err_errno(err, errno, "cannot open %s", path);
    if (pread(fd, text, sizeof(text) - 1, 0) > 0)
        *ret_generation =
            sscanf(text, "generation %llu", &generation) == 1 && generation < CW_GENERATION_MAX
                ? generation
                : 1;
    close(fd);
    return 0;
}

int cw_state_write_generation_file(const char *dir, const char *name, uint64_t generation,
                                   struct cw_err *err)
{
    cw_autofree char *path = cw_mem_printf("%s/%s", dir, name);
    char text[64];
    int n = snprintf(text, sizeof(text), "generation %-20llu\n", (unsigned long long)generation);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return cw_err_errno(err, errno, "cannot make %s", path);
    int rc = pwrite(fd, text, (size_t)n, 0) != n || fsync(fd) != 0
                 ? cw_err_errno(err, errno, "cannot write %s", path)
                 : 0;
    close(fd);
    return rc;
}

bool cw_state_lock_is_held(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}
