/* SPDX-License-Identifier: Apache-2.0 */
/* cachew decisions: prints the decisions about a job, or about all jobs and the fleet; with
 * --follow also those to come. */
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/tool/view/decision.h"
#include "client/tool/tool.h"

#define POLL_NS ((int64_t)500 * 1000000)

struct asked {
    const char *dispatcher, *job, *kind;
    uint64_t limit;
    bool json, follow;
};

static int get(const struct asked *asked, uint64_t after_id,
               Cachew__V1__ListDecisionsReply **ret_reply, struct cw_err *err)
{
    cw_autofree char *job = cw_mem_strdup(asked->job ? asked->job : ""),
                     *kind = cw_mem_strdup(asked->kind ? asked->kind : "");
    Cachew__V1__ListDecisionsRequest request = CACHEW__V1__LIST_DECISIONS_REQUEST__INIT;
    ProtobufCMessage *message = NULL;
    request.job = job;
    request.kind = kind;
    request.after_id = after_id;
    request.limit = (uint32_t)asked->limit;
    int rc = tool_admin_call(asked->dispatcher, "/cachew.v1.Admin/ListDecisions", &request.base,
                             &cachew__v1__list_decisions_reply__descriptor, &message, err);
    if (rc == 0)
        *ret_reply = (Cachew__V1__ListDecisionsReply *)(void *)message;
    return rc;
}

static int print_new(const Cachew__V1__ListDecisionsReply *reply, bool json, uint64_t *last)
{
    for (size_t i = 0; i < reply->n_decisions; i++) {
        const Cachew__V1__Decision *d = reply->decisions[i];
        CW_STR_AUTO out = {0};
        if (json)
            cw_wire_decision_json(d, &out);
        else
            tool_decision_text(d, &out);
        puts(cw_str_text(&out));
        *last = d->id;
    }
    return tool_flush_output();
}

/* Prints the decisions that are asked for; with --follow also those that come later, until the job
 * is over. While the dispatcher is away it waits. */
static int show(const struct asked *asked)
{
    uint64_t last = 0;
    bool lost = false;
    for (bool first = true;; first = false) {
        struct cw_err err = {0};
        Cachew__V1__ListDecisionsReply *reply = NULL;
        int rc = get(asked, last, &reply, &err);
        if (rc == CW_E_NOT_FOUND && !first)
            return TOOL_OK; /* The job is over, and nothing was decided about it. */
        if (rc < 0 && (first || (rc != CW_E_UNAVAILABLE && rc != CW_E_TIMEOUT)))
            return tool_fail_err(&err);
        if (rc < 0 && !lost)
            fprintf(stderr, "cachew: %s; trying again\n", err.msg);
        lost = rc < 0;
        bool over = reply && reply->over, more = reply && reply->more;
        int code = TOOL_OK;
        if (reply) {
            code = print_new(reply, asked->json, &last);
            protobuf_c_message_free_unpacked(&reply->base, NULL);
        }
        if (code != TOOL_OK)
            return code;
        if (more)
            continue;
        if (!asked->follow || over)
            return TOOL_OK;
        cw_clock_sleep_ns(POLL_NS);
    }
}

int tool_cmd_decisions(int argc, char **argv)
{
    struct asked asked = {.dispatcher = tool_dispatcher(), .limit = 100};
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&asked.dispatcher),
        {"kind", 'k', CW_ARG_STR, &asked.kind, "KIND",
         "only these: autocache, autoscale, autoplace, optimize, share, provision, evict", 0, 0},
        {"last", 'n', CW_ARG_U64, &asked.limit, "N",
         "of those that there are, the newest N (default 100)", 1, 1000},
        {"follow", 'f', CW_ARG_FLAG, &asked.follow, NULL,
         "go on: until the job is over, or for ever when none is named", 0, 0},
        TOOL_ROW_JSON(&asked.json,
                      "print one JSON line a decision; inputs in it are what the policy saw"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew decisions",
        .usage = "[JOB] [options]",
        .about = "Prints what was decided about a job (by id or name, also one that is removed), "
                 "or about all jobs and the "
                 "fleet, oldest first: when, in which epoch, by which policy, what, and why.",
        .rows = rows};
    int code = 0;
    size_t n = 0;
    if (!tool_parse(&spec, argc, argv, &asked.job, 1, &n, &code))
        return code;
    return show(&asked);
}
