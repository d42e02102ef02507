/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to a service, starting a job, receiving its batches.
 *
 * Threads: functions may be called for different objects at the same time. The functions of one
 * job must be called by one thread at a time (not always the same one), except
 * cachew_batch_release, cachew_job_stats and cachew_job_cancel, which any thread may call at any
 * time while the job exists. After fork() the child must not use objects of its parent: functions
 * that return a code then return CACHEW_E_STATE. It may connect for itself (docs/c-api.md). */
#ifndef CACHEW_CLIENT_H
#define CACHEW_CLIENT_H

#include "cachew/pipeline.h"
#include "cachew/tensor.h"
#include "cachew/waiting.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cachew_client;
struct cachew_job;
struct cachew_batch;

/* A switch that ends calls which wait. Give it to cachew_connect or cachew_job_start in their
 * options: when it is set they return CACHEW_E_CANCELLED within a tenth of a second, also when it
 * was set before the call. It stays set. (A job that has started is ended by cachew_job_cancel.) */
struct cachew_cancel;
/* A new switch, not set; free it with cachew_cancel_free. Never NULL. Any thread. */
struct cachew_cancel *cachew_cancel_new(void);
/* Sets the switch. Any thread, also from a signal handler. NULL is accepted. */
void cachew_cancel_set(struct cachew_cancel *cancel);
/* Frees the switch. All calls that were given it must have returned. NULL is accepted. */
void cachew_cancel_free(struct cachew_cancel *cancel);

/* Options of cachew_connect. The struct begins with its size, so that it can grow in later
 * versions: initialise it with CACHEW_CONNECT_OPTIONS_INIT, then set fields. Texts are copied. */
struct cachew_connect_options {
    size_t struct_size;
    /* Milliseconds: how long cachew_connect tries to reach the dispatcher, and how long
     * cachew_job_start waits without any progress. 0 = 10000, and 30000 for starting "local:". */
    int64_t timeout_ms;
    int local_workers;    /* "local:" only: number of worker processes; 0 = 1 */
    int local_threads;    /* "local:" only: threads of each worker; 0 = CPUs that may be used */
    int no_shared_memory; /* 1 = batches are always transferred by gRPC */
    /* "local:" only: directory in which the private dispatcher keeps its state; NULL = a temporary
     * one, which is removed at the end */
    const char *state_dir;
    /* "local:" only: the store of the cache, for example "dir:/var/cache/cachew" (docs/cache.md);
     * NULL = there is no cache */
    const char *cache_store;
    uint64_t cache_quota; /* "local:" only: most bytes in the store; 0 = what the store has */
    /* ends cachew_connect early; NULL = only timeout_ms does */
    const struct cachew_cancel *cancel;
    /* The access token that is shown to a dispatcher that asks for one (docs/security.md), or a file
     * that has it, which is read again at each connection. Both NULL = the file that the environment
     * variable CACHEW_TOKEN_FILE names, if there is one. Not for "local:". */
    const char *token;
    const char *token_file;
    /* 1 = batches may be written (cachew_batch_writable): what lies in shared memory is mapped
     * privately, so that each page that is written is copied first, and is given back with the batch.
     * Who looks for these pages then takes some CPU time, 0.1 to 0.2 ms for a batch of 10 MB. */
    int writable;
    /* TLS (docs/security.md): files in PEM form with the own certificate, its key, and who signs the
     * certificates of dispatcher and workers. They are read again when they change. NULL = the files
     * that the environment variables CACHEW_TLS_CERT, CACHEW_TLS_KEY and CACHEW_TLS_CA name; none at
     * all = no TLS. Not for "local:" and unix sockets. */
    const char *tls_cert;
    const char *tls_key;
    const char *tls_ca;
    /* Which names in certificates stand for dispatchers and workers besides cachew-dispatcher and
     * cachew-worker: "NAME=dispatcher,NAME=worker"; NULL = what CACHEW_TLS_ROLE says */
    const char *tls_roles;
    /* "local:" only: the Python that computes functions in Python of pipelines, in child processes
     * (docs/python.md); NULL = pipelines with such functions are refused */
    const char *python;
    /* "local:" only: files with operators of one's own (docs/user-operators.md), with ':' between them; NULL =
     * none */
    const char *plugins;
};
#define CACHEW_CONNECT_OPTIONS_INIT                                                                \
    {                                                                                              \
        sizeof(struct cachew_connect_options), 0, 0, 0, 0, NULL, NULL, 0, NULL, NULL, NULL, 0,     \
            NULL, NULL, NULL, NULL, NULL, NULL                                                     \
    }

