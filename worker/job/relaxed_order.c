/* SPDX-License-Identifier: Apache-2.0 */
/* A relaxed order is compared with the written one while its job is prepared. */
#include "base/mem.h"
#include "exec/relaxed_trial.h"
#include "worker/job/loading.h"

bool cw_loading_refuses_relaxed(struct cw_loading *o)
{
    struct cw_checked *written = NULL, *relaxed = NULL;
    struct cw_err err = {0};
    if (!o->as_written)
        return false;
    if (cw_graph_check(o->as_written, &written, &err) == 0 &&
        cw_graph_check(o->graph, &relaxed, &err) == 0)
        o->relaxed_refused = !cw_relaxed_trial(written, relaxed, &o->relaxed);
    else
        cw_str_addf(&o->relaxed, "nothing was compared: %s\n", err.msg);
    cw_checked_unref(written);
    cw_checked_unref(relaxed);
    if (!o->relaxed_refused)
        return false;
    cw_plan_unref(cw_steal(&o->plan));
    cw_buf_unref(cw_steal(&o->manifest_out));
    cw_graph_unref(o->graph);
    o->graph = cw_steal(&o->as_written);
    o->was_completed = false;
    return true;
}
