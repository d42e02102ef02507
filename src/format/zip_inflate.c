/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the bytes of members of zip archives. */
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "format/zip.h"

#define INPUT_BYTES ((size_t)64 << 10)

/* A deflated member while it is read. */
struct deflated {
    const struct cw_readable *file;
    const struct cw_zip_member *member;
    uint64_t at, end; /* what of its packed bytes is not read yet */
    size_t piece;     /* how much is read at once: little more than what is needed */
    z_stream z;
    uint8_t input[INPUT_BYTES];
};

static int bad(const struct cw_readable *file, const struct cw_zip_member *m, const char *why,
               struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: member %s: %s", file->name, m->name, why);
}

/* Inflates some more bytes. Returns 1 at the end of the data, 0 otherwise. */
static int step(struct deflated *d, struct cw_err *err)
{
    if (d->z.avail_in == 0 && d->at < d->end) {
        const size_t n = (size_t)CW_MIN((uint64_t)d->piece, d->end - d->at);
        int rc = cw_readable_get(d->file, d->at, d->input, n, err);
        if (rc < 0)
            return rc;
        d->at += n;
        d->z.next_in = d->input;
        d->z.avail_in = (uInt)n;
    }
    const uInt out = d->z.avail_out, in = d->z.avail_in;
    int rc = inflate(&d->z, Z_NO_FLUSH);
    if (rc == Z_STREAM_END)
        return 1;
    if (rc != Z_OK && rc != Z_BUF_ERROR)
        return bad(d->file, d->member, d->z.msg ? d->z.msg : "its deflated data are damaged", err);
    if (d->z.avail_out == out && d->z.avail_in == in && d->at == d->end)
        return bad(d->file, d->member, "its deflated data are cut off", err);
    return 0;
}

static int inflate_bytes(struct deflated *d, uint8_t *dst, size_t n, struct cw_err *err)
{
    size_t done = 0;
    int rc = 0;
    while (rc == 0 && done < n) {
        const size_t piece = CW_MIN(n - done, (size_t)1 << 30);
        d->z.next_out = dst + done;
        d->z.avail_out = (uInt)piece;
        rc = step(d, err);
        done += piece - d->z.avail_out;
    }
    if (rc < 0)
        return rc;
    return done == n ? 0
                     : bad(d->file, d->member, "it has less bytes than the directory says", err);
}

static int get_deflated(const struct cw_readable *file, const struct cw_zip_member *m,
                        uint64_t begin, void *dst, size_t n, struct cw_err *err)
{
    cw_autofree struct deflated *d = CW_NEW(struct deflated);
    d->file = file;
    d->member = m;
    d->at = begin;
    d->piece = CW_MIN(n + 512, INPUT_BYTES);
    d->end = begin + m->packed_bytes;
    if (inflateInit2(&d->z, -15) != Z_OK)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory to inflate it", file->name);
    int rc = inflate_bytes(d, dst, n, err);
    inflateEnd(&d->z);
    return rc;
}

static uint32_t sum(const uint8_t *p, size_t n)
{
    uLong crc = 0;
    for (size_t at = 0, piece; at < n; at += piece) {
        piece = CW_MIN(n - at, (size_t)1 << 30);
        crc = crc32(crc, p + at, (uInt)piece);
    }
    return (uint32_t)crc;
}

int cw_zip_get(const struct cw_readable *file, const struct cw_zip_member *m, uint64_t begin,
               void *dst, size_t n, struct cw_err *err)
{
    if (n > m->bytes)
        return bad(file, m, "it is shorter than what it should hold", err);
    int rc = m->method == CW_ZIP_STORED ? cw_readable_get(file, begin, dst, n, err)
                                        : get_deflated(file, m, begin, dst, n, err);
    if (rc == 0 && n == m->bytes && sum(dst, n) != m->crc)
        rc = bad(file, m, "its bytes do not have the checksum that the directory says", err);
    return rc;
}
