/* SPDX-License-Identifier: Apache-2.0 */
/* What pipelines give: against lists of numbers, and however they are computed. */
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "run.h"
#include "support/cm.h"
#include <string.h>

struct model {
    int64_t *v;
    size_t n;
};

/* Adds an operator to the text and does the same to the list of numbers. */
static void add_random_op(struct cw_str *text, struct model *model, uint64_t r)
{
    size_t k = (size_t)(r >> 8) % (model->n + 2);
    int64_t *v = model->v;
    size_t n = 0;
    switch (r % 5) {
    case 0:
        cw_str_addf(text, ",{\"op\":\"take\",\"count\":%zu}", k);
        model->n = CW_MIN(model->n, k);
        return;
    case 1:
        k %= 5;
        cw_str_addf(text, ",{\"op\":\"skip\",\"count\":%zu}", k);
        for (size_t i = k; i < model->n; i++)
            v[n++] = v[i];
        break;
    case 2:
        k = k % 3 + 1;
        cw_str_addf(text, ",{\"op\":\"shard\",\"num_shards\":%zu,\"index\":%zu}", k, k / 2);
        for (size_t i = k / 2; i < model->n; i += k)
            v[n++] = v[i];
        break;
    case 3:
        k = k % 3 + 1;
        cw_str_addf(text, ",{\"op\":\"repeat\",\"count\":%zu}", k);
        if (model->n * k > 100000)
            k = 1;
        model->v = v = cw_mem_grow(v, model->n * k + 1, sizeof(*v));
        for (size_t i = 1; i < k; i++)
            memcpy(v + i * model->n, v, model->n * sizeof(*v));
        n = model->n * k;
        break;
    default:
        cw_str_add(text, ",{\"op\":\"eval\",\"expr\":\"x + 3\"}");
        for (; n < model->n; n++)
            v[n] += 3;
    }
    model->n = n;
}

static void test_random_chains(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 150; round++) {
        uint64_t r = cw_mix64(round + 1);
        struct model model = {.n = (size_t)(r % 400)};
        model.v = CW_NEW_ARRAY(int64_t, model.n + 1);
        for (size_t i = 0; i < model.n; i++)
            model.v[i] = (int64_t)i;
        CW_STR_AUTO text = {0};
        cw_str_addf(&text, "{\"op\":\"range\",\"stop\":%zu}", model.n);
        for (uint64_t k = 0; k < r % 7; k++)
            add_random_op(&text, &model, cw_mix64(r + k));
        size_t size = (size_t)(r >> 20) % 50 + 1;
        bool drop = (r >> 40) & 1;
        cw_str_addf(&text, ",{\"op\":\"batch\",\"size\":%zu,\"drop_remainder\":%s}", size,
                    drop ? "true" : "false");
        if (drop)
            model.n -= model.n % size;
        struct cw_plan *plan = plan_of(cw_str_text(&text), 1);
        size_t n = 0;
        int64_t *rows = rows_of(plan, 0, &n);
        if (n != model.n || (n && memcmp(rows, model.v, n * sizeof(*rows))) ||
            cw_plan_info(plan)->elements != (int64_t)n)
            fail_msg("%s: %zu rows, expected %zu", cw_str_text(&text), n, model.n);
        cw_mem_free(rows);
        cw_mem_free(model.v);
        cw_plan_unref(plan);
    }
}

static void test_shuffle(void **state)
{
    (void)state;
    struct cw_plan *plan = plan_of(
        "{\"op\":\"range\",\"stop\":500},{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":32}", 7);
    size_t n = 0, m = 0;
    int64_t *a = rows_of(plan, 0, &n), *b = rows_of(plan, 1, &m);
    bool seen[500] = {0};
    assert_int_equal(n, 500);
    assert_int_equal(m, 500);
    assert_memory_not_equal(a, b, sizeof(*a) * n);
    for (size_t i = 0; i < n; i++) {
        assert_false(seen[a[i]]);
        seen[a[i]] = true;
    }
    cw_mem_free(a);
    cw_mem_free(b);
    cw_plan_unref(plan);
}

