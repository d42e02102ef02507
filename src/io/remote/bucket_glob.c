/* SPDX-License-Identifier: Apache-2.0 */
#include "io/remote/bucket_glob.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/brace.h"
#include "io/match.h"

int cw_bucket_check(const char *name, size_t n, struct cw_err *err)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    if (n >= 3 && n <= 255 && strspn(name, allowed) >= n && name[0] != '.' && name[0] != '-')
        return 0;
    return cw_err_set(err, CW_E_INVALID, "\"%.*s\" is no name of a bucket",
                      (int)CW_MIN(n, (size_t)255), name);
}

int cw_find_add(struct cw_find *find, const char *key, int64_t size, const char *version,
                struct cw_err *err)
{
    struct cw_io_info info = {.size = size};
    if (find->left == 0)
        return cw_err_set(err, CW_E_LIMIT, "too many objects");
    find->left--;
    if (!cw_match_name(find->keys, key))
        return 0;
    (void)snprintf(info.version, sizeof(info.version), "%s", version);
    bool is_told = info.version[0] != '\0'; /* else each is asked what names its version */
    cw_io_list_add(find->list, cw_mem_printf("%s/%s", find->bucket, key), is_told ? size : -1,
                   is_told ? cw_io_mark(&info) : 0);
    return 0;
}

/* Reads page by page; only what matches is kept. */
static int find_all(struct cw_find *find, cw_find_page_fn *page, const struct cw_stop *stop,
                    struct cw_err *err)
{
    char *token = NULL;
    int rc;
    do {
        char *next = NULL;
        rc = cw_stop_check_at(stop, find->bucket, err);
        if (rc == 0)
            rc = page(find, token, stop, &next, err);
        if (rc == 0 && next && cw_str_eq(next, token))
            rc = cw_err_set(err, CW_E_CORRUPT, "the server's list does not go on");
        cw_mem_free(token);
        token = next;
    } while (rc == 0 && token);
    cw_mem_free(token);
    return rc;
}

static int glob_one(const char *pattern, size_t *left, cw_find_page_fn *page,
                    const struct cw_stop *stop, struct cw_io_list *list, struct cw_err *err)
{
    const char *name = strstr(pattern, "://") + 3, *slash = strchr(name, '/');
    if (!cw_match_is_pattern(pattern)) {
        cw_io_list_add(list, cw_mem_strdup(pattern), -1, 0);
        return 0;
    }
    int rc = cw_bucket_check(name, slash ? (size_t)(slash - name) : strlen(name), err);
    if (rc == 0 && (!slash || !slash[1]))
        rc = cw_err_set(err, CW_E_INVALID, "there is no pattern of keys behind the bucket");
    if (rc == 0) {
        cw_autofree char *bucket = cw_mem_strndup(pattern, (size_t)(slash - pattern));
        struct cw_find find = {.bucket = bucket, .keys = slash + 1, .left = *left, .list = list};
        rc = find_all(&find, page, stop, err);
        *left = find.left;
    }
    return rc < 0 ? cw_err_wrap(err, "pattern \"%s\"", pattern) : 0;
}

int cw_bucket_glob(const char *pattern, size_t entries_max, cw_find_page_fn *page,
                   const struct cw_stop *stop, struct cw_io_list *list, struct cw_err *err)
{
    struct cw_paths texts = {0};
    size_t left = entries_max > 0 ? entries_max : SIZE_MAX;
    if (!cw_brace_is_in(pattern))
        return glob_one(pattern, &left, page, stop, list, err);
    int rc = cw_brace_expand(pattern, &texts, err);
    for (size_t i = 0; i < texts.n && rc == 0; i++)
        rc = glob_one(texts.v[i], &left, page, stop, list, err);
    cw_paths_fini(&texts);
    return rc;
}
