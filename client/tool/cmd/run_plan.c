/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/cmd/run_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cachew/pipeline.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/plan_work.h"
#include "client/tool/tool.h"
#include "client/tool/tool_graph.h"
#include "conf/value_yaml.h"
#include "exec/relaxed_trial.h"
#include "ops/plugin.h"
#include "rewrite/apply.h"
#include "wire/wire.h"

/* A pipeline: its text, and what messages call it. */
struct written {
    const char *text, *where;
};

static int check_written(const struct written *w, struct cw_checked **ret_written,
                         struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    int rc = cw_plugin_load_all(tool_plugins.v, tool_plugins.n, err);

    if (rc == 0)
        rc = cw_graph_parse(w->text, strlen(w->text), w->where, &graph, err);
    if (rc == 0)
        rc = tool_graph_check(graph, NULL, ret_written, err);
    cw_graph_unref(graph);
    return rc;
}

static int load_plan(const char *path, struct cw_order_plan *ret_plan, struct cw_err *err)
{
    struct cw_value value = {0};
    int rc = cw_value_load_any(path, &value, err);

    if (rc == 0)
        rc = cw_order_plan_from(&value, path, ret_plan, err);
    cw_value_fini(&value);
    return rc;
}

/* ---- the options ---- */

/* A policy that the dispatcher does not have. */
static bool plans_before(const char *policy)
{
    return policy && (cw_str_eq(policy, "pecan") || cw_str_eq(policy, "cedar"));
}

bool tool_run_is_planned(const struct tool_run_options *o)
{
    return o->plan || o->profile || plans_before(o->optimize);
}

const char *tool_run_plan_misfit(const struct tool_run_options *o)
{
    const bool is_off = o->optimize && cw_str_eq(o->optimize, "off");

    if (o->plan && (o->profile || plans_before(o->optimize)))
        return "option --plan: says already in which order (without --profile, and --optimize "
               "pecan "
               "or cedar)";
    if (o->profile && is_off)
        return "option --profile: --optimize off leaves the order as it is written";
    if (o->optimize && cw_str_eq(o->optimize, "cedar") && !o->profile)
        return "option --optimize: cedar plans by what was measured: give --profile FILE (cachew "
               "profile makes one)";
    if (o->relaxed && !o->plan && !o->profile && !(o->optimize && cw_str_eq(o->optimize, "pecan")))
        return "option --relaxed: the order must be the same at every start, so it cannot follow "
               "from "
               "what this run measures: give --plan or --profile, or --optimize pecan";
    return NULL;
}

/* ---- making a plan ---- */

static int make_plan(struct cw_checked *written, const char *where,
                     const struct tool_run_options *o, struct cw_order_plan *ret_plan,
                     struct cw_err *err)
{
    const struct tool_plan_options options = {
        .policy = plans_before(o->optimize) ? o->optimize : "auto",
        .epochs = CW_MAX(o->epochs, 1),
        .threads = (uint64_t)CW_MAX(o->threads, 1),
        .remote = (uint64_t)CW_MAX(o->workers, 1),
        .relaxed = o->relaxed,
        .no_reorder = o->no_reorder,
        .no_fusion = o->no_fusion,
        .no_caching = o->no_caching,
    };
    struct tool_planned *planned = CW_NEW(struct tool_planned);
    planned->graph = cw_graph_ref(written->graph);
    planned->checked = cw_checked_ref(written);
    int rc = tool_planned_profile(o->profile, planned, err);

    if (rc == 0)
        rc = tool_planned_prepare(o->profile ? o->profile : where, &options, planned, err);
    if (rc == 0) {
        tool_planned_search(&options, planned);
        tool_planned_notes(planned);
        tool_planned_order(planned, ret_plan);
    }
    tool_planned_fini(planned);
    cw_mem_free(planned);
    return rc;
}

static int get_plan(struct cw_checked *written, const char *where, const struct tool_run_options *o,
                    struct cw_order_plan *ret_plan, struct cw_err *err)
{
    if (!o->plan)
        return make_plan(written, where, o, ret_plan, err);
    int rc = load_plan(o->plan, ret_plan, err);
    if (rc == 0 && ret_plan->relaxed && !o->relaxed)
        rc = cw_err_set(err, CW_E_INVALID,
                        "%s: exact is false: batches would keep their types and shapes, not their "
                        "values; --relaxed takes it",
                        o->plan);
    return rc;
}

/* ---- carrying it out ---- */

static int take_written(const struct written *w, struct tool_run_planned *ret_planned,
                        struct cw_err *err)
{
    struct cachew_error error = CACHEW_ERROR_INIT;

    return cachew_pipeline_parse(w->text, strlen(w->text), &ret_planned->pipeline, &error) < 0
               ? cw_err_set(err, CW_E_INVALID, "%s: %s", w->where, error.message)
               : 0;
}

