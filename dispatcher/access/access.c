/* SPDX-License-Identifier: Apache-2.0 */
/* The token file, which a timer looks at, and the gate: who a caller is, and whether he may call. With
 * TLS the gate also asks the certificate (certificate.c). */
#include "dispatcher/access/access.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#define LOOK_MS 1000
/* One line of the log tells of all refusals in this time. */
#define REFUSED_LOG_MS 10000
#define JOB_PREFIX "job."

struct cw_access {
    struct cw_dispatcher *d;
    const char *file;           /* NULL: there is no token file */
    struct cw_role_rules rules; /* with TLS */
    char why[CW_ACCESS_WHY_BYTES];
    struct cw_auth_tokens tokens;
    struct cw_service_accounts *accounts; /* NULL: without --token-review */
    struct stat read; /* what the file was when it was read; all 0: it was not there */
    struct cw_timer *look;
    bool is_new; /* the gate has read the file, and the sessions were not told of it yet */
    cw_loop_fn *changed;
    char own_workers[CW_SECRET_TEXT_BYTES];
    int64_t refused_ms; /* when the last line about refusals was logged */
    uint64_t refused;   /* refusals since then */
};

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* The file is looked at before it is read: if it changes in between, it is read once more. */
static int read_tokens(struct cw_access *access, struct cw_err *err)
{
    struct cw_auth_tokens tokens = {0};
    struct stat st = {0};
    (void)stat(access->file, &st);
    access->read = st;
    int rc = cw_auth_tokens_read(access->file, &tokens, err);
    if (rc != 0)
        return rc;
    cw_auth_tokens_keep_ids(&tokens, &access->tokens);
    cw_auth_tokens_fini(&access->tokens);
    access->tokens = tokens;
    if (tokens.readable_by_all)
        cw_log_warn(CW_LOG_MOD, "token file %s: every user of this host can read it (chmod 600)",
                    access->file);
    return 0;
}

static int read_anew(struct cw_access *access)
{
    struct cw_err err = {0};
    int rc = read_tokens(access, &err);
    /* A file that stays as it is is not looked at again, and its error is told once. */
    if (rc != 0) {
        cw_log_error(CW_LOG_MOD, "the tokens that were read before still count: %s", err.msg);
        return rc;
    }
    cw_log_info(CW_LOG_MOD, "token file %s: %zu tokens are read", access->file, access->tokens.n);
    return 0;
}

int cw_access_look_now(struct cw_dispatcher *d)
{
    int rc = read_anew(d->access);
    if (rc == 0)
        d->access->changed(d);
    return rc;
}

static bool has_changed(const struct cw_access *access)
{
    struct stat st = {0};
    (void)stat(access->file, &st);
    return !is_same(&st, &access->read);
}

static void on_look(void *arg)
{
    struct cw_access *access = arg;
    if (access->is_new) {
        access->is_new = false;
        access->changed(access->d);
    } else if (has_changed(access)) {
        (void)cw_access_look_now(access->d);
    }
}

int cw_access_open(struct cw_dispatcher *d, cw_loop_fn *changed, struct cw_err *err)
{
    unsigned char secret[CW_SECRET_BYTES];
    if (!d->options.token_file && !d->options.token_review &&
        !cw_tls_options_are_set(&d->options.tls))
        return 0;
    struct cw_access *access = CW_NEW(struct cw_access);
    access->d = d;
    access->file = d->options.token_file;
    access->changed = changed;
    int rc = access->file ? read_tokens(access, err) : 0;
    if (rc == 0)
        rc = cw_service_accounts_open(d, &access->accounts, err);
    if (rc != 0) {
        cw_auth_tokens_fini(&access->tokens);
        cw_mem_free(access);
        return rc;
    }
    cw_tls_options_rules(&d->options.tls, &access->rules);
    cw_secret_make(secret, sizeof(secret));
    cw_secret_text(secret, access->own_workers);
    if (access->file) {
        access->look = cw_timer_new(d->loop, on_look, access);
        cw_timer_start(access->look, LOOK_MS, LOOK_MS);
    }
    d->access = access;
    return 0;
}

