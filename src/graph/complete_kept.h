/* SPDX-License-Identifier: Apache-2.0 */
/* What the first file of a source said of its elements is kept for later jobs, as indices are
 * (format/kept_index.h), so that these do not look into it. */
#ifndef CW_GRAPH_COMPLETE_KEPT_H
#define CW_GRAPH_COMPLETE_KEPT_H

#include "ops/op.h"

/* Writes what names it: the operator, its options, what is wanted of the file, and the file. Nothing is
 * written if it cannot be kept: without a keeper, or of a file that may still change. */
void cw_complete_key(const struct cw_op *op, const void *opts, const struct cw_value *options,
                     const struct cw_op_open *how, struct cw_str *out);
/* Adds what is kept to the options of the node. Returns false if nothing is. */
bool cw_complete_find(const char *key, struct cw_value *said);
/* Keeps what was added to `before`. */
void cw_complete_keep(const char *key, const struct cw_value *before, const struct cw_value *said);

#endif
