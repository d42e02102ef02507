/* SPDX-License-Identifier: Apache-2.0 */
/* cachew explain: what is known of a job's nodes, what caching each would cost and bring, what was decided and why. */
#include <string.h>

#include "client/tool/decision.h"
#include "client/tool/tool.h"
#include "policies/policy.h"

static void print_json(const Cachew__V1__ExplainReply *reply)
{
    CW_STR_AUTO out = {0};
    cw_str_add(&out, "{\"job\":");
    cw_str_add_json(&out, reply->job->job_id, strlen(reply->job->job_id));
    cw_str_add(&out, ",\"name\":");
    cw_str_add_json(&out, reply->job->name, strlen(reply->job->name));
    cw_str_addf(&out, ",\"epoch\":%llu,\"epochs\":%llu,\"policy\":", (unsigned long long)reply->job->epoch, (unsigned long long)reply->job->epochs);
    cw_str_add_json(&out, reply->policy, strlen(reply->policy));
    cw_str_addf(&out, ",\"hits\":%llu,\"decided\":%s,\"now\":", (unsigned long long)reply->hits, reply->decided ? "true" : "false");
    if (reply->now)
        tool_decision_json(reply->now, &out);
    else
        cw_str_add(&out, "null");
    cw_str_add(&out, ",\"decisions\":[");
    for (size_t i = 0; i < reply->n_decisions; i++) {
        cw_str_add(&out, i > 0 ? "," : "");
        tool_decision_json(reply->decisions[i], &out);
    }
    cw_str_add(&out, "]}");
    puts(cw_str_text(&out));
}

static void add_time_cell(struct tool_table *table, const struct cw_autocache_node *node, double ns)
{
    if (node->samples > 0)
        tool_table_add(table, "%.1f us", ns / 1e3);
    else
        tool_table_add(table, "-");
}

static void add_node(struct tool_table *table, const struct cw_autocache_snapshot *s, size_t i)
{
    const struct cw_autocache_node *node = &s->nodes[i];
    CW_STR_AUTO count = {0};
    CW_STR_AUTO bytes = {0};
    tool_print_count(node->elements_n, &count);
    tool_print_bytes(node->bytes, &bytes);
    tool_table_add(table, "%s%s", node->name, i == s->current ? " *" : "");
    tool_table_add(table, "%s", node->op);
    tool_table_add(table, "%s", cw_str_text(&count));
    add_time_cell(table, node, node->cpu_ns);
    add_time_cell(table, node, node->wall_ns);
    tool_table_add(table, "%s", node->samples > 0 && node->bytes > 0 ? cw_str_text(&bytes) : "-");
    double records = node->records > 0 ? node->records : node->elements_n;
    if (node->why_not)
        tool_table_add(table, "no: %s", node->why_not);
    else if (node->cached > 0 && records > 0)
        tool_table_add(table, "yes, %.0f %% is there%s", 100 * CW_MIN(node->cached / records, 1.0), node->asked ? " (asked for)" : "");
    else
        tool_table_add(table, "yes%s", node->asked ? " (asked for)" : "");
}

static void print_nodes(const char *inputs)
{
    static const char *const heads[] = {"NODE", "OPERATOR", "ELEMENTS", "CPU", "WALL", "BYTES", "MAY BE CACHED"};
    struct cw_autocache_snapshot *s = NULL;
    struct cw_err err = {0};
    if (cw_autocache_snapshot_parse(inputs, strlen(inputs), &s, &err) < 0) {
        printf("what is measured cannot be shown: %s\n", err.msg);
        return;
    }
    struct tool_table table;
    tool_table_init(&table, CW_ARRAY_LEN(heads), heads);
    for (size_t i = 0; i < s->n; i++)
        add_node(&table, s, i);
    printf("An epoch, its elements one by one (%.0f outputs measured; * is cached):\n", s->elements_measured);
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
    cw_autocache_snapshot_free(s);
}

static void print_decisions(const Cachew__V1__ExplainReply *reply)
{
    printf("\nDecisions:\n");
    for (size_t i = 0; i < reply->n_decisions; i++) {
        const Cachew__V1__Decision *d = reply->decisions[i];
        CW_STR_AUTO moment = {0};
        tool_print_moment(d->time_ms, &moment);
        printf("  %s  epoch %llu  %s  %s: %s\n", cw_str_text(&moment), (unsigned long long)d->epoch, d->policy,
               d->choice[0] != '\0' ? d->choice : "nothing", d->reason);
        for (size_t k = 0; i + 1 == reply->n_decisions && k < d->n_candidates; k++)
            printf("      %s\n", d->candidates[k]);
    }
    if (reply->n_decisions == 0)
        printf("  none yet\n");
}

static void print_text(const Cachew__V1__ExplainReply *reply)
{
    const Cachew__V1__JobRow *job = reply->job;
    printf("Job %s%s%s, %s, epoch %llu", job->job_id, job->name[0] != '\0' ? " " : "", job->name, job->state, (unsigned long long)job->epoch);
    if (job->epochs > 0)
        printf(" of %llu", (unsigned long long)job->epochs);
    printf(", autocache %s, %llu elements from the cache\n", reply->policy[0] != '\0' ? reply->policy : "-", (unsigned long long)reply->hits);
    if (!reply->now) {
        printf("Nothing is to be decided: the dispatcher has no cache (--cache-store), or the job is not prepared yet.\n");
        return;
    }
    print_nodes(reply->now->inputs);
    printf("\nNow: %s\n", reply->now->reason);
    for (size_t k = 0; k < reply->now->n_candidates; k++)
        printf("  %s\n", reply->now->candidates[k]);
    print_decisions(reply);
}

int tool_cmd_explain(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher(), *job = NULL;
    bool json = false;
    const struct cw_arg rows[] = {
        {"dispatcher", 'd', CW_ARG_STR, &dispatcher, "ADDRESS", "HOST:PORT or unix:/path (default: $CACHEW_DISPATCHER)", 0, 0},
        {"json", 0, CW_ARG_FLAG, &json, NULL, "print one JSON object; inputs in it are what the policy sees", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {.program = "cachew explain",
                                      .usage = "JOB [options]",
                                      .about = "Shows what is measured of a job's nodes, which may be cached or why not, what caching each would make of "
                                               "an epoch and of all that are left, what the policy decided, and why.",
                                      .rows = rows};
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, &job, 1, &n, &code))
        return code;
    if (n == 0) {
        (void)tool_fail("which job? see cachew explain --help");
        return TOOL_USAGE;
    }
    struct cw_err err = {0};
    Cachew__V1__ExplainReply *reply = NULL;
    if (tool_explain_get(dispatcher, job, &reply, &err) < 0)
        return tool_fail_err(&err);
    if (json)
        print_json(reply);
    else
        print_text(reply);
    tool_explain_free(reply);
    return TOOL_OK;
}
