/* SPDX-License-Identifier: Apache-2.0 */
/* The scheme gluster: files of GlusterFS volumes, without a mount: "gluster://host/volume/path". Who
 * may read what is the volume's business; the connections are those of the process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "io/brace.h"
#include "io/gluster/gluster_connection.h"
#include "io/io.h"
#include "io/match.h"

#define CONNECT_NS INT64_C(60000000000)

static const struct cw_gluster_api *api(void)
{
    return cw_gluster_connection_api();
}

/* Takes a URL apart and connects. */
static int reach(const char *url, struct cw_gluster_address *ret_address, glfs_t **ret_fs,
                 struct cw_err *err)
{
    memset(ret_address, 0, sizeof(*ret_address));
    if (cw_gluster_address_parse(url + strlen("gluster:"), ret_address) < 0)
        return cw_err_set(err, CW_E_INVALID, "%s: is not gluster://HOST/VOLUME/PATH", url);
    struct cw_gluster_connection *link = cw_gluster_connection_get(ret_address);
    int rc = cw_gluster_connection_up(link, CONNECT_NS, err);
    if (rc == 0)
        *ret_fs = cw_gluster_connection_fs(link);
    return rc < 0 ? cw_err_wrap(err, "%s", url) : 0;
}

static int64_t ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_nsec;
}

/* All clients of a volume see the same times and numbers. */
static struct cw_io_info info_of(const char *url, const struct stat *st)
{
    struct cw_io_info info = {
        .size = st->st_size, .mtime_ns = ns(st->st_mtim), .ctime_ns = ns(st->st_ctim)};
    struct cw_hash name = cw_hash_bytes(url, strlen(url));
    const uint64_t words[] = {name.hi,
                              name.lo,
                              (uint64_t)st->st_ino,
                              (uint64_t)st->st_size,
                              (uint64_t)info.mtime_ns,
                              (uint64_t)info.ctime_ns};
    info.state = cw_hash_bytes(words, sizeof(words));
    return info;
}

/* A file that another client has replaced is gone for those that knew it. */
static int failed(const char *url, int failure, struct cw_err *err)
{
    return cw_err_errno(err, failure == ESTALE ? ENOENT : failure, "%s", url);
}

static int check_regular(const char *url, const struct stat *st, struct cw_err *err)
{
    if (S_ISREG(st->st_mode))
        return 0;
    return cw_err_set(err, CW_E_INVALID, "%s: is not a regular file", url);
}

static int gluster_stat(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
                        struct cw_err *err)
{
    struct cw_gluster_address address;
    struct stat st;
    glfs_t *fs = NULL;
    (void)stop;
    int rc = reach(url, &address, &fs, err);
    if (rc < 0)
        return rc;
    if (api()->stat(fs, address.path, &st) < 0)
        return failed(url, errno, err);
    *ret_info = info_of(url, &st);
    return check_regular(url, &st, err);
}

static int gluster_open(const char *url, const struct cw_stop *stop, struct cw_io_file *file,
                        struct cw_err *err)
{
    struct cw_gluster_address address;
    struct stat st;
    glfs_t *fs = NULL;
    (void)stop;
    int rc = reach(url, &address, &fs, err);
    if (rc < 0)
        return rc;
    glfs_fd_t *fd = api()->open(fs, address.path, O_RDONLY | O_NONBLOCK);
    if (!fd)
        return failed(url, errno, err);
    rc = api()->fstat(fd, &st) < 0 ? failed(url, errno, err) : check_regular(url, &st, err);
    if (rc < 0) {
        api()->close(fd);
        return rc;
    }
    file->info = info_of(url, &st);
    file->object = fd;
    return 0;
}

static void gluster_close(struct cw_io_file *file)
{
    api()->close(file->object);
}

