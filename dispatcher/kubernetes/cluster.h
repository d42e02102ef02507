/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of kubernetes/ share. */
#ifndef CW_DISPATCHER_KUBERNETES_CLUSTER_H
#define CW_DISPATCHER_KUBERNETES_CLUSTER_H

#include "dispatcher/kubernetes/kubernetes.h"
#include "kube/deployment.h"
#include "kube/kube_events.h"
#include "kube/kube_watch.h"
#include "kube/pod.h"
#include "policies/deployments.h"
#include "policies/replicas_owner.h"

/* What has waited for so long is not to be had. */
#define CW_POD_WAITS_MS 60000
/* The annotation that we give to pods that are to go. Others may write it too, so ours is told from
 * theirs by its number. */
#define CW_POD_COST "-1000"
#define CW_VICTIMS_MAX 50 /* pods that are annotated for one write of a number */
#define CW_AWAY_MS 60000  /* A watch that fails is begun again sooner. */
#define CW_REQUESTS_MAX 64
#define CW_CLUSTER_NAME "kubernetes"

enum cw_victim {
    CW_VICTIM_NOT,
    CW_VICTIM_CHOSEN,   /* It gets no leases; the number is not written yet. */
    CW_VICTIM_CONDEMNED /* The number is lower, and it should be this pod that goes. */
};

struct cw_seen_pod { /* What the watch made of a pod. */
    char *name, *uid, *node, *ip, *reason, *message;
    enum cw_kube_pod_state state;
    bool is_ours;  /* Its controller is a ReplicaSet of the Deployment. */
    bool has_cost; /* It has our annotation. */
};

struct cw_pod {
    struct cw_pool *pool;
    const struct cw_seen_pod *seen; /* belongs to the watch's copy */
    struct cw_worker *worker;       /* set by cw_cluster_find_workers for the same turn only */
    int64_t alone_ms;               /* the time since which it has no worker; 0: it has one */
    bool told_claims;               /* Two workers say that they run in it. */
    enum cw_victim victim;
    struct cw_kube_call *call; /* the annotation on its way */
    int64_t retry_ms;          /* It is not annotated again before. */
};

struct cw_seen_pool { /* What the watch made of a Deployment; texts are its own. */
    struct cw_kube_deployment d;
    char *selector; /* NULL: error says why it cannot be used */
    char *writer;   /* who wrote the number last; NULL: nobody is named */
    char *error;    /* why it cannot be used; NULL: it can */
};

enum cw_hold {
    CW_HOLD_NOT,
    CW_HOLD_ANNOTATION, /* The Deployment says so. */
    CW_HOLD_FLEET,      /* `cachew scale --fleet hold` */
    CW_HOLD_OTHERS      /* Somebody else keeps writing the number. */
};

struct cw_pool;
typedef void cw_marked_fn(struct cw_pool *pool);
struct cw_pool { /* One Deployment. */
    struct cw_cluster *cluster;
    struct cw_deployment settings; /* name, max, price; and what cw_cluster_shape fills in */
    struct cw_kube_watch *watch, *pods_watch;
    char *selector;           /* of the pods that are watched; NULL: none are yet */
    bool listed, pods_listed; /* The watches know all that there is. */
    /* ---- what is seen ---- */
    const struct cw_seen_pool *seen; /* NULL: there is no such Deployment */
    uint64_t replicas;               /* that are asked for, as seen or as written last */
    char *version;                   /* with which the number can be written; NULL: none is known */
    uint64_t answered_lists;         /* lists of `watch` when an answer has told the version last */
    int64_t failure_ms;              /* since when pods cannot be made; 0: they can */
    enum cw_hold hold;
    struct cw_replicas_owner owner;
    /* ---- what is done ---- */
    uint64_t wanted;           /* the pods that it should be asked for */
    int64_t surplus_ms;        /* since when it has more; 0: it has not */
    struct cw_kube_call *call; /* the number on its way, or a Scale that is read */
    uint64_t number;           /* that is written, or was tried last */
    uint64_t from;             /* what it was before */
    bool tried;                /* It is not known what became of `number`. */
    int conflicts;             /* one after the other */
    cw_marked_fn *marked;      /* called when all victims are annotated */
    bool lowering;             /* Victims are chosen, and `number` follows. */
    int64_t retry_ms, pause_ms;
    char *trouble; /* why it cannot be written; NULL: it can */
    /* ---- what was told ---- */
    bool told_missing, told_unusable;
    uint64_t told_waiting; /* pods that are not to be had */
    char *told_reason;
};

struct cw_cluster {
    struct cw_dispatcher *d;
    struct cw_kube *kube;
    struct cw_kube_events *events;
    struct cw_pool *pools;
    size_t pools_n;
    struct cw_strmap pods;   /* of all pools, by uid */
    bool held;               /* `cachew scale --fleet hold` */
    int64_t failed_ms;       /* when a watch has failed last; 0: all goes well */
    int64_t may_not_mark_ms; /* Annotating pods is not allowed; it is tried again at this time. */
    double wanted;           /* workers in all, as was aimed at last */
    struct cw_eviction *evictions;
    struct cw_cluster_requests requests[CW_REQUESTS_MAX];
    size_t requests_n;
};

