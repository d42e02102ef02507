/* SPDX-License-Identifier: Apache-2.0 */
/* A made-up dispatcher, and made-up workers and chunks, for tests without streams. One of each a
 * program. */
#ifndef CW_TESTS_UNIT_DISPATCHER_MADE_UP_H
#define CW_TESTS_UNIT_DISPATCHER_MADE_UP_H

#include "dispatcher/cache/cache.h"
#include "support/cm.h"

extern struct cw_dispatcher made_up;
/* For cmocka: before and after each test. */
int made_up_begin(void **state);
int made_up_begin_caching(void **state);
int made_up_end(void **state);
/* With a real state directory. */
int made_up_begin_stored(void **state);
int made_up_end_stored(void **state);

struct cw_worker *made_up_worker(uint64_t id, uint32_t threads);
/* Takes what the worker that prepared it would say; the job runs. */
struct cw_job *made_up_job(const char *id, Cachew__V1__JobOptions *options,
                           Cachew__V1__PlanInfo *info);
/* A trainer says that it has the items of [lo, hi). */
void made_up_ack(struct cw_job *job, uint32_t consumer, uint64_t epoch, uint64_t lo, uint64_t hi,
                 bool consumed);

#define WALL 1000000000000
#define KEY_1 ((struct cw_hash){1, 1})
#define KEY_2 ((struct cw_hash){2, 2})
/* The n-th chunk of a key: ten records. The name is there until the fourth after it. */
const char *made_up_name(const char *tenant, struct cw_hash key, unsigned n);
struct cw_catalogue_chunk *made_up_chunk(const char *tenant, struct cw_hash key, unsigned n,
                                         uint64_t bytes, int64_t created_ms);

#endif
