/* SPDX-License-Identifier: Apache-2.0 */
/* Inflates zstd files frame by frame. */
#include "format/zst.h"

#include <string.h>

#include "base/mem.h"
#include "codec/codec.h"

#define INPUT_BYTES ((size_t)128 << 10)

struct cw_zst {
    const struct cw_readable *file;
    struct cw_codec_reader *reader;
    uint64_t offset; /* offset of the next byte to read */
    size_t input_at, input_n;
    char input[INPUT_BYTES];
};

struct cw_zst *cw_zst_new(const struct cw_readable *file)
{
    struct cw_zst *z = cw_mem_try(sizeof(*z));
    struct cw_codec_reader *reader = cw_codec_reader_new();
    if (!z || !reader) {
        cw_codec_reader_free(reader);
        cw_mem_free(z);
        return NULL;
    }
    z->file = file;
    z->reader = reader;
    z->offset = z->input_at = z->input_n = 0;
    return z;
}

void cw_zst_free(struct cw_zst *z)
{
    if (!z)
        return;
    cw_codec_reader_free(z->reader);
    cw_mem_free(z);
}

bool cw_zst_is_name(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".zst") == 0;
}

uint64_t cw_zst_offset(const struct cw_zst *z)
{
    return z->offset - (z->input_n - z->input_at);
}

void cw_zst_enter(struct cw_zst *z, uint64_t offset)
{
    CW_ASSERT(offset <= z->file->size);
    cw_codec_reader_reset(z->reader);
    z->offset = offset;
    z->input_at = z->input_n = 0;
}

static int refill(struct cw_zst *z, struct cw_err *err)
{
    if (z->input_at < z->input_n || z->offset >= z->file->size)
        return 0;
    const size_t n = (size_t)CW_MIN((uint64_t)INPUT_BYTES, z->file->size - z->offset);
    int rc = cw_readable_get(z->file, z->offset, z->input, n, err);
    if (rc < 0)
        return rc;
    z->offset += n;
    z->input_at = 0;
    z->input_n = n;
    return 0;
}

static int end_of_file(const struct cw_zst *z, struct cw_err *err)
{
    if (cw_codec_reader_is_between(z->reader))
        return 1;
    return cw_err_set(err, CW_E_CORRUPT, "%s: truncated: the zstd data end at byte %llu",
                      z->file->name, (unsigned long long)z->file->size);
}

int cw_zst_step(struct cw_zst *z, void *dst, size_t n, size_t *ret_n, bool *ret_is_place,
                struct cw_err *err)
{
    size_t used = 0;
    *ret_n = 0;
    *ret_is_place = false;
    int rc = refill(z, err);
    if (rc < 0)
        return rc;
    const uint64_t at = cw_zst_offset(z);
    rc = cw_codec_reader_step(z->reader, z->input + z->input_at, z->input_n - z->input_at, &used,
                              dst, n, ret_n);
    if (rc < 0)
        return cw_err_set(err, CW_E_CORRUPT, "%s: zstd data damaged near byte %llu", z->file->name,
                          (unsigned long long)at);
    z->input_at += used;
    *ret_is_place = cw_codec_reader_is_between(z->reader);
    return used == 0 && *ret_n == 0 && at == z->file->size ? end_of_file(z, err) : 0;
}
