/* SPDX-License-Identifier: Apache-2.0 */
/* What a process of a worker has died of, in an operator of a plugin (worker/plugin_parent.h). */
#ifndef CW_WORKER_MODEL_DEATH_H
#define CW_WORKER_MODEL_DEATH_H

#include <stdbool.h>
#include <stdint.h>

struct cw_worker_death {
    uint64_t worker_id;
    char job[128]; /* the job for which the operator was called; "": not known */
    bool has_item;
    uint64_t epoch, item; /* with has_item: what was computed */
    char text[600];       /* which node, operator and element, and what became of it */
};

#endif
