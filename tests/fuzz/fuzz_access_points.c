/* SPDX-License-Identifier: Apache-2.0 */
/* Access points of gzip and zstd files, and what claims to be such points. The first byte chooses. */
#include <string.h>

#include "base/mem.h"
#include "format/access_points.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PLAIN_MAX = 4 << 20 };

static int take(void *arg, char *p, size_t n, struct cw_err *err)
{
    struct cw_str *plain = arg;
    if (plain->len + n > PLAIN_MAX)
        return cw_err_set(err, CW_E_LIMIT, "too much");
    cw_str_add_bytes(plain, p, n);
    return 0;
}

/* What the whole file gave, its stretches give, too. */
static void inflate_all(const struct cw_access_points *p, const struct cw_readable *file,
                        const struct cw_str *plain)
{
    for (uint64_t k = 0; k < p->n; k++) {
        const size_t n = (size_t)(cw_access_points_end(p, k) - p->v[k].at);
        cw_autofree char *dst = cw_mem_new(n);
        struct cw_err err = {0};
        CW_ASSERT(cw_access_points_inflate(p, k, file, dst, &err) == 0);
        CW_ASSERT(memcmp(dst, plain->s + p->v[k].at, n) == 0);
    }
}

static void make(const struct cw_readable *file, uint64_t every)
{
    CW_STR_AUTO plain = {0};
    CW_STR_AUTO packed = {0};
    struct cw_access_points *p = NULL;
    const struct cw_access_sink sink = {take, &plain};
    struct cw_err err = {0};
    int rc = cw_access_points_make(file, every, &sink, &p, &err);
    CW_ASSERT(rc == 0 || ((rc == CW_E_CORRUPT || rc == CW_E_LIMIT) && err.msg[0]));
    if (rc < 0)
        return;
    CW_ASSERT(p->size == plain.len);
    inflate_all(p, file, &plain);
    cw_access_points_pack(p, &packed);
    struct cw_access_points *again = cw_access_points_unpack(packed.s, packed.len, file->size);
    CW_ASSERT(again && again->n == p->n);
    inflate_all(again, file, &plain);
    cw_access_points_free(again);
    cw_access_points_free(p);
}

/* Points that were made up, for a file of the bytes themselves. */
static void unpack(const struct cw_readable *file, const uint8_t *data, size_t n)
{
    struct cw_access_points *p = cw_access_points_unpack(data, n, file->size);
    for (uint64_t k = 0; p && k < p->n; k++) {
        const uint64_t bytes = cw_access_points_end(p, k) - p->v[k].at;
        cw_autofree char *dst = cw_mem_new((size_t)CW_MIN(bytes, (uint64_t)PLAIN_MAX));
        if (bytes <= PLAIN_MAX)
            (void)cw_access_points_inflate(p, k, file, dst, NULL);
    }
    cw_access_points_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    struct cw_readable_bytes bytes = {data + 1, n - 1};
    const struct cw_readable file = cw_readable_mem(data[0] & 1 ? "f.zst" : "f.gz", &bytes);
    if (data[0] & 2)
        unpack(&file, data + 1, n - 1);
    else
        make(&file, (uint64_t)1 << data[0] / 16);
    return 0;
}
