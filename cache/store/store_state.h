/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a store that is the same for all: private to store*.c except the stores
 * themselves.
 *
 *   url.c, file_name.c   URLs, names of files        breaker.c, meter.c   away or not, rates
 *   io_pool.c            jobs, I/O threads, timer    file_handle.c        open files
 *   admission.c          opening by the first user   reader.c, writer.c   reading, writing
 *   backends.c           the list of backends        store.c              open, close, the rest
 *
 * Whatever a store does is a job. It runs on an I/O thread and somebody waits for it, or is told
 * (asynchronous reads). The timer thread ends jobs that take longer than the timeout: who waits
 * goes on, while the I/O thread is stuck in the call until that returns. So a job owns
 * everything that the call touches, and the memory of the caller is only touched under the lock,
 * or while `copying` keeps the job from ending. */
#ifndef CW_CACHE_STORE_STORE_STATE_H
#define CW_CACHE_STORE_STORE_STATE_H

#include "base/buf.h"
#include "base/thread.h"
#include "cache/store/backend.h"
#include "cache/store/breaker.h"
#include "cache/store/meter.h"

#define CW_STORE_THREADS 8      /* I/O threads that are not stuck */
#define CW_STORE_THREADS_MAX 16 /* with those that are */

struct cw_store_job;
/* On an I/O thread, without the lock (a store that does not wait: on the caller's). Sets
 * job->err. */
typedef int cw_store_call_fn(struct cw_store_job *job);

struct cw_store_file { /* or one that is being written */
    struct cw_store *store;
    void *own; /* the store's; NULL once committed */
    bool is_out;
    int refs; /* lock */
    uint64_t bytes;
};

struct cw_store_entry {
    char *name;
    uint64_t bytes;
    int64_t mtime_ms;
};

enum cw_store_job_state {
    CW_STORE_JOB_NEW,
    CW_STORE_JOB_QUEUED,
    CW_STORE_JOB_RUNNING,
    CW_STORE_JOB_ENDED
};
struct cw_store_job {
    struct cw_store *store;
    struct cw_store_job *next;     /* lock: of its queue, or of the running */
    int refs;                      /* lock */
    enum cw_store_job_state state; /* lock */
    cw_store_call_fn *call;        /* NULL: a read */
    bool has_latency;              /* it is an operation of the store's user */
    bool is_nobodys;               /* nobody waits */
    bool is_told;                  /* lock: done was called, or who waits may go on */
    struct cw_cond *waiter;        /* of who waits; lock */
    int64_t deadline_ns;           /* lock: while it runs */
    /* Called once when the job is freed, without the lock: gives up what it owns. is_here: on an
     * I/O thread, which may wait. NULL: it owns nothing but what is freed with it. */
    void (*release)(struct cw_store_job *job, bool is_here);
    struct cw_store_file *file; /* a ref; or NULL */
    char name[CW_STORE_NAME_MAX + 1];
    /* reads */
    uint64_t offset;
    uint8_t *dst;
    size_t n, taken, done;      /* lock */
    int copying, inside;        /* lock: I/O threads that write to dst, that are in it */
    struct cw_store_read *read; /* NULL: somebody waits */
    bool has_left;              /* told when the job ends; read into dst unless is_past */
    /* read past the page cache, into whole pages of the thread's */
    bool is_past;
    /* writes */
    const void *data;
    struct cw_buf *pieces; /* a ref: data is in it */
    /* what the call made of it: the I/O thread's, then of who waited if rc is 0 */
    struct cw_err err;
    uint64_t v[2];
    struct cw_store_file *opened;
    struct cw_store_entry *entries;
    size_t entries_n, entries_cap;
    /* lock: how it ended */
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
    bool has_threads; /* else every call is made where it is asked for */
    struct cw_mutex lock;
    /* I/O threads wait; the timer waits; close waits, and those that wait for opening */
    struct cw_cond work, timer, quiet;
    struct cw_store_queue calls, reads; /* lock; calls go first */
    struct cw_store_job *running;
    struct cw_thread threads[CW_STORE_THREADS_MAX], timer_thread;
    unsigned threads_n, idle, stuck, alive, wanted; /* lock */
    /* lock; was_left: the store was closed while threads were stuck */
    bool stopping, was_left;
    /* Called without the lock when no thread is left: frees the store. */
    void (*on_last_thread)(struct cw_store *store);
    int64_t timer_at_ns;
    int64_t taken_ns;                       /* lock: when an I/O thread last took something */
    int64_t read_next_ns, write_next_ns;    /* lock: throttles */
    bool is_open, is_opening;               /* lock: the backend; by the first who needs it */
    struct cw_store_breaker breaker;        /* lock */
    struct cw_store_meter reading, writing; /* lock */
};

/* io_pool.c */
/* call NULL: a read */
struct cw_store_job *cw_store_job_new(struct cw_store *store, cw_store_call_fn *call,
                                      const char *name);
void cw_store_job_start(struct cw_store_job *job); /* takes another ref */
/* job->waiter was set to it before start */
int cw_store_job_wait(struct cw_store_job *job, struct cw_cond *waiter, struct cw_err *err);
void cw_store_job_unref(struct cw_store_job *job);                  /* accepts NULL */
int cw_store_job_run(struct cw_store_job *job, struct cw_err *err); /* start and wait */
/* on its I/O thread: the timeout begins anew */
void cw_store_job_progress(struct cw_store_job *job);
bool cw_store_job_is_ended(struct cw_store_job *job);
/* Calls the backend's `try` on an I/O thread, and waits for it. */
int cw_store_try(struct cw_store *store, struct cw_err *err);
/* Lock. The store is known to be away since this moment: has the timer look. */
void cw_store_went_away_locked(struct cw_store *store);
/* Ends the threads, or leaves those that are stuck to themselves; store->on_last_thread frees the
 * store. */
void cw_store_threads_stop(struct cw_store *store);
void cw_store_jobs_drop(struct cw_store *store); /* what no thread ever took */

/* file_handle.c: a reference count each for files being read and being written */
struct cw_store_file *cw_store_file_new(struct cw_store *store, void *own, bool is_out);
struct cw_store_file *cw_store_file_ref_locked(struct cw_store_file *file);
/* On an I/O thread (or any, of a store that does not wait); without the lock. */
void cw_store_file_unref_here(struct cw_store_file *file);
/* On any thread: the last one has the file closed by an I/O thread. */
void cw_store_file_unref(struct cw_store_file *file);
/* A job that owns a reference of its `file` and of what it `opened`. */
struct cw_store_job *cw_store_file_job_new(struct cw_store *store, cw_store_call_fn *call,
                                           const char *name);

/* admission.c */
/* 0: the store is open and not away; opens it if nobody has yet. Takes the lock. */
int cw_store_admit(struct cw_store *store, struct cw_err *err);

#endif
