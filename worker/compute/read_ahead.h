/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of sources are read before the threads need them (io/ahead.h): those of leased items, in the
 * order of need, within a part of the budget. An item begins when its bytes are there, so no thread
 * waits for them; one whose bytes take longer lets others pass. Loop thread. */
#ifndef CW_WORKER_COMPUTE_READ_AHEAD_H
#define CW_WORKER_COMPUTE_READ_AHEAD_H

#include "worker/model/state.h"

void cw_wahead_start(struct cw_worker_state *w, cw_loop_fn *may_begin);
/* Begins to read for as many items as there is room for. */
void cw_wahead_fill(struct cw_worker_state *w);
/* Finds the item that begins next: the lowest pending one whose bytes are there. Returns false if there
 * is none. */
bool cw_wahead_next(struct cw_wjob *job, uint64_t *ret_epoch, uint64_t *ret_item);
/* Returns the bytes that were read for an item that begins, and belong to its task now; NULL: none. */
struct cw_ahead *cw_wahead_take(struct cw_wjob *job, uint64_t epoch, uint64_t item);
/* Gives up what was read for items that are not pending any more; for all items. */
void cw_wahead_prune(struct cw_wjob *job);
void cw_wahead_clear(struct cw_wjob *job);
/* Memory is short: gives up what was read for items that have not begun. */
void cw_wahead_shed(struct cw_worker_state *w);
/* Returns the bytes of memory that are in use. */
size_t cw_wahead_bytes(void);

#endif
