/* SPDX-License-Identifier: Apache-2.0 */
/* Completes pipelines whose sources know only from their files what their elements are (a header, a
 * schema): what the first files say becomes options of these nodes, where the files are, once for
 * each job. Everybody else then works with the completed graph, and needs no file to check it. */
#ifndef CW_GRAPH_COMPLETE_H
#define CW_GRAPH_COMPLETE_H

#include "base/stop.h"
#include "graph/check.h"

/* Returns the first node whose options do not say what its elements are, SIZE_MAX if there is none. */
size_t cw_graph_incomplete(const struct cw_graph *graph);
/* Puts in what nodes stand for (expand.h), and looks into the files of all such nodes; what must be computed first (`probe` in op.h) is for
 * exec/op_probe.h. *ret_graph is a new reference, to the same graph if it is
 * complete. manifest: of a job that was prepared (cw_plan_manifest), or NULL. stop may be NULL. */
int cw_graph_complete(struct cw_graph *graph, const struct cw_value *manifest,
                      const struct cw_stop *stop, struct cw_graph **ret_graph, struct cw_err *err);
/* Does it without files, with the options that nodes of the same names have in `like`. */
int cw_graph_complete_like(struct cw_graph *graph, const struct cw_graph *like,
                           struct cw_graph **ret_graph, struct cw_err *err);
/* Writes down in nodes whose operators are not part of cachew what they are, of which file, and what they give
 * (ops/foreign.h), so that others can check the graph without that file. *ret_graph is a new reference, to the
 * same graph if there are none, or all is written down already. */
int cw_graph_settle(const struct cw_checked *checked, struct cw_graph **ret_graph,
                    struct cw_err *err);

#endif