static int gluster_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                        const struct cw_stop *stop, struct cw_err *err)
{
    char *p = dst;
    while (n > 0) {
        ssize_t got = api()->pread(file->object, p, n, (off_t)offset, 0, NULL);
        if (got < 0 && errno == EINTR && !cw_stop_is_set(stop))
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

static bool gluster_is_unchanged(const struct cw_io_file *file)
{
    struct stat st;
    return api()->fstat(file->object, &st) == 0 && st.st_size == file->info.size &&
           ns(st.st_mtim) == file->info.mtime_ns;
}

/* ---- patterns ---- */

/* A walk through a volume: directories that are still to be read, by their paths in it. */
struct walk {
    glfs_t *fs;
    const char *pattern; /* all of it, for messages */
    const char *paths;   /* what paths must match */
    const char *prefix;  /* of URLs: "gluster://host/volume" */
    size_t parts_max;    /* how many components a path can have; SIZE_MAX: any number */
    size_t left;         /* how many entries may still be looked at */
    char **dirs;
    size_t n, cap;
    struct cw_io_list *list;
};

static size_t parts_of(const char *path)
{
    size_t n = 1;
    for (; *path; path++)
        n += *path == '/';
    return n;
}

/* Looks at an entry. Takes path, which begins with "/". */
static void visit(struct walk *w, char *path, struct stat *st)
{
    /* a link leads to a file, or nowhere that counts */
    bool is_file =
        S_ISREG(st->st_mode) || (S_ISLNK(st->st_mode) && cw_match_name(w->paths, path + 1) &&
                                 api()->stat(w->fs, path, st) == 0 && S_ISREG(st->st_mode));
    if (is_file && cw_match_name(w->paths, path + 1)) {
        cw_io_list_add(w->list, cw_mem_printf("%s%s", w->prefix, path), -1, 0);
    } else if (S_ISDIR(st->st_mode) && parts_of(path + 1) < w->parts_max) {
        CW_GROW(w->dirs, w->n, w->cap);
        w->dirs[w->n++] = path;
        return;
    }
    cw_mem_free(path);
}

static int read_dir(struct walk *w, const char *dir, const struct cw_stop *stop, struct cw_err *err)
{
    union {
        struct dirent entry;
        char room[sizeof(struct dirent) + 256];
    } one;
    struct dirent *entry = NULL;
    int rc = 0;
    glfs_fd_t *fd = api()->opendir(w->fs, dir);
    if (!fd)
        return errno == ENOENT || errno == ESTALE || errno == ENOTDIR ? 0 : failed(dir, errno, err);
    while (rc == 0) {
        struct stat st = {0};
        int failure = api()->readdirplus_r(fd, &st, &one.entry, &entry);
        if (failure)
            rc = failed(dir, failure > 0 ? failure : errno, err);
        if (failure || !entry)
            break;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (w->left-- == 0)
            rc = cw_err_set(err, CW_E_LIMIT, "too many directory entries");
        else
            visit(w, cw_mem_printf("%s%s%s", dir, dir[1] ? "/" : "", entry->d_name), &st);
        if (rc == 0)
            rc = cw_stop_check(stop, err);
    }
    api()->closedir(fd);
    return rc;
}

/* The directory from which a walk begins: that of the last component before a wildcard. */
static char *first_dir(const char *paths)
{
    size_t n = cw_match_prefix(paths);
    while (n > 0 && paths[n - 1] != '/')
        n--;
    return cw_mem_printf("/%.*s", (int)(n > 0 ? n - 1 : 0), paths);
}

static int walk_all(struct walk *w, const struct cw_stop *stop, struct cw_err *err)
{
    int rc = 0;
    CW_GROW(w->dirs, w->n, w->cap);
    w->dirs[w->n++] = first_dir(w->paths);
    while (w->n > 0) {
        char *dir = w->dirs[--w->n];
        if (rc == 0)
            rc = cw_stop_check_at(stop, dir, err);
        if (rc == 0)
            rc = read_dir(w, dir, stop, err);
        cw_mem_free(dir);
    }
    cw_mem_free(w->dirs);
    return rc < 0 ? cw_err_wrap(err, "pattern \"%s\"", w->pattern) : 0;
}

static int glob_one(const char *pattern, size_t *left, const struct cw_stop *stop,
                    struct cw_io_list *list, struct cw_err *err)
{
    struct cw_gluster_address address;
    struct walk walk = {.pattern = pattern, .left = *left, .list = list};
    if (!cw_match_is_pattern(pattern)) {
        cw_io_list_add(list, cw_mem_strdup(pattern), -1, 0);
        return 0;
    }
    int rc = reach(pattern, &address, &walk.fs, err);
    if (rc < 0)
        return rc;
    const char *volume = strchr(pattern + strlen("gluster://"), '/') + 1;
    size_t n = (size_t)(volume - pattern) + strcspn(volume, "/");
    cw_autofree char *prefix = cw_mem_strndup(pattern, n);
    walk.prefix = prefix;
    walk.paths = address.path + 1;
    walk.parts_max = strstr(walk.paths, "**") ? SIZE_MAX : parts_of(walk.paths);
    rc = walk_all(&walk, stop, err);
    *left = walk.left;
    return rc;
}

static int gluster_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                        struct cw_io_list *list, struct cw_err *err)
{
    struct cw_paths texts = {0};
    size_t left = entries_max > 0 ? entries_max : SIZE_MAX;
    if (!cw_brace_is_in(pattern))
        return glob_one(pattern, &left, stop, list, err);
    int rc = cw_brace_expand(pattern, &texts, err);
    for (size_t i = 0; i < texts.n && rc == 0; i++)
        rc = glob_one(texts.v[i], &left, stop, list, err);
    cw_paths_fini(&texts);
    return rc;
}

const struct cw_io_scheme cw_io_scheme_gluster = {
    .name = "gluster",
    .stat = gluster_stat,
    .open = gluster_open,
    .close = gluster_close,
    .read = gluster_read,
    .is_unchanged = gluster_is_unchanged,
    .glob = gluster_glob,
};