/* Connects to a dispatcher. address: "HOST:PORT" or "unix:/path" of a dispatcher, or "local:",
 * which starts a private dispatcher and worker on this host; these end with cachew_disconnect, and
 * when this process ends in whatever way; NULL = what the environment variable CACHEW_DISPATCHER
 * says. options may be NULL. The caller ends *ret_client with
 * cachew_disconnect; the client has one thread of its own. Any thread.
 *
 * Errors: CACHEW_E_UNAVAILABLE (nobody answers within timeout_ms), CACHEW_E_INVALID (address or
 * options), CACHEW_E_UNSUPPORTED (a dispatcher of another version, or something else that listens
 * there), CACHEW_E_CANCELLED, CACHEW_E_STATE (a forked child in which gRPC cannot be used). */
int cachew_connect(const char *address, const struct cachew_connect_options *options,
                   struct cachew_client **ret_client, struct cachew_error *error);
/* The address of the dispatcher, also of the private one of "local:", for other programs of this user
 * (`cachew explain -d ADDRESS`). It is valid until cachew_disconnect. Any thread. */
const char *cachew_client_address(const struct cachew_client *client);
/* Ends the connection, and what "local:" started. All jobs of the client must be closed and all its
 * batches released before; with open jobs it only logs an error and does nothing. NULL is
 * accepted. */
void cachew_disconnect(struct cachew_client *client);

/* What happens at an element that cannot be computed, for example a damaged image: the job fails,
 * or the element is left out of its batch and counted. */
enum cachew_bad_elements { CACHEW_BAD_FAIL, CACHEW_BAD_SKIP };
/* Who gets which batches of a job: its only consumer all of them; consumer k mod n batch k, so that
 * all advance in step; or whichever consumer is ready the next one. */
enum cachew_consumer_mode { CACHEW_SINGLE, CACHEW_COORDINATED, CACHEW_SHARED };

/* Options of cachew_job_start. Initialise with CACHEW_JOB_OPTIONS_INIT, then set fields. Texts and
 * the token are copied. */

