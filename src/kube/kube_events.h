/* SPDX-License-Identifier: Apache-2.0 */
/* Events (events.k8s.io/v1): what people find with `kubectl describe` and `kubectl events`. The same
 * event within ten minutes is a series of one object, which counts, and not another object. Events are
 * for people, so one that cannot be written is dropped, and nothing waits for them. */
#ifndef CW_KUBE_KUBE_EVENTS_H
#define CW_KUBE_KUBE_EVENTS_H

#include "kube/kube.h"

/* What an event is about. */
struct cw_kube_regarding {
    const char *api_version, *kind;      /* "apps/v1", "Deployment" */
    const char *name_space, *name, *uid; /* uid may be NULL */
};
struct cw_kube_event {
    struct cw_kube_regarding regarding;
    bool warning;       /* its type is Warning, not Normal */
    const char *reason; /* "ScaledOut": for machines, in one word */
    const char *action; /* "Scale": what was done, in one word */
    const char *note;   /* for people; cut at 1,000 bytes. Another note is another event */
};
struct cw_kube_events_counts {
    uint64_t told, made, counted, dropped; /* events; objects; patches of a series; events */
};
struct cw_kube_events;
/* instance: who this process is, such as its pod's name. failed, which may be NULL, tells that writing
 * has failed, once until it succeeds again. */
struct cw_kube_events *cw_kube_events_new(struct cw_kube *kube, const char *instance,
                                          void (*failed)(void *arg, const struct cw_err *err),
                                          void *arg) CW_MUST_CHECK;
/* Drops what was not written yet. Not from its callback. Accepts NULL. */
void cw_kube_events_free(struct cw_kube_events *events);
/* Tells an event, at once if nothing like it is being written. At most CW_KUBE_EVENTS_BURST are
 * written at a time, and one in ten seconds in the long run: further ones are dropped. */
#define CW_KUBE_EVENTS_BURST 50
void cw_kube_events_tell(struct cw_kube_events *events, const struct cw_kube_event *event);
struct cw_kube_events_counts cw_kube_events_counts(const struct cw_kube_events *events);

#endif
