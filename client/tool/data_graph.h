/* SPDX-License-Identifier: Apache-2.0 */
/* What a command may be shown: a pipeline, or data as they lie there. */
#ifndef CW_CLIENT_TOOL_DATA_GRAPH_H
#define CW_CLIENT_TOOL_DATA_GRAPH_H

#include "graph/graph.h"

/* Loads a pipeline (a name that ends with .json, .yaml or .yml, or -), or makes one of a pattern of data
 * files: of the source that reads files with such names. */
int tool_data_graph(const char *what, struct cw_graph **ret_graph, struct cw_err *err);
/* A pattern of files as jobs have it: absolute, unless it is a URL. The caller frees it. */
char *tool_absolute_pattern(const char *pattern);

#endif
