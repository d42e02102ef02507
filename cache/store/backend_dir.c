/* SPDX-License-Identifier: Apache-2.0 */
/* The backend dir:/path: files below a directory of any mounted file system. A new file is written
 * under a temporary name in the directory where it will be, synced and renamed, and then the
 * directory is synced. Symbolic links below the path are not followed. Files are mapped, unless the
 * file system is a remote one, where a broken connection would look like a failing disk; map=on and
 * map=off decide otherwise. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "cache/store/backend_dir_read.h"
#include "cache/store/backend_dir_write.h"

#define DEPTH_MAX 64 /* the deepest nesting of directories that a listing follows */
#define WRITE_BYTES ((size_t)4 << 20)
#define DIR_MODE 0777 /* limited by the umask */
#define MAGIC_FUSE 0x65735546
#define MAGIC_CIFS 0xff534d42
#define MAGIC_SMB2 0xfe534d42
#define MAGIC_9P 0x01021997
#define MAGIC_CEPH 0x00c36400

static const char *const keys[] = {"map", "direct", NULL};
enum mode { AUTO, ON, OFF };
struct dir {
    char *path;
    enum mode map, direct;
    struct cw_mutex lock;
    int fd;                  /* guarded by lock; -1: not open */
    bool is_maps, is_direct; /* guarded by lock */
};
static int check(const struct cw_store_url *url, struct cw_err *err)
{
    if (url->address[0] != '/')
        return cw_err_set(err, CW_E_INVALID, "store %s: the path must be absolute: dir:/path",
                          url->text);
    for (const char *const *key = keys; *key; key++) {
        const char *value = cw_store_url_get(url, *key);
        if (value && !cw_str_eq(value, "on") && !cw_str_eq(value, "off") &&
            !cw_str_eq(value, "auto"))
            return cw_err_set(err, CW_E_INVALID, "store %s: %s is on, off or auto", url->text,
                              *key);
    }
    return 0;
}
static enum mode mode_of(const struct cw_store_url *url, const char *key)
{
    const char *value = cw_store_url_get(url, key);

    return cw_str_eq(value, "on") ? ON : cw_str_eq(value, "off") ? OFF : AUTO;
}
static void *init(const struct cw_store_url *url)
{
    struct dir *dir = CW_NEW(struct dir);

    dir->path = cw_mem_strdup(url->address);
    dir->map = mode_of(url, "map");
    dir->direct = mode_of(url, "direct");
    dir->fd = -1;
    cw_mutex_init(&dir->lock);
    return dir;
}
static void fini(void *self)
{
    struct dir *dir = self;

    if (dir->fd >= 0)
        close(dir->fd);
    cw_mutex_fini(&dir->lock);
    cw_mem_free(dir->path);
    cw_mem_free(dir);
}

/* ---- the directory ---- */

static int make_path(const char *path, struct cw_err *err)
{
    cw_autofree char *part = cw_mem_strdup(path);

    for (char *at = part + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(part, DIR_MODE) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return cw_backend_dir_fail(err, errno, "cannot make the directory", part);
        *at = '/';
    }
    if (mkdir(path, DIR_MODE) < 0 && errno != EEXIST)
        return cw_backend_dir_fail(err, errno, "cannot make the directory", path);
    return 0;
}
static bool is_remote(int fd)
{
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return true;
    switch ((unsigned long)fs.f_type) {
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case MAGIC_FUSE:
    case MAGIC_CIFS:
    case MAGIC_SMB2:
    case MAGIC_9P:
    case MAGIC_CEPH:
    case AFS_SUPER_MAGIC:
        return true;
    default:
        return false;
    }
}
/* Opens the directory. If it was open before, it is opened anew, since it may have been removed, or
 * something else may have been mounted over it. */
static int try(void *self, struct cw_err *err)
{
    struct dir *dir = self;
    int rc = make_path(dir->path, err);

    if (rc < 0)
        return rc;
    int fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return cw_backend_dir_fail(err, errno, "cannot open the directory", dir->path);
    if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0) {
        rc = cw_backend_dir_fail(err, errno, "cannot write to the directory", dir->path);
        close(fd);
        return rc;
    }
    bool is_local = !is_remote(fd);
    cw_mutex_lock(&dir->lock);
    int before = dir->fd;
    dir->fd = fd;
    dir->is_maps = dir->map == ON || (dir->map == AUTO && is_local);
    dir->is_direct = dir->direct == ON || (dir->direct == AUTO && is_local);
    cw_mutex_unlock(&dir->lock);
    if (before >= 0)
        close(before);
    return 0;
}
/* Returns a duplicate of the directory's descriptor, since another thread may open the directory
 * anew. */
