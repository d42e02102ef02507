/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy decides, whatever it decides about: what is the same for all of them (why, what else was
 * considered, what it predicts), and what one kind says. A plan (optimize.h) is no decision yet: what was found is
 * one when a job goes over to it. */
#ifndef CW_POLICIES_POLICY_DECISION_H
#define CW_POLICIES_POLICY_DECISION_H

#include <stdbool.h>

#include "base/str.h"

struct cw_policy_decision {
    struct cw_str reason;     /* one sentence; empty while nothing is decided */
    struct cw_str candidates; /* a line for each that was considered, '\n' between them */
    double epoch_ns;          /* predicted length of an epoch; 0: none */
    /* ---- what is cached (policy.h) ---- */
    bool decided; /* false: too little was measured yet; the caller asks again later */
    size_t node;  /* the node to cache at; CW_POLICY_NONE: none. It is then read from the cache. */
    double total_ns; /* predicted length of all epochs left; 0: none */
    /* ---- workers (scale.h) ---- */
    double remote, local; /* how many the job should have */
    bool changed;         /* the target differs from the one before */
    bool settled;         /* the policy has nothing to try for now */
};
void cw_policy_decision_fini(struct cw_policy_decision *decision);

#endif
