/* SPDX-License-Identifier: Apache-2.0 */
/* The backend gluster://host[:port][,host2...]/volume/path: files on a GlusterFS volume through
 * libgfapi. docs/adding-a-store.md describes how such a volume behaves. What follows from it here:
 *
 * - A write may return success although the brick is dead (write-behind); only fsync reports it. So
 *   the result of fsync is checked before the rename.
 * - If a brick hangs, calls block for the volume's network.ping-timeout (42 s by default). The I/O
 *   threads that call these functions are made for that.
 * - A directory that another process is making may be seen before it can be used. So directories
 *   are made under a temporary name and renamed, and a call that fails with ENOENT, EEXIST or
 *   ESTALE is tried again for a second.
 * - Just after a brick of a replica came back, a file that was written meanwhile may be looked up
 *   there, where it is not yet. So a file that is not found is looked up again before it counts as
 *   gone. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cache/store/gluster_path.h"
#include "cache/store/backend.h"

#define DIR_MODE 0755
#define FILE_MODE 0644

struct file {
    glfs_fd_t *fd;
    uint64_t bytes;
};
struct out {
    struct cw_gluster *gluster;
    glfs_fd_t *fd;
    char path[CW_GLUSTER_PATH_BYTES], temp[CW_GLUSTER_PATH_BYTES];
};

/* ---- the address ---- */

static int check(const struct cw_store_url *url, struct cw_err *err)
{
    struct cw_gluster_address address = {0};

    if (cw_gluster_address_parse(url->address, &address) == 0)
        return 0;
    return cw_err_set(err, CW_E_INVALID,
                      "store %s: it must be gluster://host[:port][,host2...]/volume[/path]",
                      url->text);
}
static void *init(const struct cw_store_url *url)
{
    struct cw_gluster *gluster = CW_NEW(struct cw_gluster);

    /* check() has accepted the URL before */
    CW_ASSERT(cw_gluster_address_parse(url->address, &gluster->address) == 0);
    gluster->link = cw_gluster_connection_get(&gluster->address);
    gluster->timeout_ns = url->timeout_ns;
    return gluster;
}
static void fini(void *self)
{
    struct cw_gluster *gluster = self;

    if (atomic_load(&gluster->is_user))
        cw_gluster_connection_leave(gluster->link);
    cw_mem_free(gluster);
}
/* Connects. The store uses the connection until it is closed. */
static int connect_once(struct cw_gluster *gluster, struct cw_err *err)
{
    if (atomic_load(&gluster->is_user))
        return 0;
    int rc = cw_gluster_connection_use(gluster->link, gluster->timeout_ns, err);
    if (rc == 0 && atomic_exchange(&gluster->is_user, true))
        cw_gluster_connection_leave(gluster->link); /* another thread was first */
    return rc;
}

/* ---- directories ---- */

/* Makes a directory. Returns 0, or -1 with errno set. */
static int make_one_dir(glfs_t *fs, const char *path)
{
    char temp[CW_GLUSTER_PATH_BYTES];
    struct stat st;

    if (cw_gluster_api()->stat(fs, path, &st) == 0) {
        errno = ENOTDIR;
        return S_ISDIR(st.st_mode) ? 0 : -1;
    }
    if (errno != ENOENT && errno != ESTALE)
        return -1;
    cw_gluster_temp_beside(path, temp);
    if (cw_gluster_api()->mkdir(fs, temp, DIR_MODE) < 0)
        return -1;
    if (cw_gluster_api()->rename(fs, temp, path) == 0)
        return 0;
    int sys_errno = errno;
    cw_gluster_api()->rmdir(fs, temp);
    errno = sys_errno;
    return sys_errno == ENOTEMPTY || sys_errno == EEXIST ? 0 : -1; /* another process made it */
}
/* Makes every directory above the last '/' of the path. */
static int make_dirs(glfs_t *fs, const char *path)
{
    char dir[CW_GLUSTER_PATH_BYTES];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
        if (make_one_dir(fs, dir) < 0)
            return -1;
    }
    return 0;
}
static int make_root(struct cw_gluster *gluster, struct cw_err *err)
{
    char below[CW_GLUSTER_PATH_BYTES];
    struct cw_gluster_tries tries = {.begin_ns = cw_clock_ns()};

    cw_gluster_path(gluster, "x", below);
    while (make_dirs(cw_gluster_fs(gluster), below) < 0)
        if (!cw_gluster_may_retry(errno, &tries))
            return cw_gluster_fail(err, errno, "cannot make the directory", gluster->address.path);
    return 0;
}
/* Connects. The store is available when the volume says that a name that nobody has does not exist:
 * no cache on our side can give that answer. */
