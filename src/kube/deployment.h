/* SPDX-License-Identifier: Apache-2.0 */
/* What a Deployment asks for and has, and how its number is written. Pure functions. */
#ifndef CW_KUBE_DEPLOYMENT_H
#define CW_KUBE_DEPLOYMENT_H

#include "conf/value.h"

#define CW_KUBE_HANDS_OFF "cachew.dev/hands-off"

struct cw_kube_deployment {
    int64_t replicas; /* that are asked for; one is the server's default */
    /* pods: all, of the newest template, ready; a rolling update has more pods than replicas */
    int64_t pods, updated, ready;
    bool paused;    /* its template is not rolled out; its number counts all the same */
    bool hands_off; /* its annotation says that nothing is to be written to it */
    /* Why pods cannot even be made (a quota, an admission): the condition ReplicaFailure; "" if it is
     * not true. Borrowed from the object, as all texts here. */
    const char *failure_reason, *failure_message;
    const char *version, *uid; /* "": not known */
};
/* Reads a Deployment. CORRUPT: it has no number that makes sense; the message names the field. */
int cw_kube_deployment_read(const struct cw_value *object,
                            struct cw_kube_deployment *ret_deployment, struct cw_err *err);
/* Appends its selector as a query has it: "app=x,tier in (a,b),!gone". UNSUPPORTED: an operator that
 * is not known; INVALID: there is no selector, which would be all pods. */
int cw_kube_deployment_selector(const struct cw_value *object, struct cw_str *out,
                                struct cw_err *err);
/* Reads a Scale: replicas that are asked for, and the version that they were read with, borrowed. A
 * Scale without spec.replicas asks for none: the server leaves 0 out. CORRUPT: it is no Scale. */
int cw_kube_scale_read(const struct cw_value *object, int64_t *ret_replicas,
                       const char **ret_version, struct cw_err *err);
/* Appends the merge patch of deployments/NAME/scale that sets the number, if the object still has the
 * version. */
void cw_kube_scale_patch(int64_t replicas, const char *version, struct cw_str *out);

#endif
