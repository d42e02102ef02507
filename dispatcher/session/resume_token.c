/* SPDX-License-Identifier: Apache-2.0 */
/* The token with which a client resumes: whether it is of this job's function, or what is different. */
#include "dispatcher/session/session.h"

/* The token belongs to another function: the error says what is different. */
static int other_function(const struct cw_job *job, const struct cw_token *token,
                          struct cw_err *err)
{
    const Cachew__V1__PlanInfo *info = job->info;
    const char *now = cw_identity_name((enum cw_identity)info->identity),
               *then = cw_identity_name((enum cw_identity)token->identity);
    if (token->pipeline_sum == 0 || info->pipeline_sum == 0)
        return cw_err_set(
            err, CW_E_INVALID,
            "the resume token is of another pipeline, or the source's files have changed since");
    if (token->pipeline_sum != info->pipeline_sum)
        return cw_err_set(
            err, CW_E_INVALID,
            "the resume token is of another pipeline: its operators or their options are others");
    if (token->identity != info->identity)
        return cw_err_set(err, CW_E_INVALID,
                          "the resume token is of a job that told source files from others by "
                          "identity %s, this one does by identity %s: "
                          "resume with --identity %s",
                          then, now, then);
    if (token->files_sum != info->files_sum)
        return cw_err_set(err, CW_E_INVALID,
                          "the resume token is of this pipeline, but its source files are others "
                          "now: which there are, or their sizes");
    if (info->identity == CW_IDENTITY_MTIME)
        return cw_err_set(err, CW_E_INVALID,
                          "the resume token is of this pipeline, and its source files are the same "
                          "by path and size, but times of change of "
                          "some of them are others now (a copy or a touch is enough, by identity "
                          "mtime; jobs that begin with identity size, sample or content do "
                          "not look at them)");
    return cw_err_set(err, CW_E_INVALID,
                      "the resume token is of this pipeline, and its source files are the same by "
                      "path and size, but the bytes of some of "
                      "them are others now (identity %s)",
                      now);
}

int cw_client_read_token(const struct cw_job *job, const Cachew__V1__ClientHello *hello,
                         struct cw_token *ret_token, struct cw_err *err)
{
    int rc = cw_token_decode(hello->token.data, hello->token.len, ret_token, err);
    if (rc != 0)
        return rc;
    if (!cw_hash_eq(ret_token->fingerprint, job->fingerprint))
        rc = other_function(job, ret_token, err);
    else if (ret_token->seed != job->seed)
        rc =
            cw_err_set(err, CW_E_INVALID, "the resume token is of seed %llu, the job has seed %llu",
                       (unsigned long long)ret_token->seed, (unsigned long long)job->seed);
    if (rc != 0)
        cw_token_fini(ret_token);
    return rc;
}
