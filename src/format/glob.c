/* SPDX-License-Identifier: Apache-2.0 */
#include "format/glob.h"

#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COMPONENTS_MAX 256

/* What is still to do: from directory `dir` on ("" = here), the pattern's components from `at`. */
struct todo {
    char *dir;
    size_t at;
};
struct walk {
    const char *pattern;
    char *parts[COMPONENTS_MAX];
    size_t parts_n;
    size_t entries_left; /* that may still be looked at */
    struct todo *stack;  /* explicit: the depth of a tree is not ours to decide */
    size_t n, cap;
    struct cw_paths *paths;
};

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

static void push(struct walk *w, char *dir, size_t at)
{
    CW_GROW(w->stack, w->n, w->cap);
    w->stack[w->n++] = (struct todo){dir, at};
}

/* Takes path, which `at` components have led to. */
static void arrive(struct walk *w, char *path, size_t at)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    if (there && at == w->parts_n && S_ISREG(st.st_mode))
        add_path(w->paths, path);
    else if (there && at < w->parts_n && S_ISDIR(st.st_mode))
        push(w, path, at);
    else
        cw_mem_free(path);
}

static bool is_real_dir(const char *path, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void on_entry(struct walk *w, const struct todo *t, const struct dirent *entry)
{
    const char *part = w->parts[t->at];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
        return;
    if (strcmp(part, "**") == 0) {
        char *path = entry->d_name[0] == '.' ? NULL : join(t->dir, entry->d_name);
        if (path && is_real_dir(path, entry))
            push(w, path, t->at);
        else
            cw_mem_free(path);
    } else if (fnmatch(part, entry->d_name, FNM_PERIOD) == 0) {
        arrive(w, join(t->dir, entry->d_name), t->at + 1);
    }
}

static int read_dir(struct walk *w, const struct todo *t, struct cw_err *err)
{
    DIR *dir = opendir(t->dir[0] ? t->dir : ".");
    if (!dir && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (!dir)
        return cw_err_errno(err, errno, "pattern \"%s\": open directory %s", w->pattern, t->dir);
    struct dirent *entry;
    int rc = 0;
    while (errno = 0, (entry = readdir(dir)) != NULL && w->entries_left > 0) {
        w->entries_left--;
        on_entry(w, t, entry);
    }
    if (entry)
        rc = cw_err_set(err, CW_E_LIMIT, "pattern \"%s\": too many directory entries", w->pattern);
    else if (errno)
        rc = cw_err_errno(err, errno, "pattern \"%s\": read directory %s", w->pattern, t->dir);
    closedir(dir);
    return rc;
}

static int walk_one(struct walk *w, const struct todo *t, struct cw_err *err)
{
    const char *part = w->parts[t->at];
    if (strcmp(part, "**") == 0)
        push(w, cw_mem_strdup(t->dir), t->at + 1); /* no directory at all */
    else if (!has_wildcard(part)) {
        arrive(w, join(t->dir, part), t->at + 1);
        return 0;
    }
    return read_dir(w, t, err);
}

static int split(struct walk *w, char *text, struct cw_err *err)
{
    for (char *p = text; *p;) {
        size_t n = strcspn(p, "/");
        bool again = w->parts_n > 0 && n == 2 && strncmp(p, "**", 2) == 0 &&
                     strcmp(w->parts[w->parts_n - 1], "**") == 0;
        if (w->parts_n + 1 >= COMPONENTS_MAX)
            return cw_err_set(err, CW_E_LIMIT, "pattern \"%.200s...\": more than %d components", w->pattern,
                              COMPONENTS_MAX - 1);
        char *next = p + n + strspn(p + n, "/");
        p[n] = '\0';
        if (n > 0 && !again)
            w->parts[w->parts_n++] = p;
        p = next;
    }
    /* "dir/" followed by "**" alone: every file below. */
    static char any[] = "*";
    if (w->parts_n > 0 && strcmp(w->parts[w->parts_n - 1], "**") == 0)
        w->parts[w->parts_n++] = any;
    return 0;
}

static int walk_pattern(struct walk *w, struct cw_err *err)
{
    cw_autofree char *text = cw_mem_printf("%s/", w->pattern);
    int rc = split(w, text, err);
    if (rc < 0)
        return rc;
    if (w->parts_n > 0)
        push(w, cw_mem_strdup(w->pattern[0] == '/' ? "/" : ""), 0);
    while (w->n > 0) {
        struct todo t = w->stack[--w->n];
        if (rc == 0)
            rc = walk_one(w, &t, err);
        cw_mem_free(t.dir);
    }
    cw_mem_free(w->stack);
    return rc;
}

int cw_glob(const char *pattern, size_t entries_max, struct cw_paths *paths, struct cw_err *err)
{
    struct stat st;
    if (pattern[0] == '\0')
        return cw_err_set(err, CW_E_INVALID, "option pattern: is empty");
    if (cw_str_starts(pattern, "file://"))
        pattern += strlen("file://");
    else if (strstr(pattern, "://"))
        return cw_err_set(err, CW_E_UNSUPPORTED, "pattern \"%s\": only local files can be read so far", pattern);
    /* A file whose name has a bracket in it is found by its name. */
    if (stat(pattern, &st) == 0) {
        if (!S_ISREG(st.st_mode))
            return cw_err_set(err, CW_E_INVALID, "pattern \"%s\": is not a regular file%s", pattern,
                              S_ISDIR(st.st_mode) ? " but a directory; add /* or /**" : "");
        add_path(paths, cw_mem_strdup(pattern));
        return 0;
    }
    if (!has_wildcard(pattern))
        return cw_err_errno(err, errno, "pattern \"%s\"", pattern);
    struct walk *w = CW_NEW(struct walk);
    w->pattern = pattern;
    w->paths = paths;
    w->entries_left = entries_max > 0 ? entries_max : SIZE_MAX;
    int rc = walk_pattern(w, err);
    cw_mem_free(w);
    return rc;
}
