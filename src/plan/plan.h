/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: a checked graph that is ready to compute, since its sources are open and its items are
 * counted. Immutable after cw_plan_new; refcounted; any thread may use it.
 *
 * In a dense pipeline item k is output k. In a sparse pipeline (one with a filter) item k is the
 * fixed range [k * chunk, (k + 1) * chunk) of positions below the first operator that changes the
 * count; the elements that it keeps are sent as rows, and the client cuts rows into batches in the
 * order of items (client/delivery/rebatch.c), counting take and skip. So the sequence is exactly
 * what one thread would give that ran the pipeline from end to end. */
#ifndef CW_PLAN_PLAN_H
#define CW_PLAN_PLAN_H

#include "cache/record/record_cache.h"
#include "data/batch.h"
#include "data/pad.h"
#include "graph/check.h"

struct cw_plan;
struct cw_index_parts;

/* What the client does with the rows of a sparse pipeline, in this order: skips, takes, and cuts
 * into batches. */
struct cw_plan_join {
    int64_t skip; /* number of rows that are left out at the start of the epoch */
    int64_t take; /* the most rows that are used after that; -1: all */
    /* Rows of a batch; 0: each row is an output of its own, without a batch dimension. */
    int64_t batch;
    bool drop_remainder;
    /* Each row is a batch that a worker made inside an item: its first dimension counts its elements. */
    bool whole;
};
struct cw_plan_info {
    bool sparse;
    uint64_t items;   /* number of items of an epoch */
    int64_t elements; /* number of rows of an epoch; -1 in a sparse pipeline */
    int64_t batch;    /* elements of an item: the batch size, or the length of a chunk */
    uint64_t chunk;   /* sparse: number of source positions in an item */
    /* Spec of a delivered batch. The leading dimension is the batch size with drop_remainder,
     * otherwise -1. */
    struct cw_spec out;
    struct cw_plan_join join;
    /* Sparse: how the client fills up the rows of a batch; NULL: it does not. A plan owns it, and whoever
     * got it from a peer (wire/wire.h). */
    struct cw_pads *pads;
    /* of pipeline and identity of the sources: equal fingerprints mean equal data */
    struct cw_hash fingerprint;
    /* Parts of the fingerprint: of the operators and options, and of the files' names and sizes; 0:
     * not known. */
    uint64_t pipeline_sum, files_sum;
    enum cw_identity identity; /* identity of its source files */
    int64_t item_bytes;        /* estimated bytes of an item; -1: unknown */
};

/* Opens the sources. On the worker that prepares a job `manifest` is NULL; elsewhere it is what
 * cw_plan_manifest returned on that worker, so that all workers see the same files. */
int cw_plan_new(struct cw_checked *checked, uint64_t seed, const struct cw_value *manifest,
                struct cw_plan **ret_plan, struct cw_err *err);
/* Does the same with a stop flag. Setting the flag ends the call with CANCELLED, and later also
 * reads of the sources. Any thread may set it. The plan holds a reference to it. stop may be
 * NULL. */
int cw_plan_open(struct cw_checked *checked, uint64_t seed, const struct cw_value *manifest,
                 struct cw_stop *stop, struct cw_plan **ret_plan, struct cw_err *err);
/* The same for the worker that prepares a job, which makes the indices of its sources with others
 * (ops/source/index_parts.h); parts may be NULL, and is not needed afterwards. skips_bad: surveys leave
 * out what is bad (plan/survey.h). */
int cw_plan_prepare(struct cw_checked *checked, uint64_t seed, struct cw_index_parts *parts,
                    bool skips_bad, struct cw_stop *stop, struct cw_plan **ret_plan,
                    struct cw_err *err);
/* Opens another order of the same operators beside the plan of the written graph, `written`. It uses
 * the sources that are open there, so no file is touched, and keeps a reference to that plan. Nodes
 * are the same if their names are. It is an error if the items, the output, the join or the random
 * numbers would be others; whether the elements are the same is for the caller to know
 * (rewrite/commute.h). Rows of one item may come from several such plans. */
int cw_plan_open_beside(struct cw_plan *written, struct cw_checked *checked,
                        struct cw_plan **ret_plan, struct cw_err *err);
/* Opens a graph with the sources of the same names that are open in another plan, to which it keeps a reference. Nothing
 * else has to be the same: it is for trials of another pipeline on the same data. Its seed and its stop flag are those of
 * that plan, which notes nothing of what is computed by it. */
int cw_plan_open_trial(struct cw_plan *open, struct cw_checked *checked, struct cw_plan **ret_plan,
                       struct cw_err *err);
/* From now on every operator is called for each element by itself: none works on many rows at once, by strips, on
 * a part of an image, or for another one. The elements are the same, and the same ones are bad. It is called before
 * anything is computed; plans that are opened beside this one are like it. */
void cw_plan_set_apart(struct cw_plan *plan);
/* From now on no call of an operator is timed, so that it can be told what measuring costs. It is called before anything
 * is computed. */
void cw_plan_set_unmeasured(struct cw_plan *plan);
/* Returns the plan of the written graph, which may be the plan itself. */
struct cw_plan *cw_plan_written(struct cw_plan *plan);
const struct cw_graph *cw_plan_graph(const struct cw_plan *plan);
/* Returns the node of that name; SIZE_MAX if there is none. */
size_t cw_plan_node_named(const struct cw_plan *plan, const char *name);
/* Sets the stop flag, because nobody needs anything of the plan any more. Does nothing if there is
 * no flag. */
void cw_plan_stop(struct cw_plan *plan);
struct cw_plan *cw_plan_ref(struct cw_plan *plan);
struct cw_plan *cw_plan_unref(struct cw_plan *plan);
const struct cw_plan_info *cw_plan_info(const struct cw_plan *plan);
/* Whether the elements of a node may be cached, and under which key (docs/cache.md). */
struct cw_plan_cacheable {
    const char *why_not; /* NULL: it may be; otherwise the reason, one sentence (static text) */
    struct cw_hash key;  /* hash of everything that decides an element besides its id */
    uint64_t ids;        /* all ids are below this; 0: not known */
    bool asked;          /* the node is an operator `cache` */
    const char *mark;    /* name of the `mark` at the node, or NULL */
    const struct cw_spec *out; /* spec of its elements; belongs to the plan */
    bool whole; /* an element is a whole batch: the node is a batch, or an operator behind one */
};
void cw_plan_cacheable(const struct cw_plan *plan, size_t node, struct cw_plan_cacheable *ret);
/* From now on elements of the node are looked up in `cache` (read), put into it (write), both or
 * neither. It may be changed at any time, and never changes the data. The plan takes a reference to
 * the cache, and keeps it until the plan ends. INVALID: the node may not be cached. Any thread may
 * call it. */
int cw_plan_set_cache(struct cw_plan *plan, size_t node, struct cw_cache_dataset *cache, bool read,
                      bool write, struct cw_err *err);
/* Blocks of the plan's source files are kept in the store of this cache (cw_source_use_store). Any
 * thread may call both. */
void cw_plan_set_source_store(struct cw_plan *plan, uint64_t cache_id);
uint64_t cw_plan_source_store(struct cw_plan *plan);
/* From here on the calling thread reads for this plan: what its opener may read, through the tier of
 * the store of its source blocks. */
void cw_plan_read_for(struct cw_plan *plan);
/* Makes an object that maps the name of each source node to the manifest of that source. */
void cw_plan_manifest(const struct cw_plan *plan, struct cw_value *ret_value);

#endif
