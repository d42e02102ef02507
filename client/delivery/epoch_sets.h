/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of items by epoch: a map from an epoch's number to a struct cw_set. One thread. */
#ifndef CW_CLIENT_DELIVERY_EPOCH_SETS_H
#define CW_CLIENT_DELIVERY_EPOCH_SETS_H

#include "base/interval.h"
#include "base/map.h"

/* Returns the set of an epoch, which is created if there is none. It is valid until it is
 * removed. */
struct cw_set *cw_epoch_sets_get(struct cw_map *sets, uint64_t epoch);
void cw_epoch_sets_remove(struct cw_map *sets, uint64_t epoch);
/* Removes the sets of all epochs. */
void cw_epoch_sets_clear(struct cw_map *sets);

#endif
