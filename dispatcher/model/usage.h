/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of use: what a job, or all past jobs of a tenant, have used. */
#ifndef CW_DISPATCHER_MODEL_USAGE_H
#define CW_DISPATCHER_MODEL_USAGE_H

#include <stdint.h>

struct cw_usage {
    uint64_t elements, bytes, cpu_ns; /* What workers computed for the job, and the CPU time. */
    /* The time of the workers that the job used, on other hosts and on the trainers' hosts. */
    double remote_s, local_s;
    double client_s; /* The time that trainers were attached, in seconds. */
    double cost;     /* The cost by the prices that were valid at the time. */
};

#endif
