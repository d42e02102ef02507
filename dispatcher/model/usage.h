/* SPDX-License-Identifier: Apache-2.0 */
/* What a job, or all past jobs of a tenant, have used. */
#ifndef CW_DISPATCHER_MODEL_USAGE_H
#define CW_DISPATCHER_MODEL_USAGE_H

#include <stdint.h>

struct cw_usage {
    uint64_t elements, bytes, cpu_ns; /* computed by workers */
    double remote_s, local_s;         /* of workers */
    double client_s;                  /* of attached trainers */
    double cost;                      /* by the prices of each moment */
};

#endif
