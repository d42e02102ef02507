/* SPDX-License-Identifier: Apache-2.0 */
/* Puts an index operator in the place of a surveyed filter, and makes parts of surveys for others. */
#include "plan/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/survey.h"
#include "plan/survey_int.h"

int cw_survey_plan(struct cw_checked *checked, uint64_t seed, size_t top, struct cw_plan *lent,
                   const struct cw_value *manifest, struct cw_stop *stop, struct cw_plan **ret_plan,
                   struct cw_err *err)
{
    struct cw_plan *plan = cw_plan_alloc(checked, seed, stop);
    plan->survey_top = plan->output = top;
    plan->sparse.first = SIZE_MAX;
    plan->lent = lent;
    plan->n = top + 1;
    int rc = cw_plan_compile(plan, manifest, err);
    if (rc < 0) {
        cw_plan_unref(plan);
        return rc;
    }
    cw_plan_find_files(plan);
    *ret_plan = plan;
    return 0;
}

/* ---- the filter's place ---- */

/* Takes what another plan has in the filter's place. */
static void borrow(struct cw_plan_node *node, const struct cw_plan_node *other)
{
    struct cw_surveyed *surveyed = other->state;
    node->state = surveyed;
    node->op = &surveyed->op;
    node->borrowed = true;
    node->survey = other->survey ? cw_plan_ref(other->survey) : NULL;
}

static int borrow_written(struct cw_plan *plan, size_t i, struct cw_err *err)
{
    const size_t k = plan->written_node[i];
    const struct cw_checked *mine = plan->checked, *theirs = plan->written->checked;
    if (k == SIZE_MAX || !theirs->nodes[k].surveyed ||
        !cw_hash_eq(mine->nodes[i].element, theirs->nodes[k].element) ||
        !cw_hash_eq(mine->nodes[cw_survey_base(mine, i)].fingerprint,
                    theirs->nodes[cw_survey_base(theirs, k)].fingerprint))
        return cw_err_set(
            err, CW_E_INVALID,
            "is surveyed with other operators before it than in the written pipeline");
    borrow(&plan->nodes[i], &plan->written->nodes[k]);
    return 0;
}

/* What those who make parts must know of the sources, and of surveys that stand before. */
static void write_sources(const struct cw_plan *plan, size_t top, struct cw_value *ret_sources)
{
    cw_value_set_object(ret_sources);
    for (size_t i = 0; i < top; i++) {
        const struct cw_plan_node *node = &plan->nodes[i];
        if (node->op->manifest)
            node->op->manifest(node->opts, node->state,
                               cw_value_member(ret_sources, node->node->name));
    }
}

static int make(struct cw_plan *plan, struct cw_survey *survey, struct cw_err *err)
{
    const size_t top = survey->plan->survey_top;
    struct cw_value sources = {0};
    if (survey->n > (uint64_t)CW_SURVEY_UNASKED_MAX && plan->checked->nodes[top].survey_for != top)
        return cw_err_set(err, CW_E_LIMIT,
                          "a survey would go over %llu elements; say survey: true if you want that",
                          (unsigned long long)survey->n);
    write_sources(plan, top, &sources);
    int rc = cw_survey_make(survey, plan->index_parts, &sources, err);
    cw_value_fini(&sources);
    if (rc == 0)
        cw_survey_keep(survey);
    return rc;
}

/* The fates are those that the manifest has, or that are kept. */
static bool find(struct cw_survey *survey, const struct cw_survey_said *said)
{
    if (!said || !said->text)
        return cw_survey_find_kept(survey);
    const size_t n = strlen(said->text) / 2;
    cw_autofree uint8_t *bytes = cw_mem_try(n + 1);
    struct cw_fates fates;
    if (!bytes || !cw_hex_read(said->text, bytes, n) || !cw_fates_read(bytes, n, survey->n, &fates))
        return false;
    cw_fates_fini(&survey->fates);
    survey->fates = fates;
    return true;
}

static int differs(const struct cw_survey *survey, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT,
                      "the survey of %llu elements gave another result than where the job was "
                      "prepared: an operator before it, or it, does not give the same for the same "
                      "element",
                      (unsigned long long)survey->n);
}

/* Takes the fates; said: what they have to be, NULL: they are found out here. */
static int survey_node(struct cw_plan *plan, struct cw_survey *survey,
                       const struct cw_survey_said *said, struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[survey->plan->survey_top];
    struct cw_surveyed *surveyed = NULL;
    if (said && said->n != survey->n)
        return cw_err_set(err, CW_E_INVALID, "the manifest has a survey of %llu elements, not %llu",
                          (unsigned long long)said->n, (unsigned long long)survey->n);
    int rc = find(survey, said) ? 0 : make(plan, survey, err);
    if (rc == 0)
        rc = cw_surveyed_new(node->op, &survey->fates, said ? said->skips_bad : plan->skips_bad,
                             &surveyed, err);
    if (rc == 0 && said && !cw_hash_eq(said->sum, surveyed->sum)) {
        cw_surveyed_free(surveyed);
        return differs(survey, err);
    }
    if (rc == 0) {
        node->state = surveyed;
        node->op = &surveyed->op;
    }
    return rc;
}

