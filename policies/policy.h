/* SPDX-License-Identifier: Apache-2.0 */
/* Policies are pure functions: they get a snapshot, options and state, and return a decision with
 * its reasons. They do no I/O, read no clock and have no globals; the caller makes snapshots and
 * carries decisions out. Each policy is one file, and one line in policy_list.h. Snapshots and
 * decisions can also be printed as JSON (the dispatcher records them), so that tests can replay
 * what was recorded. */
#ifndef CW_POLICIES_POLICY_H
#define CW_POLICIES_POLICY_H

#include <stdbool.h>
#include <stdint.h>
#include "base/err.h"
#include "base/str.h"
#include "policies/policy_decision.h"

#define CW_POLICY_NODES_MAX 1024
#define CW_POLICY_NONE SIZE_MAX

/* ---- autocache: at which node of a pipeline elements are cached ---- */

/* A node as it was measured. Costs are those of one element of the node, for the node's own work
 * (without that of the nodes that it reads). */
struct cw_autocache_node {
    const char *name, *op;
    const char *why_not; /* why it cannot be cached; NULL: it can */
    /* It is an operator `cache`: it is cached whatever the policy decides. */
    bool asked;
    const char *mark; /* name of the `mark` at the node, or NULL */
    size_t inputs_n;
    const size_t *inputs; /* indices of earlier nodes */
    /* number of its elements that one element of the output needs (a batch of 32 behind it: 32) */
    double per_output;
    double elements_n; /* number of elements that it has in an epoch */
    /* Number of different elements among them, which a cache of it would hold; 0: all are
     * different. */
    double records;
    /* Number of elements that were measured; 0: nothing is known of the members below. For an
     * operator that does no work of its own it is that of its output. */
    double samples;
    double cpu_ns, wall_ns;
    double bytes;  /* bytes of an element that the node outputs */
    double cached; /* number of records already in the cache, 0 to elements_n */
    /* Measured length of an epoch that read (almost) all elements from a cache here, with the
     * present workers; 0: there was none. */
    double epoch_ns;
};
struct cw_autocache_point {
    double bytes, ns; /* time to read a record of this size */
};
/* the store as it was measured, or (samples 0) as the caller assumes it */
struct cw_autocache_store {
    /* The time in which a thread reads a record of b bytes is read_ns + b * read_byte_ns. */
    double read_ns, read_byte_ns;
    /* CPU time in which a worker puts a record, by the same formula */
    double write_ns, write_byte_ns;
    /* rate at which the store accepts writes of all workers together; 0: unknown */
    double write_bytes_s;
    /* rate at which the store gives reads to all workers together; 0: unknown */
    double read_bytes_s;
    double samples;
    double free_bytes; /* space left in the quota and the store; < 0: no limit */
    /* Times of reads without other load, by ascending size; the published policy uses them. */
    const struct cw_autocache_point *points;
    size_t points_n;
    /* Names the values that were assumed instead of measured, and their basis; NULL: none. */
    const char *assumed;
};
struct cw_autocache_snapshot {
    size_t n;
    /* In the graph's order: inputs before the nodes that read them; the last one is the output. */
    const struct cw_autocache_node *nodes;
    struct cw_autocache_store store;
    double workers, threads; /* now; threads: those of all workers together */
    /* Threads of a worker that work on the job on average, while at least one does; 0: unknown. */
    double inside;
    double epochs_left; /* expected number of epochs, including this one */
    /* Number of outputs (as per_output counts them) that were measured so far, over all epochs. */
    double elements_measured;
    double epoch_ns;     /* measured length of the last whole epoch; 0: none yet */
    double wait_share;   /* part of its time that the trainer waits, 0 to 1; < 0: unknown */
    size_t current;      /* the node that is cached now, or CW_POLICY_NONE */
    double predicted_ns; /* epoch length that the present decision predicted; 0: none */
    bool standing;       /* a decision was made already: `current`, which may be CW_POLICY_NONE */
    /* Measured length of an epoch that was computed without the policy's cache, with the present
     * workers; 0: none. */
    double compute_ns;
    /* Time that the trainer itself needs for an epoch, without waiting; 0: unknown. */
    double trainer_ns;
};

struct cw_autocache_policy {
    const char *name, *summary;
    /* argument: the text behind ':' in the option ("force:NODE"), or NULL. INVALID if it makes no
     * sense. check needs no snapshot; a policy without check takes no argument. */
    int (*check)(const char *argument, struct cw_err *err);
    int (*decide)(const struct cw_autocache_snapshot *snapshot, const char *argument,
                  struct cw_policy_decision *ret_decision, struct cw_err *err);
};
/* Finds the policy of an option "auto", "cachew", "off" or "force:NODE", and the text behind its
 * colon. The message of INVALID names the policies that exist. */
int cw_autocache_find(const char *option, const struct cw_autocache_policy **ret_policy,
                      const char **ret_argument, struct cw_err *err);
/* Returns the names of all policies in one line, for --help and errors: "auto, cachew, force:NODE,
 * off". */
const char *cw_autocache_names(void);

/* Print a snapshot as JSON, which is stored with decisions, and parse it, for replaying it in
 * tests. A parsed snapshot owns what it points to. Members that are missing are zero (free_bytes
 * and wait_share: -1, current: none); INVALID for anything that is not a snapshot. */
void cw_autocache_snapshot_print(const struct cw_autocache_snapshot *snapshot, struct cw_str *out);
struct cw_value;
int cw_autocache_snapshot_from(const struct cw_value *value,
                               struct cw_autocache_snapshot **ret_snapshot, struct cw_err *err);
int cw_autocache_snapshot_parse(const char *text, size_t n,
                                struct cw_autocache_snapshot **ret_snapshot, struct cw_err *err);
/* Frees what cw_autocache_snapshot_parse has made. Accepts NULL. */
void cw_autocache_snapshot_free(struct cw_autocache_snapshot *snapshot);

/* ---- evict: which chunks are evicted when a quota is reached ---- */

struct cw_evict_entry {
    double bytes, records;
    double saved_ns; /* CPU time that its hits have saved so far */
    double cost_ns;  /* CPU time to compute it again */
    double hits;
    double idle_s; /* seconds since it was last used */
    bool pinned;   /* it is never evicted */
    bool used;     /* a running job reads the node to which it belongs */
};
struct cw_evict_policy {
    const char *name, *summary;
    /* Returns the value of a chunk; the chunk with the lowest value is evicted first. */
    double (*worth)(const struct cw_evict_entry *entry);
};
/* Finds "benefit" (the default) or "lru"; returns NULL for other names. */
const struct cw_evict_policy *cw_evict_find(const char *name);

#endif
