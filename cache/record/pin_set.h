/* SPDX-License-Identifier: Apache-2.0 */
/* Adds pins to a thread's set of pins (struct cw_cache_pins of record_cache.h). */
#ifndef CW_CACHE_RECORD_PIN_SET_H
#define CW_CACHE_RECORD_PIN_SET_H

#include "cache/record/record_cache.h"

struct cw_cache_handle;
struct cw_span;

/* Pins a handle: takes a reference, unless the set has one already. Returns false if the handle is
 * not live any more. */
bool cw_pin_handle(struct cw_cache_pins *pins, struct cw_cache_handle *handle);
/* Pins a span: takes the caller's reference. */
void cw_pin_span(struct cw_cache_pins *pins, struct cw_span *span);

#endif
