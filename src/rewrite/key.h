/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of cached elements that do not depend on the order that led to them: what stands before a node is
 * taken in one canonical order. So pipelines that differ only by operators that may change sides have
 * their caches in common. Where nothing can move this is the written order. */
#ifndef CW_REWRITE_KEY_H
#define CW_REWRITE_KEY_H

#include "graph/check.h"

/* More operators in a row than this are taken as they are written. */
#define CW_KEY_NODES_MAX 32

/* Sets `element` of all nodes of a pipeline that was just checked and that nobody else has yet. */
void cw_key_set(struct cw_checked *checked);
/* The same for what cw_rewrite made of a pipeline: its nodes have the keys that they have in the written
 * pipeline, as far as the same operators stand before them. */
void cw_key_set_rewritten(struct cw_checked *made, const struct cw_checked *written);

#endif
