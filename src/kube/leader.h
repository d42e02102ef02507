/* SPDX-License-Identifier: Apache-2.0 */
/* Leading by a Lease as the daemons' option --lease has it: the text of the option, who this process
 * is, the log, and figures. kube_lease.h elects. */
#ifndef CW_KUBE_LEADER_H
#define CW_KUBE_LEADER_H

#include "kube/kube_lease.h"

#define CW_LEADER_LOST 3 /* the exit status of a daemon that leads no longer */

/* Checks "[NAMESPACE/]NAME". */
int cw_leader_name_check(const char *lease, struct cw_err *err);

struct cw_leader_options {
    const char *lease; /* "[NAMESPACE/]NAME"; without a namespace that of the configuration */
    int64_t duration_ms, renew_ms, give_up_ms; /* as in kube_lease.h */
    /* This process leads from now on, or not any more; the second is told once, and may end the
     * process. */
    void (*taken)(void *arg);
    void (*lost)(void *arg, const struct cw_err *why);
    void *arg;
};
struct cw_leader;
/* Begins to look at the Lease. The process calls itself by $CACHEW_POD_NAME, or by its host, and by
 * random digits. Events are logged. */
int cw_leader_new(struct cw_kube *kube, const struct cw_leader_options *options,
                  struct cw_leader **ret_leader, struct cw_err *err);
/* Ends it without a word. Not from its callbacks. Accepts NULL. */
void cw_leader_free(struct cw_leader *leader);
/* Whether this process may do what only the leader may, by its own clock; true for NULL. */
bool cw_leader_holds(const struct cw_leader *leader);
/* Gives the Lease back, as cw_kube_lease_release does. */
void cw_leader_release(struct cw_leader *leader, cw_loop_fn *done, void *arg);
/* Tries to read or write the Lease that have failed so far; 0 for NULL. */
uint64_t cw_leader_failures(const struct cw_leader *leader);

#endif
