/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files by pattern, reading each directory once. A stack replaces recursion. */
#include "io/glob.h"

#include "base/mem.h"
#include "base/str.h"
#include "io/brace.h"
#include "io/source_root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COMPONENTS_MAX 256

/* A set of places in the pattern: which of its components the next name may match. The bit behind
 * the last component means that all of it has matched. */
struct places {
    uint64_t bits[COMPONENTS_MAX / 64 + 1];
};
/* A directory that is still to be read ("": the current one), with all places of the pattern that
 * lead into it. Each directory is read only once. */
struct todo {
    char *dir;
    struct places at;
};
struct walk {
    const char *pattern;
    char *parts[COMPONENTS_MAX];
    bool literal[COMPONENTS_MAX]; /* which components contain no wildcard */
    size_t parts_n;
    size_t entries_left; /* number of directory entries that may still be looked at */
    const struct cw_stop *stop;
    /* What may not be looked at although it matches; it would be missing unnoticed. */
    struct cw_err denied;
    struct todo *stack; /* an explicit stack, since the depth of a directory tree is not limited */
    size_t n, cap;
    struct cw_paths *paths;
};

static bool has(const struct places *places, size_t at)
{
    return (places->bits[at / 64] >> (at % 64)) & 1;
}

static void add(struct places *places, size_t at)
{
    places->bits[at / 64] |= UINT64_C(1) << (at % 64);
}

static bool is_empty(const struct places *places)
{
    uint64_t any = 0;
    for (size_t i = 0; i < CW_ARRAY_LEN(places->bits); i++)
        any |= places->bits[i];
    return !any;
}

