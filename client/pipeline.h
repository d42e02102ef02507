/* SPDX-License-Identifier: Apache-2.0 */
/* What a public pipeline object holds. */
#ifndef CW_CLIENT_PIPELINE_H
#define CW_CLIENT_PIPELINE_H

#include "graph/graph.h"

struct cachew_pipeline;
struct cw_graph *cw_pipeline_graph(const struct cachew_pipeline *pipeline); /* borrowed */

#endif
