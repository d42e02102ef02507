/* SPDX-License-Identifier: Apache-2.0 */
/* Problems as JSON: what was printed is read again and planned alike, and nonsense is refused. */
#include "support/cm.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "policies/problem_json.h"

static int read_text(const char *text, size_t n, struct cw_value *value,
                     struct cw_optimize_problem *ret_problem, struct cw_err *err)
{
    int rc = cw_value_parse(text, n, "p.json", value, err);
    return rc == 0 ? cw_problem_read(value, "p.json", ret_problem, err) : rc;
}

static uint64_t below(uint64_t *rng, uint64_t n)
{
    return cw_mix64(++*rng) % n;
}

static double number(uint64_t *rng)
{
    return below(rng, 3) == 0 ? 0 : (double)below(rng, 1000000) / 997;
}

static void make(uint64_t *rng, struct cw_optimize_problem *p)
{
    *p = (struct cw_optimize_problem){.n = 1 + (size_t)below(rng, 8),
                                      .fields_n = 1 + (size_t)below(rng, 4),
                                      .elements = 1 + number(rng),
                                      .epochs = 1 + number(rng),
                                      .threads = 1 + number(rng),
                                      .cores = number(rng),
                                      .remote_max = 1 + (unsigned)below(rng, 4),
                                      .local_max = (unsigned)below(rng, 3),
                                      .has_store = below(rng, 2) == 0,
                                      .source_bytes = number(rng),
                                      .network_bytes_s = number(rng),
                                      .trainer_ns = number(rng),
                                      .element_ns = number(rng),
                                      .worker_price = number(rng),
                                      .store_price = number(rng),
                                      .least_money = below(rng, 4) == 0,
                                      .least_work = below(rng, 2) == 0,
                                      .cached_n = (size_t)below(rng, 3)};
    for (size_t i = 0; i < p->cached_n; i++)
        p->cached[i] = (struct cw_optimize_cached){1 + below(rng, (UINT64_C(1) << p->n) - 1),
                                                   (double)below(rng, 5) / 4};
    p->branches_n = (size_t)below(rng, 3);
    for (size_t i = 0; i < p->branches_n; i++)
        p->branches[i] = (struct cw_optimize_branch){"branch",
                                                     number(rng),
                                                     number(rng),
                                                     number(rng),
                                                     number(rng),
                                                     number(rng),
                                                     (double)below(rng, 5) / 4};
    p->store = (struct cw_optimize_store){.read_ns = number(rng), .free_bytes = -1};
    for (size_t f = 0; f < p->fields_n; f++)
        p->bytes[f] = number(rng);
    for (size_t i = 0; i < p->n; i++) {
        struct cw_optimize_node *node = &p->nodes[i];
        *node =
            (struct cw_optimize_node){.name = "node",
                                      .ns = number(rng),
                                      .ns_byte = number(rng),
                                      .cpu_ns = number(rng),
                                      .reads = 1,
                                      .keep = below(rng, 2) == 0 ? 1 : 0.3,
                                      .behind = below(rng, UINT64_MAX) & ((UINT64_C(1) << i) - 1),
                                      .uncacheable = below(rng, 6) == 0};
        for (size_t f = 0; f < p->fields_n; f++)
            node->ratio[f] = number(rng);
        if (i + 1 < p->n && below(rng, 3) == 0) {
            node->crops = UINT64_C(1) << (i + 1);
            node->whole = (struct cw_optimize_whole){.ns = number(rng), .grows = 1 + number(rng)};
            node->whole_fields = 1;
        }
    }
}

/* What operators are together. */
static void make_together(uint64_t *rng, struct cw_optimize_problem *p)
{
    p->apart = below(rng, 6) == 0;
    for (size_t i = 0; i < p->n; i++) {
        struct cw_optimize_node *node = &p->nodes[i];
        if (below(rng, 3) == 0)
            node->folds = below(rng, UINT64_C(1) << p->n);
        node->by_batch = below(rng, 2) == 0;
        if (below(rng, 3) == 0)
            node->batch =
                (struct cw_optimize_batch){true, number(rng), number(rng), number(rng), 0};
    }
    p->nodes[p->n - 1].is_batch = below(rng, 3) == 0;
    if (p->n < 3 || below(rng, 2) == 0)
        return;
    p->filters =
        (struct cw_optimize_filters){2, {1, 2}, {1, 0.5, 0.25, (double)below(rng, 9) / 40}};
}

static void assert_same_plan(const struct cw_optimize_problem *a,
                             const struct cw_optimize_problem *b)
{
    struct cw_optimize_plan x, y;
    cw_optimize(a, &x);
    cw_optimize(b, &y);
    assert_memory_equal(x.order, y.order, a->n * sizeof(x.order[0]));
    assert_true(x.cache_after == y.cache_after && x.remote == y.remote && x.local == y.local);
    assert_true(x.total_ns >= y.total_ns && x.total_ns <= y.total_ns);
}

