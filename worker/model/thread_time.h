/* SPDX-License-Identifier: Apache-2.0 */
/* What the exec threads did for one job (compute/thread_use_count.h). Loop thread. */
#ifndef CW_WORKER_MODEL_THREAD_TIME_H
#define CW_WORKER_MODEL_THREAD_TIME_H

#include "base/thread_use.h"
#include "exec/exec.h"

/* What a job waits for while threads are idle. */
enum cw_widle {
    CW_WIDLE_NOTHING, /* it has items for the threads, or cannot begin any yet */
    CW_WIDLE_STORE,   /* the list of what the cache has */
    CW_WIDLE_NETWORK, /* its outputs wait for a stream that takes no more at present */
    CW_WIDLE_TRAINER, /* its outputs fill its part of the budget, or nothing else is leased */
    CW_WIDLE_LEASE
};
struct cw_wthreads {
    struct cw_thread_use total; /* ns since the job was given to this worker */
    enum cw_widle idle;
    struct cw_exec_plan_time plan; /* what exec said at the last count */
};

#endif
