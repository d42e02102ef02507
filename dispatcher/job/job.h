/* SPDX-License-Identifier: Apache-2.0 */
/* The life and the progress of a job: it is created, prepared by a worker, stored, run, finished or
 * failed, and removed; its items are acknowledged; its state is written and restored. This is the
 * face of job/.
 *
 *   job_new.c           creates and frees a job; takes over what its preparation found
 *   job_prepare.c       a worker opens and indexes the job's sources
 *   index_help.c        other workers make parts of its index
 *   job_tick.c          what happens to a job as time passes: waiting, flushing, its end when
 *                       unused
 *   waits_for.c         what a trainer waits for · tell_waits.c: tells it
 *   job_end.c           the job fails, or is removed; its workers forget it
 *   job_faults.c        failed items and changed files: the job goes on, or fails
 *   acknowledge.c       what trainers say that they have, in pieces
 *   progress.c          epochs that end, the position of a consumer
 *   skip_request.c      items that somebody asked to skip
 *   job_row.c           writes the row of a job, its options and its use · restore.c: loads
 *                       everything at the start
 *   show_elements.c     elements of a job's latest batches, for who looks at it
 *   bad_elements.c      bad elements that were left out: how many, and the first ones
 *   no_lease_warning.c  warns when nothing of a job is leased for long
 *   telemetry.c         measurements of a job, for people and metrics · telemetry_store.c: stored
 *   too_few_workers.c   decisions that say that a job gets fewer workers than it wants */
#ifndef CW_DISPATCHER_JOB_JOB_H
#define CW_DISPATCHER_JOB_JOB_H

#include "base/str.h"
#include "dispatcher/job/telemetry.h"
#include "dispatcher/model/model.h"
#include "dispatcher/state/state.h"

/* ---- job_new.c ---- */
/* Makes a job. It takes the options, the graph without the options of its nodes, and the whole of it
 * packed, from the caller. */
struct cw_job *cw_job_new(struct cw_dispatcher *d, const char *id, Cachew__V1__JobOptions *options,
                          Cachew__V1__Graph *graph, struct cw_buf *packed);
void cw_job_free(struct cw_job *job);
/* Sets what the preparation found out. It takes the info from the caller if it succeeds. */
int cw_job_set_info(struct cw_job *job, Cachew__V1__PlanInfo *info, struct cw_err *err);
void cw_job_clients_changed(struct cw_job *job);

/* ---- job_tick.c ---- */
void cw_job_tick(struct cw_job *job, int64_t now);
/* Returns why the job is to be removed now, or NULL. */
const char *cw_job_is_over(const struct cw_job *job, int64_t now);
/* Decides where the job's elements are cached, if that is due. It may fail the job. */
void cw_job_decide_cache(struct cw_job *job, int64_t now);

/* ---- show_elements.c ---- */
/* Somebody (`who`, for the log) looks at the job's elements: has a worker show some of its next output, if
 * that is due. Returns the latest that were shown, and their age; NULL: there are none yet. */
Cachew__V1__ElementsShown *cw_job_elements_look(struct cw_job *job, const char *who, int64_t now,
                                                uint64_t *ret_age_ms);
/* Takes what a worker shows out of its message. */
void cw_job_elements_take(struct cw_worker *worker, Cachew__V1__WorkerMessage *message);
/* Forgets them when nobody has looked for a while. */
void cw_job_elements_tick(struct cw_job *job, int64_t now);
void cw_job_elements_free(struct cw_job *job);

/* ---- job_end.c ---- */
/* Removes the job from the state directory and from workers, and frees it. It has no clients any
 * more (cw_clients_end_job). */
void cw_job_remove(struct cw_job *job, const char *reason);
/* Fails the job. Its clients are sent the error at the end of the loop iteration
 * (cw_clients_notify_failed). */
void cw_job_fail(struct cw_job *job, int code, const char *msg);
/* Tells the workers that have something of the job to forget it. Those that are away are told when
 * they come back. If the job runs again (a token sets it back), it is sent to them anew. */
void cw_job_send_forget(struct cw_job *job, const char *reason);

/* ---- job_prepare.c ---- */
/* Looks for a worker that can prepare the job. */
void cw_job_prepare(struct cw_job *job);
/* Records how far the worker is with the jobs that it prepares. */
void cw_job_note_preparing(struct cw_worker *worker, const Cachew__V1__Progress *progress,
                           int64_t now);
/* Records which items the worker is slow with. */
void cw_job_note_slow(const struct cw_worker *worker, const Cachew__V1__Progress *progress,
                      int64_t now);
/* A worker has prepared the job, which runs now or has failed. The caller must tell its clients. */
void cw_job_prepared(struct cw_job *job, Cachew__V1__Prepared *prepared);

/* ---- index_help.c ---- */
/* Offers workers to the one that prepares the job. */
void cw_job_index_offer(struct cw_job *job);
/* The preparing worker leases parts to one that it was offered. */
void cw_job_index_lease(struct cw_worker *worker, Cachew__V1__IndexLease *lease);
/* A worker has made its parts, or cannot. */
void cw_job_index_made(struct cw_worker *worker, Cachew__V1__IndexMade *made);
/* A worker makes no parts any more. */
void cw_job_index_worker_gone(struct cw_worker *worker);
/* Tells those who make parts that the job is over. */
void cw_job_index_forget(struct cw_job *job, const char *reason);

