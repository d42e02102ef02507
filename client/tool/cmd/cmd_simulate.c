/* SPDX-License-Identifier: Apache-2.0 */
/* cachew simulate SCENARIO.json: runs scaling and placement policies in virtual time. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/tool/scenario.h"
#include "client/tool/tool.h"

struct total { /* The sums of one policy over all jobs. */
    double done, wait_share, remote_s, local_s, decisions, cost, mean_epoch_s;
};

static double hours(double s)
{
    return s / 3600;
}

static struct total total_of(const struct cw_sim_scenario *scenario,
                             const struct cw_sim_result *result)
{
    struct total t = {0};
    double busy = 0, wait = 0;
    for (size_t j = 0; j < result->jobs_n; j++) {
        const struct cw_sim_job *job = &result->jobs[j];
        t.done += job->end_s >= 0;
        t.remote_s += job->remote_s;
        t.local_s += job->local_s;
        t.decisions += job->decisions;
        t.mean_epoch_s += job->last_epoch_s / (double)result->jobs_n;
        busy += job->busy_s;
        wait += job->wait_s;
        t.cost += hours(job->busy_s) * scenario->options.client_price +
                  hours(job->remote_s) * scenario->options.worker_price;
    }
    t.wait_share = busy > 0 ? wait / busy : 0;
    return t;
}

static void print_jobs(const struct cw_sim_scenario *scenario, const struct cw_sim_result *result,
                       const char *policy, struct tool_table *table)
{
    for (size_t j = 0; j < result->jobs_n && j < 50; j++) {
        const struct cw_sim_job *job = &result->jobs[j];
        tool_table_add(table, "%s", policy);
        tool_table_add(table, "%s", scenario->jobs[j].name);
        tool_table_add(table, "%.1f", job->begin_s);
        if (job->end_s >= 0)
            tool_table_add(table, "%.1f", job->end_s);
        else
            tool_table_add(table, "-");
        tool_table_add(table, "%.1f", job->last_epoch_s);
        tool_table_add(table, "%.1f %%", job->busy_s > 0 ? 100 * job->wait_s / job->busy_s : 0);
        tool_table_add(table, "%.1f", job->best_wait_at_s - job->begin_s);
        tool_table_add(table, "%u", job->decisions);
        tool_table_add(table, "%.3g+%.3g", job->remote, job->local);
        tool_table_add(table, "%.0f", job->remote_s);
        tool_table_add(table, "%.0f", job->local_s);
    }
}

static void print_json(const struct cw_sim_scenario *scenario, const struct cw_sim_result *result,
                       const char *policy)
{
    for (size_t j = 0; j < result->jobs_n; j++) {
        const struct cw_sim_job *job = &result->jobs[j];
        CW_STR_AUTO out = {0};
        cw_str_add(&out, "{\"policy\":");
        cw_str_add_json(&out, policy, strlen(policy));
        cw_str_add(&out, ",\"job\":");
        cw_str_add_json(&out, scenario->jobs[j].name, strlen(scenario->jobs[j].name));
        cw_str_addf(&out,
                    ",\"begin_s\":%.6g,\"end_s\":%.6g,\"done\":%s,\"epoch_s\":%.6g,\"wait_share\":%"
                    ".6g,\"quiet_after_s\":%.6g,\"decisions\":%u,"
                    "\"remote\":%.6g,\"local\":%.6g,\"remote_worker_s\":%.6g,\"local_worker_s\":%."
                    "6g,\"trace\":[",
                    job->begin_s, job->end_s, job->end_s >= 0 ? "true" : "false", job->last_epoch_s,
                    job->busy_s > 0 ? job->wait_s / job->busy_s : 0,
                    job->best_wait_at_s - job->begin_s, job->decisions, job->remote, job->local,
                    job->remote_s, job->local_s);
        for (size_t i = 0; i < job->trace_n; i++)
            cw_str_addf(&out, "%s[%.6g,%.6g,%.6g,%.4g]", i ? "," : "", job->trace[i].at_s,
                        job->trace[i].remote, job->trace[i].local, job->trace[i].wait_share);
        cw_str_add(&out, "]}");
        puts(cw_str_text(&out));
    }
}

/* ---- progress ---- */

struct shown {
    const struct scenario *scenario;
    size_t policy;
    int64_t line_ns;
};

static void show_progress(void *arg, double now_s, const struct cw_sim_result *so_far)
{
    struct shown *shown = arg;
    const int64_t now = cw_clock_ns();
    CW_STR_AUTO line = {0};
    size_t done = 0;
    if (now - shown->line_ns < 100 * 1000000)
        return;
    shown->line_ns = now;
    for (size_t j = 0; j < so_far->jobs_n; j++)
        done += so_far->jobs[j].end_s >= 0;
    cw_str_addf(&line, "%s (policy %zu of %zu): %zu of %zu jobs done at %.0f s",
                shown->scenario->policies.v[shown->policy], shown->policy + 1,
                shown->scenario->policies.n, done, so_far->jobs_n, now_s);
    if (shown->scenario->sim.until_s > 0)
        cw_str_addf(&line, " of %.0f", shown->scenario->sim.until_s);
    tool_line_show(cw_str_text(&line));
}

