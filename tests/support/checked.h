/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of tests: a list of nodes in JSON, parsed and checked. */
#ifndef CW_TESTS_CHECKED_H
#define CW_TESTS_CHECKED_H

#include <string.h>

#include "base/mem.h"
#include "graph/check.h"
#include "graph/complete.h"
#include "support/cm.h"

/* What only its files say of a pipeline is looked up in them. NULL: err says why not. */
static inline struct cw_checked *cw_test_check(const char *nodes, struct cw_err *err)
{
    struct cw_graph *graph = NULL, *completed = NULL;
    struct cw_checked *checked = NULL;
    cw_autofree char *text = cw_mem_printf("{\"pipeline\": [%s]}", nodes);
    if (cw_graph_parse(text, strlen(text), "", &graph, err) == 0 &&
        cw_graph_complete(graph, NULL, NULL, &completed, err) == 0 &&
        cw_graph_check(completed, &checked, err))
        assert_null(checked);
    cw_graph_unref(completed);
    cw_graph_unref(graph);
    return checked;
}

static inline struct cw_checked *cw_test_must_check(const char *nodes)
{
    struct cw_err err = {0};
    struct cw_checked *checked = cw_test_check(nodes, &err);
    if (!checked)
        fail_msg("%s: %s", nodes, err.msg);
    return checked;
}

static inline bool cw_test_same_function(const char *a, const char *b)
{
    struct cw_checked *x = cw_test_must_check(a), *y = cw_test_must_check(b);
    bool same = cw_hash_eq(x->fingerprint, y->fingerprint);
    cw_checked_unref(x);
    cw_checked_unref(y);
    return same;
}

#endif
