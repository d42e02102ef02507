/* SPDX-License-Identifier: Apache-2.0 */
/* Who looks at the page, and what may be done there: only who has shown an operator's token may do
 * anything. Another page cannot ask for it (cw_web_is_own), and without a token file nobody can, since
 * any page that the browser shows might find a way to ask. */
#include "base/json_member.h"
#include "base/log.h"
#include "base/str.h"
#include "dispatcher/access/access.h"
#include "dispatcher/web/web_int.h"

enum { BAD_REQUEST = 400, FORBIDDEN = 403, METHOD_NOT_ALLOWED = 405 };

static const char *kind_name(enum cw_caller_kind kind)
{
    bool is_tenant = kind == CW_CALLER_TENANT || kind == CW_CALLER_CLIENT;
    return is_tenant ? "tenant" : kind == CW_CALLER_OPERATOR ? "operator" : "nobody";
}

/* Whether who shows this token may act, and his name. */
static bool may_act(const struct cw_web *web, const char *token, const char **ret_name)
{
    return token && cw_access_is_on(web->d) &&
           cw_access_kind_of(web->d, token, ret_name) == CW_CALLER_OPERATOR;
}

void cw_web_who(void *arg, struct cw_page_request *request)
{
    const struct cw_web *web = arg;
    const char *token, *name;
    struct cw_str text = {0};
    if (!cw_web_may_read(arg, request, &token))
        return;
    enum cw_caller_kind kind = cw_access_kind_of(web->d, token, &name);
    cw_str_add_char(&text, '{');
    cw_member_text(&text, "kind", kind_name(kind));
    cw_member_text(&text, "name", name);
    cw_member_bool(&text, "may_act", may_act(web, token, &name));
    cw_member_bool(&text, "elements", web->d->options.show_elements);
    cw_str_add(&text, "}\n");
    cw_web_answer_json(request, &text);
}

static void print_done(const ProtobufCMessage *reply, struct cw_str *out)
{
    (void)reply;
    cw_str_add(out, "{}");
}

static void remove_job(struct cw_web *web, struct cw_page_request *request, const char *token)
{
    Cachew__V1__RemoveJobRequest message = CACHEW__V1__REMOVE_JOB_REQUEST__INIT;
    message.job = cw_web_argument(request, "job");
    cw_web_page(web, request, token, "/cachew.v1.Admin/RemoveJob", &message.base,
                &cachew__v1__remove_job_reply__descriptor, print_done);
}

static void drain_worker(struct cw_web *web, struct cw_page_request *request, const char *token)
{
    Cachew__V1__DrainWorkerRequest message = CACHEW__V1__DRAIN_WORKER_REQUEST__INIT;
    message.worker = cw_web_argument(request, "worker");
    cw_web_page(web, request, token, "/cachew.v1.Admin/DrainWorker", &message.base,
                &cachew__v1__drain_worker_reply__descriptor, print_done);
}

static const struct {
    const char *name;
    void (*run)(struct cw_web *web, struct cw_page_request *request, const char *token);
} acts[] = {{"remove", remove_job}, {"drain", drain_worker}};

void cw_web_act(void *arg, struct cw_page_request *request)
{
    const char *token, *name = "", *what = cw_web_argument(request, "do");
    if (!cw_web_may_read(arg, request, &token))
        return;
    if (!cw_page_is_post(request)) {
        cw_web_refuse(request, METHOD_NOT_ALLOWED, "only POST");
        return;
    }
    if (!may_act(arg, token, &name)) {
        cw_web_refuse(request, FORBIDDEN,
                      "only who has signed in with an operator's token may do this");
        return;
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(acts); i++) {
        if (!cw_str_eq(what, acts[i].name))
            continue;
        cw_log_info(CW_LOG_MOD, "%s asks in the page for browsers: %s %s%s", name, what,
                    cw_web_argument(request, "job"), cw_web_argument(request, "worker"));
        acts[i].run(arg, request, token);
        return;
    }
    cw_web_refuse(request, BAD_REQUEST, "do=remove&job=JOB, or do=drain&worker=WORKER");
}
