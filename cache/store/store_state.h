/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a store that all backends have in common. Only the files of cache/store include it,
 * and no backend does.
 *
 *   url.c, file_name.c   URLs, names of files        breaker.c, meter.c   availability, rates
 *   io_job.c             jobs and their ends         file_handle.c        open files
 *   io_pool.c            I/O threads, timer          reader.c, writer.c   reading, writing
 *   admission.c          opening by the first user   listing.c            listings
 *   backends.c           the list of backends        store.c              open, close, the rest
 *
 * Whatever a store does is a job. It runs on an I/O thread, and somebody waits for it or is
 * notified of its end (asynchronous reads). The timer thread ends jobs that take longer than the
 * timeout: whoever waits continues, while the I/O thread is stuck in the call until that returns.
 * So a job owns everything that the call touches; the caller's memory is touched only under the
 * lock, or while `copying` keeps the job from ending. */
#ifndef CW_CACHE_STORE_STORE_STATE_H
#define CW_CACHE_STORE_STORE_STATE_H

#include "base/buf.h"
#include "base/thread.h"
#include "cache/store/backend.h"
#include "cache/store/breaker.h"
#include "cache/store/meter.h"

#define CW_STORE_THREADS 8      /* the most I/O threads that are not stuck */
#define CW_STORE_THREADS_MAX 16 /* the most I/O threads, including stuck ones */

struct cw_store_job;
/* Runs on an I/O thread, without the lock (or on the caller's thread if the backend never blocks).
 * Sets job->err. */
typedef int cw_store_call_fn(struct cw_store_job *job);

struct cw_store_file { /* a file that is being read or written */
    struct cw_store *store;
    void *own; /* what the backend returned for it; NULL once committed */
    bool is_out;
    int refs; /* guarded by the store's lock */
    uint64_t bytes;
};

struct cw_store_listed; /* entries of a listing that its caller has not been given yet */

enum cw_store_job_state {
    CW_STORE_JOB_NEW,
    CW_STORE_JOB_QUEUED,
    CW_STORE_JOB_RUNNING,
    CW_STORE_JOB_ENDED
};
struct cw_store_job {
    struct cw_store *store;
    /* guarded by lock; next in its queue, or in the list of running jobs */
    struct cw_store_job *next;
    int refs;                      /* guarded by lock */
    enum cw_store_job_state state; /* guarded by lock */
    cw_store_call_fn *call;        /* NULL: the job is a read */
    /* the throttle's latency applies: the job is an operation of the store's user */
    bool has_latency;
    bool unwritten;         /* of a listing: nobody writes into the store any more */
    bool is_unattended;     /* no caller waits for the job or is notified */
    bool is_notified;       /* guarded by lock; done was called, or whoever waits may continue */
    struct cw_cond *waiter; /* guarded by lock; what the waiting thread sleeps on */
    int64_t deadline_ns;    /* guarded by lock; used while it runs */
    /* Called once when the job is freed, without the lock; it releases what the job owns.
     * on_io_thread: the caller is an I/O thread, which may block. NULL: the job owns nothing but
     * what is freed with it. */
    void (*release)(struct cw_store_job *job, bool on_io_thread);
    struct cw_store_file *file; /* holds a reference; or NULL */
    char name[CW_STORE_NAME_MAX + 1];
    /* The fields below are used by reads. */
    uint64_t offset;
    uint8_t *dst;
    /* guarded by lock: bytes of the read, bytes of pieces that were taken, bytes that have
     * arrived */
    size_t n, taken, done;
    /* guarded by lock: numbers of I/O threads that copy to dst, and that are inside of a call to the
     * storage */
    int copying, inside;
    struct cw_store_read *read; /* NULL: a thread waits for the read */
    /* read->left is to be called; bytes are read straight into dst unless is_past is set */
    bool has_left;
    /* Bytes are read past the page cache, into whole pages of the I/O thread's own. */
    bool is_past;
    /* The fields below are used by writes. */
    const void *data;
    struct cw_buf *pieces; /* holds a reference; data lies in it */
    /* The error of the call. It belongs to the I/O thread, and afterwards to the thread that waited
     * if rc is 0. */
    struct cw_err err;
    uint64_t v[2];
    struct cw_store_file *opened;
    /* Guarded by lock: a listing's entries for its caller, the oldest first. */
    struct cw_store_listed *listed, *last_listed;
    /* Guarded by lock: the result of the job, and its error. */
    int rc;
    struct cw_err why;
};
struct cw_store_queue {
    struct cw_store_job *head, *tail;
};

