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
 *   ESTALE is tried again for a second. */
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
#include "cache/store/gluster_connection.h"
#include "cache/store/backend.h"

#define RETRY_NS ((int64_t)1000000000)
#define RETRY_STEP_NS ((int64_t)20000000)
#define DIR_MODE 0755
#define FILE_MODE 0644
#define PATH_BYTES 1536 /* a path in the volume, a file's name, and a temporary name */

struct gluster {
    struct cw_gluster_address address;
    struct cw_gluster_connection *link;
    int64_t timeout_ns;
};
struct file {
    glfs_fd_t *fd;
    uint64_t bytes;
};
struct out {
    struct gluster *gluster;
    glfs_fd_t *fd;
    char path[PATH_BYTES], temp[PATH_BYTES];
};

/* ---- the address ---- */

static int add_host(struct cw_gluster_address *address, char *text)
{
    struct cw_gluster_host *host = &address->hosts[address->hosts_n];
    char *colon = strrchr(text, ':');
    int64_t port = CW_GLUSTER_PORT;

    if (colon) {
        *colon++ = '\0';
        if (!cw_str_to_i64(colon, &port) || port < 1 || port > 65535)
            return -1;
    }
    if (address->hosts_n == CW_GLUSTER_HOSTS_MAX || strlen(text) >= sizeof(host->name) || !*text ||
        text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_")])
        return -1;
    snprintf(host->name, sizeof(host->name), "%s", text);
    host->port = (int)port;
    address->hosts_n++;
    return 0;
}
/* Adds the path without empty parts. Returns -1 if a part is "." or "..", or the path is too
 * long. */
static int add_path(struct cw_gluster_address *address, const char *path)
{
    size_t len = 0;

    while (*path) {
        size_t n = strcspn(path, "/");
        if ((n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.') ||
            len + n + 2 > sizeof(address->path))
            return -1;
        if (n > 0)
            len += (size_t)snprintf(address->path + len, sizeof(address->path) - len, "/%.*s",
                                    (int)n, path);
        path += n + (path[n] == '/');
    }
    if (len == 0)
        snprintf(address->path, sizeof(address->path), "/");
    return 0;
}
static int parse(const char *text, struct cw_gluster_address *address)
{
    cw_autofree char *copy = cw_mem_strdup(text);

    if (!cw_str_starts(copy, "//"))
        return -1;
    char *hosts = copy + 2, *volume = strchr(hosts, '/');
    if (!volume)
        return -1;
    *volume++ = '\0';
    size_t n = strcspn(volume, "/");
    if (n == 0 || n >= sizeof(address->volume))
        return -1;
    snprintf(address->volume, sizeof(address->volume), "%.*s", (int)n, volume);
    for (char *host; (host = strsep(&hosts, ","));)
        if (add_host(address, host) < 0)
            return -1;
    return add_path(address, volume + n);
}
static int check(const struct cw_store_url *url, struct cw_err *err)
{
    struct cw_gluster_address address = {0};

    if (parse(url->address, &address) == 0)
        return 0;
    return cw_err_set(err, CW_E_INVALID,
                      "store %s: it must be gluster://host[:port][,host2...]/volume[/path]",
                      url->text);
}
static void *init(const struct cw_store_url *url)
{
    struct gluster *gluster = CW_NEW(struct gluster);

    /* check() has accepted the URL before */
    CW_ASSERT(parse(url->address, &gluster->address) == 0);
    gluster->link = cw_gluster_connection_get(&gluster->address);
    gluster->timeout_ns = url->timeout_ns;
    return gluster;
}
static void fini(void *self)
{
    cw_mem_free(self);
}

/* ---- errors, paths ---- */

static const struct cw_gluster_api *gf(void)
{
    return cw_gluster_connection_api();
}
static glfs_t *fs_of(const struct gluster *gluster)
{
    return cw_gluster_connection_fs(gluster->link);
}
/* Sets an error. cw_err_errno makes ENOTCONN and the like UNAVAILABLE; the ones here are what a
 * volume returns while it loses or finds its bricks, and become UNAVAILABLE as well. */
static int fail(struct cw_err *err, int sys_errno, const char *what, const char *name)
{
    int rc = cw_err_errno(err, sys_errno, "gluster: %s %s", what, name);

    if (sys_errno != ESTALE && sys_errno != EBADFD && sys_errno != EHOSTDOWN &&
        sys_errno != ESHUTDOWN)
        return rc;
    if (err)
        err->code = CW_E_UNAVAILABLE;
    return CW_E_UNAVAILABLE;
}
static void join(const char *dir, const char *name, char ret_path[PATH_BYTES])
{
    const char *slash = !*name || cw_str_eq(dir, "/") ? "" : "/";

    snprintf(ret_path, PATH_BYTES, "%s%s%.*s", dir, slash, 2 * CW_STORE_NAME_MAX, name);
}
static void path_of(const struct gluster *gluster, const char *name, char ret_path[PATH_BYTES])
{
    join(gluster->address.path, name, ret_path);
}
/* Makes the path of a temporary file in the same directory as `path`. */
static void temp_beside(const char *path, char ret_temp[PATH_BYTES])
{
    char temp[CW_STORE_TEMP_BYTES];

    cw_store_temp_name(temp);
    snprintf(ret_temp, PATH_BYTES, "%.*s/%s", (int)(strrchr(path, '/') - path), path, temp);
}

/* Whether a call that failed with this errno may succeed in a moment. */
static bool is_passing(int sys_errno)
{
    return sys_errno == ENOENT || sys_errno == EEXIST || sys_errno == ESTALE;
}
static bool may_retry(int sys_errno, int64_t begin_ns)
{
    if (!is_passing(sys_errno) || cw_clock_ns() - begin_ns > RETRY_NS)
        return false;
    cw_clock_sleep_ns(RETRY_STEP_NS);
    return true;
}

/* ---- directories ---- */

/* Makes a directory. Returns 0, or -1 with errno set. */
static int make_one_dir(glfs_t *fs, const char *path)
{
    char temp[PATH_BYTES];
    struct stat st;

    if (gf()->stat(fs, path, &st) == 0) {
        errno = ENOTDIR;
        return S_ISDIR(st.st_mode) ? 0 : -1;
    }
    if (errno != ENOENT && errno != ESTALE)
        return -1;
    temp_beside(path, temp);
    if (gf()->mkdir(fs, temp, DIR_MODE) < 0)
        return -1;
    if (gf()->rename(fs, temp, path) == 0)
        return 0;
    int sys_errno = errno;
    gf()->rmdir(fs, temp);
    errno = sys_errno;
    return sys_errno == ENOTEMPTY || sys_errno == EEXIST ? 0 : -1; /* another process made it */
}
/* Makes every directory above the last '/' of the path. */
static int make_dirs(glfs_t *fs, const char *path)
{
    char dir[PATH_BYTES];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
        if (make_one_dir(fs, dir) < 0)
            return -1;
    }
    return 0;
}
static int make_root(struct gluster *gluster, struct cw_err *err)
{
    char below[PATH_BYTES];
    int64_t begin_ns = cw_clock_ns();

    path_of(gluster, "x", below);
    while (make_dirs(fs_of(gluster), below) < 0)
        if (!may_retry(errno, begin_ns))
            return fail(err, errno, "cannot make the directory", gluster->address.path);
    return 0;
}
/* Connects. The store is available when the volume says that a name that nobody has does not exist:
 * no cache on our side can give that answer. */
static int try(void *self, struct cw_err *err)
{
    struct gluster *gluster = self;
    char temp[PATH_BYTES], below[PATH_BYTES];
    struct stat st;
    int rc = cw_gluster_connection_up(gluster->link, gluster->timeout_ns, err);

    if (rc < 0)
        return rc;
    path_of(gluster, "x", below);
    temp_beside(below, temp);
    if (gf()->stat(fs_of(gluster), temp, &st) < 0 && errno != ENOENT && errno != ESTALE)
        return fail(err, errno, "no answer from volume", gluster->address.volume);
    return make_root(gluster, err);
}

/* ---- writing ---- */

static int create(void *self, const char *name, void **ret_out, struct cw_err *err)
{
    struct out *out = CW_NEW(struct out);
    int64_t begin_ns = cw_clock_ns();

    out->gluster = self;
    path_of(out->gluster, name, out->path);
    for (;;) {
        glfs_t *fs = fs_of(out->gluster);
        temp_beside(out->path, out->temp);
        out->fd = gf()->creat(fs, out->temp, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE);
        if (out->fd)
            break;
        int sys_errno = errno;
        if (is_passing(sys_errno) && make_dirs(fs, out->path) < 0)
            sys_errno = errno;
        if (!may_retry(sys_errno, begin_ns)) {
            cw_mem_free(out);
            return fail(err, sys_errno, "cannot make a file for", name);
        }
    }
    *ret_out = out;
    return 0;
}
static int write_piece(void *arg, uint64_t offset, const void *p, size_t n, struct cw_err *err)
{
    struct out *out = arg;

    for (size_t at = 0; at < n;) {
        ssize_t some = gf()->pwrite(out->fd, (const char *)p + at, n - at, (off_t)(offset + at), 0,
                                    NULL, NULL);
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            return fail(err, some < 0 ? errno : EIO, "cannot write", out->path);
        at += (size_t)some;
    }
    return 0;
}
static int sync_out(void *arg, struct cw_err *err)
{
    struct out *out = arg;

    return gf()->fsync(out->fd, NULL, NULL) < 0
               ? fail(err, errno, "cannot write to the bricks", out->path)
               : 0;
}
static void abandon(void *arg)
{
    struct out *out = arg;

    if (out->fd)
        gf()->close(out->fd);
    gf()->unlink(fs_of(out->gluster), out->temp);
    cw_mem_free(out);
}
static int commit(void *arg, struct cw_err *err)
{
    struct out *out = arg;
    glfs_fd_t *fd = out->fd;
    int rc = 0;

    out->fd = NULL;
    if (gf()->close(fd) < 0)
        rc = fail(err, errno, "cannot close", out->path);
    else if (gf()->rename(fs_of(out->gluster), out->temp, out->path) < 0)
        rc = fail(err, errno, "cannot rename a file to", out->path);
    if (rc < 0)
        abandon(out);
    else
        cw_mem_free(out);
    return rc;
}

/* ---- names ---- */

static int remove_file(void *self, const char *name, struct cw_err *err)
{
    char path[PATH_BYTES];

    path_of(self, name, path);
    if (gf()->unlink(fs_of(self), path) == 0)
        return 0;
    return errno == ESTALE ? fail(err, ENOENT, "cannot remove", path)
                           : fail(err, errno, "cannot remove", path);
}
static int stat_file(void *self, const char *name, uint64_t *ret_bytes, struct cw_err *err)
{
    char path[PATH_BYTES];
    struct stat st;

    path_of(self, name, path);
    if (gf()->lstat(fs_of(self), path, &st) < 0)
        return fail(err, errno == ESTALE ? ENOENT : errno, "cannot find", path);
    if (!S_ISREG(st.st_mode))
        return cw_err_set(err, CW_E_NOT_FOUND, "gluster: %s is no file", path);
    *ret_bytes = (uint64_t)st.st_size;
    return 0;
}
static int space(void *self, uint64_t *ret_total, uint64_t *ret_free, struct cw_err *err)
{
    struct gluster *gluster = self;
    struct statvfs fs;

    if (gf()->statvfs(fs_of(gluster), gluster->address.path, &fs) < 0)
        return fail(err, errno, "cannot tell the space of", gluster->address.volume);
    *ret_total = (uint64_t)fs.f_blocks * fs.f_frsize;
    *ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    return 0;
}

/* ---- listing: a list of the directories that are still to be read ---- */

struct walk {
    struct gluster *gluster;
    cw_store_list_fn *fn;
    void *arg;
    char **dirs;
    size_t n, cap;
};
static int64_t mtime_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000;
}
static int visit(struct walk *walk, const char *dir, const char *part, struct stat *st)
{
    char name[PATH_BYTES], path[PATH_BYTES];
    glfs_t *fs = fs_of(walk->gluster);

    snprintf(name, sizeof(name), "%s%s%s", dir, *dir ? "/" : "", part);
    path_of(walk->gluster, name, path);
    /* a listing does not always contain the attributes */
    if (st->st_mode == 0 && gf()->lstat(fs, path, st) < 0)
        return 0;
    if (part[0] == '.') {
        if (cw_store_is_old_temp(part, mtime_of(st)))
            S_ISDIR(st->st_mode) ? gf()->rmdir(fs, path) : gf()->unlink(fs, path);
        return 0;
    }
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
    char path[PATH_BYTES];
    union { /* the union gives room for a long name behind the struct */
        struct dirent entry;
        char room[sizeof(struct dirent) + 256];
    } one;
    struct dirent *entry = NULL;
    int rc = 0, failed = 0;

    path_of(walk->gluster, dir, path);
    glfs_fd_t *fd = gf()->opendir(fs_of(walk->gluster), path);
    if (!fd)
        return errno == ENOENT || errno == ENOTDIR || errno == ESTALE
                   ? 0
                   : fail(err, errno, "cannot list", path);
    for (;;) {
        struct stat st = {0};
        failed = gf()->readdirplus_r(fd, &st, &one.entry, &entry);
        int sys_errno = failed > 0 ? failed : errno;
        if (failed)
            rc = fail(err, sys_errno, "cannot list", path);
        if (failed || !entry)
            break;
        rc = visit(walk, dir, entry->d_name, &st);
        if (rc != 0)
            break;
    }
    gf()->closedir(fd);
    return rc;
}
static int list(void *self, const char *prefix, cw_store_list_fn *fn, void *arg, struct cw_err *err)
{
    struct walk walk = {.gluster = self, .fn = fn, .arg = arg};
    char path[PATH_BYTES];
    struct stat st;
    int rc = 0;

    path_of(self, prefix, path);
    if (gf()->lstat(fs_of(self), path, &st) < 0)
        return errno == ENOENT || errno == ESTALE ? 0 : fail(err, errno, "cannot list", path);
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

static int open_to_read(void *self, const char *name, void **ret_file, uint64_t *ret_bytes,
                        struct cw_err *err)
{
    char path[PATH_BYTES];
    struct stat st = {0};

    path_of(self, name, path);
    glfs_fd_t *fd = gf()->open(fs_of(self), path, O_RDONLY | O_NOFOLLOW);
    if (!fd)
        return fail(err, errno == ESTALE ? ENOENT : errno, "cannot open", path);
    if (gf()->fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        int rc = fail(err, S_ISDIR(st.st_mode) ? ENOENT : errno, "cannot open", path);
        gf()->close(fd);
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
        ssize_t some =
            gf()->pread(file->fd, (char *)dst + at, n - at, (off_t)(offset + at), 0, NULL);
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return fail(err, errno, "cannot read", "a file");
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

    gf()->close(file->fd);
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
