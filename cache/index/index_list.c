/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the indices of a store. */
#include <string.h>

#include "base/mem.h"
#include "cache/index/index_home.h"
#include "format/kept_index.h"

struct found {
    char *name;
    int64_t mtime_ms;
};
struct list {
    struct found *v;
    size_t n, cap;
};

static int on_file(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct list *list = arg;
    (void)bytes;
    const size_t n = strlen(name), suffix = strlen(CW_KEPT_INDEX_SUFFIX);
    if (!cw_str_starts(name, CW_KEPT_INDEX_PREFIX) || n < suffix ||
        strcmp(name + n - suffix, CW_KEPT_INDEX_SUFFIX) != 0)
        return 0;
    CW_GROW(list->v, list->n, list->cap);
    list->v[list->n++] = (struct found){cw_mem_strdup(name), mtime_ms};
    return 0;
}

static int read_range(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    return cw_store_file_read(arg, offset, dst, n, err);
}

/* Tells of one index. It may have been removed since the listing. */
static int tell(struct cw_store *store, const struct found *found, cw_index_row_fn *fn, void *arg,
                struct cw_err *err)
{
    struct cw_index_row row = {.name = found->name, .mtime_ms = found->mtime_ms};
    struct cw_store_file *file = NULL;
    CW_STR_AUTO key = {0};
    bool is_good = false;
    int rc = cw_store_file_open(store, found->name, &file, &row.bytes, err);
    if (rc == CW_E_NOT_FOUND)
        return 0;
    if (rc == 0)
        rc = cw_kept_index_scan(read_range, file, row.bytes, &key, &row.records, &is_good, err);
    cw_store_file_close(file);
    if (rc < 0)
        return rc;
    row.is_damaged = !is_good;
    row.key = is_good ? cw_str_text(&key) : NULL;
    row.key_n = is_good ? key.len : 0;
    return fn(arg, &row);
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
