/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of files of this host that are read before anybody needs them (io/ahead.h), by threads that
 * wait for them. */
#ifndef CW_IO_FILE_AHEAD_H
#define CW_IO_FILE_AHEAD_H

#include "io/io.h"

/* Reads the range that was asked for, waiting for it, and says what file it is of. Returns whether all of it is
 * there. */
typedef bool cw_file_range_fn(const char *url, struct cw_io_fetch *asked);

/* `fetch` and `cancel` of a scheme (io/io.h): a thread calls `read`, with the rights of the caller. */
void cw_file_fetch(const char *url, struct cw_io_fetch *asked, cw_file_range_fn *read);
void cw_file_cancel(struct cw_io_fetch *asked);

#endif
