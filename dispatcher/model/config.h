/* SPDX-License-Identifier: Apache-2.0 */
/* What the dispatcher was told at its start, and the limits that are built in. */
#ifndef CW_DISPATCHER_MODEL_CONFIG_H
#define CW_DISPATCHER_MODEL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/args.h"
#include "base/err.h"

#define CW_LOG_MOD "dispatcher"
#define CW_EPOCHS_AHEAD 64 /* epochs that are begun and not done, at most */
#define CW_CONSUMERS_MAX 4096
#define CW_HISTORY_EPOCHS                                                                          \
    2 /* recent epochs for which a share remembers which items it was leased */
#define CW_BUFFER_DEFAULT ((uint64_t)256 << 20) /* buffer of a client that does not say */
#define CW_LEASE_MAX 1024                       /* items of one lease, about */
#define CW_ATTEMPTS_MAX 3 /* failures of an item on workers before its job fails */
#define CW_WORKER_TAG 0x574b5231u
#define CW_CLIENT_TAG 0x434c5431u

struct cw_dispatcher;
struct cw_worker;
struct cw_evict_policy; /* policies/policy.h */

/* Where workers come from; one of them is in use (scaling/provisioner.h). */
struct cw_provisioner {
    const char *name, *summary;
    bool publishes; /* nothing more than how many there should be, to whoever asks */
    bool fixed;     /* the fleet is what registers itself */
    int (*open)(struct cw_dispatcher *d, void **ret_state, struct cw_err *err);
    void (*close)(void *state); /* ends what it started */
    /* Begins so many workers more; returns how many it did. */
    size_t (*start)(void *state, size_t n);
    size_t (*starting)(void *state);                           /* begun, and not attached yet */
    bool (*owns)(void *state, const struct cw_worker *worker); /* may be drained by us */
    void (*tick)(void *state, int64_t now);
    void (*attached)(void *state, const struct cw_worker *worker);
};

struct cw_options {
    const char *listen, *state_dir;
    /* the generation is above this one, whatever the state directory says */
    uint64_t generation_above;
    int64_t silence_ms;      /* of a worker, until it is taken for lost */
    int64_t grace_ms;        /* after a start: how long known workers and clients are waited for */
    int64_t client_grace_ms; /* an anonymous job's, without its client */
    int64_t job_idle_ms;     /* a finished or failed job, or one without clients, is kept so long */
    int64_t lease_ms;        /* work that a worker holds */
    int64_t takeover_ms;     /* a second client of a place waits so long for the first to go */
    uint64_t max_jobs;
    struct cw_arg_list tenants; /* "NAME:KEY=VALUE,..." (tenants.h) */
    uint64_t deaths_max;        /* workers that an item may kill */
    const char *cache_store;    /* NULL = no cache */
    uint64_t cache_quota;       /* 0 = what the store has */
    const struct cw_evict_policy *cache_evict;
    const char *autocache;       /* of jobs that ask for nothing else */
    uint64_t cache_chunk_bytes;  /* 0 = the worker's default */
    uint64_t source_cache_quota; /* bytes of the store for blocks of source files; 0 = none */
    int cache_level;             /* of compression: src/format/chunk.h */
    const char *autoscale; /* policy of jobs that do not say; "off" = each uses every worker */
    /* likewise, of those whose clients start local workers; "off" = none are asked for */
    const char *autoplace;
    double worker_price, client_price; /* an hour */
    const struct cw_provisioner *provisioner;
    uint64_t min_workers, max_workers;
    double max_stall;               /* share of its time that a trainer may wait */
    int64_t scale_window_ms;        /* shortest measurement */
    const char *metrics_listen;     /* by HTTP; NULL = not */
    int64_t scale_in_ms;            /* workers that nobody needs are kept so long */
    struct cw_arg_list worker_args; /* of started workers */
    bool standby, exit_with_stdin;
};

#endif
