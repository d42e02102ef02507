/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the indices of a store. */
#include <string.h>

#include "base/mem.h"
#include "cache/index/index_home.h"
#include "cache/index/index_int.h"
#include "format/kept_index.h"

struct found {
    char *name;
    uint64_t bytes;
    int64_t mtime_ms;
};
struct list {
    struct found *v;
    size_t n, cap;
};

static int on_file(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct list *list = arg;
    const size_t n = strlen(name), suffix = strlen(CW_KEPT_INDEX_SUFFIX);
    if (!cw_str_starts(name, CW_KEPT_INDEX_PREFIX) || n < suffix ||
        strcmp(name + n - suffix, CW_KEPT_INDEX_SUFFIX) != 0)
        return 0;
    CW_GROW(list->v, list->n, list->cap);
    list->v[list->n++] = (struct found){cw_mem_strdup(name), bytes, mtime_ms};
    return 0;
}

/* Tells of one index. It may have been removed since the listing. */
static int tell(struct cw_store *store, const struct found *found, cw_index_row_fn *fn, void *arg,
                struct cw_err *err)
{
    struct cw_index_row row = {
        .name = found->name, .bytes = found->bytes, .mtime_ms = found->mtime_ms};
    struct cw_kept_index kept = {0};
    void *blob = NULL;
    size_t n = 0;
    int rc = cw_index_read_blob(store, found->name, &blob, &n, err);
    if (rc == CW_E_NOT_FOUND)
        return 0;
    if (rc < 0)
        return rc;
    row.is_damaged = !cw_kept_index_read(blob, n, NULL, &kept);
    row.key = kept.key;
    row.key_n = kept.key_n;
    row.records = kept.records;
    rc = fn(arg, &row);
    cw_mem_free(blob);
    return rc;
}

int cw_index_list(struct cw_store *store, cw_index_row_fn *fn, void *arg, struct cw_err *err)
{
    struct list list = {0};
    int rc = cw_store_list(store, CW_KEPT_INDEX_PREFIX, on_file, &list, err);
    for (size_t i = 0; i < list.n; i++) {
        if (rc == 0)
            rc = tell(store, &list.v[i], fn, arg, err);
        cw_mem_free(list.v[i].name);
    }
    cw_mem_free(list.v);
    return rc;
}
