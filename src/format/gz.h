/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a gzip file (one or several members), from its beginning, or from a place inside of it that
 * was noted before. One thread. */
#ifndef CW_FORMAT_GZ_H
#define CW_FORMAT_GZ_H

#include <stdbool.h>
#include "format/read_at.h"

struct cw_gz;
/* The file is borrowed until cw_gz_free. */
struct cw_gz *cw_gz_new(const struct cw_readable *file) CW_MUST_CHECK;
void cw_gz_free(struct cw_gz *gz);
/* Reads the next n inflated bytes; *ret_n is less than n only at the end. A damaged or truncated
 * file is an error. */
int cw_gz_read(struct cw_gz *gz, void *dst, size_t n, size_t *ret_n, struct cw_err *err);
/* Whether a path ends like that of a gzip file: "x.gz". */
bool cw_gz_is_name(const char *path);

/* A place from which a file can be inflated: where a member begins, or a block inside of one. */
#define CW_GZ_WINDOW_BYTES 32768
struct cw_gz_place {
    uint64_t from;  /* the byte with which it begins */
    unsigned bits;  /* so many bits of the byte before belong to it (0 to 7) */
    bool is_member; /* no window is needed */
};
/* Inflates at most n bytes, and ends where a place is, too, or where a piece of the input ends.
 * *ret_is_place: behind these bytes is one. Returns 1 at the end of the file. */
int cw_gz_step(struct cw_gz *gz, void *dst, size_t n, size_t *ret_n, bool *ret_is_place,
               struct cw_err *err);
/* Says where the place is, and copies the inflated bytes before it that are needed there; returns how
 * many these are. window NULL: they are not copied. */
size_t cw_gz_place(struct cw_gz *gz, struct cw_gz_place *ret_place,
                   uint8_t window[CW_GZ_WINDOW_BYTES]);
/* Goes on at a place. */
int cw_gz_enter(struct cw_gz *gz, const struct cw_gz_place *place, const uint8_t *window,
                size_t window_n, struct cw_err *err);

#endif
