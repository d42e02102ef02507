/* SPDX-License-Identifier: Apache-2.0 */
/* The life and the progress of a job: made, prepared by a worker, stored, running, finished or
 * failed, removed; what is acknowledged of it; what is written of it and restored. This is the face
 * of job/.
 *
 *   job_new.c           made and freed; what its preparation found is taken over
 *   job_prepare.c       a worker opens and indexes its sources
 *   job_tick.c          what it does with time: waits, is watched and flushed, and is over
 *   job_end.c           it fails, or is removed
 *   job_faults.c        verdicts on items and files, carried out
 *   progress.c          acknowledgements, epochs that close, where a consumer goes on
 *   skip_request.c      items that somebody asked to leave out
 *   persist.c           its row and what it has used are written · restore.c: all is loaded
 *   no_lease_warning.c  a warning when nothing of it is leased for long
 *   telemetry.c         what was measured of it, for people and metrics · telemetry_store.c: stored
 *   share_alerts.c      decisions that say that it gets fewer workers than it wants */
#ifndef CW_DISPATCHER_JOB_JOB_H
#define CW_DISPATCHER_JOB_JOB_H

#include "base/str.h"
#include "dispatcher/job/telemetry.h"
#include "dispatcher/model/model.h"
#include "dispatcher/state/state.h"

/* ---- job_new.c ---- */
/* Takes options, graph. */
struct cw_job *cw_job_new(struct cw_dispatcher *d, const char *id, Cachew__V1__JobOptions *options,
                          Cachew__V1__Graph *graph);
void cw_job_free(struct cw_job *job);
int cw_job_set_info(struct cw_job *job, Cachew__V1__PlanInfo *info /* taken on success */,
                    struct cw_err *err);
void cw_job_clients_changed(struct cw_job *job);

/* ---- job_tick.c ---- */
void cw_job_tick(struct cw_job *job, int64_t now);
/* Why it is to be removed now, or NULL. */
const char *cw_job_is_over(const struct cw_job *job, int64_t now);
/* Where its elements are cached is decided, if that is due. May fail the job. */
void cw_job_decide_cache(struct cw_job *job, int64_t now);

/* ---- job_end.c ---- */
/* Also from the state directory and from workers; it has no clients any more
 * (cw_clients_end_job). Frees it. */
void cw_job_remove(struct cw_job *job, const char *reason);
/* Its clients are sent the error at the end of the loop's iteration (cw_clients_notify_failed). */
void cw_job_fail(struct cw_job *job, int code, const char *msg);

/* ---- job_prepare.c ---- */
bool cw_job_may_prepare(const struct cw_worker *worker, const struct cw_job *job);
/* Looks for a worker to prepare it. */
void cw_job_prepare(struct cw_job *job);
/* whether what it prepares comes on */
void cw_job_note_preparing(struct cw_worker *worker, const Cachew__V1__Progress *progress,
                           int64_t now);
/* A worker has prepared it: it runs now, or has failed; its clients are to be told. */
void cw_job_prepared(struct cw_job *job, const Cachew__V1__Prepared *prepared);

/* ---- job_faults.c: each may fail the job ---- */
/* The worker of the share died: what it was computing is blamed. */
void cw_job_blame_items(struct cw_share *share);
/* An item failed on a worker: it is retried elsewhere, a few times. */
void cw_job_item_failed(struct cw_job *job, const struct cw_worker *worker,
                        const Cachew__V1__ItemFailed *failed);
/* The worker sees other files than the job was prepared with. */
void cw_job_other_files_seen(struct cw_share *share, const char *error, int64_t now);
/* Fails the job if no worker is left that sees its files. */
void cw_job_judge_files(struct cw_job *job, int64_t now);

/* ---- restore.c ---- */
int cw_restore_all(struct cw_dispatcher *d, struct cw_err *err);
/* One of them. What is stored of it cannot be used: it fails, and the dispatcher goes on. An
 * error: there is no memory for it. */
int cw_restore_job(struct cw_dispatcher *d, const struct cw_state_job *row, struct cw_err *err);

/* ---- persist.c ---- */
void cw_job_store(struct cw_job *job);         /* its row */
void cw_job_store_options(struct cw_job *job); /* these have changed */
/* With what people read of the job (telemetry.h), which is stored at the same time: when it has not
 * been for some time (all: if it changed at all). */
void cw_job_store_usage(struct cw_job *job, int64_t now, bool all);
bool cw_job_usage_is_unstored(const struct cw_job *job);         /* changed since */
bool cw_job_usage_is_due(const struct cw_job *job, int64_t now); /* changed, and long not stored */

/* ---- progress.c ---- */
void cw_job_ack(struct cw_job *job, uint32_t consumer, Cachew__V1__EpochSet *const *sets, size_t n,
                bool consumed);
void cw_job_advance(struct cw_job *job); /* closes epochs that are done; finishes the job */
void cw_job_flush(struct cw_job *job);   /* writes what has changed (state.h) */
void cw_job_resume_at(struct cw_job *job, uint32_t consumer, const struct cw_token *token);
/* Whoever held the place will not come back: what he had received and not consumed goes to
 * others, or to the next. */
void cw_job_release_consumer(struct cw_job *job, uint32_t consumer);
uint64_t cw_job_skip(struct cw_job *job, uint64_t epoch, uint64_t lo, uint64_t hi,
                     const char *reason);

/* ---- skip_request.c ---- */
/* Leaves items out of an epoch, past ones too: for when the trainer goes back. Returns how many
 * of them it has consumed. The job is running and dense; lo < hi, at most its items. */
uint64_t cw_job_skip_on_request(struct cw_job *job, uint64_t epoch, uint64_t lo, uint64_t hi);
/* Sparse: batches [lo, hi) instead, and how many batches an epoch can have. */
uint64_t cw_job_skip_batches(struct cw_job *job, uint64_t number, uint64_t lo, uint64_t hi);
uint64_t cw_job_max_batches(const struct cw_job *job);

/* ---- no_lease_warning.c ---- */
/* Each tick: says once in the log that nothing is leased, when that lasts. */
void cw_job_warn_no_lease(struct cw_job *job, int64_t now);
/* It has workers, somebody waits, and nothing is leased; ret_reason: what it waits for. */
bool cw_job_lacks_leases(struct cw_job *job, struct cw_str *ret_reason);

#endif