void cw_access_close(struct cw_dispatcher *d)
{
    struct cw_access *access = d->access;
    if (!access)
        return;
    cw_timer_free(access->look);
    cw_service_accounts_close(access->accounts);
    cw_auth_tokens_fini(&access->tokens);
    cw_role_rules_fini(&access->rules);
    cw_mem_free(access);
    d->access = NULL;
}

bool cw_access_is_on(const struct cw_dispatcher *d)
{
    return d->access != NULL;
}

const char *cw_access_own_workers_token(const struct cw_dispatcher *d)
{
    return d->access ? d->access->own_workers : NULL;
}

/* ---- who somebody is ---- */

void cw_access_job_credential(const struct cw_job *job, char ret_text[CW_CREDENTIAL_BYTES])
{
    char secret[CW_SECRET_TEXT_BYTES];
    cw_secret_text(job->worker_secret, secret);
    snprintf(ret_text, CW_CREDENTIAL_BYTES, JOB_PREFIX "%s.%s", job->id, secret);
}

static const enum cw_caller_kind kinds[CW_AUTH_KINDS] = {[CW_AUTH_TENANT] = CW_CALLER_TENANT,
                                                         [CW_AUTH_WORKER] = CW_CALLER_WORKER,
                                                         [CW_AUTH_OPERATOR] = CW_CALLER_OPERATOR};

enum cw_caller_kind cw_access_kind_of(const struct cw_dispatcher *d, const char *token,
                                      const char **ret_name)
{
    *ret_name = "";
    if (!d->access)
        return CW_CALLER_OPERATOR;
    const struct cw_auth_token *found =
        token ? cw_auth_tokens_find(&d->access->tokens, token) : NULL;
    if (!found && token && d->access->accounts)
        return cw_service_accounts_kind(d->access->accounts, token, ret_name);
    if (!found)
        return CW_CALLER_NOBODY;
    *ret_name = found->name;
    return kinds[found->kind];
}

static bool find_of_file(const struct cw_access *access, const char *token,
                         struct cw_caller *caller)
{
    const struct cw_auth_token *found = cw_auth_tokens_find(&access->tokens, token);
    if (!found)
        return false;
    caller->kind = kinds[found->kind];
    caller->token_id = found->id;
    snprintf(caller->name, sizeof(caller->name), "%s", found->name);
    return true;
}

static bool find_of_job(const struct cw_access *access, const char *token, struct cw_caller *caller)
{
    char id[CW_CALLER_JOB_BYTES], right[CW_CREDENTIAL_BYTES];
    size_t n = strlen(JOB_PREFIX),
           id_n = strncmp(token, JOB_PREFIX, n) == 0 ? strcspn(&token[n], ".") : sizeof(id);
    if (id_n >= sizeof(id))
        return false;
    snprintf(id, sizeof(id), "%.*s", (int)id_n, &token[n]);
    const struct cw_job *job = cw_strmap_get(&access->d->jobs_by_id, id);
    if (!job)
        return false;
    cw_access_job_credential(job, right);
    if (!cw_secret_equal(token, strlen(token), right, strlen(right)))
        return false;
    caller->kind = CW_CALLER_JOB_WORKER;
    snprintf(caller->name, sizeof(caller->name), "%s", job->tenant->name);
    snprintf(caller->job_id, sizeof(caller->job_id), "%s", id);
    return true;
}

static bool is_own_worker(const struct cw_access *access, const char *token,
                          struct cw_caller *caller)
{
    if (!cw_secret_equal(token, strlen(token), access->own_workers, strlen(access->own_workers)))
        return false;
    caller->kind = CW_CALLER_WORKER;
    return true;
}

bool cw_access_is_valid(const struct cw_dispatcher *d, const struct cw_caller *caller)
{
    return !d->access || !caller || caller->token_id == 0 ||
           cw_auth_tokens_have_id(&d->access->tokens, caller->token_id);
}

bool cw_access_review_counts(const struct cw_dispatcher *d,
                             struct cw_token_review_counts *ret_counts)
{
    if (!d->access || !d->access->accounts)
        return false;
    *ret_counts = cw_service_accounts_counts(d->access->accounts);
    return true;
}

