/* SPDX-License-Identifier: Apache-2.0 */
/* Connect, start a job, iterate batches.
 *
 * Threads: functions on different objects may run at once; one job's functions are for one
 * thread at a time (any thread, not the same each time), except cachew_batch_release,
 * cachew_job_stats and cachew_job_cancel, which any thread may call at any time. After fork()
 * the child must not use objects of its parent: every function then returns CACHEW_E_STATE. It
 * may connect for itself (docs/c-api.md). */
#ifndef CACHEW_CLIENT_H
#define CACHEW_CLIENT_H

#include "cachew/pipeline.h"
#include "cachew/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cachew_client;
struct cachew_job;
struct cachew_batch;

/* Ends calls that wait: cachew_connect and cachew_job_start that were given it in their options
 * return CACHEW_E_CANCELLED soon (a tenth of a second) after it was set, also when that was
 * before they were called. It stays set. What goes on after a start is ended by
 * cachew_job_cancel. */
struct cachew_cancel;
struct cachew_cancel *cachew_cancel_new(void);
/* Any thread, and in a signal handler. NULL is accepted. */
void cachew_cancel_set(struct cachew_cancel *cancel);
/* When the calls have returned that were given it. NULL is accepted. */
void cachew_cancel_free(struct cachew_cancel *cancel);

/* Options structs begin with their size: initialise with the macro, then set fields. */
struct cachew_connect_options {
    size_t struct_size;
    /* to reach the dispatcher, and of a job's start since something last moved; 0 = 10000 (to
     * start "local:" 30000) */
    int64_t timeout_ms;
    int local_workers;    /* "local:" only: worker processes; 0 = 1 */
    int local_threads;    /* "local:" only: threads of each; 0 = number of CPUs */
    int no_shared_memory; /* 1 = batches always come by gRPC */
    /* "local:" only: where the private dispatcher keeps its state; NULL = temporary */
    const char *state_dir;
    /* "local:" only: where caches are kept, for example "dir:/var/cache/cachew" (docs/cache.md);
     * NULL = nowhere */
    const char *cache_store;
    uint64_t cache_quota; /* "local:" only: bytes there at most; 0 = no limit of ours */
    /* ends cachew_connect; NULL = nothing does before timeout_ms */
    const struct cachew_cancel *cancel;
};
#define CACHEW_CONNECT_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(struct cachew_connect_options), 0, 0, 0, 0, NULL, NULL, 0, NULL                     \
    }

/* address: "HOST:PORT" or "unix:/path" of a dispatcher, or "local:", which starts a private
 * dispatcher and worker on this host and stops them with cachew_disconnect (they also end when
 * this process does, however it dies). options may be NULL. */
int cachew_connect(const char *address, const struct cachew_connect_options *options,
                   struct cachew_client **ret_client, struct cachew_error *error);
/* All jobs must be closed and all batches released. NULL is accepted. */
void cachew_disconnect(struct cachew_client *client);

enum cachew_bad_elements { CACHEW_BAD_FAIL, CACHEW_BAD_SKIP };
enum cachew_consumer_mode { CACHEW_SINGLE, CACHEW_COORDINATED, CACHEW_SHARED };

struct cachew_job_options {
    size_t struct_size;
    /* NULL = anonymous: the job ends with its client. A named job that exists is joined if its
     * function is the same. docs/tenants.md says what names of jobs and tenants may be. */
    const char *name;
    uint64_t seed;
    /* 0 = without end: an error when the pipeline is known to have no elements */
    uint64_t epochs;
    int unordered; /* 1 = batches as they are ready */
    enum cachew_bad_elements bad_elements;
    uint64_t buffer_bytes; /* received and not yet given out; 0 = 256 MiB */
    /* batches computed ahead (at least one for each consumer); behind a filter: pieces of work;
     * 0 = chosen */
    uint32_t window;
    enum cachew_consumer_mode mode;
    uint32_t consumers; /* 0 = 1 */
    uint32_t consumer;  /* this one's number */
    /* 1 = what a dead worker held is left out and counted, not computed again */
    int at_most_once;
    /* resume here (cachew_job_token); NULL = from the start, or where a named job stands */
    const void *token;
    size_t token_bytes;
    uint64_t lease_items; /* 0 = adapts; a fixed length is for tests */
    /* what is cached of this job: "auto", "cachew", "off", "force:NODE"; NULL = as the
     * dispatcher was told (docs/cache.md) */
    const char *autocache;
    /* whose job it is: caches are shared within a tenant only; NULL = "default" */
    const char *tenant;
    /* How many workers, and where (docs/scaling.md). 0 and NULL: as the dispatcher was told. */
    /* "auto", "cachew", "hpa", "fixed:N", "off" (every worker that there is) */
    const char *autoscale;
    /* "auto", "fixed:R,L" (remote, local), "pecan", "off"; of use with local_workers */
    const char *autoplace;
    uint32_t min_workers, max_workers;
    int priority;     /* jobs of a higher one are served first, above the minimum of all */
    double weight;    /* of the tenant's share; 0 = 1 */
    double max_stall; /* share of its time that the trainer may wait */
    /* of this host, an hour, in the unit of the dispatcher's --worker-price */
    double client_price;
    /* Workers on this host, for this job alone: processes that are started and ended as the
     * dispatcher decides, and that end with this process. */
    uint32_t local_workers; /* at most; 0 = none */
    uint32_t local_threads; /* of each; 0 = number of CPUs */
    /* 0 to 19, on top of this process's own; the trainer's own threads come first with 1 and
     * more */
    int local_nice;
    double local_cpus; /* CPU time that each may use, in seconds a second; 0 = no limit */
    /* bytes that local_workers of them may hold together; 0 = a quarter of the host's */
    uint64_t local_memory;
    /* ends cachew_job_start; NULL = nothing does while something moves */
    const struct cachew_cancel *cancel;
    /* what tells one source file from another: "mtime", "size", "sample", "content"
     * (docs/pipelines.md); NULL = as the pipeline says */
    const char *identity;
};
#define CACHEW_JOB_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(struct cachew_job_options), NULL, 0, 1, 0, CACHEW_BAD_FAIL, 0, 0, CACHEW_SINGLE, 0, \
            0, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL  \
    }

