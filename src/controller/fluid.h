/* SPDX-License-Identifier: Apache-2.0 */
/* Fluid, whose objects the engine fluid makes. They are watched from the first CacheBackend on that has
 * this engine: most clusters have no Fluid, and no right to its kinds is granted there. */
#ifndef CW_CONTROLLER_FLUID_H
#define CW_CONTROLLER_FLUID_H

#include "controller/controller.h"

/* Begins the watches if they are not begun, and looks. The sight is valid until the next event. */
void cw_fluid_look(struct cw_item *item, struct cw_fluid_sight *ret_sight);
/* What Fluid's claim is, which has the Dataset's name; UNSUPPORTED: none is wanted. Call it after
 * cw_fluid_look. */
enum cw_claim_state cw_fluid_claim(struct cw_item *item);
void cw_fluid_stop(struct cw_controller *c);
/* Adds what its watches have counted; there may be none. */
void cw_fluid_counts(const struct cw_controller *c, struct cw_kube_watch_counts *sum);

#endif
