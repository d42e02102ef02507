/* SPDX-License-Identifier: Apache-2.0 */
/* A relaxed order is compared with the written one while its job is prepared. */
#include "base/mem.h"
#include "exec/relaxed_trial.h"
#include "graph/complete.h"
#include "worker/job/loading.h"

/* What the files said of the sources of the relaxed order is known. */
static int check_written(const struct cw_loading *o, struct cw_checked **ret_checked,
                         struct cw_err *err)
{
    struct cw_graph *completed = NULL;
    int rc = cw_graph_complete_like(o->as_written, cw_plan_graph(o->plan), &completed, err);
    if (rc == 0)
        rc = cw_graph_check(completed, ret_checked, err);
    cw_graph_unref(completed);
    return rc;
}

static int try_relaxed(struct cw_loading *o)
{
    struct cw_checked *written = NULL, *relaxed = NULL;
    struct cw_err err = {0};
    bool is_taken = true;
    int rc = 0;
    if (check_written(o, &written, &err) == 0 && cw_graph_check(o->graph, &relaxed, &err) == 0)
        rc = cw_relaxed_trial(o->plan, written, relaxed, &o->relaxed, &is_taken, &o->error);
    else
        cw_str_addf(&o->relaxed, "nothing was compared: %s\n", err.msg);
    cw_checked_unref(written);
    cw_checked_unref(relaxed);
    o->relaxed_refused = !is_taken;
    return rc;
}

int cw_loading_try_relaxed(struct cw_loading *o)
{
    int rc = o->as_written ? try_relaxed(o) : 0;
    if (rc < 0 || !o->relaxed_refused)
        return rc;
    cw_plan_unref(cw_steal(&o->plan));
    cw_buf_unref(cw_steal(&o->manifest_out));
    cw_graph_unref(o->graph);
    o->graph = cw_steal(&o->as_written);
    o->was_completed = false;
    return 0;
}
