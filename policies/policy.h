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
    const char *why_not; /* it cannot be cached; NULL = it can */
    /* an operator `cache`: it is cached whatever a policy says, so policies see it as given */
    bool asked;
    const char *mark; /* name of its mark, or NULL */
    size_t inputs_n;
    const size_t *inputs; /* indices of earlier nodes */
    /* elements of it that one element of the output needs (batch of 32 behind it: 32) */
    double per_output;
    double elements_n; /* elements of it in an epoch */
    /* different ones among them: what a cache of it would hold; 0 = all of them */
    double records;
    /* elements measured; 0 = nothing is known of the rest. Of an operator that does no work of
     * its own: as its output's */
    double samples;
    double cpu_ns, wall_ns;
    double bytes;  /* of an element as the node leaves it */
    double cached; /* records already in the cache, 0 to elements_n */
    /* measured length of an epoch that was read from here (almost) alone, with the present
     * workers; 0 = none */
    double epoch_ns;
};
struct cw_autocache_point {
    double bytes, ns; /* reading a record of so many bytes took so long */
};
struct cw_autocache_store { /* as measured, or (samples 0) assumed by the caller */
    /* reading a record of b bytes takes a thread read_ns + b * read_byte_ns */
    double read_ns, read_byte_ns;
    double write_ns, write_byte_ns; /* keeping one in the cache: CPU time of a worker */
    double write_bytes_s;           /* what the store takes of all workers together; 0 = unknown */
    double read_bytes_s;            /* what it gives, all workers together; 0 = unknown */
    double samples;
    double free_bytes; /* within quota and store; < 0 = no limit */
    /* measured by reading alone, ascending bytes; what the published policy asks */
    const struct cw_autocache_point *points;
    size_t points_n;
    /* what of this was not measured in use but assumed, and from what; NULL = nothing */
    const char *assumed;
};
struct cw_autocache_snapshot {
    size_t n;
    /* in the graph's order: inputs before users; the last is the output */
    const struct cw_autocache_node *nodes;
    struct cw_autocache_store store;
    double workers, threads; /* now; threads of all workers together */
    double epochs_left;      /* expected, this one included */
    /* outputs (as per_output counts them) measured so far, over all epochs */
    double elements_measured;
    double epoch_ns;     /* measured length of the last whole epoch; 0 = none yet */
    double wait_share;   /* of the trainer's time, 0 to 1; < 0 = unknown */
    size_t current;      /* the node cached now, or CW_POLICY_NONE */
    double predicted_ns; /* what the standing decision said an epoch would take; 0 = none */
    bool standing;       /* there is a decision: `current`, be it none */
    /* measured length of an epoch that was computed without the policy's cache, with the present
     * workers; 0 = none */
    double compute_ns;
    /* what the trainer itself needs for an epoch, without its waiting; 0 = unknown */
    double trainer_ns;
};
struct cw_autocache_decision {
    bool decided;         /* false: not enough is known yet; ask again */
    size_t node;          /* CW_POLICY_NONE = compute */
    double epoch_ns;      /* predicted, of an epoch read from the cache */
    double total_ns;      /* predicted, of all epochs left; both are 0 when nothing was predicted */
    struct cw_str reason; /* one sentence */
    struct cw_str candidates; /* one line each, '\n' between */
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
/* of parse; accepts NULL */
void cw_autocache_snapshot_free(struct cw_autocache_snapshot *snapshot);

/* ---- evict: which chunks leave when a quota is reached ---- */

struct cw_evict_entry {
    double bytes, records;
    double saved_ns; /* CPU time that its hits have saved so far */
    double cost_ns;  /* CPU time to compute it again */
    double hits;
    double idle_s; /* since it was used last */
    bool pinned;   /* stays */
    bool used;     /* a running job reads its node */
};
struct cw_evict_policy {
    const char *name, *summary;
    /* Lower leaves first. */
    double (*worth)(const struct cw_evict_entry *entry);
};
/* "benefit" (default), "lru"; NULL */
const struct cw_evict_policy *cw_evict_find(const char *name);

#endif