struct cw_store {
    struct cw_store_url url;
    const struct cw_backend *ops;
    void *self;
    bool has_threads; /* false: every call is made on its caller's thread */
    struct cw_mutex lock;
    /* I/O threads sleep on work, the timer thread on timer; close, and those that wait for the
     * store to be opened, sleep on quiet */
    struct cw_cond work, timer, quiet;
    struct cw_store_queue calls, reads; /* guarded by lock; calls are served before reads */
    struct cw_store_job *running;
    struct cw_thread threads[CW_STORE_THREADS_MAX], timer_thread;
    /* guarded by lock; wanted: pieces that no thread has taken yet */
    unsigned threads_n, idle, stuck, alive, wanted;
    /* guarded by lock; was_abandoned: the store was closed while threads were stuck */
    bool stopping, was_abandoned;
    bool is_interrupted; /* guarded by lock; nobody may wait for a job any more */
    /* Called without the lock when no thread is left; frees the store. */
    void (*on_last_thread)(struct cw_store *store);
    int64_t timer_at_ns;
    int64_t taken_ns; /* guarded by lock: when an I/O thread last took a call or a piece */
    /* guarded by lock: when the throttle allows the next read and write */
    int64_t read_next_ns, write_next_ns;
    /* guarded by lock: the backend is open, or its first user is opening it */
    bool is_open, is_opening;
    struct cw_store_breaker breaker;        /* guarded by lock */
    struct cw_store_meter reading, writing; /* guarded by lock */
};

/* ---- io_job.c, io_pool.c ---- */
/* Makes a job with one reference; call NULL: a read. */
struct cw_store_job *cw_store_job_new(struct cw_store *store, cw_store_call_fn *call,
                                      const char *name);
/* Queues the job, which takes another reference. */
void cw_store_job_start(struct cw_store_job *job);
/* Waits for the job's end. job->waiter was set to `waiter` before the job was started. */
int cw_store_job_wait(struct cw_store_job *job, struct cw_cond *waiter, struct cw_err *err);
void cw_store_job_unref(struct cw_store_job *job); /* Accepts NULL. */
/* Ends a job that nobody wants any more, with CW_E_CANCELLED. Called with the lock held. */
void cw_store_job_cancel_locked(struct cw_store_job *job);
/* Starts the job and waits for its end. */
int cw_store_job_run(struct cw_store_job *job, struct cw_err *err);
/* Lets the timeout of a running call begin anew; called on its I/O thread. */
void cw_store_job_progress(struct cw_store_job *job);
bool cw_store_job_is_ended(struct cw_store_job *job);
/* Calls the backend's `try` on an I/O thread, and waits for it. */
int cw_store_try(struct cw_store *store, struct cw_err *err);
/* Has the timer thread act on the fact that the store has just become unavailable. Called with the
 * lock held. */
void cw_store_unavailable_locked(struct cw_store *store);
/* Ends the threads, or abandons those that are stuck; store->on_last_thread frees the store. */
void cw_store_threads_stop(struct cw_store *store);
void cw_store_jobs_drop(struct cw_store *store); /* Frees queued calls that no thread ever took. */

/* ---- file_handle.c: files that are being read or written have reference counts ---- */
struct cw_store_file *cw_store_file_new(struct cw_store *store, void *own, bool is_out);
struct cw_store_file *cw_store_file_ref_locked(struct cw_store_file *file);
/* Gives up a reference on an I/O thread (or on any thread if the backend never blocks). Called
 * without the lock. */
void cw_store_file_unref_here(struct cw_store_file *file);
/* Gives up a reference on any thread: an I/O thread closes the file after the last one. */
void cw_store_file_unref(struct cw_store_file *file);
/* Makes a job that owns a reference to its `file`, and to what it `opened`. */
struct cw_store_job *cw_store_file_job_new(struct cw_store *store, cw_store_call_fn *call,
                                           const char *name);

/* ---- admission.c ---- */
/* Returns 0 if the store is open and available; opens it if nobody has yet. Takes the lock. */
int cw_store_admit(struct cw_store *store, struct cw_err *err);

#endif