static int make_pipeline(const struct cw_graph *graph, struct cachew_pipeline **ret_pipeline,
                         struct cw_err *err)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    CW_STR_AUTO text = {0};

    cw_graph_print(graph, &text);
    if (cachew_pipeline_parse(cw_str_text(&text), text.len, ret_pipeline, &error) < 0)
        return cw_err_set(err, CW_E_INTERNAL, "the pipeline in the plan's order: %s",
                          error.message);
    return 0;
}

static char *cache_of(const struct cw_rewritten *made)
{
    if (made->cache == SIZE_MAX)
        return NULL;
    const char *name = made->checked->graph->nodes[made->cache].name;
    if (made->no_cache)
        fprintf(stderr, "cachew: warning: the plan's cache behind \"%s\" cannot be had: %s\n", name,
                made->no_cache);
    return made->no_cache ? NULL : cw_mem_printf("force:%s", name);
}

/* A job of local: gets the pipeline in the plan's order, and so does a relaxed one, which is another function.
 * Any other one is the job of the written pipeline, and is replanned when it runs. */
static int take(const struct cw_rewritten *made, const struct written *w, bool in_order,
                struct tool_run_planned *ret_planned, struct cw_err *err)
{
    int rc = in_order ? make_pipeline(made->checked->graph, &ret_planned->pipeline, err)
                      : take_written(w, ret_planned, err);

    if (rc < 0)
        return rc;
    ret_planned->order = in_order ? NULL : cw_graph_ref(made->checked->graph);
    ret_planned->autocache = cache_of(made);
    return 0;
}

/* Tells what a relaxed order changes. Returns false, and warns, if it is not to be used; quiet: only that. */
static bool try_relaxed(struct cw_checked *written, struct cw_checked *relaxed, bool quiet)
{
    CW_STR_AUTO notes = {0};
    struct cw_err err = {0};
    bool is_taken = true;
    (void)cw_relaxed_trial(NULL, written, relaxed, &notes, &is_taken, &err); /* nobody stops it */
    const char *at = cw_str_text(&notes);

    for (size_t n; !(quiet && is_taken) && *at; at += n + 1) {
        n = strcspn(at, "\n");
        fprintf(stderr, "%s%.*s\n", is_taken ? "note: relaxed: " : "cachew: warning: ", (int)n, at);
    }
    return is_taken;
}

int tool_run_plan_text(const char *text, const char *where, const struct tool_run_options *options,
                       bool local, struct tool_run_planned *ret_planned, struct cw_err *err)
{
    const struct written w = {.text = text, .where = where};
    struct cw_checked *written = NULL;
    struct cw_order_plan plan = {0};
    struct cw_rewritten made = {0};
    int rc = check_written(&w, &written, err);

    *ret_planned = (struct tool_run_planned){0};
    if (rc == 0)
        rc = get_plan(written, where, options, &plan, err);
    if (rc == 0 && cw_rewrite(written, &plan, &made, err) < 0)
        rc = cw_err_wrap(err, "%s", options->plan ? options->plan : where);
    if (rc == 0 && plan.relaxed && !try_relaxed(written, made.checked, options->quiet))
        rc = take_written(&w, ret_planned, err);
    else if (rc == 0)
        rc = take(&made, &w, local || plan.relaxed, ret_planned, err);
    cw_rewritten_fini(&made);
    cw_order_plan_fini(&plan);
    cw_checked_unref(written);
    return rc;
}

int tool_run_plan(const char *pipeline_path, const struct tool_run_options *options, bool local,
                  struct tool_run_planned *ret_planned, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    CW_STR_AUTO text = {0};
    int rc = cw_graph_load(pipeline_path, &graph, err);

    if (rc < 0)
        return rc;
    cw_graph_print(graph, &text);
    cw_graph_unref(graph);
    return tool_run_plan_text(cw_str_text(&text), pipeline_path, options, local, ret_planned, err);
}

int tool_run_replan(const char *dispatcher, const char *job, const struct cw_graph *order,
                    struct cw_err *err)
{
    Cachew__V1__ReplanJobRequest request = CACHEW__V1__REPLAN_JOB_REQUEST__INIT;
    cw_autofree char *id = cw_mem_strdup(job);
    ProtobufCMessage *reply = NULL;

    request.job = id;
    request.graph = cw_wire_graph_to(order);
    int rc = tool_admin_change(dispatcher, "/cachew.v1.Admin/ReplanJob", &request.base,
                               &cachew__v1__replan_job_reply__descriptor, &reply, err);
    cw_wire_graph_free(request.graph);
    if (reply)
        protobuf_c_message_free_unpacked(reply, NULL);
    return rc < 0 ? rc : 0;
}
