/* SPDX-License-Identifier: Apache-2.0 */
/* cachew explain: prints what is known of a job's nodes, what caching each would cost and save, and
 * what was decided and why. */
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "client/tool/view/decision.h"
#include "client/tool/view/explain.h"
#include "client/tool/view/explain_plan.h"
#include "wire/reply_json.h"
#include "client/tool/tool.h"
#include "ops/plugin.h"
#include "policies/policy.h"

#define DECISIONS_SHOWN 10

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
        tool_table_add(table, "yes, %.0f %% is there%s", 100 * CW_MIN(node->cached / records, 1.0),
                       node->asked ? " (asked for)" : "");
    else
        tool_table_add(table, "yes%s", node->asked ? " (asked for)" : "");
}

static void print_nodes(const char *inputs)
{
    static const char *const heads[] = {"NODE", "OPERATOR", "ELEMENTS",     "CPU",
                                        "WALL", "BYTES",    "MAY BE CACHED"};
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
    CW_STR_AUTO head = {0};
    cw_str_addf(&head,
                "What caching could do in an epoch, its elements one by one (%.0f outputs "
                "measured; * is cached):",
                s->elements_measured);
    puts("");
    tool_print_lines(cw_str_text(&head), 0);
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
    cw_autocache_snapshot_free(s);
}

static void print_decisions(const Cachew__V1__ExplainReply *reply)
{
    printf("\nDecisions:\n");
    for (size_t i = reply->n_decisions > DECISIONS_SHOWN ? reply->n_decisions - DECISIONS_SHOWN : 0;
         i < reply->n_decisions; i++) {
        const Cachew__V1__Decision *d = reply->decisions[i];
        CW_STR_AUTO line = {0};
        tool_decision_text(d, &line);
        tool_print_lines(cw_str_text(&line), 2);
    }
    if (reply->n_decisions == 0)
        printf("  none yet\n");
}

/* Prints what the policies would decide now. The autocache policy weighs candidates. */
static void print_now(const Cachew__V1__ExplainReply *reply)
{
    printf("\nNow:\n");
    for (size_t i = 0; i < reply->n_says; i++) {
        CW_STR_AUTO line = {0};
        cw_str_addf(&line, "%s %s: %s: %s", reply->says[i]->kind, reply->says[i]->policy,
                    reply->says[i]->choice, reply->says[i]->reason);
        tool_print_lines(cw_str_text(&line), 2);
    }
    if (!reply->now) {
        tool_print_lines("Of caching nothing is to be decided: the dispatcher has no cache "
                         "(--cache-store), or the job is not prepared yet.",
                         2);
        return;
    }
    CW_STR_AUTO line = {0};
    cw_str_addf(&line, "autocache %s: %s", reply->now->policy, reply->now->reason);
    tool_print_lines(cw_str_text(&line), 2);
    for (size_t k = 0; k < reply->now->n_candidates; k++)
        tool_print_lines(reply->now->candidates[k], 4);
}

static void print_text(const Cachew__V1__ExplainReply *reply)
{
    const Cachew__V1__JobRow *job = reply->job;
    bool is_named = job->cache[0] != '\0' && strcmp(job->cache, "default") != 0;
    CW_STR_AUTO head = {0};
    cw_str_addf(&head, "Job %s%s%s, %s, epoch %llu", job->job_id, job->name[0] != '\0' ? " " : "",
                job->name, job->state, (unsigned long long)job->epoch);
    if (job->epochs > 0)
        cw_str_addf(&head, " of %llu", (unsigned long long)job->epochs);
    cw_str_addf(&head, ", autocache %s, %llu elements from the cache%s%s\n",
                reply->policy[0] != '\0' ? reply->policy : "-", (unsigned long long)reply->hits,
                is_named ? " " : "", is_named ? job->cache : "");
    tool_print_lines(cw_str_text(&head), 0);
    tool_explain_standing(reply);
    tool_explain_bad(reply);
    tool_explain_operators(reply);
    if (reply->now)
        print_nodes(reply->now->inputs);
    print_now(reply);
    print_decisions(reply);
}

