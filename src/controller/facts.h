/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the things around a CacheBackend: its cache in the dispatcher, its job, and what is
 * under way. Plain data, for decide.c. */
#ifndef CW_CONTROLLER_FACTS_H
#define CW_CONTROLLER_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A named cache, as the dispatcher describes it. */
struct cw_cache_facts {
    char *name, *url, *tenant, *why; /* why: it is unavailable, "": it is not */
    uint64_t id;
    bool leaving; /* its files are being deleted */
    uint64_t quota, source_quota;
    int64_t high_percent, low_percent;
    char **users;
    size_t users_n;
    int64_t used_ms; /* wall time of the dispatcher; 0: never */
    uint64_t bytes, source_bytes, hits, misses, capacity, files_left;
    uint64_t warmed_files, warmed_bytes,
        warmed_cached; /* of its data sources, once they were warmed */
};

/* A job that may wait: a Job, JobSet, TrainJob or RayJob. */
struct cw_job_facts {
    char *name_space, *name, *uid, *version;
    const char *kind; /* static */
    char *wants;      /* which CacheBackend it names; "": none */
    char *spec;       /* the spec of it that the job carries, as text; "": none */
    bool asked;       /* the CacheBackend of that spec was made, or cannot be */
    char *managed_by; /* spec.managedBy; "": its own controller */
    bool suspended, finished, is_queued /* under Kueue */,
        is_owned /* it has a controlling owner */;
    int64_t finished_ms; /* wall time; 0: not known */
};

/* A step that takes its time and may fail. */
enum cw_step_state { CW_STEP_NONE, CW_STEP_RUNS, CW_STEP_DONE, CW_STEP_RETRY, CW_STEP_REFUSED };
struct cw_step {
    enum cw_step_state state;
    unsigned tries;   /* that failed, one after the other */
    int64_t retry_ms; /* RETRY: when it may be tried again, wall time */
    char reason[64], message[512];
};

#endif
