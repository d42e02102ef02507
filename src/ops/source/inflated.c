/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source/inflated.h"

#include "base/mem.h"
#include "format/inflate.h"

static int too_many(const struct cw_inflated_all *all, const char *name, struct cw_err *err)
{
    return cw_err_set(err, CW_E_LIMIT,
                      "%s: the inflated files of this source need more than the %lld bytes of "
                      "option inflated_max",
                      name, (long long)all->max);
}

int cw_inflated_load(struct cw_inflated_all *all, const struct cw_readable *file,
                     struct cw_inflated *ret_inflated, struct cw_err *err)
{
    *ret_inflated = (struct cw_inflated){0};
    if (!cw_inflate_is_name(file->name))
        return 0;
    const int64_t room = CW_MAX(all->max - atomic_load(&all->bytes), 0);
    int rc = cw_inflate_all(file, (uint64_t)room, &ret_inflated->bytes, &ret_inflated->n, err);
    if (rc == CW_E_LIMIT)
        return too_many(all, file->name, err);
    if (rc < 0)
        return rc;
    const int64_t n = (int64_t)ret_inflated->n;
    if (atomic_fetch_add(&all->bytes, n) + n <= all->max)
        return 0;
    cw_inflated_drop(all, ret_inflated);
    return too_many(all, file->name, err);
}

void cw_inflated_fini(struct cw_inflated *inflated)
{
    cw_mem_free(inflated->bytes);
    *inflated = (struct cw_inflated){0};
}

void cw_inflated_drop(struct cw_inflated_all *all, struct cw_inflated *inflated)
{
    atomic_fetch_sub(&all->bytes, (int64_t)inflated->n);
    cw_inflated_fini(inflated);
}

struct cw_readable cw_inflated_readable(const struct cw_inflated *inflated,
                                        const struct cw_readable *file,
                                        struct cw_readable_bytes *bytes)
{
    if (!inflated->bytes)
        return *file;
    *bytes = (struct cw_readable_bytes){inflated->bytes, inflated->n};
    struct cw_readable plain = cw_readable_mem(file->name, bytes);
    plain.stop = file->stop;
    return plain;
}
