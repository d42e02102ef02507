/* SPDX-License-Identifier: Apache-2.0 */
/* The scheme gluster: files of GlusterFS volumes, without a mount: "gluster://host/volume/path". Who
 * may read what is the volume's business; the connections are those of the process. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/brace.h"
#include "io/gluster/gluster_file.h"
#include "io/match.h"

static const struct cw_gluster_api *api(void)
{
    return cw_gluster_connection_api();
}

static int gluster_stat(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
                        struct cw_err *err)
{
    struct cw_gluster_place place;
    struct stat st;
    (void)stop;
    int rc = cw_gluster_reach(url, &place, err);
    if (rc < 0)
        return rc;
    cw_io_waits();
    if (api()->stat(place.fs, place.address.path, &st) < 0)
        rc = cw_gluster_failed(url, errno, err);
    else
        rc = cw_gluster_info(url, &st, ret_info, err);
    cw_gluster_connection_leave(place.link);
    return rc;
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
        return errno == ENOENT || errno == ESTALE || errno == ENOTDIR
                   ? 0
                   : cw_gluster_failed(dir, errno, err);
    while (rc == 0) {
        struct stat st = {0};
        int failure = api()->readdirplus_r(fd, &st, &one.entry, &entry);
        if (failure)
            rc = cw_gluster_failed(dir, failure > 0 ? failure : errno, err);
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
    struct cw_gluster_place place;
    struct walk walk = {.pattern = pattern, .left = *left, .list = list};
    if (!cw_match_is_pattern(pattern)) {
        cw_io_list_add(list, cw_mem_strdup(pattern), -1, 0);
        return 0;
    }
    int rc = cw_gluster_reach(pattern, &place, err);
    if (rc < 0)
        return rc;
    const char *volume = strchr(pattern + strlen("gluster://"), '/') + 1;
    size_t n = (size_t)(volume - pattern) + strcspn(volume, "/");
    cw_autofree char *prefix = cw_mem_strndup(pattern, n);
    walk.fs = place.fs;
    walk.prefix = prefix;
    walk.paths = place.address.path + 1;
    walk.parts_max = strstr(walk.paths, "**") ? SIZE_MAX : parts_of(walk.paths);
    rc = walk_all(&walk, stop, err);
    *left = walk.left;
    cw_gluster_connection_leave(place.link);
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
    .open = cw_gluster_file_open,
    .close = cw_gluster_file_close,
    .read = cw_gluster_file_read,
    .is_unchanged = cw_gluster_file_is_unchanged,
    .glob = gluster_glob,
    .fetch = cw_gluster_fetch,
    .cancel = cw_gluster_cancel,
};
