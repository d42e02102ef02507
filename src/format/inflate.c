/* SPDX-License-Identifier: Apache-2.0 */
/* Inflates whole files piece by piece, in memory that grows. */
#include "format/inflate.h"

#include <string.h>

#include "base/mem.h"
#include "codec/codec.h"
#include "format/gz.h"

#define INPUT_BYTES ((size_t)128 << 10)
#define FIRST_BYTES ((size_t)1 << 20)

/* A .zst file while it is read. */
struct zst {
    const struct cw_readable *file;
    struct cw_codec_reader *reader;
    uint64_t offset;
    size_t input_at, input_n;
    char input[INPUT_BYTES];
};

static bool is_zst(const char *path)
{
    size_t n = strlen(path);
    return n > 4 && strcmp(path + n - 4, ".zst") == 0;
}

bool cw_inflate_is_name(const char *path)
{
    return cw_gz_is_name(path) || is_zst(path);
}

static int zst_refill(struct zst *z, struct cw_err *err)
{
    const size_t n = (size_t)CW_MIN((uint64_t)INPUT_BYTES, z->file->size - z->offset);
    int rc = cw_readable_get(z->file, z->offset, z->input, n, err);
    if (rc < 0)
        return rc;
    z->offset += n;
    z->input_at = 0;
    z->input_n = n;
    return 0;
}

/* Reads the next n bytes, fewer only at the end. */
static int zst_read(struct zst *z, char *dst, size_t n, size_t *ret_n, struct cw_err *err)
{
    size_t done = 0;
    while (done < n) {
        if (z->input_at == z->input_n && z->offset < z->file->size) {
            int rc = zst_refill(z, err);
            if (rc < 0)
                return rc;
        }
        size_t made = 0, used = 0;
        int rc = cw_codec_reader_step(z->reader, z->input + z->input_at, z->input_n - z->input_at,
                                      &used, dst + done, n - done, &made);
        if (rc < 0)
            return cw_err_set(err, CW_E_CORRUPT, "%s: zstd data damaged near byte %llu",
                              z->file->name,
                              (unsigned long long)(z->offset - (z->input_n - z->input_at)));
        z->input_at += used;
        done += made;
        if (made == 0 && used == 0 && z->offset == z->file->size) {
            if (!cw_codec_reader_is_between(z->reader))
                return cw_err_set(err, CW_E_CORRUPT,
                                  "%s: truncated: the zstd data end at byte %llu", z->file->name,
                                  (unsigned long long)z->file->size);
            break;
        }
    }
    *ret_n = done;
    return 0;
}

static int zst_new(const struct cw_readable *file, struct zst **ret_zst, struct cw_err *err)
{
    struct zst *z = cw_mem_try(sizeof(*z));
    struct cw_codec_reader *reader = cw_codec_reader_new();
    if (!z || !reader) {
        cw_codec_reader_free(reader);
        cw_mem_free(z);
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory to inflate it", file->name);
    }
    z->file = file;
    z->reader = reader;
    z->offset = z->input_at = z->input_n = 0;
    *ret_zst = z;
    return 0;
}

static void zst_free(struct zst *z)
{
    if (!z)
        return;
    cw_codec_reader_free(z->reader);
    cw_mem_free(z);
}

static int read_some(struct cw_gz *gz, struct zst *z, char *dst, size_t n, size_t *ret_n,
                     struct cw_err *err)
{
    return gz ? cw_gz_read(gz, dst, n, ret_n, err) : zst_read(z, dst, n, ret_n, err);
}

static int no_memory(const struct cw_readable *file, size_t n, struct cw_err *err)
{
    return cw_err_set(err, CW_E_NOMEM, "%s: no memory for more than %zu inflated bytes", file->name,
                      n);
}

static int read_whole(const struct cw_readable *file, struct cw_gz *gz, struct zst *z,
                      uint64_t limit, char **bytes, size_t *n, struct cw_err *err)
{
    size_t cap = 0, got = 1;
    while (got > 0) {
        if (*n == cap) {
            cap = CW_MAX(FIRST_BYTES, 2 * cap);
            char *grown = cw_mem_try_grow(*bytes, cap);
            if (!grown)
                return no_memory(file, *n, err);
            *bytes = grown;
        }
        int rc = cw_stop_check_at(file->stop, file->name, err);
        if (rc == 0)
            rc = read_some(gz, z, *bytes + *n, cap - *n, &got, err);
        if (rc < 0)
            return rc;
        *n += got;
        if (*n > limit)
            return cw_err_set(err, CW_E_LIMIT, "%s: has more than %llu bytes when it is inflated",
                              file->name, (unsigned long long)limit);
    }
    return 0;
}

int cw_inflate_all(const struct cw_readable *file, uint64_t limit, char **ret_bytes, size_t *ret_n,
                   struct cw_err *err)
{
    struct zst *z = NULL;
    struct cw_gz *gz = is_zst(file->name) ? NULL : cw_gz_new(file);
    char *bytes = NULL;
    size_t n = 0;
    int rc = gz ? 0 : zst_new(file, &z, err);
    if (rc == 0)
        rc = read_whole(file, gz, z, limit, &bytes, &n, err);
    cw_gz_free(gz);
    zst_free(z);
    if (rc < 0) {
        cw_mem_free(bytes);
        return rc;
    }
    char *exact = cw_mem_try_grow(bytes, CW_MAX(n, 1));
    *ret_bytes = exact ? exact : bytes;
    *ret_n = n;
    return 0;
}
