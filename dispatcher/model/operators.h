/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of plugins (ops/foreign.h): which worker has which, and which jobs need them. A job is
 * prepared where there are operators of the names that its pipeline has, and computed where there are
 * those of the same files. Loop thread. */
#ifndef CW_DISPATCHER_MODEL_OPERATORS_H
#define CW_DISPATCHER_MODEL_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/str.h"
#include "cachew/v1/fleet.pb-c.h"

struct cw_foreign;
struct cw_job;
struct cw_worker;

struct cw_operators {
    const struct cw_foreign **v;
    size_t n;
};

/* Versions of workers that cannot prepare a job, since an operator of it is unknown to them, while workers
 * of other versions can: a fleet that is being upgraded. */
#define CW_LACKING_MAX 4
struct cw_lacking {
    char *v[CW_LACKING_MAX];
    size_t n;
};

/* Takes over what a worker says of its plugins. What is not valid is left out, and logged. */
void cw_worker_set_operators(struct cw_worker *worker, const Cachew__V1__WorkerHello *hello);
/* Takes over what a prepared pipeline says of its operators; NULL: it has none of plugins. */
void cw_job_set_operators(struct cw_job *job, const Cachew__V1__Graph *completed);
void cw_operators_free(struct cw_operators *operators);
/* Notes that workers of this one's version are not asked for the job any more. Returns false if its
 * version is not known, or there are too many. */
bool cw_lacking_add(struct cw_lacking *lacking, const struct cw_worker *worker);
void cw_lacking_fini(struct cw_lacking *lacking);
/* Whether the worker has all that the job needs. Appends what it lacks to out, which may be NULL. */
bool cw_worker_has_operators(const struct cw_worker *worker, const struct cw_job *job,
                             struct cw_str *out);
/* Appends which workers lack what, of a few of them. Returns false if none lacks anything. */
bool cw_operators_lacking(const struct cw_job *job, struct cw_str *out);

#endif
