/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the scheme of a URL and calls it. */
#include "io/io.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/brace.h"
#include "io/match.h"
#include "io/source_root.h"
#include "io/source_url.h"

static const struct cw_io_scheme *const *schemes; /* set before threads read, or NULL */

void cw_io_set_schemes(const struct cw_io_scheme *const *all)
{
    schemes = all;
}

static int scheme_of(const char *url, const struct cw_io_scheme **ret_scheme, struct cw_err *err)
{
    const char *name = cw_url_remote_scheme(url);
    *ret_scheme = &cw_io_scheme_file;
    if (!name)
        return 0;
    int rc = cw_source_root_check_url(url, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; schemes && schemes[i]; i++) {
        if (strcmp(schemes[i]->name, name) != 0)
            continue;
        *ret_scheme = schemes[i];
        return 0;
    }
    return cw_err_set(err, CW_E_UNSUPPORTED, "%s: this program does not read %s://; workers do",
                      url, name);
}

const struct cw_io_scheme *cw_io_scheme_of(const char *url)
{
    const struct cw_io_scheme *scheme;
    return scheme_of(url, &scheme, NULL) == 0 ? scheme : NULL;
}

int cw_io_stat(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
               struct cw_err *err)
{
    const struct cw_io_scheme *scheme;
    int rc = scheme_of(url, &scheme, err);
    return rc < 0 ? rc : scheme->stat(url, stop, ret_info, err);
}

int cw_io_open(const char *url, const struct cw_stop *stop, struct cw_io_file *ret_file,
               struct cw_err *err)
{
    const struct cw_io_scheme *scheme;
    int rc = scheme_of(url, &scheme, err);
    if (rc < 0)
        return rc;
    ret_file->scheme = scheme;
    ret_file->fd = -1;
    ret_file->object = NULL;
    return scheme->open(url, stop, ret_file, err);
}

void cw_io_close(struct cw_io_file *file)
{
    file->scheme->close(file);
}

int cw_io_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
               const struct cw_stop *stop, struct cw_err *err)
{
    return file->scheme->read(file, offset, dst, n, stop, err);
}

bool cw_io_is_unchanged(const struct cw_io_file *file)
{
    return file->scheme->is_unchanged(file);
}

int cw_io_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
               struct cw_io_list *list, struct cw_err *err)
{
    const struct cw_io_scheme *scheme;
    int rc = scheme_of(pattern, &scheme, err);
    return rc < 0 ? rc : scheme->glob(pattern, entries_max, stop, list, err);
}

/* Adds what the pattern names, and asks whether a name is that of a file. */
static int glob_named(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                      struct cw_io_list *list, struct cw_io_info *ret_info, struct cw_err *err)
{
    size_t before = list->n;
    int rc = cw_io_glob(pattern, entries_max, stop, list, err);
    if (rc == 0 && list->n == before + 1 && !cw_match_is_pattern(pattern))
        rc = cw_io_stat(list->v[before].url, stop, ret_info, err);
    while (rc < 0 && list->n > before)
        cw_mem_free(list->v[--list->n].url);
    return rc;
}

/* Whether the name can only be that of a folder, whatever a server answers when it is asked for it as
 * a file: a bucket, or a name that ends with a slash. */
static bool is_folder_name(const char *url)
{
    const char *scheme = cw_url_remote_scheme(url);
    if (!scheme || strncmp(scheme, "http", strlen("http")) == 0 || cw_match_is_pattern(url))
        return false;
    return !strchr(url + strlen(scheme) + strlen("://"), '/') || url[strlen(url) - 1] == '/';
}

/* Whether a pattern is a name, in which a backslash stands for what follows. */
static bool is_name(const char *pattern)
{
    for (const char *p = pattern; *p; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (strchr("*?[", *p))
            return false;
    }
    return true;
}

/* A pattern without groups of braces. */
static int glob_one_tree(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                         struct cw_io_list *list, struct cw_err *err)
{
    struct cw_err why = {0};
    size_t before = list->n, n = strlen(pattern);
    struct cw_io_info info = {.size = -1};
    int rc = is_folder_name(pattern) ? cw_err_set(&why, CW_E_NOT_FOUND, "%s: has no files", pattern)
                                     : glob_named(pattern, entries_max, stop, list, &info, &why);
    /* (An empty object may mark a folder.) */
    bool has_found = list->n > before || !is_name(pattern);
    if (rc == 0 && has_found && !(info.is_object && info.size == 0))
        return 0;
    if (n > 1 && pattern[n - 1] == '/' && pattern[n - 2] != '/')
        n--;
    cw_autofree char *tree = cw_mem_printf("%.*s/**/?*", (int)n, pattern);
    int tree_rc = !is_name(pattern) || rc == CW_E_CANCELLED
                      ? CW_E_UNSUPPORTED
                      : cw_io_glob(tree, entries_max, stop, list, err);
    bool is_nothing = tree_rc == 0 && list->n == before && rc < 0 && rc != CW_E_INVALID;
    if (tree_rc != CW_E_UNSUPPORTED && !is_nothing)
        return tree_rc;
    if (err)
        *err = why;
    return rc;
}

/* Adds the name of a file or folder that is there as it stands, in spite of its braces. */
static bool add_there(const char *name, struct cw_paths *texts)
{
    struct cw_str text = {0};
    struct stat st;
    if (cw_url_remote_scheme(name) || cw_source_stat(name, &st, NULL) != 0)
        return false;
    for (const char *p = name; *p; p++) {
        if (strchr("*?[{\\", *p))
            cw_str_add_char(&text, '\\');
        cw_str_add_char(&text, *p);
    }
    CW_GROW(texts->v, texts->n, texts->cap);
    texts->v[texts->n++] = cw_str_take(&text);
    return true;
}

int cw_io_glob_tree(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                    struct cw_io_list *list, struct cw_err *err)
{
    struct cw_paths texts = {0};
    if (!cw_brace_is_in(pattern))
        return glob_one_tree(pattern, entries_max, stop, list, err);
    int rc = add_there(pattern, &texts) ? 0 : cw_brace_expand(pattern, &texts, err);
    for (size_t i = 0; i < texts.n && rc == 0; i++)
        rc = glob_one_tree(texts.v[i], entries_max, stop, list, err);
    cw_paths_fini(&texts);
    return rc;
}

int64_t cw_io_mark(const struct cw_io_info *info)
{
    return info->version[0] ? (int64_t)cw_hash_u64(info->version, strlen(info->version))
                            : info->mtime_ns;
}
