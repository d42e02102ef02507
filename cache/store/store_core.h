/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a store that is the same for all: private to store*.c except the stores
 * themselves.
 *
 *   store.c       open, close, away or not, calls        url.c   URLs and names
 *   writer.c   writing                                io_pool.c    jobs, I/O threads, the
 *                 timer
 *   reader.c  files, reading
 *
 * Whatever a store does is a job. It runs on an I/O thread and somebody waits for it, or is told
 * (asynchronous reads). The timer thread ends jobs that take longer than the timeout: who waits
 * goes on, while the I/O thread is stuck in the call until that returns. So a job owns
 * everything that the call touches, and the memory of the caller is only touched under the lock,
 * or while `copying` keeps the job from ending. */
#ifndef CW_CACHE_STORE_CORE_H
#define CW_CACHE_STORE_CORE_H

#include "base/buf.h"
#include "base/thread.h"
#include "cache/store/backend.h"

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
    int stuck;                     /* lock: I/O threads in it when it was given up */
    struct cw_store_file *file;    /* a ref; or NULL */
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

struct cw_store_meter {    /* lock */
    uint64_t n, bytes, ns; /* ns: in which at least one was under way */
    unsigned under_way;
    int64_t since_ns;
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
    bool stopping, was_left;                        /* lock; left: the last thread frees all */
    int64_t timer_at_ns;
    int64_t taken_ns;                    /* lock: when an I/O thread last took something */
    int64_t read_next_ns, write_next_ns; /* lock: throttles */
    /* lock: away or not */
    bool is_open, is_opening, is_away, is_trying;
    int64_t away_since_ns, try_ns, wait_ns;
    struct cw_err why;
    struct cw_store_meter reading, writing; /* lock */
    uint64_t errors;
};

/* url.c */
int cw_store_check_name(const char *name, struct cw_err *err);

/* io_pool.c */
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
/* and free the store; or those that are stuck do */
void cw_store_threads_stop(struct cw_store *store);
void cw_store_jobs_drop(struct cw_store *store); /* what was never taken */
void cw_store_free(struct cw_store *store);

/* reader.c */
struct cw_store_file *cw_store_file_new(struct cw_store *store, void *own, bool is_out);
struct cw_store_file *cw_store_file_ref_locked(struct cw_store_file *file);
/* On an I/O thread (or any, of a store that does not wait); without the lock. */
void cw_store_file_unref_here(struct cw_store_file *file);
/* anywhere: the last has it closed by an I/O thread */
void cw_store_file_unref(struct cw_store_file *file);

/* store.c: lock held */
/* what an operation came to */
void cw_store_note_locked(struct cw_store *store, int rc, const struct cw_err *err);
/* while away */
int cw_store_refuse_locked(struct cw_store *store, struct cw_err *err);
cw_store_call_fn cw_store_try_call;
/* a try on its own accord ended */
void cw_store_tried_locked(struct cw_store *store, int rc, const struct cw_err *err);
/* Opened, and not away. Not locked. */
int cw_store_admit(struct cw_store *store, struct cw_err *err);
void cw_store_meter_begin(struct cw_store *store, struct cw_store_meter *meter);
void cw_store_meter_end_locked(struct cw_store *store, struct cw_store_meter *meter, uint64_t bytes,
                               int rc);

#endif
