/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of autocache/ share. */
#ifndef CW_DISPATCHER_AUTOCACHE_AUTOCACHE_INT_H
#define CW_DISPATCHER_AUTOCACHE_AUTOCACHE_INT_H

#include "dispatcher/autocache/autocache.h"

/* ---- epoch_timing.c ---- */
/* Notes what has changed since the last call. Returns whether the policy should be asked because of
 * it. */
bool cw_autocache_detect_changes(struct cw_autocache_job *decider, int64_t now);

/* ---- store_speed.c ---- */
/* Returns what is known of the cache's store; the first call begins a benchmark of it. */
struct cw_autocache_store_speed *cw_store_speed_of(const struct cw_cache_service *cache);
/* Whether a decision should wait for the benchmark. */
bool cw_store_is_benchmarking(const struct cw_cache_service *cache, int64_t now_ms);
void cw_store_speeds_add(const struct cw_worker *worker, const Cachew__V1__Progress *progress,
                         int64_t now_ms);
void cw_store_speeds_forget(const struct cw_worker *worker);
void cw_store_speeds_free(struct cw_autocache_service *service);

/* ---- snapshot.c ---- */
/* Returns how many records of the node are in the cache. */
double cw_autocache_cached_records(const struct cw_job *job, size_t node);

/* ---- pipeline_profiles.c ---- */
/* Starts from what another job of the pipeline measured, if there was one. */
void cw_profile_begin(struct cw_autocache_job *decider);
void cw_profile_put(struct cw_autocache_job *decider);
void cw_profile_load(struct cw_dispatcher *d, const char *key, const char *job, const char *inputs);
void cw_profiles_free(struct cw_autocache_service *service);

#endif
