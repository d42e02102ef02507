/* SPDX-License-Identifier: Apache-2.0 */
/* Admin.ListDecisions: the recorded decisions, from state.db. */
#include "dispatcher/admin/admin_int.h"

#include <string.h>

#define LIMIT_DEFAULT 100
#define LIMIT_MOST 1000

/* Splits the candidates of a decision into lines. */
static void split(const char *text, char ***ret_lines, size_t *ret_n)
{
    char **lines = NULL;
    size_t n = 0, cap = 0;
    while (*text) {
        size_t len = strcspn(text, "\n");
        CW_GROW(lines, n, cap);
        lines[n++] = cw_mem_strndup(text, len);
        text += len + (text[len] == '\n');
    }
    *ret_lines = lines;
    *ret_n = n;
}

void cw_svc_decision_free(Cachew__V1__Decision *d)
{
    char *const texts[] = {d->kind,   d->policy, d->choice,  d->reason,
                           d->inputs, d->job_id, d->job_name};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_mem_free(texts[i]);
    for (size_t i = 0; i < d->n_candidates; i++)
        cw_mem_free(d->candidates[i]);
    cw_mem_free(d->candidates);
    cw_mem_free(d);
}

void cw_svc_decisions_fini(struct cw_svc_decisions *list)
{
    for (size_t i = 0; i < list->n; i++)
        cw_svc_decision_free(list->v[i]);
    cw_mem_free(list->v);
    *list = (struct cw_svc_decisions){0};
}

static char *dup_text(const char *s)
{
    return cw_mem_strdup(s ? s : "");
}

Cachew__V1__Decision *cw_svc_decision_new(const struct cw_state_decision *row, bool brief)
{
    Cachew__V1__Decision *d = CW_NEW(Cachew__V1__Decision);
    cachew__v1__decision__init(d);
    d->id = row->id;
    d->time_ms = row->time_ms;
    d->epoch = row->epoch;
    d->kind = dup_text(row->kind);
    d->policy = dup_text(row->policy);
    d->choice = dup_text(row->choice);
    d->reason = dup_text(row->reason);
    d->inputs = dup_text(brief ? "" : row->inputs);
    d->job_id = dup_text(row->job);
    d->job_name = dup_text(row->name);
    split(brief || !row->candidates ? "" : row->candidates, &d->candidates, &d->n_candidates);
    return d;
}

static int on_decision(void *arg, const struct cw_state_decision *row, struct cw_err *err)
{
    struct cw_svc_decisions *list = arg;
    (void)err;
    if (list->bytes > CW_DECISIONS_BYTES || (list->sees && list->n == list->limit))
        return 1;
    if (list->sees && !list->sees(list->arg, row))
        return 0;
    list->bytes +=
        strlen(row->reason) + (list->brief ? 0 : strlen(row->inputs) + strlen(row->candidates));
    CW_GROW(list->v, list->n, list->cap);
    list->v[list->n++] = cw_svc_decision_new(row, list->brief);
    return 0;
}

static void reverse(Cachew__V1__Decision **v, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        Cachew__V1__Decision *d = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = d;
    }
}

int cw_svc_decisions_read(struct cw_dispatcher *d, const struct cw_state_decision_query *query,
                          struct cw_svc_decisions *ret_list, struct cw_err *err)
{
    struct cw_svc_decisions list = {.brief = ret_list->brief,
                                    .sees = ret_list->sees,
                                    .arg = ret_list->arg,
                                    .limit = query->limit};
    struct cw_state_decision_query all = *query;
    if (list.sees) /* What is hidden does not count for the limit. */
        all.limit = INT64_MAX;
    int rc = cw_state_find_decisions(d->state, &all, on_decision, &list, err);
    if (rc < 0) {
        cw_svc_decisions_fini(&list);
        return rc;
    }
    if (query->after_id == 0)
        reverse(list.v, list.n);
    list.more = query->after_id > 0 && (list.n == query->limit || list.bytes > CW_DECISIONS_BYTES);
    *ret_list = list;
    return 0;
}