static int try(void *self, struct cw_err *err)
{
    struct cw_gluster *gluster = self;
    char temp[CW_GLUSTER_PATH_BYTES], below[CW_GLUSTER_PATH_BYTES];
    struct stat st;
    int rc = connect_once(gluster, err);

    if (rc < 0)
        return rc;
    cw_gluster_path(gluster, "x", below);
    cw_gluster_temp_beside(below, temp);
    if (cw_gluster_api()->stat(cw_gluster_fs(gluster), temp, &st) < 0 && errno != ENOENT &&
        errno != ESTALE)
        return cw_gluster_fail(err, errno, "no answer from volume", gluster->address.volume);
    return make_root(gluster, err);
}

/* ---- writing ---- */

static int create(void *self, const char *name, void **ret_out, struct cw_err *err)
{
    struct out *out = CW_NEW(struct out);
    struct cw_gluster_tries tries = {.begin_ns = cw_clock_ns()};

    out->gluster = self;
    cw_gluster_path(out->gluster, name, out->path);
    for (;;) {
        glfs_t *fs = cw_gluster_fs(out->gluster);
        cw_gluster_temp_beside(out->path, out->temp);
        out->fd = cw_gluster_api()->creat(fs, out->temp, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE);
        if (out->fd)
            break;
        int sys_errno = errno;
        if (cw_gluster_is_passing(sys_errno) && make_dirs(fs, out->path) < 0)
            sys_errno = errno;
        if (!cw_gluster_may_retry(sys_errno, &tries)) {
            cw_mem_free(out);
            return cw_gluster_fail(err, sys_errno, "cannot make a file for", name);
        }
    }
    *ret_out = out;
    return 0;
}
static int write_piece(void *arg, uint64_t offset, const void *p, size_t n, struct cw_err *err)
{
    struct out *out = arg;

    for (size_t at = 0; at < n;) {
        ssize_t some = cw_gluster_api()->pwrite(out->fd, (const char *)p + at, n - at,
                                                (off_t)(offset + at), 0, NULL, NULL);
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            return cw_gluster_fail(err, some < 0 ? errno : EIO, "cannot write", out->path);
        at += (size_t)some;
    }
    return 0;
}
static int sync_out(void *arg, struct cw_err *err)
{
    struct out *out = arg;

    return cw_gluster_api()->fsync(out->fd, NULL, NULL) < 0
               ? cw_gluster_fail(err, errno, "cannot write to the bricks", out->path)
               : 0;
}
static void abandon(void *arg)
{
    struct out *out = arg;

    if (out->fd)
        cw_gluster_api()->close(out->fd);
    cw_gluster_api()->unlink(cw_gluster_fs(out->gluster), out->temp);
    cw_mem_free(out);
}
static int commit(void *arg, struct cw_err *err)
{
    struct out *out = arg;
    glfs_fd_t *fd = out->fd;
    int rc = 0;

    out->fd = NULL;
    if (cw_gluster_api()->close(fd) < 0)
        rc = cw_gluster_fail(err, errno, "cannot close", out->path);
    else if (cw_gluster_api()->rename(cw_gluster_fs(out->gluster), out->temp, out->path) < 0)
        rc = cw_gluster_fail(err, errno, "cannot rename a file to", out->path);
    if (rc < 0)
        abandon(out);
    else
        cw_mem_free(out);
    return rc;
}

/* ---- names ---- */

