/* SPDX-License-Identifier: Apache-2.0 */
/* cachew bench: how long epochs take, measured as cedar's runner measures them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/tool/cmd/bench_run.h"
#include "client/tool/plan_work.h"
#include "client/tool/profile_run.h"
#include "client/tool/tool.h"
#include "client/tool/tool_graph.h"
#include "ops/plugin.h"

static void add_seconds(struct cw_str *out, const struct tool_bench_result *result)
{
    for (size_t i = 0; i < result->n; i++)
        cw_str_addf(out, "%s%.6f", i ? "," : "", result->epochs[i].seconds);
}

static void add_samples(struct cw_str *out, const struct tool_bench_result *result)
{
    for (size_t i = 0; i < result->n; i++)
        cw_str_addf(out, "%s%llu", i ? "," : "", (unsigned long long)result->epochs[i].samples);
}

/* The keys of cedar's runner. */
static int write_results(const struct tool_bench_options *o, const struct tool_bench_result *result)
{
    CW_STR_AUTO out = {0};
    uint64_t all = 0;

    for (size_t i = 0; i < result->n; i++)
        all += result->epochs[i].samples;
    cw_str_addf(&out, "{\"num_epochs\":%llu,\"batch_size\":%llu,\"num_total_samples\":%llu,",
                (unsigned long long)o->epochs, (unsigned long long)result->batch_size,
                (unsigned long long)(o->samples ? o->samples : all));
    cw_str_add(&out, "\"epoch_run_times\":[");
    add_seconds(&out, result);
    cw_str_add(&out, "],\"epoch_num_samples\":[");
    add_samples(&out, result);
    cw_str_add(&out, "]}\n");
    FILE *file = fopen(o->results, "we");
    bool ok = file && fwrite(cw_str_text(&out), 1, out.len, file) == out.len;
    if (file)
        ok = fclose(file) == 0 && ok;
    return ok ? TOOL_OK : tool_fail("cannot write %s: %s", o->results, strerror(errno));
}

/* The pipeline with the size of batches that was asked for. */
static int load(const struct tool_bench_options *o, struct cw_checked **ret_checked,
                struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    CW_STR_AUTO text = {0};
    uint64_t size = 0;
    int rc = cw_plugin_load_all(tool_plugins.v, tool_plugins.n, err);

    if (rc == 0)
        rc = tool_bench_pipeline(o->file, o->batch_size, &text, &size, err);
    if (rc == 0)
        rc = cw_graph_parse(cw_str_text(&text), text.len, o->file, &graph, err);
    if (rc == 0)
        rc = tool_graph_check(graph, NULL, ret_checked, err);
    cw_graph_unref(graph);
    return rc;
}

static int profile(const struct tool_bench_options *o)
{
    struct cw_cost_profile measured = {0};
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};
    size_t threads = o->threads > 1 && !o->no_parallelism ? (size_t)o->threads : 1;
    int rc = load(o, &checked, &err);

    if (rc == 0)
        rc =
            tool_profile_checked(checked, (double)o->seconds, threads, NULL, NULL, &measured, &err);
    int code = rc < 0 ? tool_fail_err(&err) : tool_profile_write(&measured, o->profile);
    cw_cost_profile_fini(&measured);
    cw_checked_unref(checked);
    return code;
}

static int plan(const struct tool_bench_options *o)
{
    struct tool_planned *p = CW_NEW(struct tool_planned);
    struct tool_plan_options options;
    struct cw_err err = {0};
    int code = TOOL_FAILED, rc = load(o, &p->checked, &err);

    tool_bench_plan_options(o, &options);
    if (rc == 0) {
        p->graph = cw_graph_ref(p->checked->graph);
        rc = tool_planned_profile(o->profile, p, &err);
    }
    if (rc == 0)
        rc = tool_planned_prepare(o->profile, &options, p, &err);
    if (rc == 0) {
        tool_planned_search(&options, p);
        code = tool_plan_show(&options, o->plan == NULL, p);
    }
    tool_planned_fini(p);
    cw_mem_free(p);
    return rc < 0 ? tool_fail_err(&err) : code;
}

static int run(const struct tool_bench_options *o)
{
    struct tool_bench_result result = {0};
    int code = tool_bench_run(o, &result);

    if (code == TOOL_OK && o->results)
        code = write_results(o, &result);
    if (code == TOOL_OK)
        code = tool_flush_output();
    tool_bench_result_fini(&result);
    return code;
}

int tool_cmd_bench(int argc, char **argv)
{
    struct tool_bench_options o;
    int code = 0;

    if (!tool_bench_options_parse(argc, argv, &o, &code))
        return code;
    tool_catch_signals();
    if (o.run_profiling)
        return profile(&o);
    return o.generate_plan ? plan(&o) : run(&o);
}