struct cachew_job_options {
    size_t struct_size;
    /* The job's name. NULL = none: the job ends with its client. If a job with this name is running
     * and has the same pipeline, files and seed, it is joined; with others it is an error.
     * docs/tenants.md says which names are valid. */
    const char *name;
    uint64_t seed; /* of shuffling and augmentation */
    /* Passes over the data; 0 = without end, which is an error for a pipeline that is known to have
     * no elements. */
    uint64_t epochs;
    int unordered; /* 1 = batches come as they are ready, not in the order of their numbers */
    enum cachew_bad_elements bad_elements;
    uint64_t buffer_bytes; /* most bytes received and not yet given out; 0 = 256 MiB */
    /* Batches that may be computed ahead, at least one for each consumer; for a pipeline with a
     * filter, pieces of work. 0 = the dispatcher chooses. */
    uint32_t window;
    enum cachew_consumer_mode mode;
    uint32_t consumers; /* number of consumers of the job; 0 = 1 */
    uint32_t consumer;  /* number of this one, from 0 */
    /* 1 = batches that a lost worker held are left out and counted (lost_items), not computed
     * again; not with several consumers of a pipeline that filters */
    int at_most_once;
    /* Resume at this position (cachew_job_token). NULL = at the start, or, if a named job is
     * joined, where this consumer of it stood. */
    const void *token;
    size_t token_bytes;
    uint64_t lease_items; /* items of one lease; 0 = the dispatcher adapts it. For tests. */
    /* What is cached besides operators `cache`: "auto", "cachew", "off" or "force:NODE"; NULL = as
     * the dispatcher was configured (docs/cache.md, docs/autocaching.md). */
    const char *autocache;
    /* Whose job it is; caches are shared within a tenant only. NULL = what the
     * environment variable CACHEW_TENANT says, "default" without it. */
    const char *tenant;
    /* How many workers the job gets, and where they run (docs/scaling.md): 0 and NULL mean "as the
     * dispatcher was configured". */
    /* "auto", "cachew", "hpa", "fixed:N", or "off" (every worker that there is) */
    const char *autoscale;
    /* "auto", "fixed:R,L" (R remote and L local workers), "pecan" or "off"; needs local_workers */
    const char *autoplace;
    uint32_t min_workers, max_workers; /* what it is entitled to; what it gets at most */
    int priority;     /* within a tenant: above the minima, higher priorities are served first */
    double weight;    /* share of the tenant's workers against jobs of equal priority; 0 = 1 */
    double max_stall; /* fraction of its time that the trainer may wait, 0 to 1 */
    /* price of this host for an hour, in the unit of the dispatcher's --worker-price */
    double client_price;
    /* Workers on this host, for this job alone: processes that are started and ended as the
     * dispatcher decides, and that end with this process. */
    uint32_t local_workers; /* how many at most; 0 = none */
    uint32_t local_threads; /* threads of each; 0 = CPUs that may be used */
    /* nice level of the workers above this process's own, 0 to 19; with 1 and more the trainer's
     * threads take precedence */
    int local_nice;
    double local_cpus; /* CPU seconds that each may use in a second; 0 = no limit */
    /* Most bytes that all local workers may hold together, at least 16 MiB for each; 0 = a quarter
     * of the host's memory. */
    uint64_t local_memory;
    /* ends cachew_job_start early; NULL = only the time limit does */
    const struct cachew_cancel *cancel;
    /* What tells one source file from another: "mtime", "size", "sample" or "content"
     * (docs/pipelines.md); NULL = as the pipeline says. */
    const char *identity;
    /* Called by cachew_job_start, in its thread, when it has waited for a second, and then about
     * once a second, with what it waits for. It must not call functions of the job. NULL = never */
    void (*on_waiting)(void *arg, const struct cachew_waiting *waiting);
    void *on_waiting_arg;
    /* The name of the job's cache ("default", or a named one; docs/cache.md). NULL = what the
     * environment variable CACHEW_CACHE says (not for "local:"), "default" without it. */
    const char *cache;
    /* In which order operators are computed, which changes no batch (docs/optimizing.md): "auto" (by
     * what is measured), "auto:once" (the same, but decided once), "off" (as written), "cedar" or "pecan"
     * (as these do, once); NULL = as the dispatcher was configured. */
    const char *optimize;
    /* Texts of JSON; NULL = none. `plan`: the order, and what is cached, as `cachew plan --json` prints it.
     * `profile`: what the first plan goes by, as `cachew profile` writes it. */
    const char *plan, *profile;
    /* With `plan`, `profile` or "pecan": the plan may change values, as long as types and shapes stay. The
     * job is then that of the pipeline in this order, also for tokens and replay. */
    int relaxed;
    /* "off": every operator is called for each element by itself, and makes all of it; NULL or "auto": workers see which
     * operators can work on many elements at once, on a part of an image, or for another one. No batch depends on it. */
    const char *fusion;
};
#define CACHEW_JOB_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(struct cachew_job_options), NULL, 0, 1, 0, CACHEW_BAD_FAIL, 0, 0, CACHEW_SINGLE, 0, \
            0, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, \
            NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL                                            \
    }

