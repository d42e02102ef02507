/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles the nodes of a checked graph to steps, in one pass in topological order. */
#include "base/mem.h"
#include "graph/cacheable.h"
#include "graph/infer.h"
#include "graph/surveyable.h"
#include "ops/op_util.h"
#include "plan/plan_int.h"

#define ELEMENTS_MAX (INT64_C(1) << 60)

static const struct cw_plan_surveys *_Atomic surveys;

void cw_plan_set_surveys(const struct cw_plan_surveys *made)
{
    atomic_store(&surveys, made);
}

static int no_surveys(struct cw_err *err)
{
    return cw_err_set(err, CW_E_UNSUPPORTED, "nothing is computed here, so no survey is made");
}

static const struct cw_value *manifest_of(const struct cw_plan_node *node,
                                          const struct cw_value *manifest)
{
    return manifest ? cw_value_get(manifest, node->node->name) : NULL;
}

/* An operator that needs the values of a field is opened with them. */
static int open_with_values(struct cw_plan *plan, size_t i, struct cw_op_open *how,
                            struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[i];
    struct cw_fates fates = {0};
    struct cw_survey_note note = {0};
    if (plan->written)
        return cw_plan_borrow_values(plan, i, err);
    const int field = cw_spec_find(node->in, node->op->surveyed_field(node->opts));
    const struct cw_op_survey survey = {
        .fates = &fates, .note = &note, .dtype = node->in->fields[field].dtype};
    const struct cw_plan_surveys *made = atomic_load(&surveys);
    int rc = made ? made->values(plan, i, how->manifest, &fates, &note, err) : no_surveys(err);
    how->survey = &survey;
    if (rc == 0)
        rc = node->op->open(node->opts, how, &node->state, err);
    cw_fates_fini(&fates);
    cw_survey_note_fini(&note);
    return rc;
}

static int open_op(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
                   struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[i];
    const struct cw_op *op = node->op;
    if (plan->lent && (i != plan->survey_top || plan->survey_field != SIZE_MAX))
        return cw_plan_borrow_lent(plan, i);
    if (plan->written && op->kind == CW_OP_SOURCE)
        return cw_plan_borrow_source(plan, node, i, err);
    if (!op->open)
        return 0;
    const bool is_told = cw_op_has_manifest(op, node->opts);
    const struct cw_value *mine = is_told ? manifest_of(node, manifest) : NULL;
    if (is_told && manifest && !mine)
        return cw_err_set(err, CW_E_INVALID, "the manifest says nothing of it");
    struct cw_op_open how = {.manifest = mine,
                             .out = &node->out,
                             .identity = plan->checked->graph->identity,
                             .stop = plan->stop,
                             .index_parts = plan->index_parts,
                             .op = op->name,
                             .options = &node->node->options};
    if (op->surveyed_field && op->surveyed_field(node->opts))
        return open_with_values(plan, i, &how, err);
    if (op->by_blocks && op->by_blocks(node->opts))
        return cw_plan_open_by_blocks(plan, i, &how, err);
    return op->open(node->opts, &how, &node->state, err);
}

static int open_surveyed(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
                         struct cw_err *err)
{
    const struct cw_value *mine = manifest_of(&plan->nodes[i], manifest);
    if (manifest && !mine)
        return cw_err_set(err, CW_E_INVALID, "the manifest says nothing of its survey");
    const struct cw_plan_surveys *made = atomic_load(&surveys);
    return made ? made->node(plan, i, mine, err) : no_surveys(err);
}

/* Sources may have refined their specs when they were opened, so all nodes behind them are
 * inferred again. */
static int infer_again(struct cw_plan *plan, size_t i, struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[i];
    struct cw_checked_node scratch = plan->checked->nodes[i];
    if (node->inputs_n) {
        cw_autofree struct cw_spec *in = CW_NEW_ARRAY(struct cw_spec, node->inputs_n);
        for (size_t k = 0; k < node->inputs_n; k++)
            in[k] = cw_spec_borrow(&plan->nodes[node->inputs[k]].out);
        int rc = cw_infer_node(node->node, in, node->inputs_n, &scratch, err);
        if (rc < 0) {
            cw_inferred_fini(&scratch);
            return rc;
        }
        cw_spec_fini(&node->out);
        node->out = cw_spec_take(&scratch.out);
        node->fields = scratch.fields;
        node->fields_n = scratch.fields_n;
        node->in = &plan->nodes[node->inputs[0]].out;
    }
    for (size_t k = 0; k < node->fields_n; k++) {
        cw_field_set_add(&node->fields_set, scratch.fields[k]);
    }
    return node->in ? cw_motion_find(node->op, node->opts, node->in, &node->moved, err) : 0;
}