/* ---- job_faults.c: each of these may fail the job ---- */
/* The worker of the share died: the items that it was computing are blamed. */
void cw_job_blame_items(struct cw_share *share);
/* An item failed on a worker: it is retried elsewhere, a few times. */
/* A worker died in an operator of a plugin while it worked for the job. */
void cw_job_operator_died(struct cw_job *job, const Cachew__V1__Died *died);
void cw_job_item_failed(struct cw_job *job, const struct cw_worker *worker,
                        const Cachew__V1__ItemFailed *failed);
/* Notes that a worker sees other source files than those that the job was prepared with. */
void cw_job_other_files_seen(struct cw_share *share, const char *error, int64_t now);
/* Fails the job if no worker is left that sees its files. */
void cw_job_judge_files(struct cw_job *job, int64_t now);

/* ---- restore.c ---- */
int cw_restore_all(struct cw_dispatcher *d, struct cw_err *err);
/* Restores one job. If its stored state cannot be used, the job fails and the dispatcher goes on.
 * An error means that there is no memory for it. */
int cw_restore_job(struct cw_dispatcher *d, const struct cw_state_job *row, struct cw_err *err);

/* ---- job_row.c ---- */
void cw_job_store(struct cw_job *job); /* Writes the job's row to state.db. */
/* Writes the job's options, which have changed, to state.db. */
void cw_job_store_options(struct cw_job *job);
/* Writes the job's use of resources, and its telemetry with it, if they were written long enough
 * ago. With `all` they are written if they have changed at all. */
void cw_job_store_usage(struct cw_job *job, int64_t now, bool all);
/* Returns whether use or telemetry have changed since they were written. */
bool cw_job_usage_is_unstored(const struct cw_job *job);
/* Returns whether use or telemetry have changed and were not written for long. */
bool cw_job_usage_is_due(const struct cw_job *job, int64_t now);

/* ---- acknowledge.c ---- */
/* What a trainer says that it has, and how much of it was taken. It is zeroed, and the fields above
 * the line are set. */
struct cw_ack {
    uint64_t over, over_end; /* The trainer is done with the epochs [over, over_end). */
    Cachew__V1__EpochSet *const *received, *const *consumed;
    size_t received_n, consumed_n;
    /* ---- of acknowledge.c ---- */
    Cachew__V1__EpochSet over_set;
    Cachew__V1__Interval whole, *whole_at;
    size_t next, at; /* The set, and its interval, that come next... */
    uint64_t from; /* ... and if a part of that one was taken, the number where the rest begins. */
    /* How many items of the set were looked at, and how many of them were new: of those that
     * alternate with the items of others (CW_DEALT_STEPS_MAX). */
    uint64_t looked, found;
};
void cw_job_ack_init(const struct cw_job *job, struct cw_ack *ack);
/* Takes as much of it as takes some milliseconds. *ret_more: there is more. An error ends it. */
int cw_job_ack(struct cw_job *job, uint32_t consumer, struct cw_ack *ack, bool *ret_more,
               struct cw_err *err) CW_MUST_CHECK;

/* ---- progress.c ---- */
/* Ends the epochs whose items are all consumed, and finishes the job after the last one. */
void cw_job_advance(struct cw_job *job);
/* Writes what has changed in the job to state.db (state/state.h). */
void cw_job_flush(struct cw_job *job);
void cw_job_resume_at(struct cw_job *job, uint32_t consumer, const struct cw_token *token);
/* The client that held the consumer slot will not come back: items that it received and did not
 * consume go to others, or to the next client of the slot. */
void cw_job_release_consumer(struct cw_job *job, uint32_t consumer);
uint64_t cw_job_skip(struct cw_job *job, uint64_t epoch, const struct cw_set *items,
                     const char *reason);

/* ---- skip_request.c ---- */
/* Skips items of an epoch by request, also of a past one: a trainer that goes back will not get
 * them. Returns how many of them it has consumed. The job is running and dense; lo < hi, and hi is
 * at most its number of items. */
uint64_t cw_job_skip_on_request(struct cw_job *job, uint64_t epoch, uint64_t lo, uint64_t hi);
/* For sparse jobs: skips batches [lo, hi); and returns how many batches an epoch can have. */
uint64_t cw_job_skip_batches(struct cw_job *job, uint64_t number, uint64_t lo, uint64_t hi);
uint64_t cw_job_max_batches(const struct cw_job *job);

/* ---- no_lease_warning.c ---- */
/* Is called at each tick. Warns once in the log if nothing is leased for long. */
void cw_job_warn_no_lease(struct cw_job *job, int64_t now);
/* Returns whether nothing is leased although the job has workers and a trainer waits. ret_reason
 * says what the job waits for. */
bool cw_job_lacks_leases(struct cw_job *job, struct cw_str *ret_reason);

#endif