/* What comes of a filter is what comes without it, less what it leaves out: also behind a shuffle
 * moved above it. */
static void test_filter(void **state)
{
    (void)state;
    const char *dense = "{\"op\":\"range\",\"stop\":700},{\"op\":\"shuffle\",\"name\":\"s\"},{"
                        "\"op\":\"batch\",\"size\":10}";
    const char *sparse[] = {
        "{\"op\":\"range\",\"stop\":700},{\"op\":\"shuffle\",\"name\":\"s\"},{\"op\":\"filter\","
        "\"expr\":\"x % 7 == 2\"},{\"op\":\"batch\",\"size\":10}",
        "{\"op\":\"range\",\"stop\":700},{\"op\":\"filter\",\"expr\":\"x % 7 == "
        "2\"},{\"op\":\"shuffle\",\"name\":\"s\"},{\"op\":\"take\",\"count\":20},{\"op\":\"batch\","
        "\"size\":10}",
        "{\"op\":\"range\",\"stop\":700},{\"op\":\"filter\",\"expr\":\"x % 7 == "
        "2\"},{\"op\":\"shuffle\",\"name\":\"s\"},{\"op\":\"inflate\",\"factor\":8192}"};
    struct cw_plan *plan = plan_of(dense, 7);
    size_t n = 0, left = 0;
    int64_t *all = rows_of(plan, 2, &n);
    cw_plan_unref(plan);
    for (size_t i = 0; i < n; i++)
        if (all[i] % 7 == 2)
            all[left++] = all[i];
    for (size_t k = 0; k < CW_ARRAY_LEN(sparse); k++) {
        plan = plan_of(sparse[k], 7);
        int64_t *rows = rows_of(plan, 2, &n);
        size_t factor = k == 2 ? 8192 : 1;
        assert_int_equal(n, left * factor);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(rows[i], all[i / factor]);
        cw_mem_free(rows);
        cw_plan_unref(plan);
    }
    cw_mem_free(all);
}

static void test_strings(void **state)
{
    (void)state;
    struct cw_plan *plan = plan_of(
        "{\"op\":\"from_values\",\"values\":[\"a\",\"\",\"ccc\"]},{\"op\":\"batch\",\"size\":4}",
        1);
    struct cw_batch *batch = NULL;
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, NULL), 0);
    const int64_t want[] = {0, 1, 1, 4};
    assert_int_equal(batch->tensors[0].field.dims[0], 3);
    assert_int_equal(batch->tensors[0].bytes, sizeof(want) + 4);
    assert_memory_equal(cw_batch_data(batch, 0), want, sizeof(want));
    assert_memory_equal((const char *)cw_batch_data(batch, 0) + sizeof(want), "accc", 4);
    cw_batch_unref(batch);
    cw_plan_unref(plan);
}

/* Adds operators that work on a part of a u8 image, and a crop. */
static void add_parts(struct cw_str *text, uint64_t r)
{
    static const char *const ops[] = {
        "{\"op\":\"random_flip\"}",
        "{\"op\":\"random_flip\",\"direction\":\"vertical\",\"p\":0.7}",
        "{\"op\":\"resize\",\"size\":31}",
        "{\"op\":\"resize\",\"size\":[97,20],\"interpolation\":\"bicubic\"}",
        "{\"op\":\"resize\",\"size\":[29,67],\"interpolation\":\"nearest\"}",
        "{\"op\":\"resize\",\"size\":[41,12],\"interpolation\":\"box\"}",
        "{\"op\":\"eval\",\"expr\":\"image * 3 + 1\"},{\"op\":\"cast\",\"dtype\":\"u8\"}",
        "{\"op\":\"pad\",\"padding\":[3,9,1,0],\"fill\":[9,8,7]}",
        "{\"op\":\"pad\",\"padding\":[0,5],\"mode\":\"reflect\"}",
        "{\"op\":\"pad\",\"padding\":6,\"mode\":\"symmetric\"}",
        "{\"op\":\"pad\",\"padding\":[7,2],\"mode\":\"edge\"}",
        "{\"op\":\"shuffle\"}"};
    static const char *const crops[] = {
        "{\"op\":\"random_resized_crop\",\"size\":[9,7]}",
        "{\"op\":\"random_resized_crop\",\"size\":[9,7],\"scale\":[0.01,0.05]}",
        "{\"op\":\"center_crop\",\"size\":[6,5]}",
        "{\"op\":\"normalize\",\"mean\":[0.1,0.2,0.3]},{\"op\":\"center_crop\",\"size\":[40,3]}"};
    for (size_t n = r % 5; n > 0; n--) {
        r = cw_mix64(r);
        cw_str_addf(text, ",%s", ops[(r >> 8) % CW_ARRAY_LEN(ops)]);
    }
    cw_str_addf(text, ",%s", crops[(r >> 40) % CW_ARRAY_LEN(crops)]);
}

