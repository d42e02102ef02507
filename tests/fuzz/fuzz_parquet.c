/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet files: footer, pages by offset index and by heads, dictionaries, every encoding. The first
 * byte chooses how nulls and decimals are taken; the rest is the file. What is read must be within
 * the memory that the slab says. */
#include <string.h>

#include "base/mem.h"
#include "format/parquet/slab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { BYTES_MAX = 16 << 20, STRETCHES_MAX = 64 };

static uint64_t sum;

static void touch(const void *p, size_t n)
{
    const uint8_t *bytes = p;
    for (size_t i = 0; i < n; i++)
        sum += bytes[i];
}

static void look(const struct cw_pq_want *want, const struct cw_pq_slab *slab)
{
    const struct cw_pq_column *c = &slab->values;
    CW_ASSERT(slab->entry ? slab->entry[slab->rows] == c->n : c->n == slab->rows);
    for (size_t i = 0; slab->entry && i < slab->rows; i++)
        CW_ASSERT(slab->entry[i] <= slab->entry[i + 1]);
    if (slab->null)
        touch(slab->null, slab->rows);
    if (want->width > 0) {
        touch(c->fixed, c->n * want->width);
        return;
    }
    for (size_t i = 0; i < c->n; i++) {
        CW_ASSERT(c->strings.v[i].at + c->strings.v[i].n <= c->strings.used);
        sum += c->strings.v[i].n;
    }
    touch(c->strings.bytes, c->strings.used);
}

static void read_chunk(const struct cw_readable *file, const struct cw_pq_footer *footer, size_t g,
                       const struct cw_pq_want *want, size_t leaf)
{
    const struct cw_pq_chunk *chunk = &footer->chunks[g * footer->leaves_n + leaf];
    struct cw_pq_pages pages;
    struct cw_pq_column dict = {0};
    struct cw_pq_scratch scratch = {.raw = {NULL, 0}};
    struct cw_err err = {0};
    if (cw_pq_pages_find(file, footer, g, leaf, 1000, &pages, &err) < 0) {
        CW_ASSERT(err.msg[0]);
        return;
    }
    bool has_dict = pages.dict_end > pages.dict_begin &&
                    cw_pq_dictionary_read(file, want, chunk, &pages, &scratch, &dict, &err) == 0;
    for (size_t k = 0; k < CW_MIN(pages.n, (size_t)STRETCHES_MAX); k++) {
        struct cw_pq_slab slab;
        CW_ASSERT(cw_pq_pages_rows(&pages, k) > 0);
        if (cw_pq_slab_read(file, want, chunk, &pages, k, has_dict ? &dict : NULL, &scratch, &slab,
                            &err) < 0)
            continue;
        look(want, &slab);
        cw_pq_slab_fini(&slab);
    }
    cw_pq_scratch_fini(&scratch);
    cw_pq_column_fini(&dict);
    cw_pq_pages_fini(&pages);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const uint8_t fill[8] = {1};
    if (n == 0)
        return 0;
    struct cw_readable_bytes bytes = {data + 1, n - 1};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    struct cw_pq_footer footer;
    struct cw_err err = {0};
    int rc = cw_pq_footer_read(&file, &footer, &err);
    CW_ASSERT(rc == 0 || err.msg[0]);
    if (rc < 0)
        return 0;
    for (size_t i = 0; i < CW_MIN(footer.leaves_n, (size_t)64); i++) {
        struct cw_pq_want want = {.leaf = &footer.leaves[i], .bytes_max = BYTES_MAX};
        enum cw_dtype dtype;
        int64_t dim;
        if (cw_pq_leaf_dtype(want.leaf, data[0] & 2 ? CW_DTYPE_F64 : CW_DTYPE_I64, &dtype, &dim,
                             &want.change, &err) < 0)
            continue;
        want.width = cw_dtype_bytes(dtype) * (dim > 0 ? (size_t)dim : 1);
        want.fill = data[0] & 1 && dim < 0 ? fill : NULL;
        want.fill_bytes = want.width > 0 ? want.width : 3;
        for (size_t g = 0; g < CW_MIN(footer.groups_n, (size_t)8); g++)
            read_chunk(&file, &footer, g, &want, i);
    }
    cw_pq_footer_fini(&footer);
    return 0;
}