/* ---- the plan ---- */

/* What the command line says. */
struct words {
    const char *dispatcher, *what, *profile, *workers;
    struct tool_plan_options plan;
    uint64_t seconds;
    bool analyze, json;
};

/* The answer, with the members of the plan (e NULL: there is none yet). */
static void print_job_json(const Cachew__V1__ExplainReply *reply, const struct words *words,
                           const struct tool_explained *e)
{
    CW_STR_AUTO out = {0};

    cw_wire_explain_json(reply, &out);
    printf("%.*s,", (int)out.len - 1, cw_str_text(&out)); /* the object stays open */
    cw_str_clear(&out);
    if (e)
        tool_explain_plan_members(&words->plan, e, &out);
    else
        cw_str_add(&out, "\"plan\":null");
    cw_str_add_char(&out, '}');
    puts(cw_str_text(&out));
}

static void print_job_plan(const struct words *words, const struct tool_explained *e,
                           const struct cw_err *err)
{
    puts("\nWhat would be planned now, by what is measured:\n");
    if (e)
        tool_explain_plan(&words->plan, e);
    else
        printf("  nothing yet: %s\n", err->msg);
}

static int explain_job(struct words *words)
{
    struct cw_err err = {0};
    Cachew__V1__ExplainReply *reply = NULL;

    if (tool_explain_get(words->dispatcher, words->what, &reply, &err) < 0)
        return tool_fail_err(&err);
    struct tool_explained *e = CW_NEW(struct tool_explained);
    bool is_planned = tool_explained_job(words->dispatcher, reply, &words->plan, e, &err) == 0;
    if (words->json) {
        print_job_json(reply, words, is_planned ? e : NULL);
    } else {
        print_text(reply);
        print_job_plan(words, is_planned ? e : NULL, &err);
    }
    tool_explained_fini(e);
    cw_mem_free(e);
    tool_explain_free(reply);
    return TOOL_OK;
}

static void print_file(const struct words *words, const struct tool_explained *e)
{
    CW_STR_AUTO out = {0};

    tool_planned_notes(&e->planned);
    if (!words->json) {
        tool_explain_plan(&words->plan, e);
        return;
    }
    cw_str_add_char(&out, '{');
    tool_explain_plan_members(&words->plan, e, &out);
    cw_str_add_char(&out, '}');
    puts(cw_str_text(&out));
}

static int explain_file(struct words *words)
{
    struct tool_explained *e = CW_NEW(struct tool_explained);
    struct cw_err err = {0};
    double seconds = words->analyze ? (double)words->seconds : 0;

    words->plan.epochs = CW_MAX(words->plan.epochs, 1);
    words->plan.threads = CW_MAX(words->plan.threads, 1);
    if (words->analyze && words->plan.cores <= 0)
        words->plan.cores = (double)CW_MAX(sysconf(_SC_NPROCESSORS_ONLN), 0);
    if (words->plan.remote + words->plan.local == 0)
        words->plan.remote = 1;
    int rc = tool_explained_load(words->what, words->profile, seconds, &words->plan, e, &err);
    if (rc == 0)
        print_file(words, e);
    tool_explained_fini(e);
    cw_mem_free(e);
    return rc < 0 ? tool_fail_err(&err) : TOOL_OK;
}

/* Whether the options are good; sets the policy. */
static bool check(struct words *words, bool is_file)
{
    bool is_measured = words->profile || words->analyze || !is_file;

    if (!words->plan.policy)
        words->plan.policy = is_measured ? "auto" : "off";
    const struct cw_optimizer *policy = cw_optimizer_find(words->plan.policy);
    if (!policy || (words->workers && !tool_parse_workers(words->workers, &words->plan))) {
        fprintf(stderr,
                "cachew explain: --workers takes two numbers of at most 1000, not both 0, as in "
                "4,1; --optimize takes one of %s\n",
                cw_optimizer_names());
        return false;
    }
    if (!tool_plan_objective_is_good("explain", &words->plan))
        return false;
    if (policy->needs_profile && !is_measured) {
        fprintf(stderr, "cachew explain: %s needs a --profile, or --analyze\n", policy->name);
        return false;
    }
    if (!is_file && words->analyze) {
        fprintf(stderr,
                "cachew explain: --analyze is for files: there is no file \"%s\", and a job "
                "shows what its workers measure\n",
                words->what);
        return false;
    }
    if (!is_file && (words->profile || words->plan.relaxed)) {
        fprintf(stderr,
                "cachew explain: --%s is for files: there is no file \"%s\", and a job "
                "plans by what it measures, exactly\n",
                words->profile ? "profile" : "relaxed", words->what);
        return false;
    }
    return true;
}