/* A decoder that makes only what is needed behind it gives the same bytes: in the other pipeline all
 * values are asked for before, since one that is refused is looked for. */
static void test_want(void **state)
{
    (void)state;
    const char *before[] = {"{\"op\":\"cast\",\"dtype\":\"i64\",\"name\":\"i\"},{\"op\":\"cast\","
                            "\"dtype\":\"u8\",\"name\":\"o\"}",
                            "{\"op\":\"eval\",\"name\":\"i\",\"expr\":\"image % (image + 1)\"},"
                            "{\"op\":\"cast\",\"dtype\":\"u8\",\"name\":\"o\"}"};
    for (uint64_t round = 0; round < 90; round++) {
        struct cw_hash hashes[2];
        for (size_t k = 0; k < 2; k++) {
            CW_STR_AUTO nodes = {0};
            cw_str_addf(&nodes,
                        "{\"op\":\"files\",\"pattern\":[\"%s/image_4*.jpg\",\"%s/image_rgb.png\"]},"
                        "{\"op\":\"repeat\",\"count\":3},{\"op\":\"read_file\"},"
                        "{\"op\":\"decode_image\",\"name\":\"d\",\"channels\":3},%s",
                        CW_TEST_IMAGES, CW_TEST_IMAGES, before[k]);
            add_parts(&nodes, cw_mix64(round + 77));
            cw_str_add(&nodes, ",{\"op\":\"batch\",\"size\":5}");
            struct cw_plan *plan = plan_of(cw_str_text(&nodes), 5);
            uint64_t rows = 0;
            hashes[k] = hash_pool(plan, 2, 1, CW_BAD_FAIL, &rows);
            assert_int_equal(rows, 12);
            assert_int_equal(plan->nodes[node_of(plan, "d")].want_n > 0, k == 0);
            cw_plan_unref(plan);
        }
        if (!cw_hash_eq(hashes[0], hashes[1]))
            fail_msg("round %d", (int)round);
    }
}

/* An operator that looks at other fields lets a part of an image through, and says nothing of its size. */
static void test_part_before_assert_spec(void **state)
{
    (void)state;
    const char *asserts[] = {"", "{\"op\":\"assert_spec\",\"spec\":[\"position: i64\"]},"};
    struct cw_hash hashes[2];
    for (size_t k = 0; k < 2; k++) {
        CW_STR_AUTO nodes = {0};
        cw_str_addf(&nodes,
                    "{\"op\":\"files\",\"pattern\":\"%s/image_4*.jpg\"},{\"op\":\"read_file\"},"
                    "{\"op\":\"decode_image\",\"channels\":3},{\"op\":\"enumerate\"},"
                    "{\"op\":\"resize\",\"size\":[50,60],\"fields\":[\"image\"],\"name\":\"r\"},%s"
                    "{\"op\":\"center_crop\",\"size\":[20,9],\"fields\":[\"image\"]},{\"op\":"
                    "\"batch\",\"size\":2}",
                    CW_TEST_IMAGES, asserts[k]);
        struct cw_plan *plan = plan_of(cw_str_text(&nodes), 5);
        uint64_t rows = 0;
        hashes[k] = hash_pool(plan, 2, 1, CW_BAD_FAIL, &rows);
        assert_true(rows > 1 && plan->nodes[node_of(plan, "r")].want_n > 0);
        cw_plan_unref(plan);
    }
    assert_true(cw_hash_eq(hashes[0], hashes[1]));
}

