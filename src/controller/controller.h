/* SPDX-License-Identifier: Apache-2.0 */
/* The controller: what it watches, and what it knows of each CacheBackend. All of it belongs to the loop
 * thread. */
#ifndef CW_CONTROLLER_CONTROLLER_H
#define CW_CONTROLLER_CONTROLLER_H

#include "auth/tls_options.h"
#include "base/args.h"
#include "base/map.h"
#include "controller/decide.h"
#include "controller/engine_run.h"
#include "controller/link.h"
#include "kube/kube.h"
#include "kube/kube_events.h"
#include "kube/kube_lease.h"
#include "kube/kube_watch.h"

#define CW_CONTROLLER "controller" /* the program's name for the API server, and the log's module */

struct cw_controller_options {
    const char *dispatcher;        /* where it is asked */
    const char *client_dispatcher; /* where jobs find it */
    struct cw_tls_options tls;     /* of the connection to the dispatcher */
    const char *token_file, *name_space, *lease, *kubeconfig, *metrics_listen, *plugin_dir;
    const char *check_plugin; /* a file that is only looked at */
    const char *localfs_root;
    const char *csi_driver; /* NULL: no volumes are made */
    struct cw_arg_list allow_stores, job_kinds;
    bool job_annotations; /* jobs may carry the spec of their CacheBackend */
    bool kueue;           /* answer the AdmissionCheck of Workloads */
    bool release_all;     /* delete every CacheBackend, and end */
    int64_t period_ms, away_ms;
    int64_t prefetch_turn_ms; /* how long one is warmed while another one waits */
};

/* A write or another call under way for one CacheBackend, which may go meanwhile. */
struct cw_ref {
    struct cw_controller *c;
    char *key, *uid;
    unsigned what; /* a bit of enum cw_todo, or one of these */
    struct cw_ref *prev, *next;
};
#define CW_DO_STATUS (1u << 16)
#define CW_DO_RELEASE_POD (1u << 17)

struct cw_fluid; /* fluid.c */
struct cw_kueue; /* kueue.c */
struct cw_item {
    struct cw_controller *c;
    struct cw_cachebackend *b;
    bool due;         /* it is looked at when the loop comes to it */
    bool ready;       /* as decided last */
    bool pods_failed; /* a gate could not be removed: it is tried again */
    unsigned busy;    /* what is under way: bits of struct cw_ref.what */
    int64_t again_ms, write_after_ms, figures_ms; /* wall times; 0: none */
    unsigned write_tries;
    /* What was written and is not seen yet is not written again before these; wall times, 0: nothing. */
    int64_t map_settles_ms, job_settles_ms, claim_settles_ms, fluid_settles_ms;
    int64_t
        map_taken_ms; /* until then another's ConfigMap of its name is not tried again; 0: none */
    int64_t fluid_taken_ms;             /* the same of a Dataset */
    struct cw_kube_watch *claim_watch;  /* of the claim that Fluid makes; NULL: none */
    const char *pods[CW_POD_USERS_MAX]; /* of the present sight; with mountPath */
    char fluid_refused[512];            /* why its last write was refused; "": it was not */
    struct cw_fluid_sight fluid;        /* as seen last */
    /* Where it lies, of the present b; placed: it was asked for. */
    bool placed;
    const struct cachew_engine *engine;
    struct cachew_engine_answer place_answer;
    int place;
    char *options; /* JSON */
    char engine_why[512];
    struct cw_step prepare, owns, erase, attach, detach, prefetch;
    uint64_t attach_fresh, detach_fresh; /* the answers that tell of what was done */
    int64_t prefetch_percent;
    char warming[CW_HASH_TEXT_BYTES]; /* what the last warming that was begun is of (to_warm) */
    uint64_t
        prefetch_since; /* since when it waits to be warmed (prefetch_turns.h); 0: it does not */
    void (*cancel_prefetch)(
        const struct cw_item *item); /* when it is removed; NULL: nothing was begun */
    char word[32];                   /* of the last Event */
};
#define CW_SETTLE_MS 10000

#define CW_JOB_KINDS 4
struct cw_job_kind;
/* A watch of jobs, whose digest has to know the kind. */
struct cw_job_watch {
    struct cw_controller *c;
    const struct cw_job_kind *kind;
    struct cw_kube_watch *watch; /* NULL: jobs of this kind are not watched */
};
struct cw_controller {
    struct cw_loop *loop;
    struct cw_controller_options options;
    char *server; /* the URL of the API server */
    struct cw_engine_settings engines;
    struct cw_kube *kube;
    struct cw_kube_events *events;
    struct cw_kube_lease *lease;
    struct cw_link *link;
    bool workloads_due;     /* they are looked at when the loop comes to it */
    struct cw_kueue *kueue; /* NULL: it is not watched */
    struct cw_fluid *fluid; /* NULL: no CacheBackend has wanted it */
    struct cw_engine_runs *runs;
    struct cw_kube_watch *backends, *maps, *pods, *claims; /* claims NULL: no volumes are made */
    struct cw_job_watch jobs[CW_JOB_KINDS];
    bool listed;            /* the first lists are in */
    bool is_fresh;          /* so are those that were begun when the lease was taken */
    struct cw_strmap items; /* by "namespace/name" */
    struct cw_ref *refs;
    struct cw_job_spec *specs;      /* being made (job_specs.c) */
    struct cw_prefetch *prefetches; /* under way (prefetch.c) */
    size_t prefetches_n;            /* how many */
    uint64_t prefetches_began;      /* numbers of those that wait, and of those that were begun */
    struct cw_strmap served;        /* by namespace: the number of the last one that was begun */
    struct cw_timer *run, *tick;
    bool leads, stopping;
    bool stood_by;                /* while another one led */
    void (*on_listed)(void *arg); /* called once, when the first lists are in */
    void (*on_lost)(void *arg, const struct cw_err *why);
    void (*on_emptied)(void *arg);
    void *arg;
    uint64_t status_writes, figure_writes, other_writes, failed_writes;
    uint64_t requests[CW_KUBE_VERBS][6]; /* by the first digit of the status; 0: no answer */
};

/* ---- known.c ---- */
struct cw_item *cw_item_find(const struct cw_controller *c, const char *key);
/* Takes note of a state of an object, unless a later one is known; takes a reference. */
struct cw_item *cw_item_put(struct cw_controller *c, struct cw_cachebackend *b);
void cw_item_remove(struct cw_controller *c, const char *key);
void cw_items_free(struct cw_controller *c);
/* The item is looked at soon; NULL is accepted. */
void cw_item_touch(struct cw_item *item);
void cw_items_touch_all(struct cw_controller *c);
/* Workloads of Kueue are looked at soon: a job, a cache or one of them has changed. */
void cw_workloads_touch(struct cw_controller *c);
/* Begins something that ends later, and finds the item at its end, which frees the reference: NULL if it
 * has gone, or is another one of the same name. */
struct cw_ref *cw_item_begin(struct cw_item *item, unsigned what);
struct cw_item *cw_item_end(struct cw_ref *ref);
/* Sets a step that has failed, to be tried again after a while. */
void cw_step_retry(struct cw_step *step, const char *reason, const char *message);
void cw_step_set(struct cw_step *step, enum cw_step_state state);
/* Finds engine and place of an item, once for each state of its object. */
void cw_item_place(struct cw_item *item);

#endif
