/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the row of a job, its options, and what it has used. progress.c writes its progress. */
#include "dispatcher/job/job.h"

#include <string.h>

/* If other progress is written as well, the job's use of resources is written at most this
 * often. */
#define STORE_MS 1000
/* If no other progress is written, the job's use of resources is written at most this often. */
#define STORE_ALONE_MS 10000

static struct cw_state_blob blob_of(const struct cw_buf *buf)
{
    return buf ? (struct cw_state_blob){buf->data, buf->len} : (struct cw_state_blob){"", 0};
}

/* Packs what the preparation found, with the completed pipeline. */
static struct cw_buf *pack_info(const struct cw_job *job)
{
    const struct cw_wire_part part = {"completed", job->completed_packed};
    struct cw_buf *bufs[CW_WIRE_PART_BUFS_MAX];
    size_t n = cw_wire_pack_parts(NULL, 0, &job->info->base, &part, 1, bufs), bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += bufs[i]->len;
    struct cw_buf *packed = cw_buf_new(bytes);
    CW_ASSERT(packed);
    packed->len = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy((char *)packed->data + packed->len, bufs[i]->data, bufs[i]->len);
        packed->len += bufs[i]->len;
        cw_buf_unref(bufs[i]);
    }
    return packed;
}

void cw_job_store(struct cw_job *job)
{
    struct cw_buf *options = cw_wire_pack(&job->options->base);
    struct cw_buf *info = pack_info(job);
    unsigned char secrets[2 * CW_SECRET_BYTES];
    memcpy(secrets, job->data_secret, CW_SECRET_BYTES);
    memcpy(&secrets[CW_SECRET_BYTES], job->worker_secret, CW_SECRET_BYTES);
    const struct cw_state_job row = {
        .id = job->id,
        .name = job->name,
        .status = job->status,
        .options = blob_of(options),
        .graph = blob_of(job->graph_packed),
        .manifest = blob_of(job->manifest),
        .graph_buf = job->graph_packed,
        .manifest_buf = job->manifest,
        .info = blob_of(info),
        .first_epoch = job->first_epoch,
        .error_code = job->error_code,
        .error = job->error,
        .created_ms = job->created_ms,
        .secrets = {secrets, sizeof(secrets)},
    };
    cw_state_put_job(job->d->state, &row);
    job->row_written = true;
    job->d->due.stored_rows = true;
    job->row_seq = cw_state_seq(job->d->state);
    cw_buf_unref(options);
    cw_buf_unref(info);
}

void cw_job_store_options(struct cw_job *job)
{
    if (!job->row_written)
        return;
    struct cw_buf *options = cw_wire_pack(&job->options->base);
    const struct cw_state_blob blob = blob_of(options);
    cw_state_set_options(job->d->state, job->id, &blob);
    cw_buf_unref(options);
}

/* Telemetry also changes by itself, since workers report hits later than the items that had
 * them. */
static bool is_changed(const struct cw_job *job)
{
    return memcmp(&job->usage, &job->usage_stored, sizeof(job->usage)) != 0 ||
           cw_telemetry_is_changed(job);
}

bool cw_job_usage_is_unstored(const struct cw_job *job)
{
    return job->row_written && is_changed(job);
}

bool cw_job_usage_is_due(const struct cw_job *job, int64_t now)
{
    return job->row_written && now - job->usage_stored_ms >= STORE_ALONE_MS && is_changed(job);
}

void cw_job_store_usage(struct cw_job *job, int64_t now, bool all)
{
    if (!job->row_written || (!all && now - job->usage_stored_ms < STORE_MS) || !is_changed(job))
        return;
    cw_state_put_usage(job->d->state, job->id, &job->usage);
    cw_telemetry_store(job);
    job->usage_stored = job->usage;
    job->usage_stored_ms = now;
}
