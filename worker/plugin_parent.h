/* SPDX-License-Identifier: Apache-2.0 */
/* A worker with plugins computes in a child process. This process, which runs no foreign code, waits for it. If
 * the child dies in an operator of a plugin, or such an operator does not return, it starts a fresh one,
 * which tells the dispatcher whose operator that was. */
#ifndef CW_WORKER_PLUGIN_PARENT_H
#define CW_WORKER_PLUGIN_PARENT_H

#include "worker/worker.h"

struct cw_plugin_parent {
    /* An operator that takes longer for one call of an item, or ten times as long to open, has not returned;
     * 0: no limit. */
    int64_t limit_ms;
    /* The worker itself, in the child. died: what the one before died of, or NULL. Returns the exit code. */
    int (*serve)(void *arg, const struct cw_worker_death *died);
    void *arg;
};
/* To be called before there are threads. Returns the exit code of this process, or does not return in the
 * child. */
int cw_plugin_parent_run(const struct cw_plugin_parent *parent);

#endif
