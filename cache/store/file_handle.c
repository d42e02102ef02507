/* SPDX-License-Identifier: Apache-2.0 */
/* Open files of a backend, for reading or writing. Each read or write under way holds a reference,
 * since a thread that is stuck in one may outlive its caller. */
#include "base/mem.h"
#include "cache/store/store_state.h"

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

static void release_files(struct cw_store_job *job, bool on_io_thread)
{
    struct cw_store_file *const files[] = {job->file, job->opened};

    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++)
        if (files[i] && on_io_thread)
            cw_store_file_unref_here(files[i]);
        else if (files[i])
            cw_store_file_unref(files[i]);
}

struct cw_store_job *cw_store_file_job_new(struct cw_store *store, cw_store_call_fn *call,
                                           const char *name)
{
    struct cw_store_job *job = cw_store_job_new(store, call, name);

    job->release = release_files;
    return job;
}

static int call_close(struct cw_store_job *job)
{
    (void)job; /* the file is released together with the job */
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
    struct cw_store_job *job = cw_store_file_job_new(store, call_close, NULL);
    file->refs = 1;
    job->file = file;
    job->is_unattended = true;
    cw_store_job_start(job);
    cw_store_job_unref(job);
}
