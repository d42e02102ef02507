/* SPDX-License-Identifier: Apache-2.0 */
/* Workers beside the trainer (Pecan's local workers): cachew-worker processes for one job alone,
 * as many as the dispatcher says. It is the dispatcher that has one drained that is too many;
 * here processes are begun, and begun again when one ends unasked. They end with this process,
 * however it ends (--exit-with-stdin). Loop thread. */
#ifndef CW_CLIENT_LOCAL_WORKERS_H
#define CW_CLIENT_LOCAL_WORKERS_H

#include "client/model/client.h"

#define CW_LOCAL_WORKERS_MAX 64
#define CW_LOCAL_WORKER_BYTES_MIN (16ull << 20)

struct cw_local_workers;
struct cw_local_workers_conf {
    uint32_t max, threads; /* threads: 0 = CPUs */
    int nice_level;        /* on top of our own */
    double cpus;           /* 0 = no limit */
    uint64_t memory;       /* of `max` of them together; 0 = a quarter of the host's */
    bool everywhere;       /* clients of other hosts fetch from them too */
};
/* They cannot be begun: err says why. The number is 0 from then on. */
typedef void cw_local_workers_failed_fn(void *arg, const struct cw_err *err);

struct cw_local_workers *cw_local_workers_new(struct cachew_client *client, const char *job_id,
                                              const struct cw_local_workers_conf *conf,
                                              cw_local_workers_failed_fn *failed,
                                              void *arg) CW_MUST_CHECK;
void cw_local_workers_set(struct cw_local_workers *workers, uint32_t n);
uint32_t cw_local_workers_wanted(const struct cw_local_workers *workers);
/* Ends them: what they still have to write into the cache they write, and nobody waits for that
 * but cw_local_workers_finish. Accepts NULL. */
void cw_local_workers_end(struct cw_local_workers *workers);
/* All that were ended are gone when this returns. After the loop has stopped. */
void cw_local_workers_finish(struct cachew_client *client);

#endif