static int remove_file(void *self, const char *name, struct cw_err *err)
{
    char path[CW_GLUSTER_PATH_BYTES];

    cw_gluster_path(self, name, path);
    if (cw_gluster_api()->unlink(cw_gluster_fs(self), path) == 0)
        return 0;
    return errno == ESTALE ? cw_gluster_fail(err, ENOENT, "cannot remove", path)
                           : cw_gluster_fail(err, errno, "cannot remove", path);
}
static int stat_file(void *self, const char *name, uint64_t *ret_bytes, struct cw_err *err)
{
    char path[CW_GLUSTER_PATH_BYTES];
    struct stat st;

    cw_gluster_path(self, name, path);
    if (cw_gluster_api()->lstat(cw_gluster_fs(self), path, &st) < 0)
        return cw_gluster_fail(err, errno == ESTALE ? ENOENT : errno, "cannot find", path);
    if (!S_ISREG(st.st_mode))
        return cw_err_set(err, CW_E_NOT_FOUND, "gluster: %s is no file", path);
    *ret_bytes = (uint64_t)st.st_size;
    return 0;
}
static int space(void *self, uint64_t *ret_total, uint64_t *ret_free, struct cw_err *err)
{
    struct cw_gluster *gluster = self;
    struct statvfs fs;

    if (cw_gluster_api()->statvfs(cw_gluster_fs(gluster), gluster->address.path, &fs) < 0)
        return cw_gluster_fail(err, errno, "cannot tell the space of", gluster->address.volume);
    *ret_total = (uint64_t)fs.f_blocks * fs.f_frsize;
    *ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    return 0;
}

/* ---- listing: a list of the directories that are still to be read ---- */

struct walk {
    struct cw_gluster *gluster;
    bool unwritten;
    cw_store_list_fn *fn;
    void *arg;
    char **dirs;
    size_t n, cap;
};
static int64_t mtime_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}
/* Whoever empties the store must know what is left of it. */
static int remove_temp(const struct walk *walk, const char *path, mode_t mode, struct cw_err *err)
{
    glfs_t *fs = cw_gluster_fs(walk->gluster);
    int rc = S_ISDIR(mode) ? cw_gluster_api()->rmdir(fs, path) : cw_gluster_api()->unlink(fs, path);

    if (rc == 0 || errno == ENOENT || errno == ESTALE || !walk->unwritten)
        return 0;
    return cw_gluster_fail(err, errno, "cannot remove the temporary file", path);
}
static int visit(struct walk *walk, const char *dir, const char *part, struct stat *st,
                 struct cw_err *err)
{
    char name[CW_GLUSTER_PATH_BYTES], path[CW_GLUSTER_PATH_BYTES];
    glfs_t *fs = cw_gluster_fs(walk->gluster);

    snprintf(name, sizeof(name), "%s%s%s", dir, *dir ? "/" : "", part);
    cw_gluster_path(walk->gluster, name, path);
    /* a listing does not always contain the attributes */
    if (st->st_mode == 0 && cw_gluster_api()->lstat(fs, path, st) < 0)
        return 0;
    if (part[0] == '.')
        return cw_store_is_old_temp(part, mtime_of(st), walk->unwritten)
                   ? remove_temp(walk, path, st->st_mode, err)
                   : 0;
    if (strlen(name) > CW_STORE_NAME_MAX)
        return 0;
    if (S_ISREG(st->st_mode))
        return walk->fn(walk->arg, name, (uint64_t)st->st_size, mtime_of(st));
    if (S_ISDIR(st->st_mode)) {
        CW_GROW(walk->dirs, walk->n, walk->cap);
        walk->dirs[walk->n++] = cw_mem_strdup(name);
    }
    return 0;
}
/* Lists one directory. If it was removed, or turns out to be a file, it counts as empty. */
static int list_dir(struct walk *walk, const char *dir, struct cw_err *err)
{
    char path[CW_GLUSTER_PATH_BYTES];
    union { /* the union gives room for a long name behind the struct */
        struct dirent entry;
        char room[sizeof(struct dirent) + 256];
    } one;
    struct dirent *entry = NULL;
    int rc = 0, failed = 0;

    cw_gluster_path(walk->gluster, dir, path);
    glfs_fd_t *fd = cw_gluster_api()->opendir(cw_gluster_fs(walk->gluster), path);
    if (!fd)
        return errno == ENOENT || errno == ENOTDIR || errno == ESTALE
                   ? 0
                   : cw_gluster_fail(err, errno, "cannot list", path);
    for (;;) {
        struct stat st = {0};
        failed = cw_gluster_api()->readdirplus_r(fd, &st, &one.entry, &entry);
        int sys_errno = failed > 0 ? failed : errno;
        if (failed)
            rc = cw_gluster_fail(err, sys_errno, "cannot list", path);
        if (failed || !entry)
            break;
        rc = visit(walk, dir, entry->d_name, &st, err);
        if (rc != 0)
            break;
    }
    cw_gluster_api()->closedir(fd);
    return rc;
}
static int list(void *self, const char *prefix, bool unwritten, cw_store_list_fn *fn, void *arg,
                struct cw_err *err)
{
    struct walk walk = {.gluster = self, .unwritten = unwritten, .fn = fn, .arg = arg};
    char path[CW_GLUSTER_PATH_BYTES];
    struct stat st;
    int rc = 0;

