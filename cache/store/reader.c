/* SPDX-License-Identifier: Apache-2.0 */
/* Files open for reading. */
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "cache/store/store_core.h"

struct cw_store_file *cw_store_file_new(struct cw_store *store, void *own, bool is_out)
{
    struct cw_store_file *file = CW_NEW(struct cw_store_file);

    file->store = store;
    file->own = own;
    file->is_out = is_out;
    file->refs = 1;
    return file;
}
struct cw_store_file *cw_store_file_ref_locked(struct cw_store_file *file)
{
    file->refs++;
    return file;
}
static bool drop_ref(struct cw_store_file *file)
{
    cw_mutex_lock(&file->store->lock);
    bool is_last = --file->refs == 0;
    cw_mutex_unlock(&file->store->lock);
    return is_last;
}
static void free_file(struct cw_store_file *file)
{
    const struct cw_backend *ops = file->store->ops;

    if (file->own && file->is_out)
        ops->abandon(file->own);
    else if (file->own)
        ops->close(file->own);
    cw_mem_free(file);
}
void cw_store_file_unref_here(struct cw_store_file *file)
{
    if (drop_ref(file))
        free_file(file);
}
static int call_close(struct cw_store_job *job)
{
    (void)job; /* the file goes with the job */
    return 0;
}
void cw_store_file_unref(struct cw_store_file *file)
{
    struct cw_store *store = file->store;

    if (!drop_ref(file))
        return;
    if (!store->has_threads || !file->own) {
        free_file(file);
        return;
    }
    struct cw_store_job *job = cw_store_job_new(store, call_close, NULL);
    file->refs = 1;
    job->file = file;
    job->is_nobodys = true;
    cw_store_job_start(job);
    cw_store_job_unref(job);
}
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
    struct cw_store_job *job = cw_store_job_new(store, call_open, name);
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

/* Not on an I/O thread: of a store that does not wait. */
static int read_here(struct cw_store_file *file, uint64_t offset, void *dst, size_t n,
                     struct cw_err *err)
{
    struct cw_store *store = file->store;
    int rc = store->ops->read(file->own, offset, dst, n, err);

    cw_mutex_lock(&store->lock);
    cw_store_meter_end_locked(store, &store->reading, n, rc);
    cw_mutex_unlock(&store->lock);
    return rc;
}
static int refuse(struct cw_store *store, struct cw_err *err)
{
    cw_mutex_lock(&store->lock);
    int rc = cw_store_refuse_locked(store, err);
    if (rc < 0)
        cw_store_meter_end_locked(store, &store->reading, 0, rc);
    cw_mutex_unlock(&store->lock);
    return rc;
}
/* What lies behind the end needs no asking. */
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
    struct cw_store_job *job = cw_store_job_new(file->store, NULL, NULL);

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
    cw_store_meter_begin(store, &store->reading);
    if (!store->has_threads)
        return read_here(file, offset, dst, n, err);
    if ((rc = refuse(store, err)) < 0)
        return rc;
    struct cw_store_job *job = new_read(file, offset, dst, n);
    rc = cw_store_job_run(job, err);
    cw_store_job_unref(job);
    cw_mutex_lock(&store->lock);
    cw_store_meter_end_locked(store, &store->reading, n, rc);
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
    cw_store_meter_begin(store, &store->reading);
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