static int root_of(struct dir *dir, struct cw_err *err)
{
    struct stat st;

    cw_mutex_lock(&dir->lock);
    int fd = dir->fd < 0 ? -1 : fcntl(dir->fd, F_DUPFD_CLOEXEC, 0);
    int sys_errno = errno;
    cw_mutex_unlock(&dir->lock);
    if (fd < 0)
        return cw_backend_dir_fail(err, dir->fd < 0 ? ENOTCONN : sys_errno,
                                   "cannot use the directory", dir->path);
    if (fstat(fd, &st) == 0 && st.st_nlink == 0) {
        close(fd);
        return cw_err_set(err, CW_E_UNAVAILABLE, "the directory %s was removed", dir->path);
    }
    return fd;
}
/* Closes `at` and returns the directory `part` below it; makes that directory if it does not exist
 * and `makes` is set. */
static int step(int at, const char *part, bool makes)
{
    int fd = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT && makes &&
        (mkdirat(at, part, DIR_MODE) == 0 || errno == EEXIST)) {
        fd = fsync(at) < 0 && errno != EINVAL
                 ? -1
                 : openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    int sys_errno = errno;
    close(at);
    errno = sys_errno;
    return fd;
}
/* Opens the directory in which a file is. *ret_base receives the last part of its name. */
static int open_parent(struct dir *dir, const char *name, bool makes, const char **ret_base,
                       struct cw_err *err)
{
    char part[CW_STORE_NAME_MAX + 1];
    int fd = root_of(dir, err);

    for (const char *slash; fd >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
        snprintf(part, sizeof(part), "%.*s", (int)(slash - name), name);
        fd = step(fd, part, makes);
        if (fd < 0)
            return cw_backend_dir_fail(
                err, errno, makes ? "cannot make the directory of" : "cannot open the directory of",
                name);
    }
    *ret_base = name;
    return fd;
}

/* ---- writing (the rest of it is in backend_dir_write.c) ---- */

static int create(void *self, const char *name, void **ret_out, struct cw_err *err)
{
    struct dir *dir = self;
    const char *base;
    int parent = open_parent(dir, name, true, &base, err);

    if (parent < 0)
        return parent;
    cw_mutex_lock(&dir->lock);
    bool direct = dir->is_direct;
    cw_mutex_unlock(&dir->lock);
    return cw_dir_write_create(parent, name, base, direct, ret_out, err);
}

/* ---- names ---- */

