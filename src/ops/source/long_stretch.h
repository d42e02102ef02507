/* SPDX-License-Identifier: Apache-2.0 */
/* Long stretches of compressed files (a zstd file of one frame) by way of the source cache: each is
 * inflated once, from its beginning to its end, into the tiers of the cache that outlive the process,
 * and read from there by blocks, as if it were a file of its own. Any thread. */
#ifndef CW_OPS_SOURCE_LONG_STRETCH_H
#define CW_OPS_SOURCE_LONG_STRETCH_H

#include "format/access_points.h"
#include "format/source_file.h"

/* As in the source cache: a file that changed less than this time ago is not kept. */
#define CW_LONG_STRETCH_SETTLE_MS 2000

struct cw_long_stretches; /* of a source: which were inflated already */
struct cw_long_stretches *cw_long_stretches_new(void);
void cw_long_stretches_free(struct cw_long_stretches *all);

/* A stretch, and the file that it is of. */
struct cw_long_stretch {
    const struct cw_access_points *points;
    uint64_t k;
    const struct cw_source_file *file;
    const struct cw_readable *packed;
};
/* Reads n of its bytes, from its byte `offset` on. UNSUPPORTED: no such tier is there, or it does not keep the
 * stretch, and it is better held in memory: it has no more than memory_max bytes. */
int cw_long_stretch_read(struct cw_long_stretches *all, const struct cw_long_stretch *stretch,
                         uint64_t memory_max, uint64_t offset, void *dst, size_t n,
                         struct cw_err *err);

#endif
