/* SPDX-License-Identifier: Apache-2.0 */
/* Access points of a compressed file: places from which it can be inflated, so that any of its bytes
 * is had without those long before. What lies between two of them is a stretch, which is inflated as
 * a whole. Members of gzip files and frames of zstd files are access points as they are. Inside of a
 * member, an access point has the 32 KiB of inflated bytes before it, compressed.
 *
 * They are made by one thread, which inflates the file once; then any may use them. */
#ifndef CW_FORMAT_ACCESS_POINTS_H
#define CW_FORMAT_ACCESS_POINTS_H

#include "base/str.h"
#include "format/inflate.h"

/* Members and frames with less inflated bytes than this share a stretch. */
#define CW_ACCESS_SMALL_BYTES ((uint64_t)64 << 10)

struct cw_access_point {
    uint64_t at;     /* the inflated byte with which its stretch begins */
    uint64_t from;   /* its place in the file, times 16, and place.bits * 2 + place.needs_window */
    uint64_t sum;    /* hash of the stretch's bytes */
    uint64_t window; /* where its window begins among those of all */
};
struct cw_access_points {
    uint64_t size; /* of all inflated bytes */
    uint64_t n;
    struct cw_access_point *v;
    uint8_t *windows; /* a zstd frame for each that needs one */
    uint64_t windows_n;
    uint64_t *sums; /* hashes of the blocks of long stretches, one behind another */
    uint64_t sums_n;
};
/* A stretch with more bytes than this is long. It is read by blocks, each of which has a hash of its own, so that none
 * is given on before it was compared. */
#define CW_ACCESS_LONG_BYTES ((uint64_t)16 << 20)
#define CW_ACCESS_BLOCK_BYTES ((uint64_t)1 << 20)

/* Who wants to see the inflated bytes while the points are made gets them in order. The memory has
 * room for 64 bytes more, which it may write. */
#define CW_ACCESS_PIECE_BYTES ((size_t)1 << 20)
struct cw_access_sink {
    int (*take)(void *arg, char *p, size_t n, struct cw_err *err);
    void *arg;
};
/* Makes the points of a file with a name as cw_inflate_is_name wants it, one each `every` bytes inside of members.
 * sink may be NULL. Pieces have CW_ACCESS_PIECE_BYTES bytes, but for the last one. */
int cw_access_points_make(const struct cw_readable *file, uint64_t every,
                          const struct cw_access_sink *sink, struct cw_access_points **ret_points,
                          struct cw_err *err);
void cw_access_points_free(struct cw_access_points *points);
/* Returns how much memory they need. */
size_t cw_access_points_bytes(const struct cw_access_points *points);
/* Appends them as bytes, for cw_access_points_unpack. */
void cw_access_points_pack(const struct cw_access_points *points, struct cw_str *out);
/* Makes them again. Returns NULL if the bytes are none of a file of `size` bytes, or there is no
 * memory. */
struct cw_access_points *cw_access_points_unpack(const void *bytes, size_t n, uint64_t size);

/* Finds the stretch with an inflated byte, which must be one of the file. */
uint64_t cw_access_points_find(const struct cw_access_points *points, uint64_t at);
/* Where a stretch ends, and the next begins. */
uint64_t cw_access_points_end(const struct cw_access_points *points, uint64_t k);
/* Which bytes of the file, which has `size`, must be read for a stretch. */
void cw_access_points_range(const struct cw_access_points *points, uint64_t k, uint64_t size,
                            uint64_t *ret_from, uint64_t *ret_n);
/* Compares a block of a long stretch, all of it, with what was there when the points were made. Returns CORRUPT if it
 * is not that. file: for the message. */
int cw_access_points_check(const struct cw_access_points *points, uint64_t k, uint64_t block,
                           const void *p, size_t n, const struct cw_readable *file,
                           struct cw_err *err);
/* Inflates a stretch piece by piece. */
struct cw_access_reader;
/* The points and the file are borrowed. */
int cw_access_reader_new(const struct cw_access_points *points, uint64_t k,
                         const struct cw_readable *file, struct cw_access_reader **ret_reader,
                         struct cw_err *err);
void cw_access_reader_free(struct cw_access_reader *reader); /* accepts NULL */
/* Reads the next n bytes, which must not end behind the stretch. Once all of it was read, bytes that are
 * not those with which the points were made are an error (CORRUPT). */
int cw_access_reader_read(struct cw_access_reader *reader, void *dst, size_t n, struct cw_err *err);
/* Inflates a stretch, all of it. Bytes that are not those with which the points were made are an error
 * (CORRUPT). */
int cw_access_points_inflate(const struct cw_access_points *points, uint64_t k,
                             const struct cw_readable *file, void *dst, struct cw_err *err);

#endif
