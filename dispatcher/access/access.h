/* SPDX-License-Identifier: Apache-2.0 */
/* Who somebody is, and what he may do: the only place that answers this (docs/security.md). Without
 * a token file and without TLS everybody may do everything, and callers are NULL. This is the face of
 * access/.
 *
 *   methods.c      which kind of caller may call which method
 *   access.c       who a caller is, by the token that he shows; the token file
 *   certificate.c  who a caller is, by the certificate that he shows
 *   service_accounts.c  who a caller is, by a token of a service account of Kubernetes
 *   by_roles.c     what a caller with these roles is, for certificates and accounts
 *   sees.c         which tenant's jobs and caches a caller may see and change */
#ifndef CW_DISPATCHER_ACCESS_ACCESS_H
#define CW_DISPATCHER_ACCESS_ACCESS_H

#include "auth/roles.h"
#include "auth/secret.h"
#include "auth/token_file.h"
#include "dispatcher/model/model.h"
#include "kube/token_reviews.h"

#define CW_CALLER_JOB_BYTES 32
/* The longest credential of a local worker: "job.ID.HEX". */
#define CW_CREDENTIAL_BYTES (CW_CALLER_JOB_BYTES + CW_SECRET_TEXT_BYTES + 8)

enum cw_caller_kind {
    CW_CALLER_NOBODY, /* shows no token */
    CW_CALLER_TENANT,
    CW_CALLER_WORKER,
    CW_CALLER_OPERATOR,
    CW_CALLER_JOB_WORKER, /* a worker of one job, beside its trainer */
    /* A tenant by its certificate, or by a token of a service account: it changes nothing but by its
     * jobs. (The other kinds are the same by a token and by a certificate.) */
    CW_CALLER_CLIENT,
    CW_CALLER_KINDS
};
struct cw_caller {
    enum cw_caller_kind kind;
    uint64_t token_id;                 /* of a token of the file; otherwise 0 */
    char name[CW_TENANT_NAME_MAX + 1]; /* of the token; of a tenant: the tenant */
    char job_id[CW_CALLER_JOB_BYTES];  /* of the worker of a job */
    bool by_account;                   /* it has shown a token of a service account */
    /* The only tenant whose data workers give to the certificate that was shown besides a token, which
     * they do not see; "": any, or no certificate was shown besides. */
    char certificate_tenant[CW_TENANT_NAME_MAX + 1];
};

/* ---- methods.c ---- */
/* Returns whether the kind may call the method at all, such as "/cachew.v1.Admin/ListJobs". A method
 * that the table does not have is nobody's. */
bool cw_access_allows(enum cw_caller_kind kind, const char *method);
/* Iterates over the methods of the table; NULL at the end. */
const char *cw_access_method(size_t i);

/* ---- by_roles.c ---- */
/* What somebody with these roles is, for the method that it calls: of several roles one that may call
 * it. Otherwise the kind is NOBODY. */
void cw_access_by_roles(const struct cw_peer_roles *peer, const char *method,
                        struct cw_caller *ret_caller);
/* Appends the roles that may call the method, with "or" between them. Returns one of them; CW_ROLES:
 * nobody may. */
enum cw_role cw_access_add_roles(const char *method, struct cw_str *out);

/* ---- certificate.c ---- */
/* Finds out who a caller with these DNS names is, as cw_access_by_roles. */
void cw_access_by_certificate(const struct cw_role_rules *rules,
                              const struct cw_gate_question *question,
                              struct cw_caller *ret_caller);
/* Notes what workers will make of the certificate of a caller that is known by a token. */
void cw_access_note_certificate(const struct cw_role_rules *rules,
                                const struct cw_gate_question *question, struct cw_caller *caller);
/* Says which names were seen, and which role is missing. */
#define CW_ACCESS_WHY_BYTES (2 * CW_NAMES_TEXT_BYTES)
void cw_access_explain(const struct cw_role_rules *rules, const struct cw_gate_question *question,
                       char ret_why[CW_ACCESS_WHY_BYTES]);

