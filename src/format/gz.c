/* SPDX-License-Identifier: Apache-2.0 */
/* Inflates gzip files across members. Inside of a member that was entered in its middle zlib sees raw
 * deflate data, and the trailer of the member is left out here: its checksum is that of all of the
 * member. */
#include "format/gz.h"

#include "base/mem.h"

#include <string.h>
#include <zlib.h>

#define INPUT_BYTES ((size_t)64 << 10)
enum { GZIP_BITS = 15 + 16, RAW_BITS = -15, TRAILER_BYTES = 8 };
/* Of z_stream.data_type: inflate stopped at the end of a block; that is the last one of its member. */
enum { AT_BLOCK = 128, AT_LAST_BLOCK = 64 };

struct cw_gz {
    const struct cw_readable *file;
    uint64_t offset; /* offset of the next byte to read */
    bool begun;      /* inflate is inside of a member */
    bool is_raw;     /* the member was entered in its middle */
    unsigned skip;   /* bytes of a trailer that are still to be left out */
    z_stream z;
    uint8_t input[INPUT_BYTES];
};

struct cw_gz *cw_gz_new(const struct cw_readable *file)
{
    struct cw_gz *gz = CW_NEW(struct cw_gz);
    gz->file = file;
    CW_ASSERT(inflateInit2(&gz->z, GZIP_BITS) == Z_OK);
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

static uint64_t next_byte(const struct cw_gz *gz)
{
    return gz->offset - gz->z.avail_in;
}

static int bad_stream(const struct cw_gz *gz, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: gzip data damaged near byte %llu: %s", gz->file->name,
                      (unsigned long long)next_byte(gz), gz->z.msg ? gz->z.msg : "not a gzip file");
}

/* Leaves out what is there of a trailer. */
static void skip_trailer(struct cw_gz *gz)
{
    const unsigned n = CW_MIN(gz->skip, gz->z.avail_in);
    gz->z.next_in += n;
    gz->z.avail_in -= n;
    gz->skip -= n;
    gz->begun = gz->skip > 0;
}

static int end_member(struct cw_gz *gz)
{
    gz->skip = gz->is_raw ? TRAILER_BYTES : 0;
    gz->is_raw = false;
    int rc = inflateReset2(&gz->z, GZIP_BITS);
    skip_trailer(gz);
    return rc;
}

/* Inflates one piece. Returns 1 at the end of the file, 0 if there is more. */
static int step(struct cw_gz *gz, int flush, struct cw_err *err)
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
    if (gz->skip > 0) {
        skip_trailer(gz);
        return 0;
    }
    gz->begun = true;
    rc = inflate(&gz->z, flush);
    if (rc == Z_STREAM_END)
        rc = end_member(gz);
    return rc == Z_OK || rc == Z_BUF_ERROR ? 0 : bad_stream(gz, err);
}

int cw_gz_read(struct cw_gz *gz, void *dst, size_t n, size_t *ret_n, struct cw_err *err)
{
    size_t done = 0;
    while (done < n) {
        size_t want = CW_MIN(n - done, (size_t)1 << 30);
        gz->z.next_out = (Bytef *)dst + done;
        gz->z.avail_out = (uInt)want;
        int rc = step(gz, Z_NO_FLUSH, err);
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

/* ---- places ---- */

int cw_gz_step(struct cw_gz *gz, void *dst, size_t n, size_t *ret_n, bool *ret_is_place,
               struct cw_err *err)
{
    const size_t want = CW_MIN(n, (size_t)1 << 30);
    gz->z.next_out = dst;
    gz->z.avail_out = (uInt)want;
    int rc = step(gz, Z_BLOCK, err);
    *ret_n = want - gz->z.avail_out;
    *ret_is_place = !gz->begun || (gz->skip == 0 && (gz->z.data_type & AT_BLOCK) &&
                                   !(gz->z.data_type & AT_LAST_BLOCK));
    return rc;
}

size_t cw_gz_place(struct cw_gz *gz, struct cw_gz_place *ret_place,
                   uint8_t window[CW_GZ_WINDOW_BYTES])
{
    uInt n = 0;
    *ret_place = (struct cw_gz_place){.from = next_byte(gz), .is_member = !gz->begun};
    if (!gz->begun)
        return 0;
    ret_place->bits = (unsigned)gz->z.data_type & 7;
    CW_ASSERT(inflateGetDictionary(&gz->z, window, &n) == Z_OK);
    return n;
}

/* Begins with the bits of the byte before the place, and the window. */
static int prime(struct cw_gz *gz, const struct cw_gz_place *place, const uint8_t *window,
                 size_t window_n, struct cw_err *err)
{
    int rc = refill(gz, err);
    if (rc < 0)
        return rc;
    if (place->bits > 0) {
        const int byte = *gz->z.next_in++;
        gz->z.avail_in--;
        CW_ASSERT(inflatePrime(&gz->z, (int)place->bits, byte >> (8 - place->bits)) == Z_OK);
    }
    if (window_n > 0)
        CW_ASSERT(inflateSetDictionary(&gz->z, window, (uInt)window_n) == Z_OK);
    return 0;
}

int cw_gz_enter(struct cw_gz *gz, const struct cw_gz_place *place, const uint8_t *window,
                size_t window_n, struct cw_err *err)
{
    const unsigned before = place->bits > 0;
    CW_ASSERT(place->bits < 8 && place->from >= before && place->from <= gz->file->size &&
              window_n <= CW_GZ_WINDOW_BYTES);
    gz->offset = place->from - before;
    gz->z.avail_in = 0;
    gz->skip = 0;
    gz->begun = gz->is_raw = !place->is_member;
    CW_ASSERT(inflateReset2(&gz->z, gz->is_raw ? RAW_BITS : GZIP_BITS) == Z_OK);
    return gz->is_raw ? prime(gz, place, window, window_n, err) : 0;
}
