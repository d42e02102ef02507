/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of numbers and strings, computed: what the checks let through must give elements or
 * errors, and the same again; also with caches at some nodes, while they fill and when they are
 * full. */
#include "exec/exec.h"
#include "fuzz/make_graph.h"
#include "support/fake_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define ITEM_BYTES_MAX (1 << 20)
#define ROWS_MAX 4096
#define CACHED_ROWS_MAX 64
#define NODES_MAX 10 /* of make_graph */

/* No files, no waiting. */
static bool is_harmless(const struct cw_op *op)
{
    return !(op->traits & CW_OP_FILES) && !cw_str_eq(op->name, "sleep") &&
           !cw_str_eq(op->name, "burn") && !cw_str_eq(op->name, "read_file") &&
           !cw_str_eq(op->name, "inflate") && !cw_str_eq(op->name, "emulate");
}

static struct cw_batch *run(struct cw_plan *plan, uint64_t epoch, uint64_t item,
                            enum cw_bad_elements bad)
{
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    int rc = cw_exec_run(plan, epoch, item, bad, &batch, &err);
    CW_ASSERT((rc == 0) == (batch != NULL) && (rc == 0 || err.msg[0]));
    CW_ASSERT(rc != CW_E_INTERNAL);
    if (batch)
        CW_ASSERT(cw_batch_validate(batch, &err) == 0);
    return batch;
}

static struct cw_hash hash(const struct cw_batch *batch)
{
    struct cw_hasher *hasher = cw_hasher_new();
    cw_batch_hash(batch, hasher);
    struct cw_hash h = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return h;
}

static void must_be_equal(struct cw_batch *a, struct cw_batch *b)
{
    CW_ASSERT(!a == !b);
    if (a)
        CW_ASSERT(cw_hash_eq(hash(a), hash(b)) && a->skipped == b->skipped);
    cw_batch_unref(b);
}

/* Caches at the nodes that `which` picks, as far as they may be. */
static size_t add_caches(struct cw_plan *plan, size_t nodes, uint64_t which,
                         struct cw_cache_dataset **caches)
{
    size_t n = 0;
    for (size_t i = 0; i < nodes; i++) {
        struct cw_plan_cacheable what;
        cw_plan_cacheable(plan, i, &what);
        if (what.why_not || !((which >> i) & 1))
            continue;
        caches[n] = fake_cache_new(what.out);
        CW_ASSERT(cw_plan_set_cache(plan, i, caches[n++], true, true, NULL) == 0);
    }
    return n;
}

/* Item `item` of two epochs, with bad elements left out, before and after there are caches. */
static size_t compute_cached(struct cw_plan *plan, size_t nodes, uint64_t item, uint64_t which,
                             struct cw_cache_dataset **caches)
{
    struct cw_batch *plain[2] = {run(plan, 0, item, CW_BAD_SKIP), run(plan, 1, item, CW_BAD_SKIP)};
    size_t n = add_caches(plan, nodes, which, caches);
    for (uint64_t k = 0; k < 4; k++) {
        cw_exec_prefetch(plan, k % 2, item);
        must_be_equal(plain[k % 2], run(plan, k % 2, item, CW_BAD_SKIP));
    }
    cw_batch_unref(plain[0]);
    cw_batch_unref(plain[1]);
    return n;
}

static size_t compute(struct cw_plan *plan, size_t nodes, uint64_t which,
                      struct cw_cache_dataset **caches)
{
    const struct cw_plan_info *info = cw_plan_info(plan);
    if (!info->items || info->batch > ROWS_MAX || info->item_bytes > ITEM_BYTES_MAX)
        return 0;
    for (int k = 0; k < 2; k++) {
        uint64_t item = k ? info->items - 1 : 0;
        struct cw_batch *a = run(plan, 1, item, CW_BAD_FAIL), *b = run(plan, 1, item, CW_BAD_SKIP);
        if (a && b) /* nothing was bad */
            CW_ASSERT(cw_hash_eq(hash(a), hash(b)) && b->skipped == 0);
        cw_batch_unref(a);
        cw_batch_unref(b);
    }
    return info->batch <= CACHED_ROWS_MAX
               ? compute_cached(plan, nodes, info->items / 2, which, caches)
               : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    struct cw_graph *graph = make_graph(data, n, is_harmless);
    struct cw_cache_dataset *caches[NODES_MAX];
    size_t caches_n = 0;
    bool small = true; /* batches inside batches multiply */

    for (size_t i = 0, batches = 0; graph && i < graph->n; i++)
        small = small && (!cw_str_eq(graph->nodes[i].op, "batch") || ++batches <= 2);
    if (graph && small && cw_graph_check(graph, &checked, NULL) == 0 &&
        cw_plan_new(checked, 7, NULL, &plan, NULL) == 0)
        caches_n = compute(plan, graph->n, n ? cw_hash_u64(data, n) : 0, caches);
    cw_plan_unref(plan);
    for (size_t i = 0; i < caches_n; i++)
        fake_cache_free(caches[i]);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return 0;
}
