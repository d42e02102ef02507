/* SPDX-License-Identifier: Apache-2.0 */
/* A world for the provisioner of Kubernetes, on virtual time: the fake API server with its controllers
 * and its scheduler, a kubelet whose pods are workers at once, and a dispatcher of which there is only
 * the model and the provisioner. */
#ifndef CW_TESTS_PODS_WORLD_H
#define CW_TESTS_PODS_WORLD_H

#include "dispatcher/kubernetes/cluster.h"
#include "kubernetes/fk.h"

#define DEPLOYMENTS "/apis/apps/v1/namespaces/ns0/deployments"
#define WORLD_GRACE_MS 5000
#define WORLD_SCALE_IN_MS 10000

extern struct cw_dispatcher made;
struct pods_world {
    struct cw_loop *loop;
    struct fk_server *server;
    double wanted;        /* workers that jobs could use */
    int64_t boot_ms;      /* from a pod's node to its worker */
    int64_t drain_ms;     /* from a pod's deletion to its end */
    const char *stuck;    /* a Deployment whose images cannot be pulled; NULL: none */
    bool without_workers; /* pods run, and their workers do not come */
    void (*each)(void);   /* called ten times a second; NULL: nobody asks */
};
extern struct pods_world world;

/* Begins with Deployments of so many pods, each "NAME[,max=N][,price=P]". */
void world_begin(const char *const *deployments, int replicas);
void world_end(void);
/* Restarts the dispatcher: its state is lost, workers stay. */
void world_restart_dispatcher(void);
void world_pass(int64_t ms);
/* What jobs could use is decided anew; by itself it is so ten times a second. */
void world_aim(void);

void world_make_node(const char *name, int pods);
/* "NAME[,...]": a Deployment of so many pods. */
void world_make_deployment(const char *text, int replicas);
/* Returns the HTTP status. body NULL: none. */
int world_ask(const char *method, const char *path, const char *body);
void world_scale(const char *deployment, int replicas); /* somebody else does */
int world_replicas(const char *deployment);
/* A worker attaches that says it runs in another's pod. */
struct cw_worker *world_claim(const struct cw_worker *whose);
void world_unclaim(struct cw_worker *worker);
int world_pods(void); /* that do not go */
int world_workers(bool leaving);
int world_annotated(void); /* pods with our annotation that do not go */
int world_events(const char *reason);
/* Answered requests of the dispatcher since world_forget_requests. */
int world_requests(const char *verb);
void world_forget_requests(void);
struct cw_cluster *world_cluster(void);

#endif
