/* SPDX-License-Identifier: Apache-2.0 */
/* Local workers (as in Pecan): cachew-worker processes on the trainer's host, for one job alone, as
 * many as the dispatcher asks for. The dispatcher drains those that are too many; here processes
 * are started, and started again when one ends by itself. They end with this process, however it
 * ends (--exit-with-stdin). Loop thread. */
#ifndef CW_CLIENT_EMBEDDED_LOCAL_WORKERS_H
#define CW_CLIENT_EMBEDDED_LOCAL_WORKERS_H

#include "client/model/client.h"

#define CW_LOCAL_WORKERS_MAX 64
#define CW_LOCAL_WORKER_BYTES_MIN (16ull << 20)

struct cw_local_workers;
struct cw_local_workers_conf {
    uint32_t max, threads; /* threads: the threads of each worker; 0 means one per CPU. */
    int nice_level;        /* The number is added to the nice level of this process. */
    double cpus; /* The CPU time that each may use per second, in seconds; 0 for no limit. */
    /* The bytes that `max` of them may use together; 0 means a quarter of the host's memory. */
    uint64_t memory;
    bool everywhere; /* Clients on other hosts fetch from the local workers, too. */
};
/* Is called when local workers cannot be started; err says why. None are started from then on. */
typedef void cw_local_workers_failed_fn(void *arg, const struct cw_err *err);

struct cw_local_workers *cw_local_workers_new(struct cachew_client *client, const char *job_id,
                                              const struct cw_local_workers_conf *conf,
                                              cw_local_workers_failed_fn *failed,
                                              void *arg) CW_MUST_CHECK;
/* credential: the token that they show to the dispatcher; "": none is needed. */
void cw_local_workers_set(struct cw_local_workers *workers, uint32_t n, const char *credential);
uint32_t cw_local_workers_wanted(const struct cw_local_workers *workers);
/* Ends the processes. They still write what waits for the cache's store; only
 * cw_local_workers_finish waits for that. It accepts NULL. */
void cw_local_workers_end(struct cw_local_workers *workers);
/* Waits until all processes that were ended are gone. It is called after the loop has stopped. */
void cw_local_workers_finish(struct cachew_client *client);

#endif