int tool_cmd_explain(int argc, char **argv)
{
    struct words words = {.dispatcher = tool_dispatcher(), .seconds = 5};
    struct tool_plan_options *plan = &words.plan;
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER(&words.dispatcher),
        {.name = "profile",
         .type = CW_ARG_STR,
         .target = &words.profile,
         .metavar = "FILE",
         .help = "what was measured of the pipeline, as JSON or YAML"},
        TOOL_ROW_PLUGIN("load operators of one's own; may stand several times"),
        {.name = "optimize",
         .type = CW_ARG_STR,
         .target = &plan->policy,
         .metavar = "POLICY",
         .help = "who plans the pipeline (default: auto; of a file that nothing was measured of: "
                 "off)"},
        {.name = "analyze",
         .type = CW_ARG_FLAG,
         .target = &words.analyze,
         .help = "run a file's pipeline in the plan's order, and show what it measures beside what "
                 "was predicted; without --profile it is run as written before, to make one"},
        {.name = "seconds",
         .type = CW_ARG_U64,
         .target = &words.seconds,
         .metavar = "N",
         .help = "how long --analyze runs it each time (default 5)",
         .min = 1,
         .max = 86400},
        {.name = "relaxed",
         .type = CW_ARG_FLAG,
         .target = &plan->relaxed,
         .help = "moves need to keep only types and shapes"},
        {.name = "epochs",
         .type = CW_ARG_U64,
         .target = &plan->epochs,
         .metavar = "E",
         .help = "how many there will be (default 1; of a job: those that are left)",
         .min = 1,
         .max = 1e9},
        {.name = "threads",
         .type = CW_ARG_U64,
         .target = &plan->threads,
         .metavar = "T",
         .help = "threads of a worker (default 1; of a job: those of its workers)",
         .min = 1,
         .max = 100000},
        {.name = "cores",
         .type = CW_ARG_F64,
         .target = &plan->cores,
         .metavar = "C",
         .help =
             "CPUs of a worker (default: as many as its threads can use; with --analyze those of "
             "this host; of a job: those of its workers' hosts)",
         .min = 0,
         .max = 100000},
        {.name = "workers",
         .type = CW_ARG_STR,
         .target = &words.workers,
         .metavar = "R,L",
         .help = "the most workers, remote and beside the trainer (default 1,0; of a job: those "
                 "that it has)"},
        TOOL_ROWS_MONEY(plan),
        TOOL_ROW_JSON(&words.json, "print one JSON object; inputs in it are what the policy sees"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew explain",
        .usage = "JOB | FILE.json [options]",
        .about =
            "Shows where a job stands: its workers, what its trainers and operators were "
            "measured to do, which nodes may be cached or why not and what caching each would "
            "bring, what its policies would say now, and what they decided, and why. Of a "
            "job, and of a file with a pipeline: how it is planned, what its operators cost by "
            "what was measured, what decides, which plans were not taken, what may not be "
            "moved and why, and what would be if something were otherwise.",
        .rows = rows};
    struct cw_err err = {0};
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "which job, or which file?", &words.what, 1, &code))
        return code;
    bool is_file = tool_explain_is_file(words.what);
    if (!check(&words, is_file))
        return TOOL_USAGE;
    if (cw_plugin_load_all(tool_plugins.v, tool_plugins.n, &err) < 0)
        return tool_fail_err(&err);
    tool_catch_signals();
    return is_file ? explain_file(&words) : explain_job(&words);
}
