/* SPDX-License-Identifier: Apache-2.0 */
/* The text form: what parses must print to a text that parses to the same. */
#include "base/mem.h"
#include "graph/graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void round_trip(const struct cw_graph *graph)
{
    CW_STR_AUTO once = {0}, twice = {0};
    struct cw_graph *again = NULL;
    struct cw_err err = {0};

    cw_graph_print(graph, &once);
    CW_ASSERT(cw_graph_parse(cw_str_text(&once), once.len, "", &again, &err) == 0);
    cw_graph_print(again, &twice);
    CW_ASSERT(cw_str_eq(cw_str_text(&once), cw_str_text(&twice)));
    cw_graph_unref(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    const char *text = n ? (const char *)data : "";

    int rc = cw_graph_parse(text, n, "fuzz", &graph, &err);
    CW_ASSERT(rc <= 0 && (rc == 0) == (graph != NULL) && (rc == 0 || err.msg[0]));
    if (graph)
        round_trip(graph);
    cw_graph_unref(graph);
    return 0;
}
