/* SPDX-License-Identifier: Apache-2.0 */
/* Notes which bytes of a file are read, and gives them again without the file: what a reader needs of
 * a file whose head or foot says everything is kept so, whatever its format. One thread. */
#ifndef CW_FORMAT_READ_RANGES_H
#define CW_FORMAT_READ_RANGES_H

#include "base/str.h"
#include "format/read_at.h"

struct cw_read_ranges {
    const struct cw_readable *from; /* while it is noted */
    struct cw_str noted;            /* the caller's: offset, length (u64) and bytes of each read */
    const void *kept;               /* when it is given again; borrowed */
    size_t kept_n;
    size_t kept_at; /* where the last read was found: reads come again in their order */
};
/* Both readables refer to *ranges, which must not be moved. */
struct cw_readable cw_read_ranges_record(struct cw_read_ranges *ranges);
/* A read of other bytes than were noted fails with CORRUPT. */
struct cw_readable cw_read_ranges_replay(struct cw_read_ranges *ranges, const char *name,
                                         uint64_t size);

#endif
