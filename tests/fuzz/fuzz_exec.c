/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of numbers and strings, computed: what the checks let through must give elements or
 * errors, and the same again. */
#include "exec/exec.h"
#include "fuzz/make_graph.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define ITEM_BYTES_MAX (1 << 20)
#define ROWS_MAX 4096

/* No files, no waiting. */
static bool is_harmless(const struct cw_op *op)
{
    return !(op->traits & CW_OP_FILES) && !cw_str_eq(op->name, "sleep") &&
           !cw_str_eq(op->name, "burn") && !cw_str_eq(op->name, "read_file") &&
           !cw_str_eq(op->name, "inflate");
}

static struct cw_batch *run(struct cw_plan *plan, uint64_t item, enum cw_bad_elements bad)
{
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    int rc = cw_exec_run(plan, 1, item, bad, &batch, &err);
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

static void compute(struct cw_plan *plan)
{
    const struct cw_plan_info *info = cw_plan_info(plan);
    if (!info->items || info->batch > ROWS_MAX || info->item_bytes > ITEM_BYTES_MAX)
        return;
    for (int k = 0; k < 2; k++) {
        uint64_t item = k ? info->items - 1 : 0;
        struct cw_batch *a = run(plan, item, CW_BAD_FAIL), *b = run(plan, item, CW_BAD_SKIP);
        if (a && b) /* nothing was bad */
            CW_ASSERT(cw_hash_eq(hash(a), hash(b)) && b->skipped == 0);
        cw_batch_unref(a);
        cw_batch_unref(b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    struct cw_graph *graph = make_graph(data, n, is_harmless);
    bool small = true; /* batches inside batches multiply */

    for (size_t i = 0, batches = 0; graph && i < graph->n; i++)
        small = small && (!cw_str_eq(graph->nodes[i].op, "batch") || ++batches <= 2);
    if (graph && small && cw_graph_check(graph, &checked, NULL) == 0 &&
        cw_plan_new(checked, 7, NULL, &plan, NULL) == 0)
        compute(plan);
    cw_plan_unref(plan);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return 0;
}