/* Shuffles between base and filter are done behind it, the last one first. */
static void add_orders(const struct cw_plan *plan, size_t top)
{
    const struct cw_checked *checked = plan->checked;
    const size_t base = cw_survey_base(checked, top);
    for (size_t at = checked->nodes[top].inputs[0]; at != base; at = checked->nodes[at].inputs[0])
        if (checked->nodes[at].op->kind == CW_OP_INDEX)
            cw_surveyed_add_order(plan->nodes[top].state, checked->nodes[at].op,
                                  checked->nodes[at].opts, checked->nodes[at].tag);
}

static int open_node(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
                     struct cw_err *err)
{
    struct cw_survey_said said;
    struct cw_survey survey;
    struct cw_plan *computes = NULL;
    struct cw_plan_node *node = &plan->nodes[i];
    int rc = manifest ? cw_survey_said_read(manifest, &said, err) : 0;
    if (rc == 0)
        rc = cw_survey_plan(plan->checked, plan->seed, i, plan, NULL, plan->stop, &computes, err);
    if (rc < 0)
        return rc;
    rc = cw_survey_begin(&survey, computes, err);
    if (rc == 0)
        rc = survey_node(plan, &survey, manifest ? &said : NULL, err);
    cw_survey_end(&survey);
    if (rc == 0) {
        add_orders(plan, i);
        if (((const struct cw_surveyed *)node->state)->bad) /* it says what is wrong with them */
            node->survey = cw_steal(&computes);
    }
    cw_plan_unref(computes);
    return rc;
}

int cw_plan_survey_node(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
                        struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[i];
    int rc = 0;
    if (plan->lent)
        borrow(node, &plan->lent->nodes[i]);
    else if (plan->written)
        rc = borrow_written(plan, i, err);
    else
        rc = open_node(plan, i, manifest, err);
    node->apart = rc == 0 && node->survey;
    return rc;
}

/* ---- for others ---- */

static int read_lease(const struct cw_checked *checked, const struct cw_value *options,
                      const struct cw_value *files, size_t *ret_top, uint64_t *ret_seed,
                      struct cw_err *err)
{
    const struct cw_value *name = cw_value_get(options, "node"),
                          *seed = cw_value_get(options, "seed"),
                          *parts = cw_value_get(files, "files"),
                          *sources = cw_value_get(files, "sources");
    bool valid = name && name->type == CW_VALUE_STR && seed && seed->type == CW_VALUE_STR &&
                 parts && parts->type == CW_VALUE_LIST && sources &&
                 sources->type == CW_VALUE_OBJECT;
    size_t i = 0;
    while (valid && i < checked->graph->n && strcmp(checked->graph->nodes[i].name, name->s) != 0)
        i++;
    if (!valid || i == checked->graph->n || !checked->nodes[i].surveyed)
        return cw_err_set(err, CW_E_INVALID, "this is no lease of a survey");
    *ret_top = i;
    *ret_seed = strtoull(seed->s, NULL, 10);
    return 0;
}

static int make_parts(struct cw_survey *survey, struct cw_value *files, struct cw_value *ret_rows,
                      struct cw_err *err)
{
    const struct cw_value *parts = cw_value_get(files, "files");
    struct cw_value *rows = cw_value_set_list(cw_value_member(ret_rows, "files"), parts->n);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < parts->n; i++) {
        const struct cw_value *part = &parts->items[i];
        int64_t records;
        if (part->type != CW_VALUE_I64 || part->i < 0 || (size_t)part->i >= survey->parts_n)
            return cw_err_set(err, CW_E_INVALID, "a survey has no such part");
        rc = cw_stop_check(survey->plan->stop, err);
        if (rc == 0)
            rc = cw_survey_make_part(survey, (size_t)part->i, &records, err);
        if (rc == 0)
            cw_survey_write_row(survey, (size_t)part->i, &rows[i]);
    }
    return rc;
}

int cw_survey_help(struct cw_checked *checked, const struct cw_value *options,
                   struct cw_value *files, struct cw_stop *stop, struct cw_err *err)
{
    size_t top;
    uint64_t seed;
    struct cw_survey survey;
    struct cw_plan *plan = NULL;
    struct cw_value rows = {0};
    int rc = read_lease(checked, options, files, &top, &seed, err);
    if (rc == 0)
        rc = cw_survey_plan(checked, seed, top, NULL, cw_value_get(files, "sources"), stop, &plan,
                            err);
    if (rc < 0)
        return rc;
    cw_value_set_object(&rows);
    rc = cw_survey_begin(&survey, plan, err);
    if (rc == 0)
        rc = make_parts(&survey, files, &rows, err);
    cw_survey_end(&survey);
    cw_plan_unref(plan);
    cw_value_fini(files);
    *files = rows;
    return rc;
}
