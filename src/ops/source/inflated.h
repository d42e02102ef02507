/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files of a source, each inflated into memory as a whole, and a bound on all of them. */
#ifndef CW_OPS_SOURCE_INFLATED_H
#define CW_OPS_SOURCE_INFLATED_H

#include <stdatomic.h>

#include "conf/opt.h"
#include "format/read_at.h"

/* Of a source: zeroed but for `max`. */
struct cw_inflated_all {
    int64_t max; /* how many bytes there may be */
    _Atomic int64_t bytes;
};
/* What is in a file; bytes is NULL if the file is not compressed. */
struct cw_inflated {
    char *bytes;
    size_t n;
};
/* Inflates a file if its name says that it is compressed. */
int cw_inflated_load(struct cw_inflated_all *all, const struct cw_readable *file,
                     struct cw_inflated *ret_inflated, struct cw_err *err);
void cw_inflated_fini(struct cw_inflated *inflated);
/* Gives the bytes up, which are not needed by the source any more. */
void cw_inflated_drop(struct cw_inflated_all *all, struct cw_inflated *inflated);
/* The file's own bytes, or those that are in it. `bytes` is where the readable's argument is kept. */
struct cw_readable cw_inflated_readable(const struct cw_inflated *inflated,
                                        const struct cw_readable *file,
                                        struct cw_readable_bytes *bytes);

/* The row that the option tables of such sources have. */
#define CW_INFLATED_ROW(offset_)                                                                   \
    {                                                                                              \
        .name = "inflated_max",                                                                    \
        .help = "most bytes that inflated .gz and .zst files may take on a worker",                \
        .type = CW_OPT_BYTES, .offset = (offset_), .def = "\"1GiB\"", .min = 1, .max = 0x1p50,     \
        .flags = CW_OPT_NO_FINGERPRINT                                                             \
    }

#endif