static void find_touched(struct cw_plan_node *node)
{
    struct cw_op_facts facts = {0};
    if (node->op->facts)
        cw_op_facts_get(node->op, node->opts, node->in, node->fields, node->fields_n, &facts);
    node->reads = cw_field_set_of_first(node->in->n);
    node->writes = cw_field_set_of_first(node->out.n);
    if (!facts.known && cw_field_set_is_empty(&facts.weighs))
        return;
    cw_field_set_subtract(&node->writes, &node->reads); /* what is added */
    cw_field_set_join(&node->writes, &facts.writes);
    node->reads = facts.reads;
    cw_field_set_join(&node->reads, &facts.weighs);
}

static bool is_inside(const struct cw_plan *plan, size_t i)
{
    const struct cw_checked_node *node = &plan->checked->nodes[i];
    return cw_op_is_inside(node->op, node->opts, plan->checked->nodes[node->inputs[0]].sparse);
}

/* A survey computes the filters between, passes shuffles by, and counts what comes to an operator that takes
 * elements apart. Elsewhere a surveyed operator is an index operator, and does the work of what is folded into it. */
static enum cw_step step_of_surveyed(const struct cw_plan *plan, size_t i)
{
    const struct cw_checked *checked = plan->checked;
    if (plan->survey_top != SIZE_MAX && plan->survey_field == SIZE_MAX &&
        cw_survey_has(checked, plan->survey_top, i))
        return checked->nodes[i].op->kind == CW_OP_ELEMENT ? CW_STEP_ELEMENT : CW_STEP_PASS;
    return checked->nodes[i].surveyed ? CW_STEP_INDEX : CW_STEP_PASS;
}

static enum cw_step step_of(const struct cw_plan *plan, size_t i)
{
    const struct cw_op *op = plan->nodes[i].op;
    if (plan->checked->nodes[i].surveyed || plan->checked->nodes[i].folded)
        return step_of_surveyed(plan, i);
    switch (op->kind) {
    case CW_OP_SOURCE:
        return CW_STEP_SOURCE;
    case CW_OP_ELEMENT:
        return cw_passes_by(op) ? CW_STEP_PASS : CW_STEP_ELEMENT;
    case CW_OP_GROUP:
        return is_inside(plan, i) ? CW_STEP_INSIDE : CW_STEP_GROUP;
    case CW_OP_INDEX:
        break;
    }
    if (op->traits & CW_OP_MERGE)
        return plan->nodes[i].inputs_n > 1 ? CW_STEP_MERGE : CW_STEP_PASS;
    /* A shuffle behind a filter permutes what comes in below the filter. */
    bool hoisted = (op->traits & CW_OP_PERMUTES) != 0;
    return plan->checked->nodes[i].sparse && !hoisted ? CW_STEP_PASS : CW_STEP_INDEX;
}

static int64_t groups(const struct cw_plan_node *node)
{
    bool drops = node->op->group_drops && node->op->group_drops(node->opts);
    int64_t n = node->in_n[0];
    if (drops)
        return n < node->group ? 0 : (n - node->group) / node->shift + 1;
    return n / node->shift + (n % node->shift ? 1 : 0);
}