/* Starts, joins or resumes a job. Before it returns the dispatcher has checked the pipeline and a
 * worker has prepared it (found and opened the source files); if there is no worker it waits for
 * one. It gives up when nothing has moved for timeout_ms of cachew_connect. options may be NULL;
 * the pipeline may be released afterwards. The caller ends *ret_job with cachew_job_close. Any
 * thread.
 *
 * Errors: CACHEW_E_INVALID (pipeline, options, or a token of something else), CACHEW_E_NOT_FOUND
 * and others of reading the sources, CACHEW_E_UNAVAILABLE (no dispatcher, no worker, or nothing
 * moved), CACHEW_E_LIMIT (the tenant has no room for the job), CACHEW_E_EXISTS (the name belongs to
 * another job, or another process holds this consumer's slot), CACHEW_E_CANCELLED. */
int cachew_job_start(struct cachew_client *client, const struct cachew_pipeline *pipeline,
                     const struct cachew_job_options *options, struct cachew_job **ret_job,
                     struct cachew_error *error);

/* Waits for the next batch. Returns 1 and the batch in *ret_batch, which the caller releases with
 * cachew_batch_release; or 0 at the end of an epoch: the next call then returns the first batch of the next epoch, and after the last epoch every call returns 0
 * (cachew_job_done tells which). *ret_batch is NULL unless 1 is returned. Calling it says that the
 * batch before is consumed.
 *
 * timeout_ms: how long to wait; 0 = not at all, negative = without limit. CACHEW_E_TIMEOUT means
 * that no batch came in that time, and its message says what is waited for (cachew_job_waiting says
 * it to programs); the job is unharmed and the call can be repeated. After any
 * other error every call returns the same error. Batches that were complete before a job failed
 * are given out first. */
int cachew_job_next(struct cachew_job *job, int64_t timeout_ms, struct cachew_batch **ret_batch,
                    struct cachew_error *error);
/* Returns a descriptor that poll, epoll, libuv and the like can wait for: it is readable while
 * cachew_job_next would not wait (a batch, the end of an epoch, an error, or the job is over). It
 * belongs to the job, is the same at each call, and is closed by cachew_job_close; it must be neither
 * read nor written. Call cachew_job_next with timeout_ms 0 until it returns CACHEW_E_TIMEOUT, and then
 * wait for the descriptor: that last call says that the batch before is consumed, and without it
 * the next one may never be computed. Example: docs/examples/poll_jobs.c. Errors: CACHEW_E_LIMIT or
 * CACHEW_E_IO (no descriptor is to be had), CACHEW_E_STATE (no such job, or a forked child). The job's
 * thread. */
int cachew_job_fd(struct cachew_job *job, struct cachew_error *error);
/* Returns 1 after the last epoch has ended, otherwise 0. */
int cachew_job_done(const struct cachew_job *job);
/* Makes a cachew_job_next that waits, and all later calls of it, return CACHEW_E_CANCELLED. The job
 * must still be closed. Any thread. */
void cachew_job_cancel(struct cachew_job *job);
/* Ends this consumer and frees the job object. A job without a name ends with it; a named one stays
 * with the dispatcher and can be joined again. Batches that were given out stay valid until they
 * are released. No other call for the job may be running. NULL is accepted. */
void cachew_job_close(struct cachew_job *job);
/* The id by which the dispatcher knows the job (`cachew jobs`). It changes if the job has to be
 * started anew after the trainer was away for long. The text belongs to the job and stays valid
 * until it is closed, also after a change. */
const char *cachew_job_id(const struct cachew_job *job);

/* Most bytes of a token of a job with ordered delivery. */
#define CACHEW_TOKEN_BYTES 200
/* Writes a token, which says what was consumed, to ret_token (room for `cap` bytes) and its length
 * to *ret_bytes. Save it with the trainer's checkpoint and pass it in cachew_job_options.token to
 * continue behind it, in any process and with any number of consumers. Consumed are all batches
 * before the one that was given out last, and also that one if with_last is 1: use 1 if the
 * checkpoint contains the step that used it.
 *
 * A token has at most CACHEW_TOKEN_BYTES bytes in ordered delivery; in unordered delivery up to 16
 * more for every gap in what was consumed. ret_token may be NULL if cap is 0, to ask for the length.
 * Errors: CACHEW_E_INVALID (cap is too small; *ret_bytes is what is needed), CACHEW_E_UNSUPPORTED (a shared consumer has no position of its own). */
