/* SPDX-License-Identifier: Apache-2.0 */
/* `--provisioner kubernetes`: workers are pods of Deployments, whose numbers this module sets. It
 * watches the Deployments and their pods, and writes nothing but a Deployment's scale, one annotation
 * of pods (pod-deletion-cost), evictions by request, and Events. This is the face of kubernetes/.
 *
 *   provisioner_kubernetes.c  the provisioner: it opens, ticks, and aims at a number of workers
 *   cluster.c                 questions about its state
 *   pools.c                   what is seen of a Deployment, and whether it may be written
 *   cluster_pods.c            what is seen of pods, and which worker runs in which
 *   shape.c                   how many pods each Deployment should have, and how many are to be had at all
 *   replicas.c                writes a Deployment's number
 *   victims.c                 which pods go when a number goes down, and their annotation
 *   waiting_pods.c            pods that do not come
 *   tell_cluster.c            decisions, Events, the log
 *   evict_pod.c               `cachew drain` of a worker in a pod
 *   cluster_options.c its options
 *   cluster_rows.c            what is shown of it */
#ifndef CW_DISPATCHER_KUBERNETES_KUBERNETES_H
#define CW_DISPATCHER_KUBERNETES_KUBERNETES_H

#include "dispatcher/model/model.h"

extern const struct cw_provisioner cw_provision_kubernetes;

/* Checks the options that only this provisioner has. INVALID: the message names the option. */
int cw_cluster_options_check(struct cw_options *o, struct cw_err *err);

/* ---- evict_pod.c ---- */
/* code CW_OK: the pod is being evicted. Else err says why not, in the server's words. */
typedef void cw_evicted_fn(void *arg, int code, const char *msg);
/* Evicts the worker's pod; fn is called once, later. Returns false, and does nothing, if the worker
 * runs in no pod of ours. */
bool cw_cluster_evict(const struct cw_worker *worker, cw_evicted_fn *fn, void *arg);
/* The dispatcher stops: what was asked for and is not answered yet is answered now. */
void cw_cluster_stop(struct cw_dispatcher *d);

/* ---- provisioner_kubernetes.c ---- */
/* Stops all writes, or allows them again, whoever asks for how many workers. UNSUPPORTED: another
 * provisioner is in use. */
int cw_cluster_hold(struct cw_dispatcher *d, bool hold, struct cw_err *err);

/* ---- cluster_rows.c ---- */
struct cw_cluster_deployment { /* One Deployment, as it is shown. Texts are borrowed. */
    const char *name;
    uint64_t asked, ready;  /* pods: that are asked for, that are ready */
    uint64_t wanted;        /* pods that we would ask for */
    uint64_t workers;       /* of its pods that are attached, and do not go */
    uint64_t waiting;       /* pods that wait */
    uint64_t not_to_be_had; /* pods that have waited for too long */
    uint64_t max;           /* UINT64_MAX: no limit of its own */
    double price;
    bool held;         /* Nothing is written to it. */
    const char *state; /* for people: "", or why it is held, missing, or cannot be written */
};
/* `for (size_t i = 0; cw_cluster_next_deployment(d, &i, &row);)`; nothing with other provisioners. */
bool cw_cluster_next_deployment(const struct cw_dispatcher *d, size_t *i,
                                struct cw_cluster_deployment *ret_row);
struct cw_cluster_waiting { /* A pod that waits, or pods that cannot be made. */
    const char *pod;        /* "": pods that cannot be made */
    const char *deployment, *node, *reason, *message;
    int64_t waits_ms;
    bool not_to_be_had;
};
bool cw_cluster_next_waiting(const struct cw_dispatcher *d, size_t *i,
                             struct cw_cluster_waiting *ret_row);
/* Requests by verb and code, and watches that were begun again. */
struct cw_cluster_requests {
    const char *verb;
    int code; /* HTTP; 0: there was no answer */
    uint64_t n;
};
bool cw_cluster_next_requests(const struct cw_dispatcher *d, size_t *i,
                              struct cw_cluster_requests *ret_row);
/* Pods that wait by reason; returns how many reasons there are, at most `cap`. */
struct cw_cluster_reason {
    const char *reason;
    uint64_t n;
};
size_t cw_cluster_reasons(const struct cw_dispatcher *d, struct cw_cluster_reason *ret_v,
                          size_t cap);
/* Watches that were begun again; UINT64_MAX with other provisioners. */
uint64_t cw_cluster_watches_again(const struct cw_dispatcher *d);

#endif
