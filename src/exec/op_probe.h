/* SPDX-License-Identifier: Apache-2.0 */
/* Completes pipelines with operators that must be shown elements first (`probe` in ops/op.h): their
 * inputs are computed for a few elements, where a job is prepared. */
#ifndef CW_EXEC_OP_PROBE_H
#define CW_EXEC_OP_PROBE_H

#include "base/stop.h"
#include "graph/graph.h"

#define CW_PROBE_ELEMENTS 16

/* Shows such operators their first elements. The graph's sources are complete (graph/complete.h).
 * *ret_graph is a new reference, to the same graph if it has no such operator. stop may be NULL. */
int cw_exec_probe(struct cw_graph *graph, uint64_t seed, struct cw_stop *stop,
                  struct cw_graph **ret_graph, struct cw_err *err);

#endif
