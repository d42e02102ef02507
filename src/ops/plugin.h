/* SPDX-License-Identifier: Apache-2.0 */
/* Loads shared objects with operators that are made against cachew/op.h alone, and makes a struct cw_op of
 * each. Their code runs in this process from then on: only workers and tools link this. */
#ifndef CW_OPS_PLUGIN_H
#define CW_OPS_PLUGIN_H

#include "conf/value.h"

/* Loads a file. An error names the file, and which of its operators is wrong in what; the program should not
 * go on then. To be called before pipelines are checked. */
int cw_plugin_load_file(const char *path, struct cw_err *err);
/* Loads several. */
int cw_plugin_load_all(const char *const *paths, size_t n, struct cw_err *err);
/* The definitions of all operators that were loaded, as texts of JSON, for the dispatcher. The caller
 * frees the texts and the list. */
char **cw_plugin_definitions(size_t *ret_n);

#endif
