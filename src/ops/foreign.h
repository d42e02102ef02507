/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are not part of cachew (docs/user-operators.md). What everybody must know of one to
 * check a pipeline is its definition, a JSON object: name, kind, traits, options, and the hash of the
 * file that it comes from. A worker has the definition from the file; the dispatcher has it from its
 * workers, and others from pipelines that were prepared, in which each such node carries it. Who has
 * only the definition has a stub, which is never called on data. An operator that is known stays
 * known as long as the process lives. Any thread. */
#ifndef CW_OPS_FOREIGN_H
#define CW_OPS_FOREIGN_H

#include "ops/op.h"

#define CW_FOREIGN_MAX 1024
#define CW_FOREIGN_DEFINITION_MAX 65536
#define CW_FOREIGN_OPTIONS_MAX 56
/* Bytes of all definitions that one worker says; those of a plugin have some hundred each. */
#define CW_FOREIGN_WORKER_MAX ((size_t)4 << 20)

/* The options that each of them has besides its own, which lie behind this struct. */
struct cw_foreign_opts {
    int64_t index; /* of the operator (cw_foreign_of) */
    /* What preparing a job writes down: the definition, and the fields that come out. */
    struct cw_value plugin;
    struct cw_str_list gives;
};
#define CW_FOREIGN_OPTS_BYTES ((sizeof(struct cw_foreign_opts) + 15) / 16 * 16)

/* Who says that there is an operator: what others say prevails over what was heard for one job. */
enum cw_foreign_announced {
    CW_FOREIGN_NOT_ANNOUNCED, /* a pipeline says what it is, and pipelines may not name it alone */
    CW_FOREIGN_BY_JOB,   /* somebody who may be a tenant: a prepared job, or a worker of one job */
    CW_FOREIGN_ANNOUNCED /* it was loaded here, or a worker of the fleet has it */
};

struct cw_foreign {
    struct cw_op op;
    const void *impl; /* what was loaded (ops/plugin.h); NULL: a stub */
    struct cw_value definition;
    char *text;    /* of the definition, canonical */
    char *hash;    /* of the file */
    char *library; /* its name and version, for people */
    enum cw_foreign_announced announced;
    struct cw_op_takes takes;
    size_t span_offset; /* of the option that says how many rows an item has; 0: none */
};

/* Makes an operator of a definition, or finds the one that has this name and hash.
 * impl NULL: a stub. offsets: of its options in the struct that impl works on, which has so many bytes. The
 * operator of impl gets its functions from `complete`, before anybody finds it. */
struct cw_foreign_new {
    const struct cw_value *definition;
    const void *impl;
    const size_t *offsets;
    size_t opts_bytes;
    const char *doc;
    void (*complete)(struct cw_foreign *foreign);
    enum cw_foreign_announced announced;
};
int cw_foreign_add(const struct cw_foreign_new *how, const struct cw_foreign **ret_foreign,
                   struct cw_err *err);
/* The operator to which options belong. */
const struct cw_foreign *cw_foreign_of(const void *opts);
/* The operator whose descriptor this is; NULL: it is built in. */
const struct cw_foreign *cw_foreign_of_op(const struct cw_op *op);
/* Those that were loaded here, in the order in which they were; NULL: there are no more. */
const struct cw_foreign *cw_foreign_loaded(size_t i);
/* Finds one that pipelines may name: what was loaded last, or announced last by the fleet, or for a job. */
const struct cw_op *cw_foreign_find(const char *name);
/* The name that is most similar among those that pipelines may name, or NULL. */
const char *cw_foreign_nearest(const char *name);
/* The plugin's own struct of options. */
static inline const void *cw_foreign_own(const void *opts)
{
    return (const char *)opts + CW_FOREIGN_OPTS_BYTES;
}

/* Writes down in the options of a node what it is, and which fields it gives. */
void cw_foreign_settle(const struct cw_foreign *foreign, const struct cw_spec *out,
                       struct cw_value *options);
/* The hash of the file from which the operator of a node must come, by its options, and what people call the
 * file; NULL: they do not say. */
const char *cw_foreign_wanted(const struct cw_value *options, const char **ret_library);

#endif
