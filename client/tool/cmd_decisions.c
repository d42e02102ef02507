/* SPDX-License-Identifier: Apache-2.0 */
/* cachew decisions: what was decided about a job, as it is decided. */
#include <string.h>

#include "base/clock.h"
#include "client/tool/decision.h"
#include "client/tool/tool.h"

#define POLL_NS ((int64_t)500 * 1000000)

static void print_one(const Cachew__V1__Decision *d, bool json)
{
    CW_STR_AUTO out = {0};
    if (json) {
        tool_decision_json(d, &out);
    } else {
        tool_print_moment(d->time_ms, &out);
        cw_str_addf(&out, "  epoch %llu  %s  %s: %s", (unsigned long long)d->epoch, d->policy, d->choice[0] != '\0' ? d->choice : "nothing", d->reason);
    }
    puts(cw_str_text(&out));
    fflush(stdout);
}

/* Those that are newer than the last one shown: the dispatcher keeps no more than the latest. */
static void print_new(const Cachew__V1__ExplainReply *reply, bool json, int64_t *last_ms, size_t *last_n)
{
    size_t same = 0;
    for (size_t i = 0; i < reply->n_decisions; i++) {
        const Cachew__V1__Decision *d = reply->decisions[i];
        if (d->time_ms < *last_ms || (d->time_ms == *last_ms && ++same <= *last_n))
            continue;
        print_one(d, json);
        if (d->time_ms > *last_ms) {
            *last_ms = d->time_ms;
            same = 0;
            *last_n = 0;
        }
        ++*last_n;
    }
}

static bool is_over(const Cachew__V1__JobRow *job)
{
    return strcmp(job->state, "finished") == 0 || strcmp(job->state, "failed") == 0;
}

static int show(const char *dispatcher, const char *job, bool json, bool follow)
{
    int64_t last_ms = INT64_MIN;
    size_t last_n = 0;
    for (bool first = true;; first = false) {
        struct cw_err err = {0};
        Cachew__V1__ExplainReply *reply = NULL;
        int rc = tool_explain_get(dispatcher, job, &reply, &err);
        if (rc == CW_E_NOT_FOUND && !first)
            return TOOL_OK; /* it ended, and was removed */
        if (rc < 0 && (first || rc != CW_E_UNAVAILABLE))
            return tool_fail_err(&err);
        bool over = reply && is_over(reply->job);
        if (reply)
            print_new(reply, json, &last_ms, &last_n);
        tool_explain_free(reply);
        if (!follow || over)
            return TOOL_OK;
        cw_clock_sleep_ns(POLL_NS);
    }
}

int tool_cmd_decisions(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher(), *job = NULL;
    bool json = false, follow = false;
    const struct cw_arg rows[] = {
        {"dispatcher", 'd', CW_ARG_STR, &dispatcher, "ADDRESS", "HOST:PORT or unix:/path (default: $CACHEW_DISPATCHER)", 0, 0},
        {"follow", 'f', CW_ARG_FLAG, &follow, NULL, "go on until the job is over", 0, 0},
        {"json", 0, CW_ARG_FLAG, &json, NULL, "print one JSON line a decision", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {.program = "cachew decisions",
                                      .usage = "JOB [options]",
                                      .about = "Prints what was decided about a job, oldest first: when, in which epoch, by which policy, what is cached, and why.",
                                      .rows = rows};
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, &job, 1, &n, &code))
        return code;
    if (n == 0) {
        (void)tool_fail("which job? see cachew decisions --help");
        return TOOL_USAGE;
    }
    return show(dispatcher, job, json, follow);
}
