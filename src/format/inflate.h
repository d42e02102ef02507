/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are compressed with gzip (.gz) or zstd (.zst), inflated piece by piece, from the
 * beginning or from a place that was noted before. One thread. */
#ifndef CW_FORMAT_INFLATE_H
#define CW_FORMAT_INFLATE_H

#include <stdbool.h>
#include "format/read_at.h"

/* Whether a path ends like that of a compressed file. */
bool cw_inflate_is_name(const char *path);

struct cw_inflater;
/* Of a file with such a name, which is borrowed. */
int cw_inflater_new(const struct cw_readable *file, struct cw_inflater **ret_inflater,
                    struct cw_err *err);
void cw_inflater_free(struct cw_inflater *inflater);
/* Reads the next n inflated bytes, across members and frames; *ret_n is less than n only at the end.
 * A damaged or truncated file is an error (CORRUPT). */
int cw_inflater_read(struct cw_inflater *inflater, void *dst, size_t n, size_t *ret_n,
                     struct cw_err *err);
/* Inflates some bytes, at most n. *ret_is_place: the file can be entered behind them. Returns 1 at the
 * end of the file. */
int cw_inflater_step(struct cw_inflater *inflater, void *dst, size_t n, size_t *ret_n,
                     bool *ret_is_place, struct cw_err *err);

/* A place where a file can be entered: a member, a frame, or a block in the middle of a member, for
 * which the inflated bytes before it are needed. */
#define CW_INFLATE_WINDOW_BYTES 32768
struct cw_inflate_place {
    uint64_t from;     /* the byte with which it begins */
    unsigned bits;     /* so many bits of the byte before belong to it (0 to 7) */
    bool needs_window; /* it is in the middle of a member */
};
/* Says where the place is that the last step ended at, and copies its window, unless that is NULL; returns how many
 * bytes it has. */
size_t cw_inflater_place(struct cw_inflater *inflater, struct cw_inflate_place *ret_place,
                         uint8_t window[CW_INFLATE_WINDOW_BYTES]);
/* Goes on at a place. */
int cw_inflater_enter(struct cw_inflater *inflater, const struct cw_inflate_place *place,
                      const uint8_t *window, size_t window_n, struct cw_err *err);

/* Inflates the beginning of a file, at most `most` bytes; *ret_is_all: there are no more. The caller
 * frees *ret_bytes. */
int cw_inflate_head(const struct cw_readable *file, size_t most, char **ret_bytes, size_t *ret_n,
                    bool *ret_is_all, struct cw_err *err);

#endif
