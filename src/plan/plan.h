/* SPDX-License-Identifier: Apache-2.0 */
/* A checked graph that is ready to be computed: its sources are open, and it is known which items
 * there are. Immutable after cw_plan_new; refcounted; any thread.
 *
 * Dense pipeline: item k is output k. Sparse pipeline (a filter): item k is the fixed range [k *
 * chunk, (k + 1) * chunk) of positions below the first operator that changes the count; the
 * elements that it keeps are sent as rows, and the client cuts rows into batches in item order
 * (client/delivery/rebatch.c), counting take and skip. So the sequence is exactly what one
 * thread would give that ran the pipeline from end to end. */
#ifndef CW_PLAN_PLAN_H
#define CW_PLAN_PLAN_H

#include "cache/record/record_cache.h"
#include "data/batch.h"
#include "graph/check.h"

struct cw_plan;

/* What the client does with the rows of a sparse pipeline: skips, takes, and cuts into batches, in
 * this order. */
struct cw_plan_join {
    int64_t skip; /* rows left out at the start of the epoch */
    int64_t take; /* then at most so many rows are used; -1 = all */
    /* rows per batch; 0 = each row is an output of its own, without a batch dimension */
    int64_t batch;
    bool drop_remainder;
};
struct cw_plan_info {
    bool sparse;
    uint64_t items;   /* number of items of an epoch */
    int64_t elements; /* number of rows of an epoch; -1 when sparse */
    int64_t batch;    /* elements of an item: batch size, or chunk length */
    uint64_t chunk;   /* sparse: source positions in an item */
    /* spec of a delivered batch (leading dimension: the batch size with drop_remainder, else -1) */
    struct cw_spec out;
    struct cw_plan_join join;
    struct cw_hash fingerprint; /* of pipeline and source identity: equal = the same data */
    /* parts of the fingerprint: of the operators and options; of the files' names and sizes. 0 =
     * not known */
    uint64_t pipeline_sum, files_sum;
    enum cw_identity identity; /* how files are told apart */
    int64_t item_bytes;        /* estimated size of an item; -1 = unknown */
};

/* Opens the sources. On the worker that prepares a job `manifest` is NULL; elsewhere it is what
 * cw_plan_manifest returned on that worker, so that all workers see the same files. */
int cw_plan_new(struct cw_checked *checked, uint64_t seed, const struct cw_value *manifest,
                struct cw_plan **ret_plan, struct cw_err *err);
/* The same with a stop flag: setting it ends the call with CANCELLED, and later also reads of the
 * sources. Any thread may set it. The plan takes a ref. */
int cw_plan_open(struct cw_checked *checked, uint64_t seed, const struct cw_value *manifest,
                 struct cw_stop *stop /* may be NULL */, struct cw_plan **ret_plan,
                 struct cw_err *err);
/* Sets the stop flag: nobody wants anything of the plan any more. Does nothing without a flag. */
void cw_plan_stop(struct cw_plan *plan);
struct cw_plan *cw_plan_ref(struct cw_plan *plan);
struct cw_plan *cw_plan_unref(struct cw_plan *plan);
const struct cw_plan_info *cw_plan_info(const struct cw_plan *plan);
/* Whether the elements of a node may be cached, and under which key (docs/cache.md). */
struct cw_plan_cacheable {
    const char *why_not;       /* NULL = it may be; else the reason, one sentence (static text) */
    struct cw_hash key;        /* of everything that decides an element besides its id */
    uint64_t ids;              /* all ids are below this; 0 = not known */
    bool asked;                /* the node is an operator `cache` */
    const char *mark;          /* name of the `mark` at the node, or NULL */
    const struct cw_spec *out; /* of its elements; belongs to the plan */
    bool whole; /* an element is a whole batch: the node is a batch, or an operator behind one */
};
void cw_plan_cacheable(const struct cw_plan *plan, size_t node, struct cw_plan_cacheable *ret);
/* From now on elements of the node are looked up in `cache` (read), put into it (write), both or
 * neither. May be changed at any time; never changes the data. The plan takes a ref on the cache
 * and keeps it until the plan ends. INVALID: the node may not be cached. Any thread. */
int cw_plan_set_cache(struct cw_plan *plan, size_t node, struct cw_cache_dataset *cache, bool read,
                      bool write, struct cw_err *err);
/* Returns an object: name of a source node -> the manifest of that source. */
void cw_plan_manifest(const struct cw_plan *plan, struct cw_value *ret_value);

#endif
