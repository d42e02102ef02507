/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/tool_graph.h"

#include "base/mem.h"
#include "graph/complete.h"

/* Checks it once more with what is written down of operators of plugins, as a worker does: so the
 * fingerprint is that of the job. */
static int check_settled(struct cw_graph *graph, struct cw_checked **ret_checked,
                         struct cw_err *err)
{
    struct cw_checked *first = NULL;
    struct cw_graph *settled = NULL;
    int rc = cw_graph_check(graph, &first, err);
    if (rc == 0)
        rc = cw_graph_settle(first, &settled, err);
    if (rc == 0 && settled == graph)
        *ret_checked = cw_steal(&first);
    else if (rc == 0)
        rc = cw_graph_check(settled, ret_checked, err);
    cw_graph_unref(settled);
    cw_checked_unref(first);
    return rc;
}

int tool_graph_check(struct cw_graph *graph, const struct cw_value *manifest,
                     struct cw_checked **ret_checked, struct cw_err *err)
{
    struct cw_graph *completed = NULL;
    int rc = cw_graph_complete(graph, manifest, NULL, &completed, err);
    if (rc == 0)
        rc = check_settled(completed, ret_checked, err);
    cw_graph_unref(completed);
    return rc;
}
