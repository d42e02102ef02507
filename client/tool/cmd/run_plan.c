/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/cmd/run_plan.h"

#include <stdio.h>

#include "base/mem.h"
#include "cachew/pipeline.h"
#include "client/tool/tool.h"
#include "conf/value_yaml.h"
#include "rewrite/apply.h"

static int load_written(const char *path, struct cw_checked **ret_written, struct cw_err *err)
{
    struct cw_graph *graph = NULL;
    int rc = cw_graph_load(path, &graph, err);

    if (rc == 0)
        rc = cw_graph_check(graph, ret_written, err);
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

int tool_run_plan(const char *pipeline_path, const char *plan_path,
                  struct cachew_pipeline **ret_pipeline, char **ret_autocache, struct cw_err *err)
{
    struct cw_checked *written = NULL;
    struct cw_order_plan plan = {0};
    struct cw_rewritten made = {0};
    int rc = load_written(pipeline_path, &written, err);

    *ret_autocache = NULL;
    if (rc == 0)
        rc = load_plan(plan_path, &plan, err);
    if (rc == 0 && cw_rewrite(written, &plan, &made, err) < 0)
        rc = cw_err_wrap(err, "%s", plan_path);
    if (rc == 0)
        rc = make_pipeline(made.checked->graph, ret_pipeline, err);
    if (rc == 0)
        *ret_autocache = cache_of(&made);
    cw_rewritten_fini(&made);
    cw_order_plan_fini(&plan);
    cw_checked_unref(written);
    return rc;
}
