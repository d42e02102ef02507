/* SPDX-License-Identifier: Apache-2.0 */
/* Whether files of this host make threads wait: reads of what is not in the page cache, on a cold disk or a
 * mounted network file system. As long as more than a few of the last reads did, files are read ahead
 * (io/ahead.h), as objects of servers are; else the copy and the other thread would cost more than they
 * save. */
#ifndef CW_IO_FILE_WAITS_H
#define CW_IO_FILE_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads as pread does, and notes whether that had to wait. waits: is called before it does so; may be
 * NULL. */
ssize_t cw_file_read_noted(int fd, void *dst, size_t n, uint64_t offset, void (*waits)(void));
/* Notes a read. By any thread. */
void cw_file_waits_note(bool has_waited);
/* Whether files should be read ahead now. */
bool cw_file_waits(void);
/* Forgets what was noted. */
void cw_file_waits_reset(void);

#endif