/* Finds the id of the job that the request names. */
static int find_job(struct cw_dispatcher *d, const char *name, const struct cw_caller *caller,
                    struct cw_str *ret_id, bool *ret_over, struct cw_err *err)
{
    const struct cw_job *job = cw_job_find(d, name);
    bool sees = job ? cw_access_sees_job(caller, job) : !cw_access_tenant_of(caller);
    if (!sees)
        return cw_err_set(err, CW_E_NOT_FOUND, "there is no job \"%s\"", name);
    *ret_over = !job || job->status == CW_JOB_FINISHED || job->status == CW_JOB_FAILED;
    if (!job)
        return cw_state_find_decided(d->state, name, ret_id, err);
    cw_str_add(ret_id, job->id);
    return 0;
}

struct reader {
    struct cw_dispatcher *d;
    const struct cw_caller *caller;
};

/* Whether a tenant sees a decision: those about its jobs. Those of removed jobs, and those about the
 * fleet, are the operators' alone. */
static bool sees(void *arg, const struct cw_state_decision *row)
{
    const struct reader *reader = arg;
    const struct cw_job *job = cw_strmap_get(&reader->d->jobs_by_id, row->job);
    return job && cw_access_sees_job(reader->caller, job);
}

/* An error if there are no decisions of this kind ("": of any). */
static int check_kind(const char *kind, struct cw_err *err)
{
    CW_STR_AUTO all = {0};
    if (kind[0] == '\0')
        return 0;
    for (size_t i = 0; i < CW_DECISION_KINDS; i++) {
        if (strcmp(kind, cw_decision_kinds[i]) == 0)
            return 0;
        cw_str_addf(&all, "%s%s", i > 0 ? ", " : "", cw_decision_kinds[i]);
    }
    return cw_err_set(err, CW_E_INVALID, "kind \"%s\" is none of decisions: %s", kind,
                      cw_str_text(&all));
}

static int list(struct cw_dispatcher *d, const Cachew__V1__ListDecisionsRequest *request,
                struct cw_call *call, struct cw_err *err)
{
    CW_STR_AUTO job = {0};
    bool over = false;
    int rc = check_kind(request->kind, err);
    if (rc == 0 && request->job[0] != '\0')
        rc = find_job(d, request->job, cw_call_caller(call), &job, &over, err);
    if (rc < 0)
        return rc;
    struct reader reader = {d, cw_call_caller(call)};
    struct cw_svc_decisions found = {.brief = request->brief, .arg = &reader};
    if (cw_access_tenant_of(reader.caller))
        found.sees = sees;
    const struct cw_state_decision_query query = {
        .job = job.len > 0 ? cw_str_text(&job) : NULL,
        .kind = request->kind[0] != '\0' ? request->kind : NULL,
        .after_id = request->after_id,
        .limit = request->limit > 0 ? CW_MIN(request->limit, LIMIT_MOST) : LIMIT_DEFAULT,
    };
    rc = cw_svc_decisions_read(d, &query, &found, err);
    if (rc < 0)
        return rc;
    Cachew__V1__ListDecisionsReply answer = CACHEW__V1__LIST_DECISIONS_REPLY__INIT;
    answer.decisions = found.v;
    answer.n_decisions = found.n;
    answer.more = found.more;
    answer.over = over;
    answer.generation = d->generation;
    cw_svc_reply(call, &answer.base);
    cw_svc_decisions_fini(&found);
    return 0;
}

static void list_asked(struct cw_dispatcher *d, struct cw_call *call,
                       const ProtobufCMessage *message)
{
    struct cw_err err = {0};
    int rc = list(d, (const Cachew__V1__ListDecisionsRequest *)message, call, &err);
    if (rc < 0)
        cw_call_fail(call, rc, err.msg);
}

static void handle_list(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    ProtobufCMessage *message =
        cw_svc_unpack(&cachew__v1__list_decisions_request__descriptor, call, request);
    if (message)
        cw_svc_when_readable(arg, call, message, list_asked);
}

void cw_svc_decisions_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/ListDecisions", handle_list, NULL, d};
    cw_server_add(d->server, &method);
}
