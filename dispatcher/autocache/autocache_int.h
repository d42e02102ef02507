/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of autocache/. */
#ifndef CW_DISPATCHER_AUTOCACHE_AUTOCACHE_INT_H
#define CW_DISPATCHER_AUTOCACHE_AUTOCACHE_INT_H

#include "dispatcher/autocache/autocache.h"

/* ---- epoch_timing.c ---- */
/* Notes what changed since the last call; true when the policy should be asked for it. */
bool cw_autocache_detect_changes(struct cw_autocache_job *decider, int64_t now);

/* ---- snapshot.c ---- */
/* records of it that are in the cache */
double cw_autocache_cached_records(const struct cw_job *job, size_t node);

/* ---- profiles.c ---- */
/* with what another job measured, if there was one */
void cw_profile_begin(struct cw_autocache_job *decider);
void cw_profile_put(struct cw_autocache_job *decider);
void cw_profile_load(struct cw_dispatcher *d, const char *key, const char *job, const char *inputs);
void cw_profiles_free(struct cw_autocache_service *deciding);

#endif
