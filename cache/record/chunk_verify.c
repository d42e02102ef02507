/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a chunk of a store from end to end, for `cachew cache verify`. */
#include "cache/record/chunk_verify.h"

static int read_at(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    return cw_store_file_read(arg, offset, dst, n, err);
}

int cw_chunk_verify(struct cw_store *store, const char *name, struct cw_chunk_index **ret_index,
                    struct cw_err *err)
{
    struct cw_readable file = {.name = name, .read_at = read_at};
    struct cw_store_file *open = NULL;
    struct cw_chunk_index *index = NULL;
    struct cw_chunk_name says;
    bool named = cw_chunk_name_parse(name, &says);
    int rc = cw_store_file_open(store, name, &open, &file.size, err);
    if (rc < 0)
        return rc;
    file.arg = open;
    rc = cw_chunk_check(&file, &index, err);
    cw_store_file_close(open);
    if (rc == 0 && named && !cw_chunk_name_fits(&says, index))
        rc = cw_err_set(err, CW_E_CORRUPT, "%s: holds other records than its name says", name);
    if (rc == 0 && ret_index)
        *ret_index = index;
    else
        cw_chunk_index_free(index);
    return rc;
}
