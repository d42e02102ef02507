/* SPDX-License-Identifier: Apache-2.0 */
/* The files of `cachew plan --cedar-stats`: a chain of operators (JSON), and the statistics that
 * cedar's profiler writes of it (YAML). docs/optimizing.md has their keys. */
#ifndef CW_CLIENT_TOOL_CEDAR_FILES_H
#define CW_CLIENT_TOOL_CEDAR_FILES_H

#include "policies/cedar.h"

/* Reads {"chain": [{"id": 9, "source": true, ...}, ...]}, from the source to the output. */
int tool_cedar_chain_load(const char *path, struct cw_cedar_chain *ret_chain, struct cw_err *err);
/* Reads the numbers of the chain's operators, and checks both together. */
int tool_cedar_stats_load(const char *path, struct cw_cedar_chain *chain, struct cw_err *err);

#endif