static int remove_file(void *self, const char *name, struct cw_err *err)
{
    const char *base;
    int parent = open_parent(self, name, false, &base, err);

    if (parent < 0)
        return parent;
    int rc =
        unlinkat(parent, base, 0) < 0 ? cw_backend_dir_fail(err, errno, "cannot remove", name) : 0;
    close(parent);
    return rc;
}
static int open_file(struct dir *dir, const char *name, struct stat *ret_stat, struct cw_err *err)
{
    const char *base;
    int parent = open_parent(dir, name, false, &base, err);

    if (parent < 0)
        return parent;
    int fd = openat(parent, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int sys_errno = errno;
    close(parent);
    if (fd < 0)
        return cw_backend_dir_fail(err, sys_errno, "cannot open", name);
    if (fstat(fd, ret_stat) == 0 && S_ISREG(ret_stat->st_mode))
        return fd;
    close(fd);
    return cw_err_set(err, CW_E_NOT_FOUND, "%s is no file", name);
}
static int stat_file(void *self, const char *name, uint64_t *ret_bytes, struct cw_err *err)
{
    struct stat st;
    int fd = open_file(self, name, &st, err);

    if (fd < 0)
        return fd;
    close(fd);
    *ret_bytes = (uint64_t)st.st_size;
    return 0;
}

/* ---- listing: a walk with a stack of open directories ---- */

struct walk {
    bool unwritten;
    cw_store_list_fn *fn;
    void *arg;
    char name[CW_STORE_NAME_MAX + 1];
    size_t len; /* length of name, which names the directory on top of the stack */
    DIR *dirs[DEPTH_MAX];
    /* for each directory of the stack the length of the name of the one above */
    size_t lens[DEPTH_MAX];
    size_t depth;
};
/* Pushes a directory onto the stack. Takes fd; walk->name has the directory's name already. */
static void enter(struct walk *walk, int fd, size_t len_above)
{
    DIR *d = walk->depth < DEPTH_MAX ? fdopendir(fd) : NULL;

    if (!d) {
        close(fd);
        walk->len = len_above;
        return;
    }
    walk->lens[walk->depth] = len_above;
    walk->dirs[walk->depth++] = d;
}
static void leave(struct walk *walk)
{
    closedir(walk->dirs[--walk->depth]);
    walk->len = walk->lens[walk->depth];
}
static bool add_part(struct walk *walk, const char *part)
{
    int n = snprintf(walk->name + walk->len, sizeof(walk->name) - walk->len, "%s%s",
                     walk->len ? "/" : "", part);

    return n > 0 && (size_t)n < sizeof(walk->name) - walk->len;
}
/* Whoever empties the store must know what is left of it. */
static int remove_temp(const struct walk *walk, int at, const char *part, struct cw_err *err)
{
    if (unlinkat(at, part, 0) == 0 || errno == ENOENT || !walk->unwritten)
        return 0;
    return cw_backend_dir_fail(err, errno, "cannot remove the temporary file", part);
}
static int visit(struct walk *walk, const char *part, struct cw_err *err)
{
    int at = dirfd(walk->dirs[walk->depth - 1]);
    struct stat st;

    if (fstatat(at, part, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0; /* it was removed meanwhile */
    int64_t mtime_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    if (part[0] == '.') {
        bool is_old = S_ISREG(st.st_mode) && cw_store_is_old_temp(part, mtime_ms, walk->unwritten);
        return is_old ? remove_temp(walk, at, part, err) : 0;
    }
    if (!add_part(walk, part))
        return 0;
    if (S_ISREG(st.st_mode))
        return walk->fn(walk->arg, walk->name, (uint64_t)st.st_size, mtime_ms);
    int fd = S_ISDIR(st.st_mode) ? openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                                 : -1;
    if (fd >= 0) {
        size_t above = walk->len;
        walk->len = strlen(walk->name);
        enter(walk, fd, above);
    }
    return 0;
}
static int run_walk(struct walk *walk, struct cw_err *err)
{
    int rc = 0;

    while (rc == 0 && walk->depth > 0) {
        errno = 0;
        const struct dirent *entry = readdir(walk->dirs[walk->depth - 1]);
        if (entry)
            rc = visit(walk, entry->d_name, err);
        else if (errno && errno != ENOENT)
            rc = cw_backend_dir_fail(err, errno, "cannot list",
                                     walk->len ? walk->name : "the directory");
        else
            leave(walk);
    }
    while (walk->depth > 0)
        leave(walk);
    return rc;
}
static int list(void *self, const char *prefix, bool unwritten, cw_store_list_fn *fn, void *arg,
                struct cw_err *err)
{
    struct walk walk = {.fn = fn, .arg = arg, .unwritten = unwritten};
    struct stat st;
    const char *base;
    int parent = open_parent(self, prefix, false, &base, err);

    if (parent < 0)
        return parent == CW_E_NOT_FOUND ? 0 : parent;
    snprintf(walk.name, sizeof(walk.name), "%s", prefix);
    walk.len = strlen(walk.name);
    /* The directory is opened anew: a duplicate of its descriptor would share its position with the
     * next listing. */
    int fd = openat(parent, *base ? base : ".", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int sys_errno = errno;
    close(parent);
    if (fd < 0)
        return sys_errno == ENOENT ? 0 : cw_backend_dir_fail(err, sys_errno, "cannot list", prefix);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        close(fd);
        return fn(arg, prefix, (uint64_t)st.st_size, (int64_t)st.st_mtim.tv_sec * 1000);
    }
    enter(&walk, fd, walk.len);
    return run_walk(&walk, err);
}
static int space(void *self, uint64_t *ret_total, uint64_t *ret_free, struct cw_err *err)
{
    struct dir *dir = self;
    struct statvfs fs;
    int fd = root_of(dir, err);

    if (fd < 0)
        return fd;
    int rc = fstatvfs(fd, &fs) < 0
                 ? cw_backend_dir_fail(err, errno, "cannot tell the space of", dir->path)
                 : 0;
    close(fd);
    if (rc < 0)
        return rc;
    *ret_total = (uint64_t)fs.f_blocks * fs.f_frsize;
    *ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    return 0;
}

/* ---- reading (the rest of it is in backend_dir_read.c) ---- */

static int open_to_read(void *self, const char *name, void **ret_file, uint64_t *ret_bytes,
                        struct cw_err *err)
{
    struct dir *dir = self;
    struct stat st;
    int fd = open_file(dir, name, &st, err);

    if (fd < 0)
        return fd;
    cw_mutex_lock(&dir->lock);
    bool maps = dir->is_maps, direct = dir->is_maps && dir->is_direct;
    cw_mutex_unlock(&dir->lock);
    *ret_bytes = (uint64_t)st.st_size;
    *ret_file = cw_dir_read_new(fd, *ret_bytes, maps, direct);
    return 0;
}

const struct cw_backend cw_backend_dir = {.scheme = "dir",
                                          .form = "dir:/path",
                                          .keys = keys,
                                          .waits = true,
                                          .writes = 2,
                                          .write_bytes = WRITE_BYTES,
                                          .timeout_ms = 30000,
                                          .check = check,
                                          .init = init,
                                          .fini = fini,
                                          .try = try,
                                          .create = create,
                                          .write = cw_dir_write_piece,
                                          .sync = cw_dir_write_sync,
                                          .commit = cw_dir_write_commit,
                                          .abandon = cw_dir_write_abandon,
                                          .remove = remove_file,
                                          .stat = stat_file,
                                          .list = list,
                                          .space = space,
                                          .open = open_to_read,
                                          .read = cw_dir_read_piece,
                                          .may_read_past = cw_dir_read_may_read_past,
                                          .read_past = cw_dir_read_past,
                                          .map = cw_dir_read_map,
                                          .is_broken = cw_dir_read_is_broken,
                                          .close = cw_dir_read_close};
