/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/surveyable.h"

#include "base/mem.h"
#include "graph/flags.h"
#include "graph/sparse.h"

/* ---- chains ---- */

static bool is_filter(const struct cw_op *op)
{
    return op->kind == CW_OP_ELEMENT && (op->traits & CW_OP_CHANGES_COUNT);
}

/* Whether the node may be surveyed. */
static bool is_countable(const struct cw_op *op)
{
    return is_filter(op) || op->takes_apart;
}

/* Whether a survey above goes through the node: it has the positions of its input, but for their order. */
static bool passes(const struct cw_checked_node *node)
{
    const struct cw_op *op = node->op;
    return node->inputs_n == 1 && !node->surveyed &&
           (op->kind == CW_OP_ELEMENT ||
            (op->kind == CW_OP_INDEX && (op->traits & CW_OP_PERMUTES)));
}

size_t cw_survey_base(const struct cw_checked *checked, size_t top)
{
    size_t at = checked->nodes[top].inputs[0];
    while (passes(&checked->nodes[at]))
        at = checked->nodes[at].inputs[0];
    return at;
}

bool cw_survey_has(const struct cw_checked *checked, size_t top, size_t i)
{
    if (i == top)
        return true;
    for (size_t at = checked->nodes[top].inputs[0]; passes(&checked->nodes[at]);
         at = checked->nodes[at].inputs[0])
        if (at == i)
            return true;
    return false;
}

static size_t readers(const struct cw_checked *checked, size_t i)
{
    size_t n = 0;
    for (size_t k = i + 1; k < checked->graph->n; k++)
        for (size_t in = 0; in < checked->nodes[k].inputs_n; in++)
            n += checked->nodes[k].inputs[in] == i;
    return n;
}

/* ---- what cannot be surveyed ---- */

static const char RANDOM[] =
    "a random operator before it draws anew in each epoch (put it behind the "
    "filter, or a cache with freeze: true between)";
static const char VARIES[] =
    "an operator before it says that it may give another result for the same element";
static const char STATUS[] = "its source says how things stand, not what is in files";
static const char INSIDE[] = "what is made inside items before it has no positions";
static const char ORDERED[] =
    "which elements come to it is another choice in each epoch (put the shuffle behind the filter)";
static const char SHARED[] =
    "a shuffle before it is read by another node too (put it behind the filter)";
static const char WHOLE[] =
    "a shuffle before it would have to keep the parts of an element together "
    "(put the shuffle behind it, where it permutes the parts)";

/* Marks a node and all that it reads. */
static bool *mark_below(const struct cw_checked *checked, size_t i)
{
    bool *marks = CW_NEW_ARRAY(bool, checked->graph->n);
    marks[i] = true;
    for (size_t at = i + 1; at-- > 0;)
        for (size_t k = 0; marks[at] && k < checked->nodes[at].inputs_n; k++)
            marks[checked->nodes[at].inputs[k]] = true;
    return marks;
}

static const char *why_not_element(const struct cw_checked *checked, size_t i)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    const struct cw_op *op = node->op;
    if (op->kind == CW_OP_ELEMENT && cw_op_draws(op, node->opts) && !node->frozen)
        return RANDOM;
    if (op->varies && op->varies(node->opts))
        return VARIES;
    if (op->kind == CW_OP_SOURCE && (op->traits & CW_OP_OPAQUE))
        return STATUS;
    if (op->kind == CW_OP_GROUP && !op->takes_apart &&
        cw_op_is_inside(op, node->opts, checked->nodes[node->inputs[0]].sparse))
        return INSIDE;
    return NULL;
}

/* Shuffles between are done behind the filter; no other order may stand below. */
static const char *why_not_order(const struct cw_checked *checked, size_t i, bool is_between)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    if (node->op->kind != CW_OP_INDEX || !cw_op_draws(node->op, node->opts))
        return NULL;
    if (!is_between)
        return ORDERED;
    return readers(checked, i) > 1 ? SHARED : NULL;
}

