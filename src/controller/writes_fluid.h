/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of Fluid's objects, which have the CacheBackend's name and are owned by it. */
#ifndef CW_CONTROLLER_WRITES_FLUID_H
#define CW_CONTROLLER_WRITES_FLUID_H

#include "controller/controller.h"

/* Makes, changes or deletes what bits of enum cw_todo say: CW_DO_WRITE_DATASET and its like. */
void cw_write_fluid(struct cw_item *item, const struct cw_fluid_sight *sight, unsigned todo);

#endif
