/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of sources that are read before anybody needs them. Who knows what will be read next makes a
 * list of ranges, and begins it. Ranges that lie side by side become one request; requests are made in
 * the order in which lists began, and no more than a limit are under way at a time; those to servers
 * without a thread each. The bytes stay until the last list that asked for them is freed.
 *
 * Whoever reads does it as always: the schemes that read ahead (`fetch` in io/io.h) look here first.
 * A range that could not be read is as if nobody had asked for it, so what is wrong is told where the
 * bytes are needed, and by the same words. All functions may be called by any thread. */
#ifndef CW_IO_AHEAD_H
#define CW_IO_AHEAD_H

#include "io/io.h"

#define CW_AHEAD_REQUESTS 64 /* the limit, unless cw_ahead_set_limit says another one */

struct cw_ahead;
/* Sets how many requests are under way at most; 0: nothing is read ahead. */
void cw_ahead_set_limit(size_t requests);
size_t cw_ahead_limit(void);
/* Whether bytes of this URL can be read ahead here: its scheme must do so. Of files that is so as long as reads
 * of them wait (io/file_waits.h), so the answer changes. */
bool cw_ahead_is_for(const char *url);

/* bytes_max: what is added beyond so many bytes is left out. */
struct cw_ahead *cw_ahead_new(uint64_t bytes_max) CW_MUST_CHECK;
/* Adds a range, which must lie inside the file. What cannot be read ahead is left out. Not after
 * cw_ahead_begin. */
void cw_ahead_add(struct cw_ahead *ahead, const char *url, uint64_t offset, uint64_t n);
/* Notes that what a key stands for was added. Returns false if that was noted before: many elements may
 * lie in one range. */
bool cw_ahead_note(struct cw_ahead *ahead, uint64_t key);
/* Begins to read, and returns how many bytes the ranges have. `done` is called once, when each range is there or has failed, unless the list was
 * freed before. It is called under a lock, by any thread, maybe before this returns: it may only tell
 * others. */
size_t cw_ahead_begin(struct cw_ahead *ahead, void (*done)(void *arg), void *arg);
/* Whether each range is there, or has failed. */
bool cw_ahead_is_done(const struct cw_ahead *ahead);
/* Gives the bytes up, and a reference. What nobody else wants is not read any more. Accepts NULL.
 * Another thread, with a reference of its own, may be about to add to the list, or to begin it: then
 * nothing is read. */
void cw_ahead_free(struct cw_ahead *ahead);
struct cw_ahead *cw_ahead_ref(struct cw_ahead *ahead);
void cw_ahead_unref(struct cw_ahead *ahead); /* Accepts NULL. */

/* What this process has, and what it has done since it began. */
struct cw_ahead_counts {
    uint64_t bytes;                      /* of ranges that are there or will be */
    uint64_t ranges, waiting, under_way; /* numbers: all, those not yet begun, requests */
    uint64_t requests, requested_bytes;  /* since the beginning */
    uint64_t reads, read_bytes;          /* that were served from here */
};
void cw_ahead_counts(struct cw_ahead_counts *ret_counts);

/* ---- for schemes ---- */

/* What is known of a file of which something is there; false: nothing is. Waits for what is under
 * way. */
bool cw_ahead_info(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info);
/* Copies what is there of a range's beginning, of the version with this state (cw_io_info). Returns
 * how much; 0: nothing is there. Waits for what is under way. */
size_t cw_ahead_read(const char *url, struct cw_hash state, uint64_t offset, void *dst, size_t n,
                     const struct cw_stop *stop);
/* Whether all of a range is there. Does not wait. */
bool cw_ahead_has(const char *url, struct cw_hash state, uint64_t offset, uint64_t n);

#endif
