/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a file, several pieces at once. An I/O thread may be stuck in a write long after its
 * caller has gone on, so the memory of pieces belongs to the jobs. It is the caller's memory if
 * that can be held and begins at a page; otherwise bytes are copied to a place, and a place is used
 * again when its write has ended, so that most of it stays in the processor's caches. */
#include <string.h>
#include "base/clock.h"
#include "base/fault.h"
#include "base/mem.h"
#include "cache/store/store_state.h"

#define WRITES_MAX 8

struct put {
    struct cw_store *store;
    const char *name;
    const struct iovec *parts;
    size_t parts_n, part, at; /* position in the caller's parts at which the next piece begins */
    uint64_t offset, total;
    struct cw_store_file *out;
    struct cw_cond waiter;
    struct cw_store_job *jobs[WRITES_MAX]; /* writes under way, a ring */
    size_t first, jobs_n;
    size_t most; /* the most writes that are under way at once */
    /* memory for copied pieces: `most` places of place_bytes; NULL until it is needed */
    struct cw_buf *pieces;
    size_t place_bytes, copied;       /* copied: number of pieces that were copied so far */
    const struct cw_store_held *held; /* NULL: all bytes are copied */
    bool is_synced;
};

static int call_create(struct cw_store_job *job)
{
    struct cw_store *store = job->store;
    void *own;

    int rc = store->ops->create(store->self, job->name, &own, &job->err);
    if (rc == 0)
        job->opened = cw_store_file_new(store, own, true);
    return rc;
}
static int call_write(struct cw_store_job *job)
{
    return job->store->ops->write(job->file->own, job->offset, job->data, job->n, &job->err);
}
static int call_sync(struct cw_store_job *job)
{
    return job->store->ops->sync ? job->store->ops->sync(job->file->own, &job->err) : 0;
}
static int call_commit(struct cw_store_job *job)
{
    void *own = job->file->own;

    job->file->own = NULL;
    return job->store->ops->commit(own, &job->err);
}

static struct cw_store_job *job_of(struct put *put, cw_store_call_fn *call)
{
    struct cw_store_job *job = cw_store_file_job_new(put->store, call, put->name);

    cw_mutex_lock(&put->store->lock);
    job->file = cw_store_file_ref_locked(put->out);
    cw_mutex_unlock(&put->store->lock);
    return job;
}
static int run_step(struct put *put, cw_store_call_fn *call, struct cw_err *err)
{
    struct cw_store_job *job = job_of(put, call);
    int rc = cw_store_job_run(job, err);

    cw_store_job_unref(job);
    return rc;
}
/* Waits for the end of the write that began first. */
static int wait_for_one(struct put *put, struct cw_err *err)
{
    struct cw_store_job *job = put->jobs[put->first % WRITES_MAX];

    put->first++;
    put->jobs_n--;
    int rc = cw_store_job_wait(job, &put->waiter, err);
    cw_store_job_unref(job);
    return rc;
}
/* Advances the position by n bytes, and copies them to dst unless that is NULL. */
static void pass(struct put *put, uint8_t *dst, size_t n)
{
    while (n > 0) {
        const struct iovec *part = &put->parts[put->part];
        size_t some = CW_MIN(n, part->iov_len - put->at);
        if (dst && some > 0)
            memcpy(dst, (const uint8_t *)part->iov_base + put->at, some);
        dst = dst ? dst + some : NULL;
        n -= some;
        put->at += some;
        if (put->at == part->iov_len) {
            put->part++;
            put->at = 0;
        }
    }
}
/* Returns how many bytes can be written from where they lie, beginning `at` bytes into part `no`,
 * at this offset in the file. */
static size_t uncopied_bytes(const struct put *put, size_t no, size_t at, uint64_t offset)
{
    const struct iovec *part = &put->parts[no];
    size_t n = part->iov_len - at;

    if (!put->held || !put->held->is_held[no] || offset % CW_MEM_PAGE ||
        ((uintptr_t)part->iov_base + at) % CW_MEM_PAGE)
        return 0;
    return CW_MIN(n - n % CW_MEM_PAGE, CW_MAX(put->store->ops->write_bytes, CW_STORE_PIECE));
}
/* Returns how many bytes must be copied before the next ones that can be written from where they
 * lie. */
static size_t copied_bytes(const struct put *put)
{
    size_t n = 0, at = put->at;

    for (size_t i = put->part; i < put->parts_n && n < CW_STORE_PIECE; i++) {
        if (n && uncopied_bytes(put, i, at, put->offset + n))
            return n;
        n += put->parts[i].iov_len - at;
        at = 0;
    }
    return CW_MIN(n, CW_STORE_PIECE);
}
static void throttle(struct cw_store *store, size_t n)
{
    if (!store->url.write_rate)
        return;
    cw_mutex_lock(&store->lock);
    int64_t now = cw_clock_ns();
    store->write_next_ns = CW_MAX(store->write_next_ns, now) +
                           (int64_t)((double)n * 1e9 / (double)store->url.write_rate);
    int64_t wait_ns = store->write_next_ns - now;
    cw_mutex_unlock(&store->lock);
    cw_clock_sleep_ns(wait_ns);
}
static void free_pieces(void *arg, struct cw_buf *buf)
{
    (void)arg;
    cw_mem_free(buf->data);
}
static int make_pieces(struct put *put, struct cw_err *err)
{
    put->place_bytes = (size_t)CW_MIN(CW_ALIGN_UP(put->total - put->offset, (uint64_t)CW_MEM_PAGE),
                                      CW_STORE_PIECE);
    size_t bytes = put->most * put->place_bytes;
    void *data = cw_mem_try_pages(bytes);

    if (!data)
        return cw_err_set(err, CW_E_NOMEM, "store %s: no memory to write %s", put->store->url.text,
                          put->name);
    put->pieces = cw_buf_wrap(data, bytes, free_pieces, NULL);
    return 0;
}
/* Makes the job for the next piece, whose bytes are written from where they lie or are copied to a
 * place. The piece that used that place before began `most` writes ago, and has ended. */