/* of_node: of what it keeps or makes, so shuffles directly before a filter may stand there. */
static const char *why_not(const struct cw_checked *checked, size_t top, bool of_node)
{
    cw_autofree bool *below = mark_below(checked, top);
    const char *why = NULL;
    for (size_t i = 0; i <= top && !why; i++) {
        if (!below[i])
            continue;
        const bool is_between = of_node && cw_survey_has(checked, top, i);
        why = why_not_element(checked, i);
        if (!why)
            why = why_not_order(checked, i, is_between);
        if (!why && is_between && checked->nodes[top].op->takes_apart &&
            checked->nodes[i].op->kind == CW_OP_INDEX)
            why = WHOLE;
    }
    return why;
}

const char *cw_survey_why_not(const struct cw_checked *checked, size_t top)
{
    return why_not(checked, top, true);
}

static bool needs_values(const struct cw_checked_node *node)
{
    return node->op->surveyed_field && node->op->surveyed_field(node->opts);
}

bool cw_survey_is_of(const struct cw_checked_node *node)
{
    return node->surveyed || needs_values(node);
}

bool *cw_survey_mark(const struct cw_checked *checked)
{
    bool *marks = CW_NEW_ARRAY(bool, checked->graph->n);
    for (size_t i = checked->graph->n; i-- > 0;) {
        marks[i] = marks[i] || cw_survey_is_of(&checked->nodes[i]);
        for (size_t k = 0; marks[i] && k < checked->nodes[i].inputs_n; k++)
            marks[checked->nodes[i].inputs[k]] = true;
    }
    return marks;
}

/* Operators that need the values of a field get them by a survey, too. */
static int check_values(const struct cw_checked *checked, struct cw_err *err)
{
    for (size_t i = 0; i < checked->graph->n; i++) {
        const struct cw_checked_node *node = &checked->nodes[i];
        if (!needs_values(node))
            continue;
        const char *why = why_not(checked, node->inputs[0], false);
        if (why)
            return cw_err_set(err, CW_E_INVALID,
                              "node \"%s\" (%s): the values of field \"%s\" cannot be found out "
                              "beforehand, since %s",
                              checked->graph->nodes[i].name, node->op->name,
                              node->op->surveyed_field(node->opts), why);
    }
    return 0;
}

/* ---- choosing ---- */

static int refuse_asked(const struct cw_checked *checked, size_t i, const char *why,
                        struct cw_err *err)
{
    const struct cw_node *node = &checked->graph->nodes[i];
    return cw_err_set(err, CW_E_INVALID, "node \"%s\" (%s): survey: it is not possible, since %s",
                      node->name, node->op, why);
}

static int mark_asked(struct cw_checked *checked, struct cw_err *err)
{
    for (size_t i = 0; i < checked->graph->n; i++)
        checked->nodes[i].surveyed = checked->nodes[i].folded = false;
    cw_flags_find(checked);
    for (size_t i = 0; i < checked->graph->n; i++) {
        struct cw_checked_node *node = &checked->nodes[i];
        const struct cw_op *op = node->op;
        if (!is_countable(op) || !op->asks_survey || !op->asks_survey(node->opts))
            continue;
        const char *why = cw_survey_why_not(checked, i);
        if (why)
            return refuse_asked(checked, i, why, err);
        node->surveyed = true;
        node->survey_for = i;
    }
    return 0;
}

/* The filters and shuffles between are part of the survey. A filter that another node reads, too, is
 * surveyed by itself. Returns whether there was one. */
static bool fold(struct cw_checked *checked, size_t top)
{
    for (size_t at = checked->nodes[top].inputs[0]; passes(&checked->nodes[at]);
         at = checked->nodes[at].inputs[0]) {
        struct cw_checked_node *node = &checked->nodes[at];
        if (is_filter(node->op) && readers(checked, at) > 1) {
            node->surveyed = true;
            node->survey_for = top;
            return true;
        }
        node->folded = is_filter(node->op) || node->op->kind == CW_OP_INDEX;
    }
    return false;
}

static void fold_all(struct cw_checked *checked)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < checked->graph->n; i++)
            checked->nodes[i].folded = false;
        for (size_t i = 0; i < checked->graph->n && !again; i++)
            again = checked->nodes[i].surveyed && fold(checked, i);
    }
    cw_flags_find(checked);
}

/* Returns the node that makes this one sparse, if it can be surveyed; SIZE_MAX: it cannot. */
static size_t countable_at(const struct cw_checked *checked, size_t i)
{
    while (!(checked->nodes[i].op->traits & CW_OP_CHANGES_COUNT)) {
        const struct cw_checked_node *node = &checked->nodes[i];
        size_t k = 0;
        while (k < node->inputs_n && !checked->nodes[node->inputs[k]].sparse)
            k++;
        if (k == node->inputs_n)
            return SIZE_MAX;
        i = node->inputs[k];
    }
    return is_countable(checked->nodes[i].op) ? i : SIZE_MAX;
}

