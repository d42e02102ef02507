/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline of the jobs of a fleet that is not there. */
#include <string.h>

#include "bench/load.h"

static const char pipeline[] =
    "{\"pipeline\": [{\"op\": \"range\", \"name\": \"numbers\", \"stop\": 64000000000}, {\"op\": "
    "\"shuffle\", \"name\": \"order\"},"
    "{\"op\": \"mark\", \"name\": \"source\"}, {\"op\": \"sleep\", \"name\": \"read\", \"ms\": 1}, "
    "{\"op\": \"sleep\", \"name\": \"decode\", \"ms\": 1},"
    "{\"op\": \"sleep\", \"name\": \"crop\", \"ms\": 1}, {\"op\": \"mark\", \"name\": \"small\"}, "
    "{\"op\": \"sleep\", \"name\": \"flip\", \"ms\": 1},"
    "{\"op\": \"sleep\", \"name\": \"normalize\", \"ms\": 1}, {\"op\": \"batch\", \"name\": "
    "\"batches\", \"size\": 64}]}";

int load_plan(struct load *load, struct cw_err *err)
{
    struct cw_checked *checked = NULL;
    struct cw_plan *made = NULL;
    struct cw_value manifest = {0};
    int rc = cw_graph_parse(pipeline, strlen(pipeline), "pipeline", &load->graph, err);
    if (rc == 0)
        rc = cw_graph_check(load->graph, &checked, err);
    if (rc == 0)
        rc = cw_plan_new(checked, 0, NULL, &made, err);
    if (rc != 0)
        return rc;
    struct cw_plan_cacheable *nodes = CW_NEW_ARRAY(struct cw_plan_cacheable, load->graph->n);
    for (size_t i = 0; i < load->graph->n; i++)
        cw_plan_cacheable(made, i, &nodes[i]);
    cw_plan_manifest(made, &manifest);
    load->manifest = cw_wire_manifest_pack(&manifest);
    load->info = cw_wire_info_to(cw_plan_info(made));
    cw_wire_cacheable_to(load->graph, nodes, load->info);
    load->message = cw_wire_graph_to(load->graph);
    cw_value_fini(&manifest);
    cw_mem_free(nodes);
    cw_plan_unref(made);
    cw_checked_unref(checked);
    return 0;
}

void load_unplan(struct load *load)
{
    cw_wire_graph_free(load->message);
    cw_wire_info_free(load->info);
    cw_buf_unref(load->manifest);
    cw_graph_unref(load->graph);
}
