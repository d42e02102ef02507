/* SPDX-License-Identifier: Apache-2.0 */
/* Policies are pure: snapshot, options and state in, decision and reasons out. No I/O, no clock,
 * no globals; the caller builds snapshots and carries decisions out. One file a policy, one line
 * in policy_list.h. Snapshots and decisions exist as JSON too (the dispatcher writes them down),
 * so that what was recorded can be replayed in tests. */
#ifndef CW_POLICIES_POLICY_H
#define CW_POLICIES_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"

#define CW_POLICY_NODES_MAX 1024
#define CW_POLICY_NONE SIZE_MAX

/* ---- autocache: at which node of a pipeline elements are cached ---- */

/* A node as measured; costs are per element of the node, of the node's own work (not of what
 * lies above it). */
struct cw_autocache_node {
    const char *name, *op;
    const char *why_not; /* why it cannot be cached; NULL = it can */
    /* an operator `cache`: it is cached whatever the policy decides */
    bool asked;
    const char *mark; /* name of the `mark` at it, or NULL */
    size_t inputs_n;
    const size_t *inputs; /* indices of earlier nodes */
    /* number of its elements that one element of the output needs (a batch of 32 behind it: 32) */
    double per_output;
    double elements_n; /* number of its elements in an epoch */
    /* number of different ones among them, which a cache of it would hold; 0 = all are different */
    double records;
    /* elements measured; 0 = nothing is known of the rest. Of an operator that does no work of
     * its own: as its output's */
    double samples;
    double cpu_ns, wall_ns;
    double bytes;  /* size of an element that the node outputs */
    double cached; /* number of records already in the cache, 0 to elements_n */
    /* measured length of an epoch that was read from here (almost) alone, with the present
     * workers; 0 = none */
    double epoch_ns;
};
struct cw_autocache_point {
    double bytes, ns; /* time to read a record of so many bytes */
};
struct cw_autocache_store { /* as measured, or (samples 0) assumed by the caller */
    /* a thread reads a record of b bytes in read_ns + b * read_byte_ns */
    double read_ns, read_byte_ns;
    double write_ns, write_byte_ns; /* CPU time of a worker to put a record, the same formula */
    double write_bytes_s;           /* write throughput of the store for all workers; 0 = unknown */
    double read_bytes_s;            /* read throughput of the store for all workers; 0 = unknown */
    double samples;
    double free_bytes; /* space left in the quota and the store; < 0 = no limit */
    /* read times measured without other load, by ascending size; used by the published policy */
    const struct cw_autocache_point *points;
    size_t points_n;
    /* names the values that were assumed instead of measured, and from what; NULL = none */
    const char *assumed;
};
struct cw_autocache_snapshot {
    size_t n;
    /* in the graph's order: inputs before users; the last is the output */
    const struct cw_autocache_node *nodes;
    struct cw_autocache_store store;
    double workers, threads; /* now; threads of all workers together */
    double epochs_left;      /* expected number, including this one */
    /* outputs (as per_output counts them) measured so far, over all epochs */
    double elements_measured;
    double epoch_ns;     /* measured length of the last whole epoch; 0 = none yet */
    double wait_share;   /* share of its time that the trainer waits, 0 to 1; < 0 = unknown */
    size_t current;      /* the node cached now, or CW_POLICY_NONE */
    double predicted_ns; /* epoch length that the present decision predicted; 0 = none */
    bool standing;       /* a decision was made already: `current`, which may be no node */
    /* measured length of an epoch that was computed without the policy's cache, with the present
     * workers; 0 = none */
    double compute_ns;
    /* time that the trainer itself needs for an epoch, without waiting; 0 = unknown */
    double trainer_ns;
};
struct cw_autocache_decision {
    bool decided;         /* false: too little was measured yet; ask again later */
    size_t node;          /* where to cache; CW_POLICY_NONE = nowhere */
    double epoch_ns;      /* predicted length of an epoch that is read from the cache; 0 = none */
    double total_ns;      /* predicted length of all epochs left; 0 = none */
    struct cw_str reason; /* one sentence */
    struct cw_str candidates; /* one line per node that was considered, separated by '\n' */
};
void cw_autocache_decision_fini(struct cw_autocache_decision *decision);

struct cw_autocache_policy {
    const char *name, *summary;
    /* argument: what stands behind ':' of the option ("force:NODE"), or NULL. INVALID when it
     * makes no sense. check needs no snapshot; a policy without it takes no argument. */
    int (*check)(const char *argument, struct cw_err *err);
    int (*decide)(const struct cw_autocache_snapshot *snapshot, const char *argument,
                  struct cw_autocache_decision *ret_decision, struct cw_err *err);
};
/* "auto", "cachew", "off", "force:NODE": the policy and what stands behind the colon. INVALID
 * names those that there are. */
int cw_autocache_find(const char *option, const struct cw_autocache_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err);
/* One line a policy, for --help and errors: "auto, cachew, force:NODE, off". */
const char *cw_autocache_names(void);

/* A snapshot as JSON, and back: what is stored with decisions, and what tests replay. The parsed
 * one owns what it points to. Members that are missing are zero (free_bytes and wait_share: -1,
 * current: none); INVALID for what is not a snapshot. */
void cw_autocache_snapshot_print(const struct cw_autocache_snapshot *snapshot, struct cw_str *out);
struct cw_value;
int cw_autocache_snapshot_from(const struct cw_value *value,
                               struct cw_autocache_snapshot **ret_snapshot, struct cw_err *err);
int cw_autocache_snapshot_parse(const char *text, size_t n,
                                struct cw_autocache_snapshot **ret_snapshot, struct cw_err *err);
/* Frees what parse has made. Accepts NULL. */
void cw_autocache_snapshot_free(struct cw_autocache_snapshot *snapshot);

/* ---- evict: which chunks leave when a quota is reached ---- */

struct cw_evict_entry {
    double bytes, records;
    double saved_ns; /* CPU time that its hits have saved so far */
    double cost_ns;  /* CPU time to compute it again */
    double hits;
    double idle_s; /* seconds since it was last used */
    bool pinned;   /* is never evicted */
    bool used;     /* a running job reads the node that it belongs to */
};
struct cw_evict_policy {
    const char *name, *summary;
    /* The chunk with the lowest value is evicted first. */
    double (*worth)(const struct cw_evict_entry *entry);
};
/* "benefit" (default), "lru"; NULL */
const struct cw_evict_policy *cw_evict_find(const char *name);

#endif