/* Node `because` needs the elements of a sparse one to have positions. Surveys what makes that one sparse. Returns
 * why that cannot be, and at which node. */
static const char *survey_at(struct cw_checked *checked, size_t sparse, size_t because,
                             size_t *ret_node)
{
    const size_t node = *ret_node = countable_at(checked, sparse);
    const char *why = node == SIZE_MAX ? INSIDE : cw_survey_why_not(checked, node);
    if (!why) {
        checked->nodes[node].surveyed = true;
        checked->nodes[node].survey_for = because;
    }
    return why;
}

/* Node `at` needs what comes in by its inputs to be dense; or it itself has to be, for the survey of node `behind`. */
static const char *survey_before(struct cw_checked *checked, size_t at, size_t behind,
                                 size_t *ret_node)
{
    const char *why = NULL;
    if (behind != SIZE_MAX && checked->nodes[at].op->takes_apart)
        return survey_at(checked, at, behind, ret_node);
    for (size_t k = 0; k < checked->nodes[at].inputs_n && !why; k++)
        if (checked->nodes[checked->nodes[at].inputs[k]].sparse)
            why = survey_at(checked, checked->nodes[at].inputs[k], at, ret_node);
    return why;
}

/* A survey goes over positions. Returns the lowest surveyed node whose base has none; SIZE_MAX: none. */
static size_t find_baseless(const struct cw_checked *checked)
{
    for (size_t i = 0; i < checked->graph->n; i++)
        if (checked->nodes[i].surveyed && checked->nodes[cw_survey_base(checked, i)].sparse)
            return i;
    return SIZE_MAX;
}

static int refuse(const struct cw_checked *checked, size_t node, const char *why,
                  struct cw_err *err)
{
    CW_STR_AUTO text = {0};
    if (node == SIZE_MAX)
        return err->code; /* operators inside items: the message has said it */
    cw_str_add(&text, err->msg);
    return cw_err_set(
        err, CW_E_UNSUPPORTED,
        "%s. Behind \"%s\" may stand: a batch with take and skip, which the trainer's "
        "process cuts; anything behind a batch with within: \"item\"; and everything "
        "if a survey finds out once what it %s, which is not possible here, since %s",
        cw_str_text(&text), checked->graph->nodes[node].name,
        is_filter(checked->nodes[node].op) ? "keeps" : "makes", why);
}

/* Finds a node that one before it keeps from being computed, since its number of elements is not known. Returns 0 if
 * there is none, else the error, the node in *ret_at, and in *ret_behind that of the survey which needs its positions;
 * SIZE_MAX: none does. */
static int find_refused(const struct cw_checked *checked, size_t *ret_at, size_t *ret_behind,
                        struct cw_err *err)
{
    *ret_behind = find_baseless(checked);
    if (*ret_behind == SIZE_MAX)
        return cw_sparse_refused(checked, ret_at, err);
    const size_t base = *ret_at = cw_survey_base(checked, *ret_behind);
    return cw_err_set(err, CW_E_UNSUPPORTED, "node \"%s\" (%s): a survey behind it needs positions",
                      checked->graph->nodes[base].name, checked->graph->nodes[base].op);
}

int cw_survey_find(struct cw_checked *checked, struct cw_err *err)
{
    struct cw_err local = {0};
    const char *why = NULL;
    size_t at = SIZE_MAX, behind = SIZE_MAX, node = SIZE_MAX;
    int rc = mark_asked(checked, err);
    if (rc < 0)
        return rc;
    fold_all(checked);
    while ((rc = find_refused(checked, &at, &behind, &local)) == CW_E_UNSUPPORTED) {
        node = SIZE_MAX; /* each time one more is surveyed */
        why = survey_before(checked, at, behind, &node);
        if (why || node == SIZE_MAX)
            break;
        fold_all(checked);
    }
    if (rc < 0 && why)
        rc = refuse(checked, node, why, &local);
    if (rc < 0 && err)
        *err = local;
    return rc < 0 ? rc : check_values(checked, err);
}