static int run_policy(struct scenario *s, size_t i, bool json, struct tool_table *jobs,
                      struct tool_table *totals, struct scenario_plot *plot, struct cw_err *err)
{
    const char *name = s->policies.v[i];
    struct cw_sim_result result;
    int rc = scenario_use(s, name, err);
    if (rc < 0)
        return rc;
    int64_t begin = cw_clock_ms();
    rc = cw_simulate(&s->sim, &result, err);
    tool_line_clear();
    if (rc == 0 && json)
        print_json(&s->sim, &result, name);
    if (rc == 0) {
        struct total t = total_of(&s->sim, &result);
        print_jobs(&s->sim, &result, name, jobs);
        tool_table_add(totals, "%s", name);
        tool_table_add(totals, "%.0f/%zu", t.done, result.jobs_n);
        tool_table_add(totals, "%.1f", t.mean_epoch_s);
        tool_table_add(totals, "%.2f %%", 100 * t.wait_share);
        tool_table_add(totals, "%.0f", t.decisions);
        tool_table_add(totals, "%.1f", hours(t.remote_s));
        tool_table_add(totals, "%.1f", hours(t.local_s));
        tool_table_add(totals, "%.2f", t.cost);
        tool_table_add(totals, "%llu", (unsigned long long)result.windows);
        tool_table_add(totals, "%.2f", (double)(cw_clock_ms() - begin) / 1e3);
        scenario_plot_add(plot, name, &result);
    }
    cw_sim_result_fini(&result);
    return rc;
}

static int run_all(struct scenario *s, bool json, bool quiet, const char *svg, struct cw_err *err)
{
    static const char *const job_heads[] = {"POLICY",  "JOB",      "BEGIN S",     "END S",
                                            "EPOCH S", "WAIT",     "QUIET AFTER", "DECISIONS",
                                            "WORKERS", "REMOTE-S", "LOCAL-S"};
    static const char *const total_heads[] = {"POLICY",    "DONE",     "MEAN EPOCH S", "WAIT",
                                              "DECISIONS", "REMOTE-H", "LOCAL-H",      "COST",
                                              "WINDOWS",   "REAL S"};
    struct tool_table jobs, totals;
    struct scenario_plot plot = {.title = s->name};
    struct shown shown = {.scenario = s};
    int rc = 0;
    s->sim.progress = quiet || !tool_line_wanted() ? NULL : show_progress;
    s->sim.progress_arg = &shown;
    tool_table_init(&jobs, CW_ARRAY_LEN(job_heads), job_heads);
    tool_table_init(&totals, CW_ARRAY_LEN(total_heads), total_heads);
    for (size_t i = 0; rc == 0 && i < s->policies.n; i++) {
        shown.policy = i;
        rc = run_policy(s, i, json, &jobs, &totals, &plot, err);
    }
    if (rc == 0 && !json) {
        if (s->sim.jobs_n <= 50) {
            tool_table_print(&jobs, stdout);
            putchar('\n');
        }
        tool_table_print(&totals, stdout);
    }
    if (rc == 0 && svg)
        rc = scenario_plot_write(&plot, svg, err);
    scenario_plot_fini(&plot);
    tool_table_fini(&jobs);
    tool_table_fini(&totals);
    return rc;
}

int tool_cmd_simulate(int argc, char **argv)
{
    bool json = false, quiet = false;
    const char *svg = NULL;
    const struct cw_arg rows[] = {
        TOOL_ROW_JSON(&json, "print one JSON object per policy and job, with the job's trace"),
        {.name = "plot",
         .type = CW_ARG_STR,
         .target = &svg,
         .metavar = "FILE.svg",
         .help = "draw the workers of each job over time"},
        TOOL_ROW_QUIET(&quiet, "no progress line"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew simulate",
        .usage = "SCENARIO.json [options]",
        .about =
            "Runs the policies that decide about workers on jobs that are formulas, in virtual "
            "time: thousands of jobs and ten thousand workers "
            "in seconds. docs/simulate.md describes scenarios; docs/examples/scenarios has some.",
        .rows = rows,
    };
    const char *files[1];
    int code = 0;
    if (!tool_parse_words(&spec, argc, argv, "which scenario?", files, 1, &code))
        return code;
    struct cw_err err = {0};
    struct scenario *s = NULL;
    int rc = scenario_load(files[0], &s, &err);
    if (rc == 0)
        rc = run_all(s, json, quiet, svg, &err);
    scenario_free(s);
    return rc < 0 ? tool_fail_err(&err) : TOOL_OK;
}
