/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of objects of servers without ranges, which lie in files without a name in TMPDIR: how many
 * bytes there are, and may be. CACHEW_SOURCE_COPIES says how many may be (16 GiB without it). Any
 * thread. */
#ifndef CW_IO_COPIES_H
#define CW_IO_COPIES_H

#include "base/err.h"

/* Counts n bytes that are about to be written. LIMIT: there would be too many; then nothing is counted. */
int cw_io_copies_add(uint64_t n, struct cw_err *err);
/* These bytes are there no longer. */
void cw_io_copies_remove(uint64_t n);
struct cw_io_copies {
    uint64_t bytes, max; /* that there are, and may be */
    uint64_t copied;     /* all that were ever written */
};
void cw_io_copies_get(struct cw_io_copies *ret_copies);

#endif
