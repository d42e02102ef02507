/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files of a source, of which any byte can be read. What lies between two access points
 * (format/access_points.h) is inflated together, and stays in memory within a bound, so that what is
 * near is not inflated again. These stretches are among what cw_loaded_bytes (loaded.h) tells, and are
 * dropped when memory is short. Any thread. */
#ifndef CW_OPS_SOURCE_INFLATED_H
#define CW_OPS_SOURCE_INFLATED_H

#include "conf/opt.h"
#include "format/access_points.h"
#include "ops/source/file_set.h"

struct cw_inflated; /* the stretches of a source that are in memory */
/* max: most bytes that they may take. every: how many inflated bytes lie between two points inside of
 * a gzip member. */
struct cw_inflated *cw_inflated_new(int64_t max, int64_t every);
/* Nothing may be read of it any more. Accepts NULL. */
void cw_inflated_free(struct cw_inflated *inflated);

/* Makes the access points of file i of the source, if its name says that it is compressed; otherwise *ret_points is
 * NULL. sink: who sees the inflated bytes, or NULL. A stretch that is larger than what may be in memory is an error
 * (LIMIT). What is inflated stays in memory if there is room for all of the file. */
int cw_inflated_scan(struct cw_inflated *inflated, size_t i, const struct cw_readable *file,
                     const struct cw_access_sink *sink, struct cw_access_points **ret_points,
                     struct cw_err *err);

/* The points as the first part of an index that is kept; nothing is added if they are NULL. */
void cw_inflated_pack(const struct cw_access_points *points, struct cw_str *out);
/* Takes them from the first part of an index, of a file of `size` bytes; *bytes and *n become the rest.
 * Fails with any code if they are none, or a stretch is too large. */
int cw_inflated_unpack(const struct cw_inflated *inflated, const char *path, uint64_t size,
                       const uint8_t **bytes, size_t *n, struct cw_access_points **ret_points);
/* Appends what an index of this file depends on because of its points; nothing if it is not compressed. */
void cw_inflated_key(const struct cw_inflated *inflated, const char *path, struct cw_str *out);

/* What is in a file, as a readable. `view` is where the readable's argument is kept. */
struct cw_inflated_view {
    struct cw_inflated *inflated;
    size_t file; /* its number in the source */
    const struct cw_access_points *points;
    const struct cw_readable *packed;    /* the file itself */
    const struct cw_source_file *source; /* the same, for the source cache; NULL: without one */
};
/* If `points` is NULL, the file is not compressed: it is then *packed. */
struct cw_readable cw_inflated_readable(struct cw_inflated_view *view);
/* Adds what must be read of a file so that a range of what is in it can be read. points may be NULL. */
void cw_inflated_ahead(struct cw_inflated *inflated, const struct cw_file_set *files, size_t file,
                       const struct cw_access_points *points, uint64_t offset, uint64_t n,
                       struct cw_ahead *ahead);

/* The rows that the option tables of such sources have. */
#define CW_INFLATED_EVERY_ROW(offset_)                                                             \
    {                                                                                              \
        .name = "inflate_every",                                                                   \
        .help = "inflated bytes between two access points inside of a .gz member",                 \
        .type = CW_OPT_BYTES, .offset = (offset_), .def = "\"4MiB\"", .min = 1024, .max = 0x1p40,  \
        .flags = CW_OPT_NO_FINGERPRINT                                                             \
    }
#define CW_INFLATED_MAX_ROW(offset_)                                                               \
    {                                                                                              \
        .name = "inflated_max",                                                                    \
        .help = "most bytes that inflated .gz and .zst files may take on a worker",                \
        .type = CW_OPT_BYTES, .offset = (offset_), .def = "\"1GiB\"", .min = 1, .max = 0x1p50,     \
        .flags = CW_OPT_NO_FINGERPRINT                                                             \
    }

#endif
