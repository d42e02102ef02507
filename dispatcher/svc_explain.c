/* SPDX-License-Identifier: Apache-2.0 */
/* Admin.Explain: a job's decisions, and what its policy would say now. */
#include <string.h>
#include "dispatcher/decide.h"
#include "dispatcher/svc.h"

static char empty[] = "";
static char kind[] = "autocache";

struct lines { /* a text cut at its newlines */
    char *text;
    char **v;
    size_t n;
};

static void cut(const char *text, struct lines *ret_lines)
{
    struct lines lines = {.text = cw_mem_strdup(text)};
    size_t cap = 0;
    for (char *p = lines.text; *p;) {
        CW_GROW(lines.v, lines.n, cap);
        lines.v[lines.n++] = p;
        p += strcspn(p, "\n");
        if (*p)
            *p++ = '\0';
    }
    *ret_lines = lines;
}

static void lines_fini(struct lines *lines)
{
    cw_mem_free(lines->v);
    cw_mem_free(lines->text);
}

static void fill_decision(const struct cw_decision *from, struct lines *lines, Cachew__V1__Decision *to)
{
    cachew__v1__decision__init(to);
    cut(from->candidates, lines);
    to->time_ms = from->time_ms;
    to->kind = kind;
    to->policy = from->policy;
    to->choice = from->choice;
    to->reason = from->reason;
    to->candidates = lines->v;
    to->n_candidates = lines->n;
    to->inputs = from->inputs;
    to->epoch = from->epoch;
}

struct now { /* what the policy would say */
    struct cw_decision decision;
    struct lines lines;
    bool decided;
};

static void think(struct cw_decider *decider, struct now *ret_now)
{
    struct cw_decide_view view;
    struct cw_autocache_decision d = {0};
    struct cw_err err = {0};
    CW_STR_AUTO inputs = {0};
    cw_decide_view_init(decider, &view);
    cw_autocache_snapshot_print(&view.s, &inputs);
    bool over = cw_decide_epochs_left(decider->job) <= 0;
    int rc = decider->policy && !over ? decider->policy->decide(&view.s, decider->argument, &d, &err) : 0;
    ret_now->decided = rc == 0 && d.decided;
    ret_now->decision = (struct cw_decision){
        .time_ms = cw_clock_wall_ms(),
        .epoch = decider->job->first_epoch,
        .policy = cw_mem_strdup(decider->option),
        .choice = cw_mem_strdup(ret_now->decided && d.node < view.s.n ? view.nodes[d.node].name : ""),
        .reason = cw_mem_strdup(rc < 0 ? err.msg : over ? "No epoch is left." : cw_str_text(&d.reason)),
        .candidates = cw_mem_strdup(cw_str_text(&d.candidates)),
        .inputs = cw_mem_strdup(cw_str_text(&inputs)),
    };
    cw_autocache_decision_fini(&d);
    cw_decide_view_fini(&view);
}

static void now_fini(struct now *now)
{
    char *const texts[] = {now->decision.policy, now->decision.choice, now->decision.reason, now->decision.candidates, now->decision.inputs};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        cw_mem_free(texts[i]);
    lines_fini(&now->lines);
}

static void explain(struct cw_job *job, struct cw_call *call)
{
    struct cw_svc_job_row row;
    cw_svc_job_row(job, &row);
    struct cw_decider *decider = cw_decide_of(job);
    size_t n = decider ? decider->decisions_n : 0;
    Cachew__V1__Decision *rows = CW_NEW_ARRAY(Cachew__V1__Decision, n + 1), **list = CW_NEW_ARRAY(Cachew__V1__Decision *, n + 1);
    struct lines *lines = CW_NEW_ARRAY(struct lines, n + 1);
    struct now now = {0};
    Cachew__V1__ExplainReply answer = CACHEW__V1__EXPLAIN_REPLY__INIT;
    for (size_t i = 0; i < n; i++) {
        fill_decision(&decider->decisions[i], &lines[i], &rows[i]);
        list[i] = &rows[i];
    }
    answer.job = &row.row;
    answer.decisions = list;
    answer.n_decisions = n;
    answer.policy = decider ? (char *)(uintptr_t)decider->option : empty;
    if (decider) {
        answer.hits = (uint64_t)decider->measure.all_hits;
        think(decider, &now);
        fill_decision(&now.decision, &now.lines, &rows[n]);
        answer.now = &rows[n];
        answer.decided = now.decided;
    }
    cw_svc_reply(call, &answer.base);
    for (size_t i = 0; i < n; i++)
        lines_fini(&lines[i]);
    now_fini(&now);
    cw_mem_free(lines);
    cw_mem_free(list);
    cw_mem_free(rows);
}

static void handle_explain(void *arg, struct cw_call *call, struct cw_rpc_msg *request)
{
    ProtobufCMessage *message = cw_svc_unpack(&cachew__v1__explain_request__descriptor, call, request);
    if (!message)
        return;
    struct cw_job *job = cw_svc_find_job(arg, call, ((Cachew__V1__ExplainRequest *)message)->job);
    if (job)
        explain(job, call);
    protobuf_c_message_free_unpacked(message, NULL);
}

void cw_svc_explain_add(struct cw_dispatcher *d)
{
    const struct cw_method method = {"/cachew.v1.Admin/Explain", handle_explain, NULL, d};
    cw_server_add(d->server, &method);
}