int cachew_job_token(struct cachew_job *job, int with_last, void *ret_token, size_t cap,
                     size_t *ret_bytes, struct cachew_error *error);

/* A bad element that was left out (CACHEW_BAD_SKIP), or several. The struct begins with its size, so
 * that it can grow. Texts are UTF-8, and "" if they are not known; they belong to the job and stay
 * valid until the next cachew_job_next or cachew_job_close. */
struct cachew_bad_element {
    size_t struct_size; /* CACHEW_BAD_ELEMENT_INIT sets it */
    /* The batch that it was left out of; or, at the end of an epoch, the batch that would have
     * followed the last one. */
    uint64_t epoch, batch;
    /* How many elements these are: 1, or those of a batch that an operator behind `batch` could not
     * compute. */
    uint64_t elements;
    int64_t position;   /* its number in its source, from 0; -1 if it is made of several */
    const char *file;   /* the file that it comes from; "" if there are several, or none */
    int64_t record;     /* its number in the file, from 0; -1 if the file is one element */
    const char *source; /* all source elements that it is made of, as errors name them */
    const char *node;   /* the node that could not compute it, */
    const char *op;     /* its operator, */
    const char *reason; /* and why, for people */
};
#define CACHEW_BAD_ELEMENT_INIT                                                                    \
    {                                                                                              \
        sizeof(struct cachew_bad_element), 0, 0, 0, 0, NULL, 0, NULL, NULL, NULL, NULL             \
    }
/* Tells of bad element i, from 0, of those that were left out of the batch that cachew_job_next gave
 * out last; or, when it returned 0, of those behind the last batch of the epoch (only pipelines with
 * a filter have such). The sum of all `elements` is how many were left out. At most 1,000 of a batch
 * are described; a last one stands for the others, with a reason alone. Each element is told once
 * for each time that it is left out in an epoch, also when it was computed twice, and with several
 * consumers to one of them.
 *
 * Errors: CACHEW_E_NOT_FOUND (there is no element i, *ret_element is empty), CACHEW_E_INVALID
 * (struct_size), CACHEW_E_STATE (no such job). The job's thread. */
int cachew_job_bad(const struct cachew_job *job, size_t i, struct cachew_bad_element *ret_element);

/* What a batch is made of. Nothing is copied: names and data belong to the batch and are valid
 * until it is released. These functions may be called by any thread, by several at once. */
/* Number of tensors: one for each field of the pipeline's output. */
size_t cachew_batch_tensors(const struct cachew_batch *batch);
/* Describes tensor i, 0 to cachew_batch_tensors - 1, in *ret_tensor. CACHEW_E_NOT_FOUND if there is
 * none; *ret_tensor is zeroed then. */
int cachew_batch_tensor(const struct cachew_batch *batch, size_t i,
                        struct cachew_tensor *ret_tensor);
/* The same by the name of the field. Check the result: on failure *ret_tensor is zeroed. */
int cachew_batch_find(const struct cachew_batch *batch, const char *name,
                      struct cachew_tensor *ret_tensor);
/* Describes where the rows of ragged tensor i begin, and their shapes, as tensors of int64_t:
 * *ret_begins has one number more than there are rows; row r is from begins[r] up to, not including,
 * begins[r + 1], counted along the first dimension of cachew_batch_tensor. *ret_shapes has the dims
 * [rows, dimensions of a row] if more than the first dimension of rows differs; otherwise it is zeroed,
 * and the shape of a row is that of the tensor but for the first dimension. It may be NULL. Names are
 * that of the field. Errors, after which both are zeroed: CACHEW_E_NOT_FOUND (there is no tensor i),
 * CACHEW_E_UNSUPPORTED (its rows have one shape: it is not ragged). */
int cachew_batch_ragged(const struct cachew_batch *batch, size_t i,
                        struct cachew_tensor *ret_begins, struct cachew_tensor *ret_shapes);
/* Returns the data of tensor i for writing, in place, if the client was connected with `writable`:
 * cachew_tensor.data without its const. Nobody else sees what is written, neither another consumer nor
 * a later batch, and it is gone when the batch is released. NULL: not writable, no tensor i, or it has
 * no bytes. Threads that write must not do so at the same place. Any thread. */
