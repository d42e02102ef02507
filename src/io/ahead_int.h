/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of bytes that are read ahead, for ahead.c. All functions are called with the lock of
 * cw_ahead_lock held. */
#ifndef CW_IO_AHEAD_INT_H
#define CW_IO_AHEAD_INT_H

#include "base/thread.h"
#include "io/ahead.h"

enum cw_ahead_state {
    CW_AHEAD_WAITING, /* for its request to begin */
    CW_AHEAD_UNDER_WAY,
    CW_AHEAD_THERE,
    CW_AHEAD_FAILED
};
struct cw_ahead_file;
/* A range of a file: one request. */
struct cw_ahead_range {
    struct cw_ahead_file *file; /* NULL: nobody finds it any more */
    const struct cw_io_scheme *scheme;
    uint64_t offset;
    size_t n;
    uint32_t reader; /* for whom the thread read that asked for it first (io/source_root.h) */
    enum cw_ahead_state state;
    size_t users;            /* lists, and threads that copy or wait; 0: it ends with its request */
    struct cw_ahead **lists; /* those that wait for it */
    size_t lists_n, lists_cap;
    void (*ended)(struct cw_ahead *ahead); /* is called for each of them at its end */
    struct cw_ahead_range *prev, *next;    /* in the queue, while it is WAITING */
    struct cw_cond cond;                   /* signalled at its end, if has_cond */
    bool has_cond;
    char *bytes;
    struct cw_io_fetch fetch;
};

void cw_ahead_lock(void);
void cw_ahead_unlock(void);
void cw_ahead_limit_to(size_t requests);
size_t cw_ahead_limit_is(void);
/* Finds or makes a range that has these bytes, for one more user. */
struct cw_ahead_range *cw_ahead_range_get(const struct cw_io_scheme *scheme, const char *url,
                                          uint64_t offset, size_t n);
/* One user less. */
void cw_ahead_range_leave(struct cw_ahead_range *range);
/* Finds the range with the byte at `offset`, or any of the file; NULL: there is none. */
struct cw_ahead_range *cw_ahead_range_at(const char *url, uint64_t offset);
struct cw_ahead_range *cw_ahead_range_any(const char *url);
/* A reader has come before the request began: it will read the bytes itself. */
void cw_ahead_range_give_up(struct cw_ahead_range *range);
/* Waits for the end of a range, as its user. Gives the lock up meanwhile. */
void cw_ahead_range_wait(struct cw_ahead_range *range, const struct cw_stop *stop);
/* Begins as many requests as the limit allows. */
void cw_ahead_pump(void);
struct cw_ahead_counts *cw_ahead_counters(void);

#endif
