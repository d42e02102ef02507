/* SPDX-License-Identifier: Apache-2.0 */
/* One CacheBackend: looks at everything, decides, and begins what is to be done. */
#ifndef CW_CONTROLLER_RECONCILE_H
#define CW_CONTROLLER_RECONCILE_H

#include "controller/controller.h"

/* Looks at the item, and begins what is due. It waits for nothing: what ends later touches the item. */
void cw_reconcile(struct cw_item *item);

#endif