static void same_again(void **state)
{
    (void)state;
    uint64_t rng = 20;
    for (size_t round = 0; round < 200; round++) {
        struct cw_optimize_problem *p = CW_NEW(struct cw_optimize_problem);
        struct cw_optimize_problem *q = CW_NEW(struct cw_optimize_problem);
        struct cw_value value = {0};
        struct cw_err err = {0};
        CW_STR_AUTO text = {0};
        CW_STR_AUTO again = {0};
        make(&rng, p);
        make_together(&rng, p);
        cw_problem_print(p, &text);
        if (read_text(cw_str_text(&text), text.len, &value, q, &err) != 0)
            fail_msg("%s: %s", err.msg, cw_str_text(&text));
        cw_problem_print(q, &again);
        assert_string_equal(cw_str_text(&text), cw_str_text(&again));
        assert_same_plan(p, q);
        cw_value_fini(&value);
        cw_mem_free(p);
        cw_mem_free(q);
    }
}

#define NODE "{\"name\": \"a\", \"ratio\": [1]}"
#define BEGIN                                                                                      \
    "{\"problem\": 1, \"elements\": 10, \"epochs\": 1, \"threads\": 1, \"remote_max\": 1, "        \
    "\"bytes\": [8], "

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[]", "p.json: problem: not 1"},
        {"{\"problem\": 2}", "problem: not 1"},
        {"{\"problem\": 1}", "elements: 0 is not from 1"},
        {BEGIN "\"nodes\": []}", "nodes: not a list of 1 to 62"},
        {BEGIN "\"nodes\": [1]}", "nodes: not objects"},
        {BEGIN "\"nodes\": [{}]}", "name: a node needs one"},
        {BEGIN "\"nodes\": [{\"name\": \"a\"}]}", "nodes: a: ratio: not a list of 1 numbers"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [-1]}]}", "ratio: not numbers from 0"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"keep\": 1.5}]}", "keep: 1.5"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"ns\": -4}]}", "ns: -4"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"ns\": \"4\"}]}",
         "ns: not a number"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"reads\": [1]}]}", "reads: not a"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"folds\": [1]}]}", "folds"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"batch\": 1}]}", "batch"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"by_batch\": 1}]}", "by_batch"},
        {BEGIN "\"filters\": {\"places\": [0, 0], \"share\": [1, 1, 1, 1]}, \"nodes\": [" NODE "]}",
         "places"},
        {BEGIN "\"filters\": {\"places\": [0], \"share\": [1]}, \"nodes\": [" NODE "]}", "share"},
        {BEGIN "\"filters\": {\"places\": [0], \"share\": [0.5, 0.6]}, \"nodes\": [" NODE "]}",
         "share"},
        {BEGIN "\"filters\": 3, \"nodes\": [" NODE "]}", "filters"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"behind\": [0]}]}", "behind"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"uncacheable\": 1}]}", "neither"},
        {BEGIN "\"local_max\": 0.5, \"nodes\": [" NODE "]}", "local_max: not a whole"},
        {BEGIN "\"cached\": 1, \"nodes\": [" NODE "]}", "cached: not a list of at most 16"},
        {BEGIN "\"cached\": [1], \"nodes\": [" NODE "]}", "cached: not objects"},
        {BEGIN "\"cached\": [{\"set\": [1]}], \"nodes\": [" NODE "]}", "set: not a number from"},
        {BEGIN "\"cached\": [{\"share\": 2}], \"nodes\": [" NODE "]}", "share: 2 is not from 0"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"crops\": [1]}]}", "crops: not a"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"whole\": 1}]}", "whole: not an"},
        {BEGIN "\"nodes\": [{\"name\": \"a\", \"ratio\": [1], \"whole\": {\"grows\": 0}}]}",
         "grows: 0"},
        {BEGIN "\"store\": 1, \"nodes\": [" NODE "]}", "store: not an object"},
        {BEGIN "\"store\": {\"read_ns\": -1}, \"nodes\": [" NODE "]}", "store: read_ns: -1"},
        {"{\"problem\": 1, \"elements\": 10, \"epochs\": 1, \"threads\": 1, \"bytes\": [8]}",
         "both are 0"},
        {"{\"problem\": 1, \"elements\": 10, \"epochs\": 1, \"threads\": 1, \"remote_max\": 1}",
         "bytes: not a list"},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_optimize_problem problem;
        struct cw_value value = {0};
        struct cw_err err = {0};
        assert_int_equal(read_text(cases[i].text, strlen(cases[i].text), &value, &problem, &err),
                         CW_E_INVALID);
        if (!strstr(err.msg, cases[i].says))
            fail_msg("case %zu: %s", i, err.msg);
        cw_value_fini(&value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_again), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
