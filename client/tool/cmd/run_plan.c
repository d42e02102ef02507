/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/cmd/run_plan.h"

#include <stdio.h>

#include "base/mem.h"
#include "cachew/pipeline.h"
#include "cachew/v1/admin.pb-c.h"
#include "client/tool/tool.h"
#include "client/tool/tool_graph.h"
#include "conf/value_yaml.h"
#include "rewrite/apply.h"
#include "wire/wire.h"

static int load_written(const char *path, struct cw_checked **ret_written, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    int rc = cw_graph_load(path, &graph, err);

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

/* A job of local: gets the pipeline in the plan's order. Any other one is the job of the written pipeline, and
 * is replanned when it runs. */
static int take(const struct cw_rewritten *made, const char *path, bool local,
                struct tool_run_planned *ret_planned, struct cw_err *err)
{
    struct cachew_error error = CACHEW_ERROR_INIT;
    int rc = 0;

    if (local)
        rc = make_pipeline(made->checked->graph, &ret_planned->pipeline, err);
    else if (cachew_pipeline_load(path, &ret_planned->pipeline, &error) < 0)
        rc = cw_err_set(err, CW_E_INVALID, "%s", error.message);
    if (rc < 0)
        return rc;
    ret_planned->order = local ? NULL : cw_graph_ref(made->checked->graph);
    ret_planned->autocache = cache_of(made);
    return 0;
}

int tool_run_plan(const char *pipeline_path, const char *plan_path, bool local,
                  struct tool_run_planned *ret_planned, struct cw_err *err)
{
    struct cw_checked *written = NULL;
    struct cw_order_plan plan = {0};
    struct cw_rewritten made = {0};
    int rc = load_written(pipeline_path, &written, err);

    *ret_planned = (struct tool_run_planned){0};
    if (rc == 0)
        rc = load_plan(plan_path, &plan, err);
    if (rc == 0 && cw_rewrite(written, &plan, &made, err) < 0)
        rc = cw_err_wrap(err, "%s", plan_path);
    if (rc == 0)
        rc = take(&made, pipeline_path, local, ret_planned, err);
    cw_rewritten_fini(&made);
    cw_order_plan_fini(&plan);
    cw_checked_unref(written);
    return rc;
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
