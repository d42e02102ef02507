/* SPDX-License-Identifier: Apache-2.0 */
/* Access to the graph of a public pipeline object. */
#ifndef CW_CLIENT_PIPELINE_H
#define CW_CLIENT_PIPELINE_H

#include "graph/graph.h"

struct cachew_pipeline;
/* The caller borrows the graph. */
struct cw_graph *cw_pipeline_graph(const struct cachew_pipeline *pipeline);

#endif