/* Starts (or joins, or resumes) a job. The pipeline is checked by the dispatcher and prepared by
 * a worker before this returns; waits for a worker if there is none (timeout of cachew_connect).
 * The pipeline may be released afterwards. options may be NULL. */
int cachew_job_start(struct cachew_client *client, const struct cachew_pipeline *pipeline,
                     const struct cachew_job_options *options, struct cachew_job **ret_job,
                     struct cachew_error *error);

/* The next batch: returns 1 and *ret_batch (release it), 0 at the end of an epoch (the next call
 * begins the next epoch; after the last one it returns 0 again), or an error, after which every
 * call gives the same. timeout_ms < 0 waits without limit; CACHEW_E_TIMEOUT leaves the job
 * usable. Asking for the next batch tells that the one before is consumed. */
int cachew_job_next(struct cachew_job *job, int64_t timeout_ms, struct cachew_batch **ret_batch,
                    struct cachew_error *error);
/* Whether the last epoch has ended. */
int cachew_job_done(const struct cachew_job *job);
/* Makes a cachew_job_next that waits, and all later ones, return CACHEW_E_CANCELLED. Any thread. */
void cachew_job_cancel(struct cachew_job *job);
/* Ends this consumer; an anonymous job ends with it. NULL is accepted. */
void cachew_job_close(struct cachew_job *job);
/* By which the dispatcher knows it. A job that is begun again after the trainer was away for
 * long has another; texts given before stay valid. */
const char *cachew_job_id(const struct cachew_job *job);

/* A token that says what was consumed: save it with the trainer's own checkpoint. Consumed =
 * given out by cachew_job_next before the batch that was given out last, plus that one too when
 * `with_last` is 1. At most 200 bytes for ordered delivery; for unordered delivery 16 more for
 * every gap in what was consumed. */
#define CACHEW_TOKEN_BYTES 200
int cachew_job_token(struct cachew_job *job, int with_last, void *ret_token, size_t cap,
                     size_t *ret_bytes, struct cachew_error *error);

/* A batch's tensors, without copying. Valid until release; any thread. */
size_t cachew_batch_tensors(const struct cachew_batch *batch);
int cachew_batch_tensor(const struct cachew_batch *batch, size_t i,
                        struct cachew_tensor *ret_tensor);
/* By name: CACHEW_E_NOT_FOUND if there is none. */
int cachew_batch_find(const struct cachew_batch *batch, const char *name,
                      struct cachew_tensor *ret_tensor);
uint64_t cachew_batch_elements(const struct cachew_batch *batch);
uint64_t cachew_batch_epoch(const struct cachew_batch *batch);
uint64_t cachew_batch_number(const struct cachew_batch *batch);  /* within its epoch, from 0 */
uint64_t cachew_batch_skipped(const struct cachew_batch *batch); /* bad elements left out of it */
/* Text that names this batch for `cachew replay`: "cachew1:..."; NUL-terminated, at most 160
 * bytes. */
int cachew_batch_recipe(const struct cachew_batch *batch, char *ret_text, size_t cap);
void cachew_batch_release(struct cachew_batch *batch);

/* A tensor as a DLManagedTensor (DLPack 0.8, ABI of dlpack.h; CPU device) that keeps the batch
 * alive until its deleter is called. The struct is the consumer's to delete.
 * CACHEW_E_UNSUPPORTED for strings. */
struct DLManagedTensor;
int cachew_batch_dlpack(struct cachew_batch *batch, size_t i, struct DLManagedTensor **ret_tensor,
                        struct cachew_error *error);

struct cachew_job_stats {
    size_t struct_size;
    uint64_t batches, elements, bytes; /* given out */
    uint64_t skipped;                  /* bad elements */
    uint64_t epoch, epoch_batches;     /* the current epoch, and given out of it */
    int64_t epoch_items;               /* batches in an epoch, -1 = depends on data */
    int64_t epoch_elements;            /* -1 = depends on data */
    double epoch_done;                 /* share of the epoch consumed, 0 to 1 */
    uint64_t duplicates;               /* received twice and dropped */
    uint64_t shm_batches, grpc_batches;
    uint64_t copies;  /* times that batch bytes were copied in this process */
    uint64_t wait_ns; /* time cachew_job_next waited */
    uint64_t buffered_bytes, buffered_batches;
    uint32_t workers;    /* connected */
    uint64_t lost_items; /* at_most_once, or skipped by hand */
    uint64_t reconnects;
};
/* Set struct_size before. Any thread. */
int cachew_job_stats(const struct cachew_job *job, struct cachew_job_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
