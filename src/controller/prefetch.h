/* SPDX-License-Identifier: Apache-2.0 */
/* Warms the data sources of a CacheBackend, by the program `cachew` beside this one
 * (cachew cache warm --cache NAME), whose lines say how far it is. */
#ifndef CW_CONTROLLER_PREFETCH_H
#define CW_CONTROLLER_PREFETCH_H

#include "controller/controller.h"

/* Begins it; item->prefetch and item->prefetch_percent say how it goes. */
void cw_prefetch_begin(struct cw_item *item);
/* Ends what is under way; what was loaded stays. */
void cw_prefetch_stop_all(struct cw_controller *c);

#endif
