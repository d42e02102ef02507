/* SPDX-License-Identifier: Apache-2.0 */
/* memory: no store, only the memory that workers have for blocks of source files. */
#include "controller/engine.h"

static int nothing(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    (void)request;
    (void)answer;
    return CACHEW_ENGINE_READY;
}

const struct cachew_engine cw_engine_memory = {
    CACHEW_ENGINE_ABI, "memory", nothing, nothing, nothing, nothing,
};