/* ---- cluster.c ---- */
extern const struct cw_kube_kind cw_kind_deployments, cw_kind_pods;
/* Returns the state of the provisioner; NULL if another is in use. */
struct cw_cluster *cw_cluster_of(const struct cw_dispatcher *d);
/* Whether the API server does not answer: watches fail again and again until it does. */
bool cw_cluster_is_away(const struct cw_cluster *cluster);
/* Whether its number is known and nobody forbids that it is written. */
bool cw_pool_may_write(const struct cw_pool *pool);
/* Takes the version that the answer to a request of ours has told. */
void cw_pool_take_version(struct cw_pool *pool, const char *version);
/* Returns whether a resource version is older than another one, where both are decimal numbers. */
bool cw_version_is_older(const char *version, const char *than);

/* ---- cluster_options.c ---- */
/* Reads the Deployments that are named; the caller frees them. */
int cw_cluster_read_deployments(const struct cw_options *o, struct cw_deployment **ret_v,
                                size_t *ret_n, struct cw_err *err);

/* ---- pools.c ---- */
void cw_pool_open(struct cw_pool *pool);
void cw_pool_close(struct cw_pool *pool);
/* Finds out whether the number may be written, and tells when that has changed. */
void cw_pool_look_at_hold(struct cw_pool *pool, int64_t now);

/* ---- cluster_pods.c ---- */
void cw_pool_watch_pods(struct cw_pool *pool);
void cw_pool_unwatch_pods(struct cw_pool *pool);
struct cw_pod *cw_cluster_pod_of(const struct cw_cluster *cluster, const struct cw_worker *worker);
struct cw_pod *cw_cluster_next_pod(const struct cw_cluster *cluster, size_t *i);
/* Whether the worker is the pod's: no other one says so that has the pod's address. */
bool cw_pod_is_of(const struct cw_pod *pod, const struct cw_worker *worker);
/* Sets `worker` of each pod, and `leaving` and the price of each worker in a pod. */
void cw_cluster_find_workers(struct cw_cluster *cluster, int64_t now);
/* The worker runs in the pod. */
void cw_pod_has_worker(struct cw_pod *pod, struct cw_worker *worker);
/* A worker's pod goes, or is to go: it gets no more leases; or it stays after all. */
void cw_worker_set_leaving(struct cw_worker *worker, bool leaving);
/* Returns how many of its pods have a worker, and do not go. */
uint64_t cw_pool_workers(const struct cw_pool *pool);
/* Whether the pod goes, whatever we do. */
bool cw_pod_goes(const struct cw_pod *pod);

/* ---- shape.c ---- */
/* Sets `wanted` of each pool so that there are so many workers, and what policies may count on. */
void cw_cluster_shape(struct cw_cluster *cluster, double workers);

/* ---- replicas.c ---- */
/* Brings the number nearer to `wanted`. */
void cw_pool_aim(struct cw_pool *pool, int64_t now);

/* ---- victims.c ---- */
/* Chooses pods that go when the number becomes `number`, or one nearer to it, and annotates them. Then
 * fn writes pool->number. */
void cw_victims_choose(struct cw_pool *pool, uint64_t number, int64_t now, cw_marked_fn *fn);
/* Nobody goes: those that were chosen get leases again. */
void cw_victims_spare(struct cw_pool *pool);
void cw_victims_condemn(struct cw_pool *pool); /* The number is lower. */
/* When the number of pods is what was asked for, those that stay get leases again, and what we have
 * annotated and stays is annotated no more. */
void cw_victims_settle(struct cw_pool *pool, int64_t now);

/* ---- waiting_pods.c ---- */
/* Whether the pod waits for what may never come; how long, 0: it does not. */
int64_t cw_pod_waits_ms(const struct cw_pod *pod, int64_t now);
const char *cw_pod_reason(const struct cw_pod *pod);
const char *cw_pod_message(const struct cw_pod *pod);
/* Pods that cannot be made. */
uint64_t cw_pool_unmade(const struct cw_pool *pool);
/* Sets `waiting` of the pool's settings: pods that are not to be had. Tells when that has changed. */
void cw_pool_count_waiting(struct cw_pool *pool, int64_t now);

/* ---- tell_cluster.c ---- */
/* Records a decision and tells an Event of the Deployment. reason is a word for machines. */
void cw_pool_tell(struct cw_pool *pool, bool warning, const char *reason, const char *choice,
                  const char *text);
void cw_pool_tell_scaled(struct cw_pool *pool); /* The number was written. */
void cw_cluster_answered(void *cluster, enum cw_kube_verb verb, int http);
void cw_cluster_warned(void *cluster, const char *text);

/* ---- evict_pod.c ---- */
void cw_evictions_end(struct cw_cluster *cluster, const char *msg);

#endif
