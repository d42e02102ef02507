/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs and pods that wait for a cache, read from objects whatever is in them. Pure functions. */
#ifndef CW_CONTROLLER_JOBS_H
#define CW_CONTROLLER_JOBS_H

#include "conf/value.h"
#include "controller/facts.h"
#include "kube/kube_path.h"

struct cw_job_kind {
    const char *name; /* "JobSet" */
    struct cw_kube_kind kind;
    const char *controller; /* spec.managedBy when its own controller does it */
};
extern const struct cw_job_kind cw_job_kinds[];
extern const size_t cw_job_kinds_n;
/* Returns a kind by its name, or NULL. */
const struct cw_job_kind *cw_job_kind_find(const char *name);

/* Reads a job; NULL if it has no name. */
struct cw_job_facts *cw_job_facts_read(const struct cw_job_kind *kind,
                                       const struct cw_value *object) CW_MUST_CHECK;
/* Gives a job that carries a spec and names no CacheBackend the name "cache-JOB-" and five characters of
 * its uid. */
void cw_job_name_spec(struct cw_job_facts *job);
void cw_job_facts_free(struct cw_job_facts *job); /* accepts NULL */

/* A pod with the gate, or without it. */
struct cw_pod_facts {
    char *name_space, *name, *uid, *version, *wants;
    char **claims; /* of its volumes, by name */
    size_t claims_n;
    bool gated, is_queued, finished;
    bool asked;        /* the gate's removal was asked for */
    char *other_gates; /* JSON: the list of gates without ours */
};
struct cw_pod_facts *cw_pod_facts_read(const struct cw_value *object) CW_MUST_CHECK;
/* Whether the pod is at work, or waits to be, with a claim of this name. */
bool cw_pod_uses(const struct cw_pod_facts *pod, const char *claim);
void cw_pod_facts_free(struct cw_pod_facts *pod); /* accepts NULL */

#endif
