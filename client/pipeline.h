/* SPDX-License-Identifier: Apache-2.0 */
/* Access to the graph of a public pipeline object. */
#ifndef CW_CLIENT_PIPELINE_H
#define CW_CLIENT_PIPELINE_H

#include "graph/graph.h"

struct cachew_pipeline;
/* The caller borrows the graph. */
struct cw_graph *cw_pipeline_graph(const struct cachew_pipeline *pipeline);

struct cachew_builder;
/* How many operators were added. */
size_t cw_builder_nodes(const struct cachew_builder *builder);
/* Keeps an error for cachew_builder_finish, if it is the first one. */
void cw_builder_fail(struct cachew_builder *builder, const struct cw_err *err);

#endif
