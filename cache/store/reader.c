/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are open for reading. */
#include "base/clock.h"
#include "cache/store/store_state.h"

void cw_store_file_close(struct cw_store_file *file)
{
    if (file)
        cw_store_file_unref(file);
}

static int call_open(struct cw_store_job *job)
{
    struct cw_store *store = job->store;
    void *own;

    int rc = store->ops->open(store->self, job->name, &own, &job->v[0], &job->err);
    if (rc == 0) {
        job->opened = cw_store_file_new(store, own, false);
        job->opened->bytes = job->v[0];
    }
    return rc;
}
int cw_store_file_open(struct cw_store *store, const char *name, struct cw_store_file **ret_file,
                       uint64_t *ret_bytes, struct cw_err *err)
{
    int rc = cw_store_check_name(name, err);

    if (rc == 0)
        rc = cw_store_admit(store, err);
    if (rc < 0)
        return rc;
    struct cw_store_job *job = cw_store_file_job_new(store, call_open, name);
    job->has_latency = true;
    rc = cw_store_job_run(job, err);
    if (rc == 0) {
        *ret_file = job->opened;
        job->opened = NULL;
        *ret_bytes = (*ret_file)->bytes;
    }
    cw_store_job_unref(job);
    return rc;
}
const void *cw_store_file_map(struct cw_store_file *file)
{
    struct cw_store *store = file->store;

    if (!store->ops->map || store->url.read_rate || store->url.latency_ns || file->bytes == 0)
        return NULL;
    return store->ops->map(file->own);
}
bool cw_store_file_is_broken(struct cw_store_file *file, uint64_t *ret_offset)
{
    const struct cw_backend *ops = file->store->ops;

    return ops->is_broken && ops->is_broken(file->own, ret_offset);
}

bool cw_store_file_may_read_past(struct cw_store_file *file)
{
    const struct cw_backend *ops = file->store->ops;

    return file->store->has_threads && ops->may_read_past && ops->may_read_past(file->own);
}

static void begin_meter(struct cw_store *store)
{
    cw_mutex_lock(&store->lock);
    cw_store_meter_begin(&store->reading, cw_clock_ns());
    cw_mutex_unlock(&store->lock);
}

/* Reads on the calling thread: for a store that never blocks. */
static int read_here(struct cw_store_file *file, uint64_t offset, void *dst, size_t n,
                     struct cw_err *err)
{
    struct cw_store *store = file->store;
    int rc = store->ops->read(file->own, offset, dst, n, err);

    cw_mutex_lock(&store->lock);
    cw_store_meter_end(&store->reading, n, rc, cw_clock_ns());
    cw_mutex_unlock(&store->lock);
    return rc;
}
static int refuse(struct cw_store *store, struct cw_err *err)
{
    cw_mutex_lock(&store->lock);
    int rc = cw_store_breaker_refuse(&store->breaker, store->url.text, cw_clock_ns(), err);
    if (rc < 0)
        cw_store_meter_end(&store->reading, 0, rc, cw_clock_ns());
    cw_mutex_unlock(&store->lock);
    return rc;
}
/* Refuses a range that reaches beyond the end of the file, without asking the backend. */
static int check_range(struct cw_store_file *file, uint64_t offset, size_t n, struct cw_err *err)
{
    if (offset <= file->bytes && n <= file->bytes - offset)
        return 0;
    return cw_err_set(
        err, CW_E_CORRUPT, "store %s: a file has %llu bytes, but %zu at %llu are wanted",
        file->store->url.text, (unsigned long long)file->bytes, n, (unsigned long long)offset);
}
static struct cw_store_job *new_read(struct cw_store_file *file, uint64_t offset, void *dst,
                                     size_t n)
{
    struct cw_store_job *job = cw_store_file_job_new(file->store, NULL, NULL);

    cw_mutex_lock(&file->store->lock);
    job->file = cw_store_file_ref_locked(file);
    cw_mutex_unlock(&file->store->lock);
    job->offset = offset;
    job->dst = dst;
    job->n = n;
    return job;
}
int cw_store_file_read(struct cw_store_file *file, uint64_t offset, void *dst, size_t n,
                       struct cw_err *err)
{
    struct cw_store *store = file->store;
    int rc = check_range(file, offset, n, err);

    if (rc < 0 || n == 0)
        return rc;
    begin_meter(store);
    if (!store->has_threads)
        return read_here(file, offset, dst, n, err);
    if ((rc = refuse(store, err)) < 0)
        return rc;
    struct cw_store_job *job = new_read(file, offset, dst, n);
    rc = cw_store_job_run(job, err);
    cw_store_job_unref(job);
    cw_mutex_lock(&store->lock);
    cw_store_meter_end(&store->reading, n, rc, cw_clock_ns());
    cw_mutex_unlock(&store->lock);
    return rc;
}
static void end_here(struct cw_store_read *read, int rc)
{
    void (*left)(struct cw_store_read *) = read->left;

    read->done(read, rc);
    if (left)
        left(read);
}
void cw_store_file_read_start(struct cw_store_read *read)
{
    struct cw_store *store = read->file->store;
    int rc = check_range(read->file, read->offset, read->n, &read->err);

    if (rc < 0 || read->n == 0) {
        end_here(read, rc);
        return;
    }
    begin_meter(store);
    if (!store->has_threads) {
        end_here(read, read_here(read->file, read->offset, read->dst, read->n, &read->err));
        return;
    }
    if ((rc = refuse(store, &read->err)) < 0) {
        end_here(read, rc);
        return;
    }
    struct cw_store_job *job = new_read(read->file, read->offset, read->dst, read->n);
    job->read = read;
    job->has_left = read->left != NULL;
    job->is_past = read->past && cw_store_file_may_read_past(read->file);
    cw_store_job_start(job);
    cw_store_job_unref(job);
}
