/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the files of a state, without SQLite; and the small files that tell its generation. */
#ifndef CW_DISPATCHER_STATE_STATE_COPY_H
#define CW_DISPATCHER_STATE_STATE_COPY_H

#include <stdbool.h>
#include "base/err.h"

/* Copies state.db and its write-ahead log from one folder to another, and syncs them. Whoever may
 * still write there is not asked: the files are read again afterwards, and copied anew until they
 * were the same twice. So the copy is what was there at one moment, which SQLite can open as after a
 * crash. Nothing is copied if there is no state.db. */
int cw_state_copy_files(const char *from, const char *to, struct cw_err *err);
/* Reads "generation N" of a file; 1 if it says something else, 0 if it is not there or empty. */
int cw_state_read_generation_file(const char *dir, const char *name, uint64_t *ret_generation,
                                  struct cw_err *err);
/* Writes it, and syncs it. */
int cw_state_write_generation_file(const char *dir, const char *name, uint64_t generation,
                                   struct cw_err *err);
/* Whether another process holds the lock on the file; false where the file system has no locks. */
bool cw_state_lock_is_held(int fd);

#endif
