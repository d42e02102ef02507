/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/job.h"

#include <unistd.h>

#include "base/mem.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"
#include "ops/source_stamp.h"
#include "ops/source/file_set.h"
#include "wire/wire.h"

static int take(const Cachew__V1__GetJobReply *reply, struct tool_job *job, struct cw_err *err)
{
    int rc = 0;
    if (!reply->job || !cw_hash_parse(reply->job->fingerprint, &job->fingerprint))
        return cw_err_set(err, CW_E_CORRUPT, "the dispatcher's answer does not describe a job");
    job->id = cw_mem_strdup(reply->job->job_id);
    job->seed = reply->job->seed;
    job->epoch = reply->job->epoch;
    job->epochs = reply->job->epochs;
    if (reply->manifest.len)
        rc = cw_wire_manifest_unpack(reply->manifest.data, reply->manifest.len, (size_t)1 << 30,
                                     &job->manifest, err);
    if (rc == 0)
        rc = cw_wire_graph_unpack(reply->graph.data, reply->graph.len, &job->graph, err);
    return rc;
}

int tool_job_get(const char *dispatcher, const char *name, struct tool_job *ret_job,
                 struct cw_err *err)
{
    Cachew__V1__GetJobRequest request = CACHEW__V1__GET_JOB_REQUEST__INIT;
    cw_autofree char *copy = cw_mem_strdup(name);
    ProtobufCMessage *message = NULL;
    struct tool_job job = {0};
    request.job = copy;
    int rc = tool_admin_call(dispatcher, "/cachew.v1.Admin/GetJob", &request.base,
                             &cachew__v1__get_job_reply__descriptor, &message, err);
    if (rc < 0)
        return rc;
    rc = take((const Cachew__V1__GetJobReply *)(const void *)message, &job, err);
    protobuf_c_message_free_unpacked(message, NULL);
    if (rc < 0)
        tool_job_fini(&job);
    else
        *ret_job = job;
    return rc;
}

int tool_job_find(const char *dispatcher, struct cw_hash fingerprint, uint64_t seed,
                  struct tool_job *ret_job, struct cw_err *err)
{
    Cachew__V1__ListJobsRequest request = CACHEW__V1__LIST_JOBS_REQUEST__INIT;
    cw_autofree char *id = NULL;
    ProtobufCMessage *message = NULL;
    int rc = tool_admin_call(dispatcher, "/cachew.v1.Admin/ListJobs", &request.base,
                             &cachew__v1__list_jobs_reply__descriptor, &message, err);
    if (rc < 0)
        return rc;
    const Cachew__V1__ListJobsReply *reply =
        (const Cachew__V1__ListJobsReply *)(const void *)message;
    for (size_t i = 0; !id && i < reply->n_jobs; i++) {
        struct cw_hash other;
        if (cw_hash_parse(reply->jobs[i]->fingerprint, &other) && cw_hash_eq(other, fingerprint) &&
            reply->jobs[i]->seed == seed)
            id = cw_mem_strdup(reply->jobs[i]->job_id);
    }
    protobuf_c_message_free_unpacked(message, NULL);
    if (id)
        return tool_job_get(dispatcher, id, ret_job, err);
    return cw_err_set(
        err, CW_E_NOT_FOUND,
        "the dispatcher at %s has no job that this recipe is of: give the pipeline's file as well",
        dispatcher);
}

static int check_file(const struct cw_value *row, enum cw_identity identity, struct cw_err *err)
{
    const char *path;
    struct cw_file_stamp stamp;
    struct cw_io_file file;
    int rc = cw_file_row_read(row, identity, &path, &stamp, NULL, err);
    if (rc == 0)
        rc = cw_source_stamp_open(&stamp, path, NULL, &file, err);
    if (rc == 0)
        cw_io_close(&file);
    return rc;
}

int tool_job_check_files(const struct cw_value *manifest, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < manifest->n && rc == 0; i++) {
        const struct cw_value *source = &manifest->items[i];
        const struct cw_value *files =
            source->type == CW_VALUE_OBJECT ? cw_value_get(source, "files") : NULL;
        enum cw_identity identity = CW_IDENTITY_MTIME;
        rc = files ? cw_file_manifest_identity(source, &identity, err) : 0;
        for (size_t k = 0; files && k < files->n && rc == 0; k++)
            rc = check_file(&files->items[k], identity, err);
    }
    return rc;
}

void tool_job_fini(struct tool_job *job)
{
    cw_mem_free(job->id);
    cw_graph_unref(job->graph);
    cw_value_fini(&job->manifest);
    *job = (struct tool_job){0};
}

uint64_t tool_job_epoch(const struct tool_job *job)
{
    return job->epochs && job->epoch >= job->epochs ? job->epochs - 1 : job->epoch;
}