static int next_piece(struct put *put, struct cw_store_job **ret_job, struct cw_err *err)
{
    while (put->parts[put->part].iov_len == 0)
        put->part++;
    size_t straight = uncopied_bytes(put, put->part, put->at, put->offset),
           n = straight ? straight : copied_bytes(put);

    if (!straight && !put->pieces && make_pieces(put, err) < 0)
        return CW_E_NOMEM;
    throttle(put->store, n);
    struct cw_store_job *job = *ret_job = job_of(put, call_write);
    uint8_t *place =
        straight ? NULL
                 : (uint8_t *)put->pieces->data + put->copied++ % put->most * put->place_bytes;
    job->pieces = cw_buf_ref(straight ? put->held->hold : put->pieces);
    job->data = straight ? (const uint8_t *)put->parts[put->part].iov_base + put->at : place;
    job->n = n;
    pass(put, place, n);
    return 0;
}
static int start_write(struct put *put, struct cw_err *err)
{
    struct cw_store *store = put->store;
    struct cw_store_job *job = NULL;
    int rc = next_piece(put, &job, err);

    if (rc < 0)
        return rc;
    job->offset = put->offset;
    put->offset += job->n;
    if (!store->has_threads) {
        rc = cw_store_job_run(job, err);
        cw_store_job_unref(job);
        return rc;
    }
    job->waiter = &put->waiter;
    put->jobs[(put->first + put->jobs_n++) % WRITES_MAX] = job;
    cw_store_job_start(job);
    return 0;
}
/* After an error no further write is begun, since a write that was given up may still read its
 * place. */
static int write_all(struct put *put, struct cw_err *err)
{
    int rc = 0;

    put->most = CW_MIN(CW_MAX(put->store->ops->writes, 1u), (unsigned)WRITES_MAX);
    while (rc == 0 && put->offset < put->total) {
        if (put->jobs_n == put->most)
            rc = wait_for_one(put, err);
        if (rc == 0)
            rc = start_write(put, err);
    }
    /* This waits also after an error: each write ends within the timeout. */
    while (put->jobs_n > 0) {
        int one = wait_for_one(put, rc == 0 ? err : NULL);
        rc = rc < 0 ? rc : one;
    }
    return rc;
}
static int create(struct put *put, struct cw_err *err)
{
    struct cw_store_job *job = cw_store_file_job_new(put->store, call_create, put->name);

    job->has_latency = true;
    int rc = cw_store_job_run(job, err);
    if (rc == 0) {
        put->out = job->opened;
        job->opened = NULL;
    }
    cw_store_job_unref(job);
    return rc;
}
static int run_steps(struct put *put, struct cw_err *err)
{
    int rc = create(put, err);

    cw_fault_point("store.created");
    if (rc == 0)
        rc = write_all(put, err);
    cw_fault_point("store.written");
    if (rc == 0 && put->is_synced)
        rc = run_step(put, call_sync, err);
    cw_fault_point("store.synced");
    if (rc == 0)
        rc = run_step(put, call_commit, err);
    cw_fault_point("store.committed");
    if (put->out)
        cw_store_file_unref(put->out);
    return rc;
}
/* Whether writes hang: then the memory that they hold should not grow. */
static bool is_stuck(struct cw_store *store)
{
    cw_mutex_lock(&store->lock);
    bool stuck = store->stuck > 0;
    cw_mutex_unlock(&store->lock);
    return stuck;
}
static int put_file(struct put *put, struct cw_err *err)
{
    struct cw_store *store = put->store;
    int rc = cw_store_check_name(put->name, err);

    if (rc == 0)
        rc = cw_store_admit(store, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < put->parts_n; i++)
        put->total += put->parts[i].iov_len;
    cw_cond_init(&put->waiter);
    cw_mutex_lock(&store->lock);
    cw_store_meter_begin(&store->writing, cw_clock_ns());
    cw_mutex_unlock(&store->lock);
    rc = run_steps(put, err);
    cw_mutex_lock(&store->lock);
    cw_store_meter_end(&store->writing, put->total, rc, cw_clock_ns());
    cw_mutex_unlock(&store->lock);
    cw_cond_fini(&put->waiter);
    cw_buf_unref(put->pieces);
    return rc;
}
int cw_store_put(struct cw_store *store, const char *name, const struct iovec *parts,
                 size_t parts_n, struct cw_err *err)
{
    return cw_store_put_held(store, name, parts, parts_n, NULL, err);
}
int cw_store_put_held(struct cw_store *store, const char *name, const struct iovec *parts,
                      size_t parts_n, const struct cw_store_held *held, struct cw_err *err)
{
    struct put put = {.store = store,
                      .name = name,
                      .parts = parts,
                      .parts_n = parts_n,
                      .held = is_stuck(store) ? NULL : held,
                      .is_synced = true};

    return put_file(&put, err);
}
int cw_store_put_unsynced(struct cw_store *store, const char *name, const struct iovec *parts,
                          size_t parts_n, struct cw_err *err)
{
    struct put put = {.store = store, .name = name, .parts = parts, .parts_n = parts_n};

    return put_file(&put, err);
}
