/* SPDX-License-Identifier: Apache-2.0 */
/* Listings. An I/O thread walks through the storage and hands over what it finds in batches, which
 * the caller's thread gives to the caller's function meanwhile: a volume of millions of files is
 * never in memory as a whole, and a caller that has seen enough ends the walk. */
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "cache/store/store.h"
#include "cache/store/store_state.h"

#define BATCH 64
#define BATCH_NS ((int64_t)100000000) /* A batch that is not full is handed over after this time. */

struct entry {
    uint64_t bytes;
    int64_t mtime_ms;
    char *name;
};
struct cw_store_listed {
    struct cw_store_listed *next;
    size_t n;
    struct entry entries[BATCH];
};
struct walk { /* the I/O thread's side of a listing */
    struct cw_store_job *job;
    struct cw_store_listed *batch; /* what was not handed over yet, or NULL */
    int64_t begun_ns;              /* when the batch was begun */
};
struct caller { /* the caller's side of it */
    cw_store_list_fn *fn;
    void *arg;
};

static void listed_free(struct cw_store_listed *listed)
{
    for (struct cw_store_listed *next; listed; listed = next) {
        next = listed->next;
        for (size_t i = 0; i < listed->n; i++)
            cw_mem_free(listed->entries[i].name);
        cw_mem_free(listed);
    }
}

/* Frees what the caller was not given before the job ended. */
static void release(struct cw_store_job *job, bool on_io_thread)
{
    (void)on_io_thread;
    listed_free(job->listed);
}

/* ---- on the I/O thread ---- */

/* Hands the batch over to whoever waits for the job. Returns whether the job has ended. */
static bool hand_over(struct walk *walk)
{
    struct cw_store_job *job = walk->job;
    struct cw_store_listed *batch = cw_steal(&walk->batch);

    cw_mutex_lock(&job->store->lock);
    bool is_ended = job->state == CW_STORE_JOB_ENDED;
    if (!is_ended && batch) {
        *(job->listed ? &job->last_listed->next : &job->listed) = batch;
        job->last_listed = cw_steal(&batch);
        if (job->waiter)
            cw_cond_signal(job->waiter);
    }
    cw_mutex_unlock(&job->store->lock);
    listed_free(batch);
    return is_ended;
}
static int on_entry(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    struct walk *walk = arg;

    cw_store_job_progress(walk->job);
    if (!walk->batch) {
        walk->batch = CW_NEW(struct cw_store_listed);
        walk->begun_ns = cw_clock_ns();
    }
    walk->batch->entries[walk->batch->n++] = (struct entry){bytes, mtime_ms, cw_mem_strdup(name)};
    if (walk->batch->n < BATCH && cw_clock_ns() - walk->begun_ns < BATCH_NS)
        return cw_store_job_is_ended(walk->job);
    return hand_over(walk);
}
static int call_list(struct cw_store_job *job)
{
    struct walk walk = {.job = job};
    int rc = job->store->ops->list(job->store->self, job->name, job->unwritten, on_entry, &walk,
                                   &job->err);

    (void)hand_over(&walk);
    return rc;
}

/* ---- on the caller's thread ---- */

static int give(const struct caller *caller, const struct cw_store_listed *listed)
{
    int rc = 0;

    for (; listed && rc == 0; listed = listed->next)
        for (size_t i = 0; rc == 0 && i < listed->n; i++) {
            const struct entry *entry = &listed->entries[i];
            rc = caller->fn(caller->arg, entry->name, entry->bytes, entry->mtime_ms);
        }
    return rc;
}
/* Waits until entries have come or the listing has ended, and returns the entries; NULL: it has
 * ended, and all were returned before. The caller frees them. */
static struct cw_store_listed *next_listed(struct cw_store_job *job, struct cw_cond *waiter)
{
    cw_mutex_lock(&job->store->lock);
    while (!job->listed && !job->is_notified)
        cw_cond_wait(waiter, &job->store->lock);
    struct cw_store_listed *listed = cw_steal(&job->listed);
    cw_mutex_unlock(&job->store->lock);
    return listed;
}
static int follow(struct cw_store_job *job, const struct caller *caller, struct cw_cond *waiter,
                  struct cw_err *err)
{
    int rc = 0;

    for (struct cw_store_listed *listed; rc == 0 && (listed = next_listed(job, waiter));) {
        rc = give(caller, listed);
        listed_free(listed);
    }
    if (rc != 0) {
        cw_mutex_lock(&job->store->lock);
        cw_store_job_cancel_locked(job);
        cw_mutex_unlock(&job->store->lock);
    }
    int ended = cw_store_job_wait(job, waiter, rc == 0 ? err : NULL);
    return rc != 0 ? rc : ended;
}
static int run(struct cw_store_job *job, const struct caller *caller, struct cw_err *err)
{
    struct cw_store *store = job->store;
    struct cw_cond waiter;

    if (!store->has_threads) {
        int rc = store->ops->list(store->self, job->name, job->unwritten, caller->fn, caller->arg,
                                  &job->err);
        if (rc < 0 && err)
            *err = job->err;
        return rc;
    }
    cw_cond_init(&waiter);
    job->waiter = &waiter;
    cw_store_job_start(job);
    int rc = follow(job, caller, &waiter, err);
    cw_cond_fini(&waiter);
    return rc;
}
/* Copies the prefix without the '/' at its end, if it may be the name of a file or is empty. */
static int check_prefix(const char *prefix, char *name, struct cw_err *err)
{
    size_t n = strlen(prefix);

    n -= n > 0 && prefix[n - 1] == '/';
    memcpy(name, prefix, n);
    name[n] = '\0';
    return n > 0 ? cw_store_check_name(name, err) : 0;
}
static int list(struct cw_store *store, const char *prefix, bool unwritten, cw_store_list_fn *fn,
                void *arg, struct cw_err *err)
{
    cw_autofree char *name = cw_mem_new(strlen(prefix) + 1);
    const struct caller caller = {fn, arg};
    int rc = check_prefix(prefix, name, err);

    if (rc == 0)
        rc = cw_store_admit(store, err);
    if (rc < 0)
        return rc;
    struct cw_store_job *job = cw_store_job_new(store, call_list, name);
    job->has_latency = true;
    job->unwritten = unwritten;
    job->release = release;
    rc = run(job, &caller, err);
    cw_store_job_unref(job);
    return rc;
}
int cw_store_list(struct cw_store *store, const char *prefix, cw_store_list_fn *fn, void *arg,
                  struct cw_err *err)
{
    return list(store, prefix, false, fn, arg, err);
}
int cw_store_list_unwritten(struct cw_store *store, cw_store_list_fn *fn, void *arg,
                            struct cw_err *err)
{
    return list(store, "", true, fn, arg, err);
}
