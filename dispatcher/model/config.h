/* SPDX-License-Identifier: Apache-2.0 */
/* The options that the dispatcher was started with, and its built-in limits. */
#ifndef CW_DISPATCHER_MODEL_CONFIG_H
#define CW_DISPATCHER_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "auth/tls_options.h"
#include "base/args.h"
#include "base/err.h"
#include "base/limits.h"

#define CW_LOG_MOD "dispatcher"
#define CW_EPOCHS_AHEAD 64 /* The largest number of epochs of a job that are open at a time. */
/* The number of recent epochs for which a share remembers which items were leased to its worker. */
#define CW_HISTORY_EPOCHS 2
#define CW_BUFFER_DEFAULT ((uint64_t)256 << 20) /* The buffer size of a client that gives none. */
#define CW_LEASE_MAX 1024 /* No items join a lease that has reached this number of items. */
#define CW_ATTEMPTS_MAX 3 /* A job fails when one of its items has failed this often. */
#define CW_WORKER_TAG 0x574b5231u
#define CW_CLIENT_TAG 0x434c5431u

struct cw_dispatcher;
struct cw_worker;
struct cw_evict_policy; /* The struct is defined in policies/policy.h. */

/* A provisioner starts and ends workers. One provisioner is in use (scaling/provisioner.c). */
struct cw_provisioner {
    const char *name, *summary;
    /* The provisioner starts nothing; it publishes how many workers there should be. */
    bool publishes;
    bool fixed; /* The fleet consists of the workers that register themselves. */
    int (*open)(struct cw_dispatcher *d, void **ret_state, struct cw_err *err);
    void (*close)(void *state); /* Ends the workers that the provisioner has started. */
    /* Starts up to n more workers, and returns how many it started. */
    size_t (*start)(void *state, size_t n);
    /* Returns the number of workers that were started and are not attached yet. */
    size_t (*starting)(void *state);
    /* Says whether the provisioner started the worker, so that the dispatcher may drain it. */
    bool (*owns)(void *state, const struct cw_worker *worker);
    void (*tick)(void *state, int64_t now);
    /* There should be so many workers in all: the provisioner starts and ends them in its own way and
     * time, so it has no start and no owns. NULL: it is told by start whom to start, and the
     * dispatcher drains workers that it owns. */
    void (*aim)(void *state, double workers, int64_t now);
    void (*attached)(void *state, struct cw_worker *worker);
};

struct cw_options {
    const char *listen, *state_dir;
    /* The generation becomes higher than this number, whatever the state directory says. */
    uint64_t generation_above;
    int64_t silence_ms; /* A worker that sends nothing for this long counts as lost. */
    /* The time that the dispatcher waits after a start for workers and clients that it knew. */
    int64_t grace_ms;
    int64_t client_grace_ms; /* An anonymous job without its client is kept for this long. */
    /* A job that is over, or a named job without clients, is kept for this long. */
    int64_t job_idle_ms;
    int64_t lease_ms; /* A worker is leased about as much work as it can do in this time. */
    /* The time that a client waits for a consumer slot which another client holds. */
    int64_t takeover_ms;
    uint64_t max_jobs;
    uint64_t max_jobs_bytes;    /* of pipelines and manifests of all jobs; 0 = no limit */
    struct cw_arg_list tenants; /* Each is a rule "NAME:KEY=VALUE,..." (model/tenants.h). */
    /* A job fails when this many workers have died while they computed one of its items. */
    uint64_t deaths_max;
    const char *cache_store; /* The URL of the cache's store; NULL if there is no cache. */
    /* The most bytes that the cache may hold; 0 if only the store's size limits it. */
    uint64_t cache_quota;
    const struct cw_evict_policy *cache_evict;
    const char *autocache;      /* The autocache policy of jobs that name none. */
    uint64_t cache_chunk_bytes; /* The size of a chunk; 0 if workers use their default. */
    /* The bytes of the store that may hold blocks of source files; 0 if none may. */
    uint64_t source_cache_quota;
    int cache_level; /* The compression level of chunks, as in src/format/chunk.h. */
    /* The autoscale policy of jobs that name none. With "off" a job uses every worker. */
    const char *autoscale;
    /* The autoplace policy of jobs that name none and whose clients can start local workers. With
     * "off" no client is asked to start any. */
    const char *autoplace;
    /* Who plans the order of operators of jobs that do not say; NULL: nobody (in tests). */
    const char *optimize;
    /* What plans make least, "time" or "money"; NULL: time. */
    const char *objective;
    double worker_price, client_price; /* The prices of one worker and of one client for an hour. */
    double store_price;                /* Of a GB in the cache, for an hour. */
    const struct cw_provisioner *provisioner;
    uint64_t min_workers, max_workers;
    /* Of the provisioner of Kubernetes: Deployments (policies/deployments.h), where their API server
     * is (src/kube/kube_config.h), and their namespace; NULL: that of the configuration. */
    struct cw_arg_list kube_deployments;
    const char *kubeconfig, *kube_namespace;
    double max_stall;        /* The fraction of its time that a trainer may wait. */
    int64_t scale_window_ms; /* The length of the shortest demand window. */
    /* The HTTP address of the metrics; NULL if they are not served by HTTP. */
    const char *metrics_listen;
    bool metrics_tls;      /* with the certificate of `tls` */
    const char *trace_url; /* Where traces go (trace/trace.h); NULL: nowhere. */
    uint64_t trace_every;  /* One item of so many is traced. */
    bool show_elements;    /* Who may see a job may see elements of its batches. */
    /* Names under which browsers may ask for the page there. */
    struct cw_arg_list web_hosts;
    /* A worker that no job needs is kept for this long before it is drained. */
    int64_t scale_in_ms;
    /* Where workers that it starts may open files (src/io/source_root.h). */
    struct cw_arg_list source_roots;
    struct cw_arg_list worker_args; /* The arguments are passed to each worker that is started. */
    const char *token_file; /* Who may do what (access/access.h); NULL: everybody everything. */
    /* The audience of tokens of service accounts that an API server is asked about; NULL: none is. And
     * what accounts are besides clients of their namespace: NAMESPACE:NAME=ROLE. */
    const char *token_review;
    struct cw_arg_list token_roles;
    struct cw_tls_options tls; /* Not set where only this host comes: at a unix socket. */
    /* Without tokens: --listen may name an address that other hosts reach. */
    bool insecure;
    bool standby, exit_with_stdin;
    /* "[NAMESPACE/]NAME" of the Lease of Kubernetes that this dispatcher must hold to serve; NULL: the
     * lock file of the state directory decides. */
    const char *lease;
    /* Its periods (kube/kube_lease.h). */
    int64_t lease_duration_ms, lease_renew_ms, lease_give_up_ms;
};

#endif