void cw_paths_fini(struct cw_paths *paths)
{
    if (!paths)
        return;
    for (size_t i = 0; i < paths->n; i++)
        cw_mem_free(paths->v[i]);
    cw_mem_free(paths->v);
    *paths = (struct cw_paths){0};
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void cw_paths_sort(struct cw_paths *paths)
{
    size_t kept = 0;
    if (paths->n < 2)
        return;
    qsort(paths->v, paths->n, sizeof(paths->v[0]), compare_paths);
    for (size_t i = 1; i < paths->n; i++) {
        if (strcmp(paths->v[i], paths->v[kept]) == 0)
            cw_mem_free(paths->v[i]);
        else
            paths->v[++kept] = paths->v[i];
    }
    paths->n = kept + 1;
}

static void add_path(struct cw_paths *paths, char *path)
{
    CW_GROW(paths->v, paths->n, paths->cap);
    paths->v[paths->n++] = path;
}

static bool has_wildcard(const char *s)
{
    return strpbrk(s, "*?[\\") != NULL;
}

static char *join(const char *dir, const char *name)
{
    size_t n = strlen(dir);
    return cw_mem_printf("%s%s%s", dir, n > 0 && dir[n - 1] != '/' ? "/" : "", name);
}

/* Pushes a directory onto the stack. Takes dir. */
static void push(struct walk *w, char *dir, const struct places *at)
{
    CW_GROW(w->stack, w->n, w->cap);
    w->stack[w->n++] = (struct todo){dir, *at};
}

static bool is_any_depth(const struct walk *w, size_t at)
{
    return strcmp(w->parts[at], "**") == 0;
}

/* An entry of an open directory; dir_fd: that directory. */
static bool is_real_dir(int dir_fd, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dir_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static bool is_there(struct walk *w, const char *path, struct stat *ret_st)
{
    struct cw_err err = {0};
    int rc = cw_source_stat(path, ret_st, &err);
    if (rc == CW_E_DENIED && cw_source_root_is_set() && w->denied.code == 0)
        w->denied = err;
    return rc == 0;
}

/* Handles a path that was found. Takes path. Its name has matched and leads to `next`; or it is
 * any real directory below and leads to `below`, which may be NULL; or both. */
static void visit_path(struct walk *w, char *path, struct places *next, const struct places *below)
{
    struct stat st;
    bool there = !is_empty(next) && is_there(w, path, &st);
    if (there && S_ISREG(st.st_mode) && has(next, w->parts_n))
        add_path(w->paths, cw_mem_strdup(path));
    if (!there || !S_ISDIR(st.st_mode))
        *next = (struct places){0};
    /* a directory is not a match */
    next->bits[w->parts_n / 64] &= ~(UINT64_C(1) << (w->parts_n % 64));
    if (below)
        for (size_t i = 0; i < CW_ARRAY_LEN(next->bits); i++)
            next->bits[i] |= below->bits[i];
    if (is_empty(next))
        cw_mem_free(path);
    else
        push(w, path, next);
}

static bool matches(const struct walk *w, size_t at, const char *name)
{
    return w->literal[at] ? strcmp(w->parts[at], name) == 0
                          : fnmatch(w->parts[at], name, FNM_PERIOD) == 0;
}

static void on_entry(struct walk *w, const struct todo *t, int dir_fd, const struct dirent *entry,
                     struct places *found)
{
    const char *name = entry->d_name;
    struct places next = {0}, below = {0};
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return;
    for (size_t i = 0; i < w->parts_n; i++) {
        if (!has(&t->at, i))
            continue;
        if (is_any_depth(w, i) && name[0] != '.') {
            add(&below, i);
        } else if (!is_any_depth(w, i) && matches(w, i, name)) {
            add(&next, i + 1);
            add(found, i);
        }
    }
    if (!is_empty(&below) && !is_real_dir(dir_fd, entry))
        below = (struct places){0};
    if (!is_empty(&next) || !is_empty(&below))
        visit_path(w, join(t->dir, name), &next, &below);
}

static int too_many(const char *pattern, struct cw_err *err)
{
    return cw_err_set(err, CW_E_LIMIT, "pattern \"%s\": too many directory entries", pattern);
}

static int read_entries(struct walk *w, DIR *dir, const struct todo *t, struct places *found,
                        struct cw_err *err)
{
    struct dirent *entry;
    int rc = 0;
    while (rc == 0 && (errno = 0, (entry = readdir(dir)) != NULL)) {
        if (w->entries_left == 0)
            return too_many(w->pattern, err);
        w->entries_left--;
        on_entry(w, t, dirfd(dir), entry, found);
        rc = cw_stop_check(w->stop, err);
    }
    if (rc == 0 && errno)
        rc = cw_err_errno(err, errno, "pattern \"%s\": read directory %s", w->pattern, t->dir);
    return rc;
}

static int read_dir(struct walk *w, const struct todo *t, struct places *found, struct cw_err *err)
{
    struct cw_err why = {0};
    DIR *dir = NULL;
    int rc = cw_source_open_dir(t->dir[0] ? t->dir : ".", &dir, &why);
    if (rc == CW_E_NOT_FOUND)
        return 0;
    if (rc < 0)
        return cw_err_set(err, rc, "pattern \"%s\": open directory %s", w->pattern, why.msg);
    rc = read_entries(w, dir, t, found, err);
    closedir(dir);
    return rc;
}

/* Finds a component without wildcards by its name, which also works in a directory that cannot be
 * listed. Places with the same name are handled together. */
static void visit_by_name(struct walk *w, const struct todo *t, struct places *found)
{
    for (size_t i = 0; i < w->parts_n; i++) {
        struct places next = {0};
        if (!has(&t->at, i) || !w->literal[i] || has(found, i))
            continue;
        for (size_t k = i; k < w->parts_n; k++)
            if (has(&t->at, k) && w->literal[k] && strcmp(w->parts[k], w->parts[i]) == 0) {
                add(&next, k + 1);
                add(found, k);
            }
        visit_path(w, join(t->dir, w->parts[i]), &next, NULL);
    }
}

static int walk_one(struct walk *w, struct todo *t, struct cw_err *err)
{
    struct places found = {0};
    bool listed = false;
    int rc = cw_stop_check_at(w->stop, t->dir[0] != '\0' ? t->dir : ".", err);
    for (size_t i = 0; i < w->parts_n; i++) {
        if (!has(&t->at, i))
            continue;
        if (is_any_depth(w, i))
            add(&t->at, i + 1); /* "**" may also stand for no directory */
        listed |= !w->literal[i];
    }
    if (rc == 0 && listed)
        rc = read_dir(w, t, &found, err);
    if (rc == 0)
        visit_by_name(w, t, &found);
    if (rc == 0 && w->denied.code != 0)
        rc = cw_err_set(err, w->denied.code, "pattern \"%s\": %s", w->pattern, w->denied.msg);
    return rc;
}

static int split(struct walk *w, char *text, struct cw_err *err)
{
    for (char *p = text; *p;) {
        size_t n = strcspn(p, "/");
        bool again = w->parts_n > 0 && n == 2 && strncmp(p, "**", 2) == 0 &&
                     strcmp(w->parts[w->parts_n - 1], "**") == 0;
        if (w->parts_n + 1 >= COMPONENTS_MAX)
            return cw_err_set(err, CW_E_LIMIT, "pattern \"%.200s...\": more than %d components",
                              w->pattern, COMPONENTS_MAX - 1);
        char *next = p + n + strspn(p + n, "/");
        p[n] = '\0';
        if (n > 0 && !again)
            w->parts[w->parts_n++] = p;
        p = next;
    }
    /* "dir/" followed by "**" alone means every file below. */
    static char any[] = "*";
    if (w->parts_n > 0 && strcmp(w->parts[w->parts_n - 1], "**") == 0)
        w->parts[w->parts_n++] = any;
    for (size_t i = 0; i < w->parts_n; i++)
        w->literal[i] = !has_wildcard(w->parts[i]);
    return 0;
}

static int walk_pattern(struct walk *w, struct cw_err *err)
{
    cw_autofree char *text = cw_mem_printf("%s/", w->pattern);
    int rc = split(w, text, err);
    if (rc < 0)
        return rc;
    struct places first = {.bits = {1}};
    if (w->parts_n > 0)
        push(w, cw_mem_strdup(w->pattern[0] == '/' ? "/" : ""), &first);
    while (w->n > 0) {
        struct todo t = w->stack[--w->n];
        if (rc == 0)
            rc = walk_one(w, &t, err);
        cw_mem_free(t.dir);
    }
    cw_mem_free(w->stack);
    return rc;
}

/* *entries_left: how many directory entries may still be looked at. */
static int glob_one(const char *pattern, size_t *entries_left, const struct cw_stop *stop,
                    struct cw_paths *paths, struct cw_err *err)
{
    struct walk *w = CW_NEW(struct walk);
    w->pattern = pattern;
    w->paths = paths;
    w->stop = stop;
    w->entries_left = *entries_left;
    int rc = walk_pattern(w, err);
    *entries_left = w->entries_left;
    cw_mem_free(w);
    return rc;
}

/* Adds the file of that name, if there is one. Returns 1 then, and 0 if the pattern has to be looked
 * at. A file whose name contains a bracket or a brace is found by that name. is_name: the pattern
 * can be nothing else. */
static int add_named(const char *pattern, bool is_name, struct cw_paths *paths, struct cw_err *err)
{
    struct stat st;
    struct cw_err why = {0};
    int rc = cw_source_stat(pattern, &st, &why);
    if (rc == 0 && S_ISREG(st.st_mode)) {
        add_path(paths, cw_mem_strdup(pattern));
        return 1;
    }
    if (rc == 0)
        return cw_err_set(err, CW_E_INVALID, "pattern \"%s\": %s", pattern,
                          S_ISDIR(st.st_mode) ? CW_GLOB_DIRECTORY "; add /* or /**"
                                              : "is not a regular file");
    if (rc == CW_E_NOT_FOUND && is_name)
        return cw_err_errno(err, ENOENT, "pattern \"%s\"", pattern);
    return is_name ? cw_err_set(err, rc, "pattern \"%s\": %s", pattern, why.msg) : 0;
}

/* A pattern without groups of braces. */
static int glob_text(const char *pattern, size_t *entries_left, const struct cw_stop *stop,
                     struct cw_paths *paths, struct cw_err *err)
{
    int rc = add_named(pattern, !has_wildcard(pattern), paths, err);
    return rc == 0 ? glob_one(pattern, entries_left, stop, paths, err) : CW_MIN(rc, 0);
}

static int glob_braces(const char *pattern, size_t *entries_left, const struct cw_stop *stop,
                       struct cw_paths *paths, struct cw_err *err)
{
    struct cw_paths texts = {0};
    int rc = cw_brace_expand(pattern, &texts, err);
    for (size_t i = 0; i < texts.n && rc == 0; i++) {
        if (*entries_left == 0)
            rc = too_many(pattern, err);
        *entries_left -= rc == 0;
        if (rc == 0)
            rc = cw_stop_check(stop, err);
        if (rc == 0)
            rc = glob_text(texts.v[i], entries_left, stop, paths, err);
    }
    cw_paths_fini(&texts);
    return rc;
}

int cw_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
            struct cw_paths *paths, struct cw_err *err)
{
    size_t entries_left = entries_max > 0 ? entries_max : SIZE_MAX;
    if (pattern[0] == '\0')
        return cw_err_set(err, CW_E_INVALID, "option pattern: is empty");
    if (cw_str_starts(pattern, "file://"))
        pattern += strlen("file://");
    else if (strstr(pattern, "://"))
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "pattern \"%s\": its scheme is none that this version reads", pattern);
    if (!cw_brace_is_in(pattern))
        return glob_text(pattern, &entries_left, stop, paths, err);
    int rc = add_named(pattern, false, paths, err);
    return rc == 0 ? glob_braces(pattern, &entries_left, stop, paths, err) : CW_MIN(rc, 0);
}
