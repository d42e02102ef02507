/* SPDX-License-Identifier: Apache-2.0 */
/* What a Pod does, and what it waits for, in the cluster's own words. A pure function. */
#ifndef CW_KUBE_POD_H
#define CW_KUBE_POD_H

#include "conf/value.h"

#define CW_KUBE_DELETION_COST "controller.kubernetes.io/pod-deletion-cost"

enum cw_kube_pod_state {
    CW_KUBE_POD_STARTS, /* nothing is wrong yet */
    CW_KUBE_POD_WAITS,  /* for something that may never come: reason and message say what */
    CW_KUBE_POD_RUNS,   /* and is not ready */
    CW_KUBE_POD_READY,
    CW_KUBE_POD_GOES, /* it is being deleted, or will be: it gets no more work */
    CW_KUBE_POD_ENDED /* it does not come back: Succeeded or Failed */
};
struct cw_kube_pod {
    enum cw_kube_pod_state state;
    /* "Unschedulable", "SchedulingGated", "ImagePullBackOff", "CrashLoopBackOff", "Evicted", ...; ""
     * if there is nothing to say. Borrowed from the object, as all texts here. */
    const char *reason, *message;
    const char *name, *uid, *node, *ip; /* "": not known */
    const char *deletion_cost;          /* the annotation's text; NULL: there is none */
    int64_t restarts;                   /* of its containers */
};
/* Reads what is known of a Pod. Fields that are not there, or not what they should be, count as not
 * there. */
void cw_kube_pod_read(const struct cw_value *object, struct cw_kube_pod *ret_pod);

#endif
