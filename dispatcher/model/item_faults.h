/* SPDX-License-Identifier: Apache-2.0 */
/* Items that failed, or at which workers died: how often an item is retried, on which worker, and when it is
 * given up. */
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

/* ids of workers that died at something: each once, and forgotten if it was only cut off */
struct cw_deaths {
    uint64_t *v;
    size_t n, cap;
};

struct cw_item_fault { /* of an item that failed */
    uint64_t epoch, item;
    uint32_t failures;
    uint64_t worker_id;    /* the last that failed */
    struct cw_deaths dead; /* fewer than options.deaths_max */
};

/* ---- item_faults.c: items that fail or kill ---- */
struct cw_item_fault *cw_item_faults_find(const struct cw_job *job, uint64_t epoch, uint64_t item);
/* An item failed on a worker. Returns 1: it is retried; 0: its failure does not matter; or the code with which the
 * job is to fail, and why, which the caller frees. */
int cw_item_faults_failed(struct cw_job *job, const struct cw_worker *worker,
                          const Cachew__V1__ItemFailed *failed, char **ret_why);
/* The worker of the share died: blames the items that it was computing. Returns as cw_item_faults_failed. */
int cw_item_faults_died(struct cw_share *share, char **ret_why);
/* it was only its connection that died */
void cw_item_faults_forgive(struct cw_dispatcher *d, uint64_t worker_id);
void cw_item_faults_forget(struct cw_job *job, uint64_t below_epoch);
void cw_item_faults_free(struct cw_job *job);
bool cw_deaths_add(struct cw_deaths *deaths, uint64_t worker_id); /* false: it is known */
/* received: no trouble after all */
void cw_item_faults_received(struct cw_job *job, uint64_t epoch, const struct cw_set *items);
/* How many items from run->lo on the worker may get: 0 = not this one, another worker should
 * try; 1 = alone. Cuts before the next. */
uint64_t cw_item_faults_allow(const struct cw_share *share, uint64_t epoch,
                              const struct cw_interval *run);

#endif
