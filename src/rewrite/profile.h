/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of pipelines: what was measured of each operator, and of what is around them. Files are
 * JSON or YAML; docs/optimizing.md has their keys. */
#ifndef CW_REWRITE_PROFILE_H
#define CW_REWRITE_PROFILE_H

#include "conf/value.h"

/* A node. Times are those of one element that comes in, in ns: ns + ns_byte * b of a thread and
 * cpu_ns + cpu_ns_byte * b of the processor's, with b the bytes of the fields that it reads. */
struct cw_cost_profile_node {
    char *name;
    double ns, ns_byte, cpu_ns, cpu_ns_byte;
    double in_bytes, out_bytes; /* of the fields that it reads, and of those that it writes */
    double keep;                /* share of the elements that passes */
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
    bool has_store; /* else nothing can be cached */
    struct cw_cost_profile_store store;
    double source_bytes_s, network_bytes_s; /* 0: no limit */
    double step_ms;                         /* of the trainer, for a batch; 0: none */
};

/* Reads a profile. Messages begin with `where` and name the key. */
int cw_cost_profile_from(const struct cw_value *value, const char *where,
                         struct cw_cost_profile *ret_profile, struct cw_err *err);
void cw_cost_profile_fini(struct cw_cost_profile *profile);
/* Finds a node by its name, or NULL. */
const struct cw_cost_profile_node *cw_cost_profile_find(const struct cw_cost_profile *profile,
                                                        const char *name);

#endif