static int on_trace(void *arg, int64_t row, const struct cw_node *node, const struct cw_spec *spec,
                    const struct cw_element *element, const char *source, struct cw_err *err)
{
    struct cw_str *out = arg;
    (void)err;
    assert_int_equal(spec->n, element->n);
    cw_str_addf(out, "%lld %s %s\n", (long long)row, node->name, source);
    return 0;
}

static void test_trace(void **state)
{
    (void)state;
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"start\":5,\"stop\":9},{\"op\":\"cast\",\"dtype\":\"f32\"},{"
                "\"op\":\"batch\",\"size\":2},{\"op\":\"eval\",\"expr\":\"x+1\"}",
                1);
    CW_STR_AUTO out = {0};
    struct cw_err err = {0};
    assert_int_equal(cw_exec_trace(plan, 0, 1, on_trace, &out, &err), 0);
    assert_string_equal(
        cw_str_text(&out),
        "0 range number 7\n0 cast number 7\n1 range number 8\n1 cast number 8\n-1 eval number 8\n");
    cw_plan_unref(plan);
}

static int on_number(void *arg, int64_t row, const struct cw_node *node, const struct cw_spec *spec,
                     const struct cw_element *element, const char *source, struct cw_err *err)
{
    struct model *model = arg;
    (void)row;
    (void)node;
    (void)spec;
    (void)source;
    (void)err;
    memcpy(&model->v[model->n++], element->fields[0].data, sizeof(int64_t));
    return 0;
}

/* Positions are mapped one by one when an item is traced, else in runs. */
static void test_runs_of_positions(void **state)
{
    (void)state;
    struct cw_plan *plan = plan_of(
        "{\"op\":\"range\",\"stop\":301},{\"op\":\"shuffle\",\"window\":64},"
        "{\"op\":\"repeat\",\"count\":3},{\"op\":\"shuffle\"},{\"op\":\"skip\",\"count\":2},"
        "{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":200}",
        3);
    struct model model = {.v = CW_NEW_ARRAY(int64_t, 1000)};
    size_t n = 0;
    int64_t *rows = rows_of(plan, 4, &n);
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++)
        assert_int_equal(cw_exec_trace(plan, 4, i, on_number, &model, NULL), 0);
    assert_int_equal(n, 901);
    assert_int_equal(model.n, n);
    assert_memory_equal(model.v, rows, n * sizeof(*rows));
    cw_mem_free(rows);
    cw_mem_free(model.v);
    cw_plan_unref(plan);
}

/* Rows of sources side by side are runs, too, unless an item is traced. */
static void test_runs_of_sources(void **state)
{
    (void)state;
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"stop\":90,\"name\":\"a\",\"field\":\"a\"},"
                "{\"op\":\"skip\",\"count\":3,\"name\":\"sa\"},"
                "{\"op\":\"range\",\"start\":1000,\"stop\":1300,\"name\":\"b\",\"field\":\"b\"},"
                "{\"op\":\"shard\",\"num_shards\":3,\"index\":2,\"name\":\"sb\"},"
                "{\"op\":\"zip\",\"inputs\":[\"sa\",\"sb\"]},{\"op\":\"batch\",\"size\":16},"
                "{\"op\":\"eval\",\"expr\":\"a * 10000 + b\",\"out\":\"c\"},"
                "{\"op\":\"select\",\"names\":\"c\"}",
                3);
    size_t n = 0;
    int64_t *rows = rows_of(plan, 0, &n);
    assert_int_equal(n, 87);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(rows[i], ((int64_t)i + 3) * 10000 + 1002 + 3 * (int64_t)i);
    cw_mem_free(rows);
    cw_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_chains),
        cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_want),
        cmocka_unit_test(test_part_before_assert_spec),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_runs_of_positions),
        cmocka_unit_test(test_runs_of_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