static int count(struct cw_plan *plan, size_t i, struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[i];
    node->in_n = CW_NEW_ARRAY(int64_t, node->inputs_n + 1);
    for (size_t k = 0; k < node->inputs_n; k++)
        node->in_n[k] = plan->nodes[node->inputs[k]].n;
    int rc = 0;
    if (node->step == CW_STEP_ELEMENT || node->step == CW_STEP_PASS ||
        node->step == CW_STEP_INSIDE) {
        node->n = node->in_n[0];
    } else if (node->step == CW_STEP_GROUP) {
        node->group = node->op->group_size(node->opts);
        node->shift = cw_op_group_shift(node->op, node->opts);
        node->n = groups(node);
    } else {
        rc = node->op->count(node->opts, node->state, node->in_n, node->inputs_n, &node->n, err);
    }
    if (rc < 0)
        return rc;
    if (node->n < 0 || node->n > ELEMENTS_MAX)
        return cw_err_set(err, CW_E_LIMIT, "has %lld elements, more than %lld", (long long)node->n,
                          (long long)ELEMENTS_MAX);
    return 0;
}

static int count_frames(struct cw_plan *plan, size_t i, struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[i];
    for (size_t k = 0; k < node->inputs_n; k++)
        node->frames = CW_MAX(node->frames, plan->nodes[node->inputs[k]].frames);
    if (node->step == CW_STEP_MERGE || node->step == CW_STEP_GROUP)
        node->frames++;
    if (node->frames > CW_PLAN_FRAMES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "more than %d batches and zips stand below each other",
                          CW_PLAN_FRAMES_MAX);
    return 0;
}

static int compile_node(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
                        struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[i];
    const struct cw_checked_node *checked = &plan->checked->nodes[i];
    node->node = &plan->checked->graph->nodes[i];
    node->op = checked->op;
    node->opts = checked->opts;
    node->tag = checked->tag;
    node->frozen = checked->frozen && cw_op_draws(node->op, node->opts);
    node->inputs = checked->inputs;
    node->inputs_n = checked->inputs_n;
    node->out = cw_spec_copy(&checked->out);
    node->step = step_of(plan, i);
    node->apart =
        node->step == CW_STEP_INDEX && (node->op->traits & (CW_OP_AGAIN | CW_OP_POSITION)) != 0;
    int rc = 0;
    if (node->step == CW_STEP_INDEX && checked->surveyed) {
        rc = infer_again(plan, i, err);
        if (rc >= 0)
            rc = open_surveyed(plan, i, manifest, err);
    } else if (node->inputs_n) {
        rc = infer_again(plan, i, err);
        if (rc >= 0)
            rc = open_op(plan, i, manifest, err);
    } else {
        rc = open_op(plan, i, manifest, err);
    }
    if (rc >= 0 && node->step == CW_STEP_ELEMENT)
        find_touched(node);
    node->same =
        node->op->infer == cw_op_infer_same ||
        ((node->op->traits & CW_OP_CHANGES_COUNT) && node->in && cw_spec_eq(node->in, &node->out));
    if (rc >= 0)
        rc = count(plan, i, err);
    if (rc >= 0)
        rc = count_frames(plan, i, err);
    return rc < 0 ? cw_err_wrap(err, "node \"%s\" (%s)", node->node->name, node->op->name) : 0;
}

static void find_passing(struct cw_plan *plan)
{
    plan->self = CW_NEW_ARRAY(uint16_t, plan->n);
    plan->passing = CW_NEW_ARRAY(uint16_t, plan->n);
    for (size_t i = 0; i < plan->n; i++) {
        const struct cw_plan_node *node = &plan->nodes[i];
        plan->self[i] = (uint16_t)i;
        plan->passing[i] =
            node->step == CW_STEP_PASS ? plan->passing[node->inputs[0]] : (uint16_t)i;
    }
}

int cw_plan_compile(struct cw_plan *plan, const struct cw_value *manifest, struct cw_err *err)
{
    for (size_t i = 0; i < plan->n; i++) {
        int rc = compile_node(plan, i, manifest, err);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < plan->n; i++)
        cw_plan_find_want(plan, i);
    for (size_t i = plan->n; i-- > 0;)
        cw_plan_find_fold(plan, i);
    for (size_t i = 0; i < plan->n; i++)
        cw_plan_find_many(plan, i);
    for (size_t i = 0; i < plan->n; i++)
        cw_plan_find_planes(plan, i);
    for (size_t i = 0; i < plan->n; i++)
        cw_plan_find_strips(plan, i);
    cw_plan_find_filters(plan);
    find_passing(plan);
    return 0;
}
