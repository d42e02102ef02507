/* SPDX-License-Identifier: Apache-2.0 */
/* What is bounded, and by what: all limits of memory, tables and queues that are checked along a
 * run, as formulas of what there is. The three files *_bounds.c read what a process has, and give it
 * to sim_bound with the formula. A name says what is counted; arguments are numbers of things. */
#ifndef SIM_BOUNDS_H
#define SIM_BOUNDS_H

#include "sim.h"

#define SIM_BOUND_EVERY 32 /* of so many moments one is looked at */

/* Fails the world, with the number that is too high. */
static inline void sim_bound(const char *what, uint64_t n, uint64_t most)
{
    if (n > most)
        sim_fail("%s has %llu %s: there may be %llu", sim_name(sim_self()), (unsigned long long)n,
                 what, (unsigned long long)most);
}

/* And the same for what is to be a sum. */
static inline void sim_equal(const char *what, uint64_t n, uint64_t sum)
{
    if (n != sum)
        sim_fail("%s has counted %llu %s, and there are %llu", sim_name(sim_self()),
                 (unsigned long long)n, what, (unsigned long long)sum);
}

/* ---- a dispatcher ---- */
/* A set has a gap for each item of the window that is missing, and one interval below the window.
 * Between two reports of what was consumed the window moves on. */
#define SIM_MOST_INTERVALS(window) (2 * (window) + 2)
/* One item is in at most two leases. And where a consumer went back, since the one that came again knows nothing
 * of what it had received, a worker that it does not reach may still have a window of items further on. */
#define SIM_MOST_LEASED(window, workers) ((2 + (workers)) * (window))
#define SIM_MOST_SHARES(jobs, workers) ((jobs) * (workers))
#define SIM_MOST_HEDGED(leased) (1 + (leased) / 20)
/* Bytes that wait for a peer that does not read, before it is given up (docs/limits.md). */
#define SIM_MOST_CONTROL_BYTES ((uint64_t)256 << 20)

/* Rows of jobs in state.db, beside those that state_check.c compares with what there is. */
#define SIM_MOST_POSITIONS(consumers) (consumers)
#define SIM_MOST_ROWS_OF_USE(jobs) (2 * (jobs))

/* ---- any process, when all jobs have ended ---- */
/* The main thread, its events, the network's, and its own: a dispatcher's store, unpack and plan, a
 * worker's two that compute. */
#define SIM_MOST_FIBRES(threads) (3 + (threads))

/* ---- a worker ---- */
/* The budget; and for each job an item that is begun though it is used up, since nothing else of
 * the job is there, or its client waits for just that one. */
#define SIM_MOST_MEMORY(budget, jobs, item_bytes) ((budget) + 2 * (jobs) * (item_bytes))
#define SIM_MOST_WORKER_EPOCHS 66
#define SIM_MOST_SENT_EPOCHS 64
/* What a stream takes before the rest waits in the worker's queue, and one message. */
#define SIM_MOST_STREAM_BYTES(output_bytes)                                                        \
    (((uint64_t)1 << 20) + ((uint64_t)256 << 10) + (output_bytes))
#define SIM_MOST_EVENTS 100000 /* worker/cache/cache_events.c */

/* ---- a client ---- */
/* What docs/protocol.md (10) allows: the buffer, which has 64 KiB for each worker at least, and the
 * batch that was being filled. To this comes what may come beyond credit (7): trainer_bounds.c counts
 * it. */
#define SIM_BUFFER(buffer, workers)                                                                \
    ((buffer) > (workers) * ((uint64_t)64 << 10) ? (buffer) : (workers) * ((uint64_t)64 << 10))
#define SIM_MOST_BUFFERED(buffer, workers, batch_bytes)                                            \
    (SIM_BUFFER(buffer, workers) + (batch_bytes) + (workers)) /* a promise is rounded down */
/* Entries that were pushed and are not consumed: those of the window, and ends of epochs. (Where items
 * are left out each makes one, too.) */
#define SIM_MOST_RECORDS(window) ((window) + 16)

#endif
