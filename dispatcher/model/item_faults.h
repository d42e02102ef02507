/* SPDX-License-Identifier: Apache-2.0 */
/* Items that failed, or at which workers died: how often such an item is retried, on which worker,
 * and when its job is to fail. The poison items of the glossary are found here. */
#ifndef CW_DISPATCHER_MODEL_ITEM_FAULTS_H
#define CW_DISPATCHER_MODEL_ITEM_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/interval.h"
#include "cachew/v1/fleet.pb-c.h"

struct cw_dispatcher;
struct cw_job;
struct cw_share;
struct cw_worker;

/* The ids of the workers that died, each once. A worker that comes back is removed, since only its
 * connection was lost. */
struct cw_deaths {
    uint64_t *v;
    size_t n, cap;
};

struct cw_item_fault { /* What is known of an item that failed or at which workers died. */
    struct cw_item_fault *prev, *next; /* In the order in which they were noted. */
    struct cw_item_fault *next_same;   /* With the same key in the job's map. */
    uint64_t epoch, item;
    uint32_t failures;
    uint64_t worker_id; /* The id of the worker on which the item failed last. */
    /* There are fewer entries than options.deaths_max, since the job fails at that number. */
    struct cw_deaths dead;
    char *why; /* In which operator of a plugin workers died; NULL if it is not known. */
};

struct cw_item_fault *cw_item_faults_find(const struct cw_job *job, uint64_t epoch, uint64_t item);
/* Records that an item failed on a worker. Returns 1 if the item is to be retried and 0 if the
 * failure does not matter. Otherwise it returns the code with which the job is to fail, and sets
 * *ret_why, which the caller frees. */
int cw_item_faults_failed(struct cw_job *job, const struct cw_worker *worker,
                          const Cachew__V1__ItemFailed *failed, char **ret_why);
/* Records that the worker of the share died: the items that it was computing are blamed. Returns
 * what cw_item_faults_failed returns. */
int cw_item_faults_died(struct cw_share *share, char **ret_why);
/* A worker died in an operator of a plugin at this item (without one: while it opened the job's pipeline), so
 * what else it was computing is not blamed. Returns what cw_item_faults_failed returns. */
int cw_item_faults_operator_died(struct cw_job *job, const Cachew__V1__Died *died, char **ret_why);
/* The worker has come back, so it did not die, or it is known of what it died: its id is removed from all
 * deaths. only_job: the only job that it serves; "" = any. */
void cw_item_faults_forgive(struct cw_dispatcher *d, uint64_t worker_id, const char *only_job);
void cw_item_faults_forget(struct cw_job *job, uint64_t below_epoch);
void cw_item_faults_free(struct cw_job *job);
/* Returns false if the id was in the list already. */
bool cw_deaths_add(struct cw_deaths *deaths, uint64_t worker_id);
/* The items were received, so nothing is wrong with them: their faults are forgotten. */
void cw_item_faults_received(struct cw_job *job, uint64_t epoch, const struct cw_set *items);
/* Returns how many items from run->lo on the worker may be leased. 0: it may not have the first
 * one, which another worker should try. 1: the first item is a suspect and is leased alone. Other
 * values end the run before the next item that failed. */
uint64_t cw_item_faults_allow(const struct cw_share *share, uint64_t epoch,
                              const struct cw_interval *run);

#endif