    cw_gluster_path(self, prefix, path);
    if (cw_gluster_api()->lstat(cw_gluster_fs(self), path, &st) < 0)
        return errno == ENOENT || errno == ESTALE
                   ? 0
                   : cw_gluster_fail(err, errno, "cannot list", path);
    if (S_ISREG(st.st_mode))
        return fn(arg, prefix, (uint64_t)st.st_size, mtime_of(&st));
    CW_GROW(walk.dirs, walk.n, walk.cap);
    walk.dirs[walk.n++] = cw_mem_strdup(prefix);
    while (walk.n > 0) {
        cw_autofree char *dir = walk.dirs[--walk.n];
        if (rc == 0)
            rc = list_dir(&walk, dir, err);
    }
    cw_mem_free(walk.dirs);
    return rc;
}

/* ---- reading ---- */

/* Between two lookups the thread sleeps for 20 ms. */
#define LOOKUPS_MAX 4

static glfs_fd_t *open_existing(struct cw_gluster *gluster, const char *path)
{
    struct cw_gluster_tries tries = {.begin_ns = cw_clock_ns()};
    for (int lookups = 1;; lookups++) {
        glfs_fd_t *fd = cw_gluster_api()->open(cw_gluster_fs(gluster), path, O_RDONLY | O_NOFOLLOW);
        if (fd || errno != ENOENT || lookups == LOOKUPS_MAX || !cw_gluster_may_retry(errno, &tries))
            return fd;
    }
}

static int open_to_read(void *self, const char *name, void **ret_file, uint64_t *ret_bytes,
                        struct cw_err *err)
{
    char path[CW_GLUSTER_PATH_BYTES];
    struct stat st = {0};

    cw_gluster_path(self, name, path);
    glfs_fd_t *fd = open_existing(self, path);
    if (!fd)
        return cw_gluster_fail(err, errno == ESTALE ? ENOENT : errno, "cannot open", path);
    if (cw_gluster_api()->fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        int rc = cw_gluster_fail(err, S_ISDIR(st.st_mode) ? ENOENT : errno, "cannot open", path);
        cw_gluster_api()->close(fd);
        return rc;
    }
    struct file *file = CW_NEW(struct file);
    file->fd = fd;
    file->bytes = (uint64_t)st.st_size;
    *ret_file = file;
    *ret_bytes = file->bytes;
    return 0;
}
static int read_piece(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    struct file *file = arg;

    for (size_t at = 0; at < n;) {
        ssize_t some = cw_gluster_api()->pread(file->fd, (char *)dst + at, n - at,
                                               (off_t)(offset + at), 0, NULL);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return cw_gluster_fail(err, errno, "cannot read", "a file");
        if (some == 0)
            return cw_err_set(err, CW_E_CORRUPT,
                              "gluster: a file was %llu bytes long, and ends at %llu now",
                              (unsigned long long)file->bytes, (unsigned long long)(offset + at));
        at += (size_t)some;
    }
    return 0;
}
static void close_file(void *arg)
{
    struct file *file = arg;

    cw_gluster_api()->close(file->fd);
    cw_mem_free(file);
}

const struct cw_backend cw_backend_gluster = {.scheme = "gluster",
                                              .form =
                                                  "gluster://host[:port][,host2...]/volume/path",
                                              .waits = true,
                                              .writes = 8,
                                              .timeout_ms = 5000,
                                              .check = check,
                                              .init = init,
                                              .fini = fini,
                                              .try = try,
                                              .create = create,
                                              .write = write_piece,
                                              .sync = sync_out,
                                              .commit = commit,
                                              .abandon = abandon,
                                              .remove = remove_file,
                                              .stat = stat_file,
                                              .list = list,
                                              .space = space,
                                              .open = open_to_read,
                                              .read = read_piece,
                                              .close = close_file};
