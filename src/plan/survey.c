/* SPDX-License-Identifier: Apache-2.0 */
/* Puts an index operator in the place of a surveyed one, and makes parts of surveys for others. */
#include "plan/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "graph/surveyable.h"
#include "plan/survey_int.h"

/* What the survey of a node looks at: the surveyed operator's elements, or a field of what comes in. */
static void set_subject(struct cw_plan *plan, const struct cw_checked *checked, size_t node)
{
    const struct cw_checked_node *its = &checked->nodes[node];
    plan->survey_top = node;
    if (!its->surveyed) {
        const char *field = its->op->surveyed_field(its->opts);
        plan->survey_top = its->inputs[0];
        plan->survey_field = (size_t)cw_spec_find(&checked->nodes[its->inputs[0]].out, field);
    }
    plan->output = plan->survey_top;
    plan->n = plan->survey_top + 1;
    plan->sparse.first = SIZE_MAX;
}

int cw_survey_plan(struct cw_checked *checked, uint64_t seed, size_t node, struct cw_plan *lent,
                   const struct cw_value *manifest, struct cw_stop *stop, struct cw_plan **ret_plan,
                   struct cw_err *err)
{
    struct cw_plan *plan = cw_plan_alloc(checked, seed, stop);
    set_subject(plan, checked, node);
    plan->lent = lent;
    plan->skips_bad = !lent || lent->skips_bad;
    int rc = cw_plan_compile(plan, manifest, err);
    if (rc < 0) {
        cw_plan_unref(plan);
        return rc;
    }
    cw_plan_find_files(plan);
    *ret_plan = plan;
    return 0;
}

/* ---- what is found out ---- */

/* What those who make parts must know of the sources, and of surveys that stand before. */
static void write_sources(const struct cw_plan *plan, size_t end, struct cw_value *ret_sources)
{
    cw_value_set_object(ret_sources);
    for (size_t i = 0; i < end; i++) {
        const struct cw_plan_node *node = &plan->nodes[i];
        if (cw_op_has_manifest(node->op, node->opts))
            node->op->manifest(node->opts, node->state,
                               cw_value_member(ret_sources, node->node->name));
    }
}

/* Whether the node asks for it, and it is not only needed by another one. */
static bool is_asked(const struct cw_plan *plan, size_t i)
{
    return !plan->checked->nodes[i].surveyed || plan->checked->nodes[i].survey_for == i;
}

static int make(struct cw_plan *plan, struct cw_survey *survey, struct cw_err *err)
{
    const size_t top = survey->plan->survey_top;
    struct cw_value sources = {0};
    write_sources(plan, cw_survey_has_values(survey) ? top + 1 : top, &sources);
    int rc = cw_survey_make(survey, plan->index_parts, &sources, err);
    cw_value_fini(&sources);
    if (rc == 0)
        cw_survey_keep(survey);
    return rc;
}

/* The fates are those that the manifest has, or that are kept. */
static bool find(struct cw_survey *survey, const struct cw_survey_note *said)
{
    if (!said || !said->text)
        return cw_survey_find_kept(survey);
    const size_t n = strlen(said->text) / 2;
    cw_autofree uint8_t *bytes = cw_mem_try(n + 1);
    struct cw_fates fates;
    if (!bytes || !cw_hex_read(said->text, bytes, n) ||
        !cw_fates_read(bytes, n, survey->n, cw_survey_kind(survey), &fates))
        return false;
    cw_fates_fini(&survey->fates);
    survey->fates = fates;
    return true;
}

static int check_same(const struct cw_survey_note *said, const struct cw_survey_note *found,
                      struct cw_err *err)
{
    if (!said || cw_hash_eq(said->sum, found->sum))
        return 0;
    return cw_err_set(err, CW_E_CORRUPT,
                      "the survey of %llu elements gave another result than where the job was "
                      "prepared: an operator before it, or it, does not give the same for the same "
                      "element",
                      (unsigned long long)found->n);
}

/* Finds out the fates. said: what they have to be; NULL: that is found out here. */
static int find_out(struct cw_plan *plan, struct cw_survey *survey,
                    const struct cw_survey_note *said, struct cw_survey_note *ret_note,
                    struct cw_err *err)
{
    if (said && said->n != survey->n)
        return cw_err_set(err, CW_E_INVALID, "the manifest has a survey of %llu elements, not %llu",
                          (unsigned long long)said->n, (unsigned long long)survey->n);
    int rc = find(survey, said) ? 0 : make(plan, survey, err);
    if (rc < 0)
        return rc;
    cw_survey_note_of(&survey->fates, said ? said->skips_bad : plan->skips_bad, ret_note);
    rc = check_same(said, ret_note, err);
    if (rc < 0)
        cw_survey_note_fini(ret_note);
    return rc;
}

/* Begins the survey of node i with what the manifest says of it. *ret_said is zeroed before. */
static int begin(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
                 struct cw_survey_note *ret_said, struct cw_plan **ret_computes,
                 struct cw_survey *ret_survey, struct cw_err *err)
{
    int rc = manifest ? cw_survey_note_read(manifest, ret_said, err) : 0;
    if (rc == 0)
        rc =
            cw_survey_plan(plan->checked, plan->seed, i, plan, NULL, plan->stop, ret_computes, err);
    if (rc < 0)
        return rc;
    if (manifest)
        (*ret_computes)->skips_bad = ret_said->skips_bad;
    const int64_t n = (*ret_computes)->nodes[(*ret_computes)->survey_top].n;
    if (n > CW_SURVEY_UNASKED_MAX && !is_asked(plan, i))
        return cw_err_set(err, CW_E_LIMIT,
                          "a survey would go over %lld elements; say survey: true if you want that",
                          (long long)n);
    return cw_survey_begin(ret_survey, *ret_computes, plan->nodes[i].node->name, err);
}