void *cachew_batch_writable(struct cachew_batch *batch, size_t i);
uint64_t cachew_batch_elements(const struct cachew_batch *batch); /* number of elements in it */
uint64_t cachew_batch_epoch(const struct cachew_batch *batch);    /* its epoch, from 0 */
uint64_t cachew_batch_number(const struct cachew_batch *batch);   /* within its epoch, from 0 */
uint64_t cachew_batch_skipped(const struct cachew_batch *batch);  /* bad elements left out of it */
/* Writes a text that names this batch for the command `cachew replay` ("cachew1:...") to ret_text:
 * NUL-terminated, at most 160 bytes. CACHEW_E_LIMIT if `cap` is too small. */
int cachew_batch_recipe(const struct cachew_batch *batch, char *ret_text, size_t cap);
/* Gives up the batch: its memory is reused or freed, and tensors that point into it are invalid. In
 * any order, by any thread, also after the job was closed, but before cachew_disconnect. NULL is
 * accepted. */
void cachew_batch_release(struct cachew_batch *batch);

/* Tensor i as a DLManagedTensor (DLPack 0.8; the struct is that of dlpack.h), without a copy.
 * Device: CPU. Dtype and shape are those of the tensor; strides are NULL, which means row-major.
 * Whoever takes it calls its deleter, from any thread; until then it keeps the batch alive, which
 * may be released before. The memory must not be written (DLPack 0.8 cannot say so). Errors:
 * CACHEW_E_NOT_FOUND (there is no tensor i), CACHEW_E_UNSUPPORTED (it holds strings). */
struct DLManagedTensor;
int cachew_batch_dlpack(struct cachew_batch *batch, size_t i, struct DLManagedTensor **ret_tensor,
                        struct cachew_error *error);
/* The same as a DLManagedTensorVersioned (DLPack 1.0), whose flag DLPACK_FLAG_BITMASK_READ_ONLY is
 * set unless the client was connected with `writable`, and whose strides are there. */
struct DLManagedTensorVersioned;
int cachew_batch_dlpack_versioned(struct cachew_batch *batch, size_t i,
                                  struct DLManagedTensorVersioned **ret_tensor,
                                  struct cachew_error *error);

/* Counters of a job as this process sees it, since it was started here. */
struct cachew_job_stats {
    size_t struct_size;                /* CACHEW_JOB_STATS_INIT sets it */
    uint64_t batches, elements, bytes; /* given out by cachew_job_next */
    uint64_t skipped; /* bad elements that were left out: of these batches, and behind the last */
    uint64_t epoch, epoch_batches;      /* the current epoch, and batches given out of it */
    int64_t epoch_items;                /* batches of an epoch; -1 = depends on data */
    int64_t epoch_elements;             /* elements of an epoch; -1 = depends on data */
    double epoch_done;                  /* fraction of the epoch that is consumed, 0 to 1 */
    uint64_t duplicates;                /* outputs that came a second time and were dropped */
    uint64_t shm_batches, grpc_batches; /* outputs that came in shared memory, and by gRPC */
    uint64_t copies;  /* times that bytes of batches were copied in this process */
    uint64_t wait_ns; /* nanoseconds that cachew_job_next waited */
    uint64_t buffered_bytes, buffered_batches; /* received and not given out yet */
    uint32_t workers;                          /* workers that are connected */
    uint64_t lost_items;                       /* items left out: at_most_once, or `cachew skip` */
    uint64_t reconnects; /* times that the connection to the dispatcher was made again */
};
#define CACHEW_JOB_STATS_INIT                                                                      \
    {                                                                                              \
        sizeof(struct cachew_job_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0   \
    }
/* Fills *stats, of which struct_size must be set (CACHEW_JOB_STATS_INIT). CACHEW_E_STATE (no such
 * job) or CACHEW_E_INVALID (struct_size). Any thread. */
int cachew_job_stats(const struct cachew_job *job, struct cachew_job_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
