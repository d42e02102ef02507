/* SPDX-License-Identifier: Apache-2.0 */
/* Inflates gzip files from the beginning to the end, across members. */
#include "format/gz.h"

#include "base/mem.h"

#include <string.h>
#include <zlib.h>

#define INPUT_BYTES ((size_t)64 << 10)

struct cw_gz {
    const struct cw_readable *file;
    uint64_t offset; /* offset of the next byte to read */
    bool begun;      /* inflate is inside of a member */
    z_stream z;
    uint8_t input[INPUT_BYTES];
};

struct cw_gz *cw_gz_new(const struct cw_readable *file)
{
    struct cw_gz *gz = CW_NEW(struct cw_gz);
    gz->file = file;
    CW_ASSERT(inflateInit2(&gz->z, 15 + 16) == Z_OK);
    return gz;
}

void cw_gz_free(struct cw_gz *gz)
{
    if (!gz)
        return;
    inflateEnd(&gz->z);
    cw_mem_free(gz);
}

/* Makes sure that there is input, unless the file is at its end. */
static int refill(struct cw_gz *gz, struct cw_err *err)
{
    if (gz->z.avail_in > 0 || gz->offset >= gz->file->size)
        return 0;
    size_t n = (size_t)CW_MIN((uint64_t)INPUT_BYTES, gz->file->size - gz->offset);
    int rc = cw_readable_get(gz->file, gz->offset, gz->input, n, err);
    if (rc < 0)
        return rc;
    gz->offset += n;
    gz->z.next_in = gz->input;
    gz->z.avail_in = (uInt)n;
    return 0;
}

static int bad_stream(const struct cw_gz *gz, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: gzip data damaged near byte %llu: %s", gz->file->name,
                      (unsigned long long)(gz->offset - gz->z.avail_in),
                      gz->z.msg ? gz->z.msg : "not a gzip file");
}

/* Inflates one piece. Returns 1 at the end of the file, 0 if there is more. */
static int step(struct cw_gz *gz, struct cw_err *err)
{
    int rc = refill(gz, err);
    if (rc < 0)
        return rc;
    if (gz->z.avail_in == 0) {
        if (gz->begun)
            return cw_err_set(err, CW_E_CORRUPT, "%s: truncated: the gzip data end at byte %llu",
                              gz->file->name, (unsigned long long)gz->offset);
        return 1;
    }
    gz->begun = true;
    rc = inflate(&gz->z, Z_NO_FLUSH);
    if (rc == Z_STREAM_END) {
        gz->begun = false;
        rc = inflateReset(&gz->z);
    }
    return rc == Z_OK || rc == Z_BUF_ERROR ? 0 : bad_stream(gz, err);
}

int cw_gz_read(struct cw_gz *gz, void *dst, size_t n, size_t *ret_n, struct cw_err *err)
{
    size_t done = 0;
    while (done < n) {
        size_t want = CW_MIN(n - done, (size_t)1 << 30);
        gz->z.next_out = (Bytef *)dst + done;
        gz->z.avail_out = (uInt)want;
        int rc = step(gz, err);
        if (rc < 0)
            return rc;
        if (rc > 0)
            break;
        done += want - gz->z.avail_out;
    }
    *ret_n = done;
    return 0;
}

bool cw_gz_is_name(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}
