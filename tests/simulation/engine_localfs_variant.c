/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's engine localfs in the world's store: mem:NAME-UID in place of dir:ROOT/... */
#include <stdio.h>

#include "controller/engine.h"
#include "controller/engine_options.h"
#include "controller/engine_store.h"

static int place(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    return cw_engine_check_url(answer, snprintf(answer->url, sizeof(answer->url), "mem:%s-%s",
                                                request->name, request->uid));
}

const struct cachew_engine cw_engine_localfs = {
    CACHEW_ENGINE_ABI,     "localfs", place, cw_engine_store_prepare, cw_engine_store_owns,
    cw_engine_store_erase,
};
