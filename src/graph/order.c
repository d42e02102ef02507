/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the nodes topologically, and finds cycles and nodes that nothing reads. */
#include "graph/order.h"

#include "base/mem.h"

/* the readers of each node, in one array: those of node i are at first[i] .. first[i + 1] */
struct readers {
    size_t *first, *v;
};

static void list_readers(struct cw_node *const *nodes, size_t nodes_n, struct readers *ret)
{
    size_t n = nodes_n, edges = 0;
    ret->first = CW_NEW_ARRAY(size_t, n + 2);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nodes[i]->inputs_n; k++, edges++)
            ret->first[nodes[i]->inputs[k] + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        ret->first[i] += ret->first[i - 1];
    ret->v = CW_NEW_ARRAY(size_t, edges + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < nodes[i]->inputs_n; k++)
            ret->v[ret->first[nodes[i]->inputs[k] + 1]++] = i;
}

/* Reports a cycle: follows unmet inputs from a node that could not be sorted until a node comes
 * again. */
static int report_cycle(struct cw_node *const *nodes, size_t nodes_n, const bool *done,
                        struct cw_err *err)
{
    size_t at = 0;
    while (done[at])
        at++;
    cw_autofree bool *seen = CW_NEW_ARRAY(bool, nodes_n);
    CW_STR_AUTO path = {0};
    /* the first round gets onto the cycle, the second one follows it */
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < nodes_n; i++)
            seen[i] = false;
        while (!seen[at]) {
            const struct cw_node *node = nodes[at];
            seen[at] = true;
            if (round && path.len < 300)
                cw_str_addf(&path, "\"%s\" reads ", node->name);
            size_t k = 0;
            while (done[node->inputs[k]])
                k++;
            at = node->inputs[k];
        }
    }
    return cw_err_set(err, CW_E_INVALID, "node \"%s\" (%s): the pipeline has a cycle: %s\"%s\"",
                      nodes[at]->name, nodes[at]->op, cw_str_text(&path), nodes[at]->name);
}

/* Appends node i and the chain behind it to the order. A chained node has one input, so it is ready
 * then. */
static void emit(struct cw_node *const *nodes, size_t nodes_n, const struct readers *readers,
                 size_t i, size_t *order, size_t *n, size_t *missing, bool *done)
{
    for (;; i++) {
        done[i] = true;
        order[(*n)++] = i;
        for (size_t k = readers->first[i]; k < readers->first[i + 1]; k++)
            missing[readers->v[k]]--;
        if (i + 1 >= nodes_n || !nodes[i + 1]->chained)
            return;
    }
}

/* Sorts: order[new] = old. Of several nodes that are ready, the first one in the list comes
 * first. */
static int sort_nodes(struct cw_node *const *nodes, size_t nodes_n, size_t *order,
                      struct cw_err *err)
{
    struct readers readers;
    list_readers(nodes, nodes_n, &readers);
    cw_autofree size_t *missing = CW_NEW_ARRAY(size_t, nodes_n);
    cw_autofree bool *done = CW_NEW_ARRAY(bool, nodes_n);
    for (size_t i = 0; i < nodes_n; i++)
        missing[i] = nodes[i]->inputs_n;
    size_t n = 0;
    for (size_t i = 0; i < nodes_n;) {
        if (done[i] || missing[i] || nodes[i]->chained) {
            i++;
            continue;
        }
        emit(nodes, nodes_n, &readers, i, order, &n, missing, done);
        i = 0;
    }
    cw_mem_free(readers.first);
    cw_mem_free(readers.v);
    return n == nodes_n ? 0 : report_cycle(nodes, nodes_n, done, err);
}

/* After sorting, the output is the last node; another node that nothing reads is an error. */
static int check_unused(struct cw_node *const *nodes, size_t nodes_n, const size_t *order,
                        struct cw_err *err)
{
    cw_autofree bool *read = CW_NEW_ARRAY(bool, nodes_n);
    for (size_t i = 0; i < nodes_n; i++)
        for (size_t k = 0; k < nodes[i]->inputs_n; k++)
            read[nodes[i]->inputs[k]] = true;
    /* If there are several ends, the one that is listed last is meant. */
    size_t output = nodes_n - 1;
    while (read[output])
        output--;
    for (size_t i = 0; i < nodes_n; i++)
        if (!read[i] && i != output)
            return cw_err_set(
                err, CW_E_INVALID,
                "node \"%s\" (%s): nobody reads it, and it is not the output, which is \"%s\"",
                nodes[i]->name, nodes[i]->op, nodes[output]->name);
    CW_ASSERT(order[nodes_n - 1] == output);
    return 0;
}

int cw_graph_order(struct cw_node *const *nodes, size_t nodes_n, size_t *order, struct cw_err *err)
{
    int rc = sort_nodes(nodes, nodes_n, order, err);
    return rc ? rc : check_unused(nodes, nodes_n, order, err);
}
