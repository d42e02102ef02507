/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the services for tools share. */
#ifndef CW_DISPATCHER_ADMIN_ADMIN_INT_H
#define CW_DISPATCHER_ADMIN_ADMIN_INT_H

#include "cachew/v1/admin.pb-c.h"
#include "dispatcher/access/access.h"
#include "dispatcher/admin/admin.h"
#include "dispatcher/job/job.h"

/* ---- svc_common.c ---- */
void cw_svc_reply(struct cw_call *call, const ProtobufCMessage *message);
/* For a reply that is made piece by piece: adds the packed message. Packed messages of one type, put
 * together, are one message with the fields of all. */
void cw_svc_add_packed(struct cw_str *packed, const ProtobufCMessage *message);
/* Replies with what was added, and takes it. */
void cw_svc_reply_packed(struct cw_call *call, struct cw_str *packed);
/* Replies when everything that was written so far is stored (cw_when_stored). If it cannot be
 * stored now, the call fails with an error that says so. */
void cw_svc_reply_stored(struct cw_dispatcher *d, struct cw_call *call,
                         const ProtobufCMessage *message);
/* Calls fn when state.db contains everything that was written so far, or the first attempt to store
 * it has failed. So a call that reads state.db sees what was decided before it. Takes the
 * message. */
typedef void cw_svc_read_fn(struct cw_dispatcher *d, struct cw_call *call,
                            const ProtobufCMessage *message);
void cw_svc_when_readable(struct cw_dispatcher *d, struct cw_call *call, ProtobufCMessage *message,
                          cw_svc_read_fn *fn);
/* Returns the unpacked request, or NULL after failing the call. */
ProtobufCMessage *cw_svc_unpack(const ProtobufCMessageDescriptor *type, struct cw_call *call,
                                struct cw_rpc_msg *request);
/* Finds a job by id or name. Returns NULL after failing the call. */
struct cw_job *cw_svc_find_job(struct cw_dispatcher *d, struct cw_call *call, const char *name);

/* ---- svc_jobs.c ---- */
/* Returns "preparing", "running", "waiting", "finished" or "failed". */
char *cw_svc_job_state(const struct cw_job *job);
struct cw_svc_job_row { /* The row of a job. It borrows from the job. */
    Cachew__V1__JobRow row;
    Cachew__V1__Usage usage;
    Cachew__V1__TrainerWindow window;
    char fingerprint[CW_HASH_TEXT_BYTES];
    char waits_for[600];
};
void cw_svc_job_row(struct cw_job *job, struct cw_svc_job_row *ret_row);
void cw_svc_list_jobs(void *arg, struct cw_call *call, struct cw_rpc_msg *request);

/* ---- svc_cache.c ---- */
/* Returns the cache of this name ("": the default one), if the caller may see it. NULL after failing
 * the call. */
struct cw_cache_service *cw_svc_find_cache(struct cw_dispatcher *d, struct cw_call *call,
                                           const char *name);

/* ---- svc_workers.c ---- */
void cw_svc_list_workers(void *arg, struct cw_call *call, struct cw_rpc_msg *request);

/* ---- svc_tenants.c ---- */
void cw_svc_usage(const struct cw_usage *usage, Cachew__V1__Usage *ret_row);

/* ---- svc_decisions.c ---- */
/* Rows of decisions as messages of the admin service, the oldest first. */
struct cw_svc_decisions {
    Cachew__V1__Decision **v;
    size_t n, cap, bytes;
    bool brief; /* Set by the caller: candidates and inputs are left out. */
    bool more;  /* There are more decisions than these. It is set only for queries with after_id. */
    /* Set by the caller: which of them are shown; NULL: all. */
    bool (*sees)(void *arg, const struct cw_state_decision *row);
    void *arg;
    uint64_t limit; /* of those that are shown */
};
int cw_svc_decisions_read(struct cw_dispatcher *d, const struct cw_state_decision_query *query,
                          struct cw_svc_decisions *ret_list, struct cw_err *err);
void cw_svc_decisions_fini(struct cw_svc_decisions *list);
/* A row as a message; brief: without candidates and inputs. Texts that are NULL count as "". */
Cachew__V1__Decision *cw_svc_decision_new(const struct cw_state_decision *row, bool brief);
void cw_svc_decision_free(Cachew__V1__Decision *decision);

/* ---- measured_rows.c ---- */
void cw_svc_window_row(const struct cw_scale_window *window, Cachew__V1__TrainerWindow *ret_row);
/* Fills in the fields of JobRow from number 30 on. They borrow from the job. */
void cw_svc_telemetry_row(const struct cw_job *job, Cachew__V1__TrainerWindow *window,
                          Cachew__V1__JobRow *row);
/* Fills in the fields of WorkerRow from number 15 on. The caller frees row->jobs. */
void cw_svc_worker_row(const struct cw_worker *worker, int64_t now, Cachew__V1__WorkerRow *row);

/* ---- metrics_tls.c ---- */
/* Starts d->http with the certificate of --tls-cert, and again when that changes. */
struct cw_http_page;
int cw_metrics_tls_open(struct cw_dispatcher *d, const struct cw_http_page *pages,
                        struct cw_err *err);
void cw_metrics_tls_close(struct cw_dispatcher *d);

/* ---- svc_fleet.c ---- */
void cw_svc_drain_worker(void *arg, struct cw_call *call, struct cw_rpc_msg *request);
void cw_svc_scale_fleet(void *arg, struct cw_call *call, struct cw_rpc_msg *request);

#endif
