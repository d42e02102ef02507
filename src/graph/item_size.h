/* SPDX-License-Identifier: Apache-2.0 */
/* What an item takes of which operators work inside (docs/decisions/0005-inside-items.md). Its length
 * follows from the pipeline alone, so it is known before anything is computed whether workers can hold
 * one. */
#ifndef CW_GRAPH_ITEM_SIZE_H
#define CW_GRAPH_ITEM_SIZE_H

#include "graph/check.h"

struct cw_item_size {
    int64_t elements;
    int64_t bytes; /* of all of them; -1: not known */
    size_t node;   /* the first operator that works inside */
};
/* Returns false if there are no such operators, or only the files say what an element is. */
bool cw_item_size(const struct cw_checked *checked, struct cw_item_size *ret_size);
/* LIMIT: an item has more bytes than a worker's budget. The message names the operator. */
int cw_item_check(const struct cw_checked *checked, uint64_t budget, struct cw_err *err);

#endif
