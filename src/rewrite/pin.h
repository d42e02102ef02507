/* SPDX-License-Identifier: Apache-2.0 */
/* Pinning: before a node moves, all that depends on where it stands is written down in the graph, so
 * that it means the same wherever it stands. That is its name, which keys its random stream, also if it
 * was made ("random_flip_2"); the fields that it works on, by their names; and options that the
 * operator would take from what comes in (cw_op.pin). */
#ifndef CW_REWRITE_PIN_H
#define CW_REWRITE_PIN_H

#include "graph/check.h"

/* Whether a node can be pinned. One that cannot stays where it is: one `normalize` of an integer and a
 * float field divides them by different numbers, for instance. */
bool cw_pin_can(const struct cw_checked *checked, size_t node);
/* Makes a copy of a node, pinned as far as it can be; it reads no node yet. */
void cw_pin_node(const struct cw_checked *checked, size_t node, struct cw_node *ret_node);
/* The same; it reads the nodes that the written one reads. */
void cw_pin_node_in_place(const struct cw_checked *checked, size_t node, struct cw_node *ret_node);
/* Makes a copy of a node that is not pinned: its fingerprint stays the same, if those before it do. */
void cw_pin_node_not(const struct cw_checked *checked, size_t node, struct cw_node *ret_node);
/* Makes the pinned graph, which gives the same batches as the written one. */
int cw_pin_graph(const struct cw_checked *checked, struct cw_graph **ret_graph, struct cw_err *err);

#endif
