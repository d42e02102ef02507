/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/tool_graph.h"

#include "graph/complete.h"

int tool_graph_check(struct cw_graph *graph, const struct cw_value *manifest,
                     struct cw_checked **ret_checked, struct cw_err *err)
{
    struct cw_graph *completed = NULL;
    int rc = cw_graph_complete(graph, manifest, NULL, &completed, err);
    if (rc == 0)
        rc = cw_graph_check(completed, ret_checked, err);
    cw_graph_unref(completed);
    return rc;
}
