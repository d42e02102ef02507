/* SPDX-License-Identifier: Apache-2.0 */
/* What a pipeline gives, before it gives anything: names, types and shapes of the tensors of its
 * batches. A trainer can allocate memory and compile its step from it. */
#ifndef CACHEW_SPEC_H
#define CACHEW_SPEC_H

#include "cachew/pipeline.h"
#include "cachew/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is known of one tensor of all batches. The struct begins with its size, so that it can
 * grow. */
struct cachew_field {
    size_t struct_size;            /* CACHEW_FIELD_INIT sets it */
    const char *name;              /* as cachew_tensor.name; the text belongs to the spec */
    enum cachew_dtype dtype;       /* of its values */
    int rank;                      /* number of dimensions, 0 to CACHEW_RANK_MAX */
    int64_t dims[CACHEW_RANK_MAX]; /* the first `rank` are used; -1 = it depends on the data;
                                      CACHEW_DIM_RAGGED = and on the row of the batch */
};
#define CACHEW_FIELD_INIT                                                                          \
    {                                                                                              \
        sizeof(struct cachew_field), NULL, CACHEW_U8, 0,                                           \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
/* The tensors of a batch, in their order. It is not changed; several threads may use it at once. */
struct cachew_spec;
/* Number of tensors; 0 for NULL. */
size_t cachew_spec_fields(const struct cachew_spec *spec);
/* Tells of tensor i, from 0. The first dimension of a batch is known only if the operator `batch`
 * has drop_remainder: otherwise the last batch of an epoch may be shorter, and it is -1. Errors:
 * CACHEW_E_NOT_FOUND (there is no tensor i; *ret_field has no name), CACHEW_E_INVALID
 * (struct_size). */
int cachew_spec_field(const struct cachew_spec *spec, size_t i, struct cachew_field *ret_field);
/* Frees a spec of cachew_pipeline_check. NULL is accepted. Any thread. */
void cachew_spec_free(struct cachew_spec *spec);

struct cachew_client;
struct cachew_job;
/* What the job's batches are made of, as the worker found that has prepared it. It belongs to the
 * job and stays valid until cachew_job_close. NULL: no such job, or a forked child. Any thread. */
const struct cachew_spec *cachew_job_spec(const struct cachew_job *job);
/* Asks the dispatcher whether it can run a pipeline, without starting a job and without a worker:
 * whether its operators are known there, their options right, and shapes and types fit. Data are not
 * read: if files say what the elements are (`idx`, `chunks`) and the options do not, the pipeline is
 * checked as far as that goes, and *ret_spec has no fields. With "local:" it is the private dispatcher
 * that is asked. It waits for the
 * answer, for timeout_ms of cachew_connect at most. ret_spec may be NULL; otherwise the caller frees
 * *ret_spec with cachew_spec_free. Any thread.
 *
 * Errors: CACHEW_E_INVALID and others that a job would fail with at its start (the message names
 * node, operator and option), CACHEW_E_LIMIT (more than 256 KiB: cachew_job_start checks it),
 * CACHEW_E_UNAVAILABLE and CACHEW_E_TIMEOUT (the dispatcher does not answer), CACHEW_E_UNSUPPORTED
 * (a dispatcher of an older version), CACHEW_E_STATE (no such client, or a forked child). */
int cachew_pipeline_check(struct cachew_client *client, const struct cachew_pipeline *pipeline,
                          struct cachew_spec **ret_spec, struct cachew_error *error);

#ifdef __cplusplus
}
#endif
#endif
