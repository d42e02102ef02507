/* SPDX-License-Identifier: Apache-2.0 */
/* Stores are opened and closed here, and calls are made that take the name of a file. */
#include "cache/store/store.h"

#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "cache/store/store_state.h"

/* ---- opening, closing ---- */

static void free_store(struct cw_store *store)
{
    cw_store_jobs_drop(store);
    store->ops->fini(store->self);
    cw_cond_fini(&store->work);
    cw_cond_fini(&store->timer);
    cw_cond_fini(&store->quiet);
    cw_mutex_fini(&store->lock);
    cw_mem_free(store);
}

bool cw_store_has_scheme(const char *text)
{
    for (const struct cw_backend *const *backend = cw_backends; *backend; backend++) {
        const char *scheme = (*backend)->scheme;
        if (cw_str_starts(text, scheme) && text[strlen(scheme)] == ':')
            return true;
    }
    return false;
}

int cw_store_url_check(const char *url, struct cw_err *err)
{
    struct cw_store_url parsed;

    return cw_store_url_parse(cw_backends, url, &parsed, err);
}

int cw_store_open_lazily(const char *url, struct cw_store **ret_store, struct cw_err *err)
{
    struct cw_store *store = CW_NEW(struct cw_store);
    int rc = cw_store_url_parse(cw_backends, url, &store->url, err);

    if (rc < 0) {
        cw_mem_free(store);
        return rc;
    }
    store->ops = store->url.ops;
    store->self = store->ops->init(&store->url);
    store->has_threads =
        store->ops->waits || store->url.latency_ns || store->url.read_rate || store->url.write_rate;
    cw_mutex_init(&store->lock);
    cw_cond_init(&store->work);
    cw_cond_init(&store->timer);
    cw_cond_init(&store->quiet);
    store->on_last_thread = free_store;
    *ret_store = store;
    return 0;
}
int cw_store_open(const char *url, struct cw_store **ret_store, struct cw_err *err)
{
    struct cw_store *store;
    int rc = cw_store_open_lazily(url, &store, err);

    if (rc < 0)
        return rc;
    rc = cw_store_try(store, err);
    if (rc < 0) {
        cw_store_close(store);
        return rc;
    }
    store->is_open = true;
    *ret_store = store;
    return 0;
}
/* Returns a job that somebody waits for or is notified of, or NULL. Called with the lock held. */
static struct cw_store_job *find_attended(const struct cw_store *store)
{
    struct cw_store_job *const lists[] = {store->running, store->calls.head, store->reads.head};

    for (size_t i = 0; i < CW_ARRAY_LEN(lists); i++)
        for (struct cw_store_job *job = lists[i]; job; job = job->next)
            if (!job->is_unattended)
                return job;
    return NULL;
}
void cw_store_close(struct cw_store *store)
{
    if (store)
        cw_store_threads_stop(store);
}
void cw_store_interrupt(struct cw_store *store)
{
    cw_mutex_lock(&store->lock);
    store->is_interrupted = true;
    for (struct cw_store_job *job; (job = find_attended(store));)
        cw_store_job_cancel_locked(job);
    cw_mutex_unlock(&store->lock);
}
const char *cw_store_url(const struct cw_store *store)
{
    return store->url.text;
}

int64_t cw_store_timeout_ms(const struct cw_store *store)
{
    return store->url.has_timeout ? store->url.timeout_ns / 1000000 : 0;
}
bool cw_store_verifies_always(const struct cw_store *store)
{
    return store->url.verifies_always;
}

static struct cw_store *unconst(const struct cw_store *store)
{
    /* the store is const to the caller, but its lock is taken */
    return (struct cw_store *)(uintptr_t)store;
}

bool cw_store_is_unavailable(const struct cw_store *store, struct cw_err *ret_why)
{
    struct cw_store *s = unconst(store);

    cw_mutex_lock(&s->lock);
    bool is_unavailable = s->breaker.is_unavailable;
    if (is_unavailable && ret_why)
        *ret_why = s->breaker.why;
    cw_mutex_unlock(&s->lock);
    return is_unavailable;
}

void cw_store_rates(const struct cw_store *store, struct cw_store_rates *ret_rates)
{
    struct cw_store *s = unconst(store);

    cw_mutex_lock(&s->lock);
    int64_t now = cw_clock_ns();
    *ret_rates = (struct cw_store_rates){.reads = s->reading.n,
                                         .read_bytes = s->reading.bytes,
                                         .read_ns = cw_store_meter_busy_ns(&s->reading, now),
                                         .writes = s->writing.n,
                                         .write_bytes = s->writing.bytes,
                                         .write_ns = cw_store_meter_busy_ns(&s->writing, now),
                                         .errors = s->reading.errors + s->writing.errors};
    cw_mutex_unlock(&s->lock);
}

/* ---- calls on names ---- */

static int call_remove(struct cw_store_job *job)
{
    int rc = job->store->ops->remove(job->store->self, job->name, &job->err);

    return rc == CW_E_NOT_FOUND ? 0 : rc;
}
static int call_stat(struct cw_store_job *job)
{
    return job->store->ops->stat(job->store->self, job->name, &job->v[0], &job->err);
}
static int call_space(struct cw_store_job *job)
{
    return job->store->ops->space(job->store->self, &job->v[0], &job->v[1], &job->err);
}
/* Runs a call, unless the store is unavailable. The caller gives up the reference in *ret_job, also
 * after an error. */
static int run_call(struct cw_store *store, cw_store_call_fn *call, const char *name,
                    struct cw_store_job **ret_job, struct cw_err *err)
{
    int rc = cw_store_admit(store, err);

    *ret_job = NULL;
    if (rc < 0)
        return rc;
    *ret_job = cw_store_job_new(store, call, name);
    (*ret_job)->has_latency = true;
    return cw_store_job_run(*ret_job, err);
}
int cw_store_remove(struct cw_store *store, const char *name, struct cw_err *err)
{
    struct cw_store_job *job = NULL;
    int rc = cw_store_check_name(name, err);

    if (rc == 0)
        rc = run_call(store, call_remove, name, &job, err);
    cw_store_job_unref(job);
    return rc;
}
int cw_store_stat(struct cw_store *store, const char *name, uint64_t *ret_bytes, struct cw_err *err)
{
    struct cw_store_job *job = NULL;
    int rc = cw_store_check_name(name, err);

    if (rc == 0)
        rc = run_call(store, call_stat, name, &job, err);
    if (rc == 0)
        *ret_bytes = job->v[0];
    cw_store_job_unref(job);
    return rc;
}
int cw_store_space(struct cw_store *store, uint64_t *ret_total, uint64_t *ret_free,
                   struct cw_err *err)
{
    struct cw_store_job *job;

    if (!store->ops->space)
        return cw_err_set(err, CW_E_UNSUPPORTED, "store %s does not know its space",
                          store->url.text);
    int rc = run_call(store, call_space, NULL, &job, err);
    if (rc == 0) {
        *ret_total = job->v[0];
        *ret_free = job->v[1];
    }
    cw_store_job_unref(job);
    return rc;
}
