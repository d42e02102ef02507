/* SPDX-License-Identifier: Apache-2.0 */
/* dispatcher/session/client_session.c with SIM_PLANTED_BYE: the Bye of a client that waits for a
 * place ends the claim of who has it. */
#include <string.h>

#include "dispatcher/job/job.h"
#include "dispatcher/session/session.h"
#include "planted.h"

static void before_detach(const struct cw_client *client, const char *caller)
{
    struct cw_job *job = client->job;

    if (sim_planted() != SIM_PLANTED_BYE || !job || strcmp(caller, "cw_client_leave") != 0 ||
        job->consumers[client->consumer].client == client)
        return;
    job->consumers[client->consumer].bye = true;
    if (job->layout.mode == CW_MODE_SHARED)
        cw_job_release_consumer(job, client->consumer);
    cw_job_flush(job);
}

#define cw_client_detach(client) (before_detach(client, __func__), cw_client_detach(client))
#include "dispatcher/session/client_session.c"
