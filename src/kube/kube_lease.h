/* SPDX-License-Identifier: Apache-2.0 */
/* Elects one of several processes by a Lease of the API server: who holds it leads, renews it, and
 * stops leading when that has not succeeded for a while, before anybody else may take it. Time is
 * counted by the own clock only, from the moment at which something was seen, the host's sleep
 * included (cw_clock_boot_ms); the times in the Lease are for people. A write carries the version that
 * was seen, so of two that try one succeeds. */
#ifndef CW_KUBE_KUBE_LEASE_H
#define CW_KUBE_KUBE_LEASE_H

#include "kube/kube.h"

struct cw_kube_lease_options {
    const char *name_space, *name; /* name_space NULL: that of the configuration */
    const char *identity;          /* who this process is; no other one has ever had it */
    int64_t duration_ms; /* others may take it when it was not renewed for so long; 0: 15 s */
    int64_t renew_ms;    /* between renewals, and between tries; 0: 2 s */
    int64_t give_up_ms;  /* leads no longer when it was not renewed for so long; 0: 10 s */
};
struct cw_kube_lease_events {
    /* This process leads from now on. */
    void (*taken)(void *arg);
    /* It does not lead any more, and will not again: the Lease is somebody else's, or could not be
     * renewed. Called once. */
    void (*lost)(void *arg, const struct cw_err *why);
    /* Somebody else holds it ("": nobody); called when that changes, before this process leads. NULL:
     * nobody asks. */
    void (*held)(void *arg, const char *holder);
    /* A try has failed, and there will be another one. NULL: nobody asks. */
    void (*failed)(void *arg, const struct cw_err *err);
    void *arg;
};
struct cw_kube_lease;
/* Begins to look at the Lease, and takes it when it may. INVALID: give_up_ms is not below duration_ms,
 * or renew_ms not below give_up_ms. */
int cw_kube_lease_new(struct cw_kube *kube, const struct cw_kube_lease_options *options,
                      const struct cw_kube_lease_events *events, struct cw_kube_lease **ret_lease,
                      struct cw_err *err);
/* Ends it without a word; who leads goes on holding it until it expires. Not from its callbacks.
 * Accepts NULL. */
void cw_kube_lease_free(struct cw_kube_lease *lease);
/* Whether this process leads at this moment, by its own clock: asked before each thing that only the
 * leader may do, since `lost` is told when the loop comes to it. */
bool cw_kube_lease_holds(const struct cw_kube_lease *lease);
/* Gives the Lease back, so that another one may take it at once, and then calls done: within renew_ms,
 * whether it succeeded or not. It leads no longer from this call on, and nothing else is told. */
void cw_kube_lease_release(struct cw_kube_lease *lease, cw_loop_fn *done, void *arg);

#endif
