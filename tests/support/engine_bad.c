/* SPDX-License-Identifier: Apache-2.0 */
/* Engines that do what engines should not: with -Dfailing prepare fails each time, with -Dhanging it never
 * answers, with -Dcrashing the process ends when it is loaded, with -Dstuck loading it never ends, and
 * with -Dolder it was made for another version of the header. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cachew/engine.h>

#ifndef failing
#define failing 0
#endif
#ifndef hanging
#define hanging 0
#endif

#ifndef older
#define older 0
#endif

#ifdef crashing
__attribute__((constructor)) static void crash(void)
{
    abort();
}
#endif
#ifdef stuck
__attribute__((constructor)) static void wait_for_ever(void)
{
    for (;;)
        pause();
}
#endif

static int place(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    snprintf(answer->url, sizeof(answer->url), "dir:%s/bad-%s", request->root, request->uid);
    return CACHEW_ENGINE_READY;
}

static int prepare(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    (void)request;
    while (hanging)
        pause();
    snprintf(answer->reason, sizeof(answer->reason), "NoSpace");
    snprintf(answer->message, sizeof(answer->message), "the disk is full");
    return failing ? CACHEW_ENGINE_RETRY : CACHEW_ENGINE_READY;
}

static int nothing(const struct cachew_engine_request *request, struct cachew_engine_answer *answer)
{
    (void)request;
    (void)answer;
    return CACHEW_ENGINE_READY;
}

const struct cachew_engine cachew_engine = {
    CACHEW_ENGINE_ABI - older, "bad", place, prepare, nothing, nothing};