/* ---- the operator's place ---- */

/* Takes what another plan has in the operator's place. */
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

/* Shuffles between base and filter are done behind it, the last one first. There are none before an operator that
 * takes elements apart. */
static void add_orders(const struct cw_plan *plan, size_t top)
{
    const struct cw_checked *checked = plan->checked;
    const size_t base = cw_survey_base(checked, top);
    for (size_t at = checked->nodes[top].inputs[0]; at != base; at = checked->nodes[at].inputs[0])
        if (checked->nodes[at].op->kind == CW_OP_INDEX)
            cw_surveyed_add_order(plan->nodes[top].state, checked->nodes[at].op,
                                  checked->nodes[at].opts, checked->nodes[at].tag);
}

/* Puts the index operator in the other one's place. */
static int put_surveyed(struct cw_plan *plan, size_t i, struct cw_survey *survey,
                        const struct cw_survey_note *note, struct cw_err *err)
{
    struct cw_plan_node *node = &plan->nodes[i];
    struct cw_surveyed *surveyed = NULL;
    int rc = cw_surveyed_new(node->op, &survey->fates, note, &surveyed, err);
    if (rc < 0)
        return rc;
    node->state = surveyed;
    node->op = &surveyed->op;
    add_orders(plan, i);
    if (surveyed->bad) /* the survey's plan says what is wrong with them */
        node->survey = cw_plan_ref(survey->plan);
    return 0;
}

static int open_node(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
                     struct cw_err *err)
{
    struct cw_survey_note said = {0}, note = {0};
    struct cw_survey survey = {0};
    struct cw_plan *computes = NULL;
    int rc = begin(plan, i, manifest, &said, &computes, &survey, err);
    if (rc == 0)
        rc = find_out(plan, &survey, manifest ? &said : NULL, &note, err);
    if (rc == 0)
        rc = put_surveyed(plan, i, &survey, &note, err);
    cw_survey_end(&survey);
    cw_survey_note_fini(&said);
    cw_survey_note_fini(&note);
    cw_plan_unref(computes);
    return rc;
}

static int survey_node(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
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
    node->parts = rc == 0 && ((const struct cw_surveyed *)node->state)->has_parts;
    node->apart = rc == 0 && (node->survey || node->parts);
    return rc;
}

/* ---- values of a field ---- */

/* Of an element that is bad nobody knows the value, so a job that fails at one fails here. */
static int check_bad(struct cw_survey *survey, const struct cw_survey_note *note,
                     struct cw_err *err)
{
    uint64_t i = 0;
    if (note->bad_n == 0 || note->skips_bad)
        return 0;
    while (!cw_fates_has(survey->fates.bad, i))
        i++;
    int rc = cw_survey_compute_one(survey, i, err);
    return rc < 0 ? rc
                  : cw_err_set(err, CW_E_CORRUPT,
                               "element %llu was bad when it was surveyed, and is not now",
                               (unsigned long long)i);
}

static int survey_values(struct cw_plan *plan, size_t i, const struct cw_value *manifest,
                         struct cw_fates *ret_fates, struct cw_survey_note *ret_note,
                         struct cw_err *err)
{
    struct cw_survey_note said = {0};
    struct cw_survey survey = {0};
    struct cw_plan *computes = NULL;
    int rc = begin(plan, i, manifest, &said, &computes, &survey, err);
    if (rc == 0)
        rc = find_out(plan, &survey, manifest ? &said : NULL, ret_note, err);
    if (rc == 0) {
        rc = check_bad(&survey, ret_note, err);
        *ret_fates = survey.fates;
        survey.fates = (struct cw_fates){0};
    }
    cw_survey_end(&survey);
    cw_survey_note_fini(&said);
    cw_plan_unref(computes);
    return rc;
}

void cw_survey_set(cw_survey_fn *fn)
{
    static const struct cw_plan_surveys surveys = {.node = survey_node, .values = survey_values};
    cw_survey_set_compute(fn);
    cw_plan_set_surveys(&surveys);
}

/* ---- for others ---- */

static int read_lease(const struct cw_checked *checked, const struct cw_value *options,
                      const struct cw_value *files, size_t *ret_node, uint64_t *ret_seed,
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
    if (!valid || i == checked->graph->n || !cw_survey_is_of(&checked->nodes[i]))
        return cw_err_set(err, CW_E_INVALID, "this is no lease of a survey");
    *ret_node = i;
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
    size_t node = 0;
    uint64_t seed = 0;
    struct cw_survey survey;
    struct cw_plan *plan = NULL;
    struct cw_value rows = {0};
    int rc = read_lease(checked, options, files, &node, &seed, err);
    if (rc == 0)
        rc = cw_survey_plan(checked, seed, node, NULL, cw_value_get(files, "sources"), stop, &plan,
                            err);
    if (rc < 0)
        return rc;
    cw_value_set_object(&rows);
    rc = cw_survey_begin(&survey, plan, checked->graph->nodes[node].name, err);
    if (rc == 0)
        rc = make_parts(&survey, files, &rows, err);
    cw_survey_end(&survey);
    cw_plan_unref(plan);
    cw_value_fini(files);
    *files = rows;
    return rc;
}
