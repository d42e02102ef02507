/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/plan_sample.h"

#include "base/mem.h"
#include "exec/exec.h"
#include "plan/plan_nodes.h"
#include "rewrite/pecan_class.h"

#define ELEMENTS 100
#define SHARE 0.05

struct sample {
    const struct cw_checked *checked;
    const struct cw_problem_map *map;
    double values[CW_OPTIMIZE_NODES_MAX], before[CW_OPTIMIZE_NODES_MAX]; /* sums, by place */
    double last; /* values of the row that is computed, as they came out of the last operator */
    int64_t row, left;
};

/* ---- the part of the pipeline that is computed ---- */

static struct cw_node copy_node(const struct cw_node *node)
{
    struct cw_node copy = {.name = cw_mem_strdup(node->name),
                           .named = node->named,
                           .op = cw_mem_strdup(node->op),
                           .fields_n = node->fields_n};

    if (node->fields_n > 0)
        copy.fields = cw_node_copy_names(node->fields, node->fields_n);
    cw_value_copy(&copy.options, &node->options);
    return copy;
}

/* Whether a node only maps positions, or does nothing: it is left out. */
static bool is_left_out(const struct cw_checked_node *node)
{
    return (node->op->kind == CW_OP_INDEX && node->inputs_n == 1) ||
           (node->op->traits & (CW_OP_CACHE | CW_OP_MARK));
}

/* The node that stands for an input of another. */
static size_t stand_in(const struct cw_checked *checked, size_t node)
{
    while (is_left_out(&checked->nodes[node]))
        node = checked->nodes[node].inputs[0];
    return node;
}

static void add_node(const struct cw_checked *checked, size_t i, struct cw_graph_builder *builder)
{
    const struct cw_checked_node *node = &checked->nodes[i];
    struct cw_node copy = copy_node(&checked->graph->nodes[i]);
    cw_autofree const char **inputs = CW_NEW_ARRAY(const char *, node->inputs_n + 1);

    for (size_t k = 0; k < node->inputs_n; k++)
        inputs[k] = checked->graph->nodes[stand_in(checked, node->inputs[k])].name;
    cw_graph_builder_add(builder, &copy, inputs, node->inputs_n);
}

/* Opens the pipeline up to a node, without what only maps positions. */
static int open_until(const struct cw_checked *checked, size_t last, struct cw_plan **ret_plan,
                      struct cw_err *err)
{
    struct cw_graph_builder *builder = cw_graph_builder_new("sample");
    struct cw_graph *graph = NULL;
    struct cw_checked *part = NULL;

    cw_graph_builder_set_identity(builder, checked->graph->identity);
    for (size_t i = 0; i <= last; i++)
        if (!is_left_out(&checked->nodes[i]))
            add_node(checked, i, builder);
    int rc = cw_graph_builder_finish(builder, &graph, err);
    cw_graph_builder_free(builder);
    if (rc == 0)
        rc = cw_graph_check(graph, &part, err);
    if (rc == 0)
        rc = cw_plan_new(part, 0, NULL, ret_plan, err);
    cw_checked_unref(part);
    cw_graph_unref(graph);
    return rc;
}

/* ---- counting ---- */

/* The values of an element; of an image of which a part was made, those of the whole. */
static double count_values(const struct cw_element *element)
{
    double sum = 0;

    for (size_t f = 0; f < element->n; f++) {
        const struct cw_view *view = &element->fields[f];
        double n = 1;
        for (int d = 0; d < view->rank; d++)
            n *= view->full_h && d < 2 ? (double)(d ? view->full_w : view->full_h)
                                       : (double)view->dims[d];
        sum += n;
    }
    return sum;
}

static size_t place_of(const struct sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->map->n; i++)
        if (cw_str_eq(sample->checked->graph->nodes[sample->map->nodes[i]].name, name))
            return i;
    return SIZE_MAX;
}

static int on_element(void *arg, int64_t row, const struct cw_node *node,
                      const struct cw_spec *spec, const struct cw_element *element,
                      const char *source, struct cw_err *err)
{
    struct sample *sample = arg;
    size_t place = place_of(sample, node->name);
    double values = count_values(element);
    (void)spec;
    (void)source;

    if (row != sample->row && sample->left-- == 0)
        return cw_err_set(err, CW_E_CANCELLED, "enough was seen");
    sample->row = row;
    if (place != SIZE_MAX) {
        sample->values[place] += values;
        sample->before[place] += sample->last;
    }
    sample->last = values;
    return 0;
}

static int look(struct cw_plan *plan, struct sample *sample, struct cw_err *err)
{
    uint64_t items = cw_plan_info(plan)->items;
    double n = (double)plan->nodes[plan->n - 1].n;
    int rc = 0;

    sample->left = n < 1 ? ELEMENTS : (int64_t)CW_MIN((double)ELEMENTS, n * SHARE);
    sample->left = CW_MAX(sample->left, 1);
    for (uint64_t item = 0; rc == 0 && sample->left > 0 && item < items; item++) {
        sample->row = -1;
        rc = cw_exec_trace(plan, 0, item, on_element, sample, err);
    }
    return rc == CW_E_CANCELLED ? 0 : rc;
}

int tool_plan_sample(const struct cw_checked *checked, const struct cw_problem_map *map,
                     double *ret_growth, struct cw_err *err)
{
    struct sample sample = {.checked = checked, .map = map};
    struct cw_plan *plan = NULL;
    size_t last = 0;
    int rc = 0;

    for (size_t i = 0; i < map->n; i++) {
        ret_growth[i] = 0;
        if (cw_pecan_wants_sample(checked, map, i))
            last = i;
    }
    if (last > 0)
        rc = open_until(checked, map->nodes[last], &plan, err);
    if (plan)
        rc = look(plan, &sample, err);
    cw_plan_unref(plan);
    for (size_t i = 0; rc == 0 && i < map->n; i++)
        if (sample.before[i] > 0 && cw_pecan_wants_sample(checked, map, i))
            ret_growth[i] = sample.values[i] / sample.before[i];
    return rc < 0 ? cw_err_wrap(err, "while the sample of pecan is computed") : 0;
}
