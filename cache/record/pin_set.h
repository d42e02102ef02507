/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread pins while it works on elements: struct cw_cache_pins of record_cache.h. */
#ifndef CW_CACHE_RECORD_PIN_SET_H
#define CW_CACHE_RECORD_PIN_SET_H

#include "cache/record/record_cache.h"

struct cw_cache_handle;
struct cw_span;

/* Takes a reference, unless the handle is pinned already. false: it is not live any more. */
bool cw_pin_handle(struct cw_cache_pins *pins, struct cw_cache_handle *handle);
/* Takes over the caller's reference. */
void cw_pin_span(struct cw_cache_pins *pins, struct cw_span *span);

#endif
