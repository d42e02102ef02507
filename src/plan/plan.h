/* SPDX-License-Identifier: Apache-2.0 */
/* A checked graph made ready to compute: sources opened, positions composed, items cut.
 * Immutable after cw_plan_new; refcounted; any thread.
 *
 * Dense pipeline: item k is output k. Sparse pipeline (a filter): item k is the fixed range [k *
 * chunk, (k + 1) * chunk) of positions below the first operator that changes the count; what
 * survives is sent as rows, and the client cuts rows into batches in item order (client/delivery/rebatch.c),
 * counting take and skip. So the sequence is exactly what one thread would give that ran the
 * pipeline from end to end. */
#ifndef CW_PLAN_PLAN_H
#define CW_PLAN_PLAN_H

#include "cache/record/record_cache.h"
#include "data/batch.h"
#include "graph/check.h"

struct cw_plan;

/* What the client does with the rows of a sparse pipeline: skip, take, and cut, in this order. */
struct cw_plan_join {
    int64_t skip; /* rows left out at the start of the epoch */
    int64_t take; /* then at most so many; -1 = all */
    /* rows per batch; 0 = each row is an output of its own, without a batch dimension */
    int64_t batch;
    bool drop_remainder;
};
struct cw_plan_info {
    bool sparse;
    uint64_t items;   /* of an epoch */
    int64_t elements; /* rows of an epoch; -1 when sparse */
    int64_t batch;    /* elements of an item: batch size, or chunk length */
    uint64_t chunk;   /* sparse: source positions in an item */
    /* of a delivered batch (leading dim: batch size with drop_remainder, else -1) */
    struct cw_spec out;
    struct cw_plan_join join;
    struct cw_hash fingerprint; /* of pipeline and source identity: what the data are */
    /* parts of it: the operators and options; which files there are, and their sizes. 0 = not
     * known */
    uint64_t pipeline_sum, files_sum;
    enum cw_identity identity; /* of the files */
    int64_t item_bytes;        /* estimate, -1 unknown */
};

/* Opens the sources: on the worker that prepares a job `manifest` is NULL, elsewhere it is what
 * cw_plan_manifest gave there, so that all workers see the same files. */
int cw_plan_new(struct cw_checked *checked, uint64_t seed, const struct cw_value *manifest,
                struct cw_plan **ret_plan, struct cw_err *err);
/* The same with a flag that ends it, with CANCELLED, and that is looked at by whatever reads the
 * sources later. Any thread may set it. The plan refs it. */
int cw_plan_open(struct cw_checked *checked, uint64_t seed, const struct cw_value *manifest,
                 struct cw_stop *stop /* may be NULL */, struct cw_plan **ret_plan,
                 struct cw_err *err);
/* Sets the flag: nobody wants anything of it any more. Without one nothing happens. */
void cw_plan_stop(struct cw_plan *plan);
struct cw_plan *cw_plan_ref(struct cw_plan *plan);
struct cw_plan *cw_plan_unref(struct cw_plan *plan);
const struct cw_plan_info *cw_plan_info(const struct cw_plan *plan);
/* What may be cached, and under which key (docs/cache.md). One entry a node of the graph. */
struct cw_plan_cacheable {
    const char *why_not; /* NULL = it may be; else the reason, one sentence (static text) */
    struct cw_hash key;  /* of its elements: what they are a function of besides their ids */
    uint64_t ids;        /* below this are their ids (0 = not known): elements of the source */
    bool asked;          /* an operator `cache` stands there */
    const char *mark;    /* name of the `mark` there, or NULL */
    const struct cw_spec *out; /* of its elements; the plan's */
    bool whole;                /* an element is a whole batch (the node is a batch, or behind it) */
};
void cw_plan_cacheable(const struct cw_plan *plan, size_t node, struct cw_plan_cacheable *ret);
/* From now on elements of the node are looked up in `cache` (read), kept there (write), both or
 * neither; changes at any time, and never changes the data. Any thread. Takes no ref of its own
 * to the caller's: the plan refs the cache until it ends. INVALID: why_not. */
int cw_plan_set_cache(struct cw_plan *plan, size_t node, struct cw_cache_dataset *cache, bool read,
                      bool write, struct cw_err *err);
/* An object: source node's name -> its manifest. */
void cw_plan_manifest(const struct cw_plan *plan, struct cw_value *ret_value);

#endif
