/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of this worker, and what its jobs do with it (docs/cache.md).
 *
 *   cache.c         the store: opened, replaced, closed
 *   cache_keys.c    keys, and the chunks that the dispatcher says there are
 *   cache_job.c     which nodes of a job are read and written, and when what waits is written
 *   cache_ahead.c   reading ahead, on a thread of its own
 *   cache_report.c  what the dispatcher is told
 *
 * All of it belongs to the loop thread, but what is marked otherwise. Nothing here waits for a
 * store: opening and closing one happens on threads. */
#ifndef CW_WORKER_CACHE_WORKER_CACHE_H
#define CW_WORKER_CACHE_WORKER_CACHE_H

#include <stdatomic.h>

#include "base/interval.h"
#include "base/map.h"
#include "base/thread.h"
#include "cache/record/record_cache.h"
#include "cachew/v1/fleet.pb-c.h"
#include "loop/loop.h"

struct cw_worker;
struct cw_wjob;
struct cw_task;
struct cw_plan;
struct cw_wcache_ahead;

/* A cache on one store. */
struct cw_wcache_store {
    struct cw_worker *worker;
    struct cw_wcache_store *next; /* retired ones */
    char *url;
    uint64_t chunk_bytes;
    int level;
    size_t memory;
    bool retired;           /* another took its place */
    bool opening;           /* its thread runs */
    _Atomic size_t refs;    /* any: tasks and read-ahead that may use it */
    struct cw_cache *cache; /* NULL: not open yet, or failed */
    struct cw_err error;
    struct cw_thread thread;
    struct cw_loop_node node;
};

/* What a job has cached at a node, as the dispatcher gave it. */
struct cw_wcache_use {
    char *node;
    bool read, write;
    struct cw_hash key;
};
/* A tenant's records of one key. */
struct cw_wcache_key {
    char *name; /* TENANT/KEY */
    char *tenant;
    struct cw_hash key;
    struct cw_strmap chunks;       /* names of those that exist */
    struct cw_cache_dataset *node; /* NULL while nobody uses it */
    size_t jobs_n;
    int64_t unused_ms;
    struct cw_cache_counts before, told; /* of former nodes; as the dispatcher knows it */
    char *job_id, *job_node;             /* who had it written last */
};
struct cw_wcache_engaged {
    struct cw_wcache_key *key; /* NULL = nothing is cached at this node */
    bool read, write;
};
struct cw_wcache_job {
    char *tenant;
    struct cw_wcache_use *uses;
    size_t uses_n;
    struct cw_wcache_engaged *nodes; /* of the graph; NULL before the plan is there */
    bool reads;
    int64_t waits_ms; /* since when its items wait for indices; 0 = they do not */
    bool fresh;       /* items were done since what waits was last written */
    int64_t idle_ms;  /* since when there is nothing to do; 0 = there is */
    int64_t patience_ms;
    uint64_t epoch;      /* the highest begun */
    bool turning;        /* items of an epoch before it are not done */
    struct cw_set ahead; /* items of ahead_epoch that were asked for */
    uint64_t ahead_epoch;
};

/* Something that happened on a store's thread. */
struct cw_wcache_event {
    struct cw_wcache_event *next;
    struct cw_wcache_store *store;
    enum cw_cache_event_kind kind;
    char *name, *tenant, *why;
    struct cw_hash key;
    uint64_t records, bytes, cost_ns;
    char *job_id, *node; /* once it is taken in */
    int64_t sent_ms;
};

struct cw_wcache {
    size_t memory;                              /* of the budget, while there is a store */
    struct cw_wcache_store *store;              /* the present one, or NULL */
    struct cw_wcache_store *retired;            /* list */
    size_t threads_n;                           /* stores being opened or closed */
    struct cw_strmap keys;                      /* TENANT/KEY -> cw_wcache_key */
    struct cw_timer *timer;                     /* items wait for indices */
    struct cw_wcache_ahead *ahead;              /* NULL before the first */
    _Atomic(struct cw_wcache_event *) happened; /* any: newest first */
    struct cw_loop_node happened_node;
    /* to be told, oldest first; [0, sent_n) were sent on this stream */
    struct cw_wcache_event **events;
    size_t events_n, events_cap, sent_n;
    uint64_t lost; /* records */
    char *lost_why;
    char *away_why; /* NULL: the store answers */
};

