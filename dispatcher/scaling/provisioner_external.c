/* SPDX-License-Identifier: Apache-2.0 */
/* `--provisioner external`: something outside cachew starts and ends workers, for example a
 * controller of a Kubernetes Deployment. Nothing is started here. The dispatcher publishes how many
 * there should be: as metric cachew_workers_wanted, in Admin.ListWorkers, and as a decision at each
 * change. A worker that gets SIGTERM drains, so nothing is lost whichever are ended. */
#include "dispatcher/model/model.h"

static size_t external_start(void *state, size_t n)
{
    (void)state, (void)n;
    return 0;
}

static size_t external_starting(void *state)
{
    (void)state;
    return 0;
}

static bool external_owns(void *state, const struct cw_worker *worker)
{
    (void)state, (void)worker;
    return false;
}

static void external_tick(void *state, int64_t now)
{
    (void)state, (void)now;
}

const struct cw_provisioner cw_provision_external = {
    .name = "external",
    .summary = "somebody else starts and ends workers, as many as the dispatcher says",
    .publishes = true,
    .start = external_start,
    .starting = external_starting,
    .owns = external_owns,
    .tick = external_tick};