/* ---- service_accounts.c ---- */
struct cw_service_accounts;
/* Checks the options --token-review and --token-role. */
int cw_service_accounts_check(const struct cw_options *o, struct cw_err *err);
/* Begins to ask the API server about tokens; NULL without the option. */
int cw_service_accounts_open(struct cw_dispatcher *d, struct cw_service_accounts **ret_accounts,
                             struct cw_err *err);
void cw_service_accounts_close(struct cw_service_accounts *accounts); /* Accepts NULL. */
/* Finds out who shows the question's token. PASS: ret_caller is that, and may call the method. Otherwise
 * the gate's answer, and why, which stays valid until the next question. LATER: the server's gate will be
 * asked again. */
enum cw_gate cw_access_by_account(struct cw_service_accounts *accounts,
                                  const struct cw_gate_question *question,
                                  struct cw_caller *ret_caller, const char **ret_why);
/* What the account that shows the token is, of several roles the widest, and the account, borrowed until the
 * next question; NOBODY: it is none, or is not known yet. */
enum cw_caller_kind cw_service_accounts_kind(struct cw_service_accounts *accounts,
                                             const char *token, const char **ret_account);
/* What was asked so far. */
struct cw_token_review_counts
cw_service_accounts_counts(const struct cw_service_accounts *accounts);

/* ---- access.c ---- */
/* Begins to ask who callers are, if there are tokens or TLS. Reads the file of option --token-file,
 * if there is one, and again when it has changed. `changed` is called then, since callers may not be
 * valid any more. */
int cw_access_open(struct cw_dispatcher *d, cw_loop_fn *changed, struct cw_err *err);
void cw_access_close(struct cw_dispatcher *d);
/* Reads the file once more. If it cannot be used, what was read before still counts. */
int cw_access_look_now(struct cw_dispatcher *d);
/* Whether callers are asked who they are. */
bool cw_access_is_on(const struct cw_dispatcher *d);
/* The gate of the server (cw_server_set_gate); arg: the dispatcher. */
enum cw_gate cw_access_gate(void *arg, const struct cw_gate_question *question, void **ret_caller,
                            const char **ret_why);
/* Whether the token that the caller has shown still counts. */
bool cw_access_is_valid(const struct cw_dispatcher *d, const struct cw_caller *caller);
/* Who shows the token, of the file or of a service account: its kind, and its name, which is borrowed until the
 * file is read again or the next question. Where nobody is asked everybody is an operator, without a name. */
enum cw_caller_kind cw_access_kind_of(const struct cw_dispatcher *d, const char *token,
                                      const char **ret_name);
/* Returns the token that workers show which the dispatcher starts itself; NULL: nobody is asked. */
const char *cw_access_own_workers_token(const struct cw_dispatcher *d);
/* What API servers were asked about tokens so far; false: nothing is asked (--token-review). */
bool cw_access_review_counts(const struct cw_dispatcher *d,
                             struct cw_token_review_counts *ret_counts);
/* Prints what a worker of this job alone shows. */
void cw_access_job_credential(const struct cw_job *job, char ret_text[CW_CREDENTIAL_BYTES]);

/* ---- sees.c ---- In all of these the caller may be NULL. */
/* Whether the caller may see and change what belongs to the tenant ("": the tenant "default"). */
bool cw_access_sees_tenant(const struct cw_caller *caller, const char *tenant);
bool cw_access_sees_job(const struct cw_caller *caller, const struct cw_job *job);
/* Refuses a caller (CW_E_DENIED) to whose certificate workers give no data of the tenant ("": "default"): it
 * would wait for its data for ever. */
int cw_access_check_fetch(const struct cw_caller *caller, const char *tenant, struct cw_err *err);
/* By what the caller has shown who it is, for messages: "token" or "certificate". */
const char *cw_access_shown(const struct cw_caller *caller);
/* The tenant to whose things the caller is restricted; NULL: all. */
const char *cw_access_tenant_of(const struct cw_caller *caller);
/* The id of the only job that a worker may serve; NULL: any. */
const char *cw_access_job_of(const struct cw_caller *caller);

#endif
