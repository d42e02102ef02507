/* SPDX-License-Identifier: Apache-2.0 */
/* Warms the data sources of a CacheBackend, by the program `cachew` beside this one
 * (cachew cache warm --cache NAME), whose lines say how far it is. */
#ifndef CW_CONTROLLER_PREFETCH_H
#define CW_CONTROLLER_PREFETCH_H

#include "controller/controller.h"

/* It is to be begun; item->prefetch and item->prefetch_percent say how it goes. If too many are under way it
 * waits for its turn (prefetch_turns.h). */
void cw_prefetch_begin(struct cw_item *item);
/* It is not wanted any more, if it waits. */
void cw_prefetch_forget(struct cw_item *item);
/* Looks whether one that is under way has had its turn, and ends it then; it waits again. */
void cw_prefetch_tick(struct cw_controller *c);
/* Ends the item's, if one is under way: its output ends, and with it the run. */
void cw_prefetch_cancel(const struct cw_item *item);
/* Ends what is under way; what was loaded stays. */
void cw_prefetch_stop_all(struct cw_controller *c);

#endif
