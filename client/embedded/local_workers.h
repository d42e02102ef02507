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
    uint32_t max, threads; /* threads: of each; 0 = one a CPU */
    int nice_level;        /* added to that of this process */
    double cpus;           /* 0 = no limit */
    uint64_t memory;       /* bytes, of `max` of them together; 0 = a quarter of the host's */
    bool everywhere;       /* clients on other hosts fetch from them too */
};
/* They cannot be started: err says why. None are from then on. */
typedef void cw_local_workers_failed_fn(void *arg, const struct cw_err *err);

struct cw_local_workers *cw_local_workers_new(struct cachew_client *client, const char *job_id,
                                              const struct cw_local_workers_conf *conf,
                                              cw_local_workers_failed_fn *failed,
                                              void *arg) CW_MUST_CHECK;
void cw_local_workers_set(struct cw_local_workers *workers, uint32_t n);
uint32_t cw_local_workers_wanted(const struct cw_local_workers *workers);
/* Ends them. They still write to the cache store what waits for it; only
 * cw_local_workers_finish waits for that. Accepts NULL. */
void cw_local_workers_end(struct cw_local_workers *workers);
/* Waits until all processes that were ended are gone. Called after the loop has stopped. */
void cw_local_workers_finish(struct cachew_client *client);

#endif