/* cache.c */
void cw_wcache_start(struct cw_worker *w, size_t memory);
void cw_wcache_welcome(struct cw_worker *w,
                       const Cachew__V1__CacheStore *store /* NULL = there is none */);
void cw_wcache_beat(struct cw_worker *w);
/* Of the budget: what is set aside for the cache. */
size_t cw_wcache_reserved(const struct cw_worker *w);
size_t cw_wcache_used(const struct cw_worker *w);
void cw_wcache_flush(struct cw_worker *w);
/* Whether something is still to be written, or to be told of what was. */
bool cw_wcache_is_busy(const struct cw_worker *w);
/* Whether something waits to be written, if only for a store that is away. */
bool cw_wcache_is_writing(const struct cw_worker *w);
/* in the log, if something is: the worker leaves now */
void cw_wcache_say_lost(const struct cw_worker *w);
struct cw_wcache_store *cw_wcache_use(struct cw_worker *w); /* for a task: a ref, or NULL */
void cw_wcache_release(struct cw_wcache_store *store);      /* any thread; NULL */
void cw_wcache_stop(struct cw_worker *w); /* before exec ends: waits for threads */
void cw_wcache_free(struct cw_worker *w); /* after it */

/* cache_keys.c */
/* made when it is not there */
struct cw_wcache_key *cw_wcache_key(struct cw_worker *w, const char *tenant, struct cw_hash key);
void cw_wcache_chunks(struct cw_worker *w, const Cachew__V1__CacheChunks *message);
/* A job begins with it: its node in the cache, with all chunks. */
struct cw_cache_dataset *cw_wcache_key_use(struct cw_worker *w, struct cw_wcache_key *key,
                                           const struct cw_spec *spec);
void cw_wcache_key_leave(struct cw_wcache_key *key);
void cw_wcache_key_counts(const struct cw_wcache_key *key, struct cw_cache_counts *ret_counts);
/* of keys that no job uses */
void cw_wcache_keys_forget_nodes(struct cw_worker *w, int64_t unused_since_ms);
void cw_wcache_keys_retire(struct cw_worker *w); /* the store went: no chunk is known any more */
void cw_wcache_keys_fini(struct cw_worker *w);

/* cache_job.c */
void cw_wcache_job_told(struct cw_wjob *job, Cachew__V1__CacheUse *const *uses, size_t n);
void cw_wcache_job_engage(struct cw_wjob *job); /* plan or store came */
void cw_wcache_job_disengage(struct cw_wjob *job);
bool cw_wcache_job_may_begin(struct cw_wjob *job);
void cw_wcache_job_begun(struct cw_wjob *job, struct cw_task *task);
void cw_wcache_job_done(struct cw_wjob *job, struct cw_task *task);
void cw_wcache_job_beat(struct cw_wjob *job, int64_t now_ms);
void cw_wcache_job_flush(struct cw_wjob *job);
void cw_wcache_job_fini(struct cw_wjob *job);

/* cache_ahead.c */
void cw_wcache_ahead_add(struct cw_worker *w, struct cw_plan *plan, uint64_t epoch, uint64_t item);
void cw_wcache_ahead_stop(struct cw_worker *w);

/* cache_report.c */
cw_cache_event_fn cw_wcache_on_event; /* store threads; arg: a cw_wcache_store */
void cw_wcache_take_events(void *worker);
void cw_wcache_drop_events(struct cw_worker *w);
bool cw_wcache_is_told(const struct cw_worker *w); /* nothing is left to be sent */
/* and the dispatcher may not know it yet */
bool cw_wcache_wrote_lately(const struct cw_worker *w, const char *name);
void cw_wcache_report(struct cw_worker *w, Cachew__V1__Progress *progress, bool with_counts);
void cw_wcache_report_free(Cachew__V1__Progress *progress);
void cw_wcache_report_away(struct cw_worker *w);

#endif
