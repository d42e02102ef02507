/* SPDX-License-Identifier: Apache-2.0 */
/* Tar files as samples, as they come and with the checksums of headers mended, so that what is behind
 * the first header is reached too; and the bytes as an .npy file. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "format/npy.h"
#include "format/webdataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { FIELDS_N = 4, KEY = 3 };

static int field_of(const void *arg, const char *ext, size_t n)
{
    (void)arg;
    return n == 0 ? -1 : ext[0] % KEY;
}

static void read_samples(const struct cw_readable *file, const struct cw_wds_index *index,
                         struct cw_arena *arena)
{
    for (uint64_t k = 0; k < index->n; k++) {
        struct cw_wds_part parts[FIELDS_N];
        struct cw_err err = {0};
        char *name;
        size_t name_n, key_n, found = 0;
        cw_wds_find(index, k, parts, FIELDS_N);
        for (size_t i = 0; i < FIELDS_N; i++)
            found += parts[i].is_there;
        CW_ASSERT(found >= 2 && parts[KEY].is_there);
        CW_ASSERT(cw_wds_read(file, parts, FIELDS_N, arena, &err) == 0);
        CW_ASSERT(cw_tar_name("f", parts[KEY].data, (size_t)parts[KEY].bytes, arena, &name, &name_n,
                              &err) == 0);
        CW_ASSERT(cw_wds_split(name, name_n, &key_n));
        cw_arena_reset(arena);
    }
}

static void read_all(const void *p, size_t n, bool skip, struct cw_arena *arena)
{
    struct cw_readable_bytes bytes = {p, n};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    struct cw_wds_want want = {
        .field_of = field_of, .fields_n = FIELDS_N, .key_field = KEY, .skip_incomplete = skip};
    struct cw_wds_index index = {0};
    struct cw_err err = {0};
    int rc = cw_wds_scan(&file, &want, &index, &err);
    CW_ASSERT(rc == 0 || (rc == CW_E_CORRUPT && err.msg[0]));
    if (rc == 0)
        read_samples(&file, &index, arena);
    cw_wds_index_fini(&index);
}

static void mend(uint8_t *p, size_t n)
{
    for (size_t at = 0; at + CW_TAR_BLOCK_BYTES <= n; at += CW_TAR_BLOCK_BYTES) {
        unsigned sum = 8 * ' ';
        for (size_t i = 0; i < CW_TAR_BLOCK_BYTES; i++)
            sum += i >= 148 && i < 156 ? 0 : p[at + i];
        if (sum > 8 * ' ')
            snprintf((char *)p + at + 148, 8, "%06o", sum);
    }
}

static void read_array(const uint8_t *data, size_t n)
{
    struct cw_npy_header h;
    int64_t strides[CW_NPY_DIMS_MAX];
    if (cw_npy_parse(data, n, "f", &h, NULL) < 0 || n - h.header_bytes < h.data_bytes)
        return;
    cw_autofree uint8_t *copy = cw_mem_new((size_t)h.data_bytes + 1);
    cw_npy_strides(&h, strides);
    cw_npy_copy(copy, data + h.header_bytes, &h, h.rank, h.dims, strides);
    CW_ASSERT(copy[h.data_bytes] == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_arena *arena = cw_arena_new(1 << 16);
    read_array(data, n);
    read_all(data, n, false, arena);
    if (n > 0) {
        cw_autofree uint8_t *copy = cw_mem_dup(data, n);
        mend(copy, n);
        read_all(copy, n, data[0] & 1, arena);
    }
    cw_arena_free(arena);
    return 0;
}
