/* SPDX-License-Identifier: Apache-2.0 */
/* Making and freeing plans, and their manifests. */
#include "plan/plan.h"

#include "base/mem.h"
#include "format/source_file.h"
#include "io/source_root.h"
#include "plan/plan_int.h"
#include <stdatomic.h>

/* Adds only paths and sizes to a hash, without what else identifies the files. */
static void add_files(struct cw_hasher *hasher, const struct cw_value *manifest)
{
    const struct cw_value *rows =
        manifest->type == CW_VALUE_OBJECT ? cw_value_get(manifest, "files") : NULL;
    for (size_t i = 0; rows && i < rows->n; i++) {
        const struct cw_value *row = &rows->items[i];
        if (row->n < 2 || row->items[0].type != CW_VALUE_STR)
            continue;
        cw_hasher_add_str(hasher, row->items[0].s);
        cw_hasher_add_u64(hasher, (uint64_t)row->items[1].i);
    }
}

/* Computes the fingerprint of the pipeline and its sources: with equal fingerprint and seed the
 * bytes are equal. Names of nodes do not count, so manifests are added in the order of nodes. */
static void fingerprint(const struct cw_plan *plan, struct cw_plan_info *info)
{
    struct cw_hasher *hasher = cw_hasher_new(), *files = cw_hasher_new();
    cw_hasher_add_u64(hasher, plan->checked->fingerprint.hi);
    cw_hasher_add_u64(hasher, plan->checked->fingerprint.lo);
    for (size_t i = 0; i < plan->n; i++) {
        const struct cw_plan_node *node = &plan->nodes[i];
        if (!cw_op_has_manifest(node->op, node->opts))
            continue;
        struct cw_value value = {0};
        CW_STR_AUTO text = {0};
        node->op->manifest(node->opts, node->state, &value);
        cw_value_print(&value, &text);
        add_files(files, &value);
        cw_value_fini(&value);
        cw_hasher_add_str(hasher, cw_str_text(&text));
    }
    if (plan->inside_n > 0) /* the bounds of items show in the data */
        cw_hasher_add_u64(hasher, info->chunk);
    info->fingerprint = cw_hasher_get(hasher);
    info->pipeline_sum = plan->checked->fingerprint.lo;
    info->files_sum = cw_hasher_get_u64(files);
    info->identity = plan->checked->graph->identity;
    cw_hasher_free(hasher);
    cw_hasher_free(files);
}

struct cw_plan *cw_plan_alloc(struct cw_checked *checked, uint64_t seed, struct cw_stop *stop)
{
    struct cw_plan *plan = CW_NEW(struct cw_plan);
    plan->refs = 1;
    cw_mutex_init(&plan->uses_mutex);
    plan->checked = cw_checked_ref(checked);
    plan->seed = seed;
    plan->reader = cw_source_root_reads_as();
    cw_plan_set_source_store(plan, cw_source_store_used());
    plan->stop = stop ? cw_stop_ref(stop) : NULL;
    plan->n = checked->graph->n;
    plan->survey_top = plan->survey_field = SIZE_MAX;
    plan->nodes = CW_NEW_ARRAY(struct cw_plan_node, plan->n);
    return plan;
}

static int open_plan(struct cw_plan *plan, const struct cw_value *manifest,
                     struct cw_plan **ret_plan, struct cw_err *err)
{
    struct cw_err local = {0};
    err = err ? err : &local;
    int rc = 0;
    if (manifest && manifest->type != CW_VALUE_OBJECT)
        rc = cw_err_set(err, CW_E_INVALID, "manifest of the sources must be an object, not %s",
                        cw_value_type_name(manifest->type));
    if (rc >= 0)
        rc = cw_plan_compile(plan, manifest, err);
    if (rc >= 0)
        rc = cw_plan_cut(plan, err);
    plan->index_parts = NULL;
    if (rc < 0) {
        cw_plan_unref(plan);
        return rc;
    }
    fingerprint(plan, &plan->info);
    cw_plan_find_files(plan);
    *ret_plan = plan;
    return 0;
}

int cw_plan_open(struct cw_checked *checked, uint64_t seed, const struct cw_value *manifest,
                 struct cw_stop *stop, struct cw_plan **ret_plan, struct cw_err *err)
{
    return open_plan(cw_plan_alloc(checked, seed, stop), manifest, ret_plan, err);
}

int cw_plan_prepare(struct cw_checked *checked, uint64_t seed, struct cw_index_parts *parts,
                    bool skips_bad, struct cw_stop *stop, struct cw_plan **ret_plan,
                    struct cw_err *err)
{
    struct cw_plan *plan = cw_plan_alloc(checked, seed, stop);
    plan->index_parts = parts;
    plan->skips_bad = skips_bad;
    return open_plan(plan, NULL, ret_plan, err);
}

int cw_plan_new(struct cw_checked *checked, uint64_t seed, const struct cw_value *manifest,
                struct cw_plan **ret_plan, struct cw_err *err)
{
    return cw_plan_open(checked, seed, manifest, NULL, ret_plan, err);
}

void cw_plan_stop(struct cw_plan *plan)
{
    if (plan->stop)
        cw_stop_set(plan->stop);
}

struct cw_plan *cw_plan_ref(struct cw_plan *plan)
{
    atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
    return plan;
}

struct cw_plan *cw_plan_unref(struct cw_plan *plan)
{
    if (!plan || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    void *exec = atomic_load_explicit(&plan->exec, memory_order_acquire);
    if (exec)
        plan->exec_free(exec);
    for (size_t i = 0; i < plan->n; i++) /* these borrow the states of others */
        cw_plan_unref(plan->nodes[i].survey);
    for (size_t i = 0; i < plan->n; i++) {
        struct cw_plan_node *node = &plan->nodes[i];
        if (node->state && node->op->close && !node->borrowed)
            node->op->close(node->state);
        cw_mem_free(node->in_n);
        cw_mem_free(node->want);
        cw_mem_free(node->strips);
        cw_plan_many_free(node->many_in);
        cw_plan_many_free(node->many_out);
        cw_spec_fini(&node->out);
        cw_mem_free(node->fields);
    }
    cw_mem_free(plan->nodes);
    cw_mem_free(plan->self);
    cw_mem_free(plan->inside);
    cw_mem_free(plan->passing);
    cw_plan_free_uses(plan);
    cw_pads_unref(plan->pads);
    cw_checked_unref(plan->checked);
    cw_stop_unref(plan->stop);
    cw_mem_free(plan->written_node);
    struct cw_plan *written = plan->written ? plan->written : plan->keeps;
    cw_mem_free(plan);
    return written ? cw_plan_unref(written) : NULL;
}

void cw_plan_set_apart(struct cw_plan *plan)
{
    plan->apart = true;
}

void cw_plan_set_unmeasured(struct cw_plan *plan)
{
    plan->unmeasured = true;
}

struct cw_plan *cw_plan_written(struct cw_plan *plan)
{
    return plan->written ? plan->written : plan;
}

const struct cw_graph *cw_plan_graph(const struct cw_plan *plan)
{
    return plan->checked->graph;
}

const struct cw_plan_info *cw_plan_info(const struct cw_plan *plan)
{
    return &plan->info;
}

void cw_plan_manifest(const struct cw_plan *plan, struct cw_value *ret_value)
{
    cw_value_set_object(ret_value);
    for (size_t i = 0; i < plan->n; i++) {
        const struct cw_plan_node *node = &plan->nodes[i];
        if (cw_op_has_manifest(node->op, node->opts))
            node->op->manifest(node->opts, node->state,
                               cw_value_member(ret_value, node->node->name));
    }
}
