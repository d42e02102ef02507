/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of pipelines: what was measured of each operator, and of what is around them. Files are
 * JSON or YAML; docs/profile.md has their keys. */
#ifndef CW_REWRITE_PROFILE_H
#define CW_REWRITE_PROFILE_H

#include "conf/value.h"
#include "graph/check.h"
#include "policies/cost_line.h"

/* A node. Times are those of one element that comes in, in ns: ns + ns_byte * b of a thread and
 * cpu_ns + cpu_ns_byte * b of the processor's, with b the bytes of the fields that it reads. */
struct cw_cost_profile_node {
    char *name;
    double ns, ns_byte, cpu_ns, cpu_ns_byte;
    double in_bytes, out_bytes; /* of the fields that it reads, and of those that it writes */
    double keep;                /* share of the elements that passes */
    double samples;             /* calls that were timed */
    struct cw_cost_whole whole; /* where it else makes the part of an image that a crop needs */
    struct cw_cost_batch batch; /* of an element where it works on many at once; all 0: not known */
    /* What it has in common with nodes of other pipelines that cost the same (rewrite/operator_key.h); all 0: not known. */
    struct cw_hash operator;
    bool assumed; /* that time is in proportion to bytes, or not: it was not measured */
};
/* What passes all of several filters, or one of them where it was shown elements that others leave out. */
struct cw_cost_profile_set {
    char *nodes[CW_FILTERS_MAX];
    size_t n;
    double keep, samples; /* share that passes; elements that all were shown */
};
struct cw_cost_profile_store {
    double read_ns, read_byte_ns, write_ns, write_byte_ns;
    double read_bytes_s, write_bytes_s; /* 0: no limit */
    double free_bytes;                  /* -1: not known */
};
struct cw_cost_profile {
    char *pipeline; /* fingerprint of the pipeline, or NULL */
    double elements;
    struct cw_cost_profile_node *nodes;
    size_t n;
    struct cw_cost_profile_set *filters; /* at most CW_FILTER_SETS */
    size_t filters_n;
    bool has_store; /* else nothing can be cached */
    struct cw_cost_profile_store store;
    double source_bytes_s, network_bytes_s; /* 0: no limit */
    double engine_ns, engine_cpu_ns;        /* the engine's own, for an element of the source */
    double step_ms;                         /* of the trainer, for a batch; 0: none */
    /* Elements a second with so many threads, as measured. */
    struct {
        double threads, rate;
    } rates[2];
    size_t rates_n;
};

/* Reads a profile. Messages begin with `where` and name the key. */
int cw_cost_profile_from(const struct cw_value *value, const char *where,
                         struct cw_cost_profile *ret_profile, struct cw_err *err);
void cw_cost_profile_fini(struct cw_cost_profile *profile);
/* Whether nodes of this operator do work, so that a profile must have them. */
bool cw_cost_profile_needs(const struct cw_op *op);
/* Makes the nodes and `pipeline` of a profile of what was measured: measured[i] is of node i of the graph.
 * Nodes that do no work are left out. */
void cw_cost_profile_of_measured(const struct cw_checked *checked,
                                 const struct cw_cost_measured *measured,
                                 struct cw_cost_profile *ret_profile);
/* Adds what passes sets of filters: shown[s] elements were shown to all of a set s, as bits of the filters' numbers, and
 * passed[s] pass all. names[k]: of filter k, or NULL. */
void cw_cost_profile_add_filters(struct cw_cost_profile *profile,
                                 const char *const names[CW_FILTERS_MAX], const double *shown,
                                 const double *passed);
/* Makes the value of a profile, as files have it; what is 0 and need not be there is left out. `threads`
 * is written only: it is not read back. */
void cw_cost_profile_print(const struct cw_cost_profile *profile, struct cw_value *ret_value);
/* Finds a node by its name, or NULL. */
const struct cw_cost_profile_node *cw_cost_profile_find(const struct cw_cost_profile *profile,
                                                        const char *name);

#endif
