/* SPDX-License-Identifier: Apache-2.0 */
/* What engines share whose caches lie in a store: a file in it that says whose it is. They block. */
#ifndef CW_CONTROLLER_ENGINE_STORE_H
#define CW_CONTROLLER_ENGINE_STORE_H

#include "cachew/engine.h"

#define CW_ENGINE_MARKER "cachew-owner"

/* Opens the store of the request's URL, which makes its folder, and writes the marker with the uid if
 * there is none. REFUSED: the marker has another uid. */
int cw_engine_store_prepare(const struct cachew_engine_request *request,
                            struct cachew_engine_answer *answer);
/* Looks at the marker. REFUSED: it is not there, or has another uid. */
int cw_engine_store_owns(const struct cachew_engine_request *request,
                         struct cachew_engine_answer *answer);
/* Removes the marker, if it has the uid. */
int cw_engine_store_erase(const struct cachew_engine_request *request,
                          struct cachew_engine_answer *answer);

#endif