/* ---- the gate ---- */

static enum cw_gate refuse(struct cw_access *access, const struct cw_gate_question *question,
                           enum cw_gate answer, const char *why)
{
    int64_t now = cw_clock_ms();
    access->refused++;
    if (access->refused_ms != 0 && now - access->refused_ms < REFUSED_LOG_MS)
        return answer;
    cw_log_warn(CW_LOG_MOD, "%s is refused %.80s: %s (%llu refused since the last such line)",
                question->peer, question->method, why, (unsigned long long)access->refused);
    access->refused_ms = now;
    access->refused = 0;
    return answer;
}

static enum cw_gate pass(const struct cw_caller *caller, void **ret_caller)
{
    struct cw_caller *passed = CW_NEW(struct cw_caller);
    *passed = *caller;
    *ret_caller = passed;
    return CW_GATE_PASS;
}

static bool is_known(const struct cw_access *access, const char *token, struct cw_caller *caller)
{
    return token && (find_of_file(access, token, caller) || is_own_worker(access, token, caller) ||
                     find_of_job(access, token, caller));
}

/* Before a token is refused the file is looked at: this process may have been stopped while tokens were
 * rotated, and a trainer that is told that its token is wrong ends. */
static bool is_known_by_now(struct cw_access *access, const char *token, struct cw_caller *caller)
{
    if (!token || !access->file || !has_changed(access) || read_anew(access) != 0)
        return false;
    access->is_new = true;
    cw_timer_start(access->look, 0, LOOK_MS);
    return is_known(access, token, caller);
}

/* Asks who shows a token that only an API server may know. */
static enum cw_gate ask_for_account(struct cw_access *access,
                                    const struct cw_gate_question *question, void **ret_caller,
                                    const char **ret_why)
{
    struct cw_caller caller = {.kind = CW_CALLER_NOBODY};
    enum cw_gate answer = cw_access_by_account(access->accounts, question, &caller, ret_why);
    if (answer == CW_GATE_LATER)
        return answer;
    if (answer != CW_GATE_PASS)
        return refuse(access, question, answer, *ret_why);
    if (question->tls)
        cw_access_note_certificate(&access->rules, question, &caller);
    return pass(&caller, ret_caller);
}

enum cw_gate cw_access_gate(void *arg, const struct cw_gate_question *question, void **ret_caller,
                            const char **ret_why)
{
    struct cw_dispatcher *d = arg;
    struct cw_access *access = d->access;
    const char *token = question->token;
    struct cw_caller caller = {.kind = CW_CALLER_NOBODY};
    bool known = is_known(access, token, &caller) || is_known_by_now(access, token, &caller);
    /* A token that is shown counts before the certificate, also a wrong one. */
    bool by_certificate = question->tls && !known && !(token && (access->file || access->accounts));
    if (by_certificate)
        cw_access_by_certificate(&access->rules, question, &caller);
    else if (question->tls && known)
        cw_access_note_certificate(&access->rules, question, &caller);
    if (cw_access_allows(caller.kind, question->method))
        return pass(&caller, ret_caller);
    if (known) {
        *ret_why = "the token that was shown is of a kind that may not do this";
        return refuse(access, question, CW_GATE_DENY, *ret_why);
    }
    if (token && access->accounts)
        return ask_for_account(access, question, ret_caller, ret_why);
    if (by_certificate) {
        cw_access_explain(&access->rules, question, access->why);
        *ret_why = access->why;
        return refuse(access, question,
                      access->file || access->accounts ? CW_GATE_ASK : CW_GATE_DENY, *ret_why);
    }
    *ret_why = token ? "the token that was shown is not known here (--token-file, "
                       "CACHEW_TOKEN_FILE)"
                     : "a token is needed here (--token-file, CACHEW_TOKEN_FILE)";
    /* Most callers show a token only when they are asked for one, so asking is no news. */
    return token ? refuse(access, question, CW_GATE_ASK, *ret_why) : CW_GATE_ASK;
}
