/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that admission does with a pipeline: operators found, options parsed, specs inferred,
 * rules checked. No source is opened. Input that begins with { is text; any other is choices of
 * operators and options. */
#include "fuzz/make_graph.h"
#include "graph/sparse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(struct cw_graph *graph)
{
    struct cw_checked *checked = NULL;
    struct cw_sparse sparse;
    struct cw_err err = {0};

    int rc = cw_graph_check(graph, &checked, &err);
    CW_ASSERT(rc <= 0 && (rc == 0) == (checked != NULL) && (rc == 0 || err.msg[0]));
    if (!checked)
        return;
    CW_ASSERT(cw_sparse_find(checked, &sparse, &err) == 0);
    for (size_t i = 0; i < graph->n; i++)
        CW_ASSERT(checked->nodes[i].out.n > 0 && checked->nodes[i].out.n <= CW_FIELDS_MAX);
    cw_checked_unref(checked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_graph *graph = NULL;

    if (n && data[0] == '{')
        (void)!cw_graph_parse((const char *)data, n, "", &graph, NULL);
    else
        graph = make_graph(data, n, NULL);
    if (graph)
        check(graph);
    cw_graph_unref(graph);
    return 0;
}
