/* SPDX-License-Identifier: Apache-2.0 */
/* Padded batches against a plain model: each value by its place. */
#include "base/mem.h"
#include "graph/graph.h"
#include "run.h"
#include "support/cm.h"
#include <string.h>

/* Elements {"x": f32[?], "name": str}. */
#define CHUNKS "{\"op\":\"chunks\",\"pattern\":\"" CW_TEST_IMAGES "/chunks_*.chunk\"}"
#define IMAGES                                                                                     \
    "{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES "/image_4*.jpg\"},{\"op\":\"read_file\"},"   \
    "{\"op\":\"decode_image\",\"channels\":3}"

struct rule {
    const char *options; /* besides size */
    size_t size;
    int64_t multiple, to; /* of each dim; to: -1: the longest */
    bool left;
    double value;
};

/* One field of an element that was computed alone. */
static struct cw_batch *element_of(struct cw_plan *plan, uint64_t i)
{
    struct cw_batch *element = NULL;
    struct cw_err err = {0};
    assert_int_equal(cw_exec_run(plan, 0, i, CW_BAD_FAIL, &element, &err), 0);
    return element;
}

static double number_at(const struct cw_tensor *tensor, const void *data, size_t i)
{
    return tensor->field.dtype == CW_DTYPE_F32 ? (double)((const float *)data)[i]
                                               : (double)((const uint8_t *)data)[i];
}

static const struct cw_tensor *find_tensor(const struct cw_batch *batch, const char *name,
                                           size_t *ret_i)
{
    for (size_t i = 0; i < batch->n; i++)
        if (strcmp(batch->tensors[i].field.name, name) == 0) {
            *ret_i = i;
            return &batch->tensors[i];
        }
    fail_msg("no tensor %s", name);
    return NULL;
}

/* Compares row r of a batch with the element, value by value. `shaped`: dims that were filled up. */
static void check_row(const struct cw_batch *batch, size_t r, const struct cw_batch *element,
                      const char *name, int padded, const struct rule *rule)
{
    CW_STR_AUTO mask_name = {0};
    size_t f = 0, m = 0, e = 0, values = 1, own = 0;
    cw_str_addf(&mask_name, "%s_mask", name);
    const struct cw_tensor *tensor = find_tensor(batch, name, &f);
    const struct cw_tensor *mask = find_tensor(batch, cw_str_text(&mask_name), &m);
    const struct cw_tensor *from = find_tensor(element, name, &e);
    int rank = from->field.rank;
    const int64_t *dims = tensor->field.dims + 1, *had = from->field.dims;
    size_t inner = 1;
    for (int d = 0; d < rank; d++)
        values *= (size_t)dims[d];
    for (int d = padded; d < rank; d++)
        inner *= (size_t)dims[d];
    assert_int_equal(mask->field.rank, padded + 1);
    for (size_t i = 0; i < values; i++) {
        size_t rest = i, at = 0, step = 1;
        bool inside = true;
        for (int d = rank - 1; d >= 0; d--) {
            int64_t k = (int64_t)(rest % (size_t)dims[d]) - (rule->left ? dims[d] - had[d] : 0);
            rest /= (size_t)dims[d];
            inside = inside && k >= 0 && k < had[d];
            at += inside ? (size_t)k * step : 0;
            step *= (size_t)had[d];
        }
        double got = number_at(tensor, cw_batch_data(batch, f), r * values + i);
        double want = inside ? number_at(from, cw_batch_data(element, e), at) : rule->value;
        assert_true(got == want); // NOLINT: copied
        assert_int_equal(((const uint8_t *)cw_batch_data(batch, m))[(r * values + i) / inner],
                         inside);
        own += inside;
    }
    assert_int_equal(own * cw_dtype_bytes(from->field.dtype), from->bytes);
}

static void check_lengths(const struct cw_batch *batch, size_t r, const struct cw_batch *element,
                          const char *name, int padded)
{
    CW_STR_AUTO text = {0};
    size_t i = 0, e = 0;
    cw_str_addf(&text, "%s_length", name);
    const struct cw_tensor *lengths = find_tensor(batch, cw_str_text(&text), &i);
    const struct cw_tensor *from = find_tensor(element, name, &e);
    assert_int_equal(lengths->field.rank, padded > 1 ? 2 : 1);
    for (int d = 0; d < padded; d++)
        assert_int_equal(((const int64_t *)cw_batch_data(batch, i))[(int)r * padded + d],
                         from->field.dims[d]);
}

static void check_dims(const struct cw_batch *batch, struct cw_batch *const *elements, size_t n,
                       const char *name, int padded, const struct rule *rule)
{
    size_t f = 0, e = 0;
    const struct cw_tensor *tensor = find_tensor(batch, name, &f);
    for (int d = 0; d < padded; d++) {
        int64_t most = 0;
        for (size_t r = 0; r < n; r++)
            most = CW_MAX(most, find_tensor(elements[r], name, &e)->field.dims[d]);
        most = (most + rule->multiple - 1) / rule->multiple * rule->multiple;
        assert_int_equal(tensor->field.dims[d + 1], rule->to >= 0 ? rule->to : most);
    }
}

static void check(const char *source, const char *name, int padded, const struct rule *rule)
{
    CW_STR_AUTO nodes = {0};
    cw_str_addf(&nodes,
                "%s,{\"op\":\"padded_batch\",\"size\":%zu,\"lengths\":true,\"mask\":true%s}",
                source, rule->size, rule->options);
    struct cw_plan *one = plan_of(source, 0), *many = plan_of(cw_str_text(&nodes), 0);
    uint64_t n = cw_plan_info(one)->items;
    struct cw_err err = {0};
    assert_true(n >= rule->size);
    for (uint64_t first = 0; first < n; first += rule->size) {
        size_t rows = (size_t)CW_MIN(n - first, rule->size);
        struct cw_batch *batch = NULL, *elements[8];
        assert_int_equal(cw_exec_run(many, 0, first / rule->size, CW_BAD_FAIL, &batch, &err), 0);
        assert_int_equal(cw_batch_validate(batch, &err), 0);
        assert_int_equal(batch->elements, rows);
        for (size_t r = 0; r < rows; r++)
            elements[r] = element_of(one, first + r);
        check_dims(batch, elements, rows, name, padded, rule);
        for (size_t r = 0; r < rows; r++) {
            check_row(batch, r, elements[r], name, padded, rule);
            check_lengths(batch, r, elements[r], name, padded);
            cw_batch_unref(elements[r]);
        }
        cw_batch_unref(batch);
    }
    cw_plan_unref(one);
    cw_plan_unref(many);
}

static void values_are_where_they_belong(void **state)
{
    static const struct rule rules[] = {{"", 2, 1, -1, false, 0},
                                        {",\"side\":\"left\",\"value\":7", 3, 1, -1, true, 7},
                                        {",\"multiple\":64,\"value\":3", 2, 64, -1, false, 3},
                                        {",\"length\":90,\"side\":\"left\"", 2, 1, 90, true, 0}};
    static const struct rule by_name = {",\"value\":{\"x\":2.5}", 2, 1, -1, false, 2.5};
    (void)state;
    check(CHUNKS, "x", 1, &by_name);
    for (size_t i = 0; i < CW_ARRAY_LEN(rules); i++) {
        check(CHUNKS, "x", 1, &rules[i]);
        check(IMAGES, "image", 2, &rules[i]);
    }
}

static void threads_do_not_show(void **state)
{
    (void)state;
    struct cw_plan *plan =
        plan_of(IMAGES ",{\"op\":\"repeat\",\"count\":7},{\"op\":\"shuffle\"},"
                       "{\"op\":\"padded_batch\",\"size\":5,\"mask\":true},"
                       "{\"op\":\"cast\",\"dtype\":\"f32\",\"fields\":\"image\"}",
                3);
    uint64_t rows = 0;
    struct cw_hash here = hash_here(plan, 1, CW_BAD_FAIL);
    assert_true(cw_hash_eq(hash_pool(plan, 4, 1, CW_BAD_FAIL, &rows), here));
    assert_int_equal(rows, 21);
    cw_plan_unref(plan);
}

/* An element that is longer than the length is bad: named, or left out. */
static void longer_ones_are_bad(void **state)
{
    (void)state;
    struct cw_plan *plan =
        plan_of(CHUNKS ",{\"op\":\"padded_batch\",\"size\":8,\"length\":2,\"lengths\":true}", 0);
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    size_t i = 0;
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "longer than the 2 to which it is to be filled up"));
    memset(&err, 0, sizeof(err));
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_SKIP, &batch, &err), 0);
    assert_true(batch->skipped > 0 && batch->elements > 0);
    const struct cw_tensor *lengths = find_tensor(batch, "x_length", &i);
    assert_int_equal(lengths->field.dims[0], batch->elements);
    for (uint64_t r = 0; r < batch->elements; r++)
        assert_true(((const int64_t *)cw_batch_data(batch, i))[r] <= 2);
    cw_batch_unref(batch);
    cw_plan_unref(plan);
}

/* A batch of batches, and a field whose size was known already. */
static void nested(void **state)
{
    (void)state;
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"stop\":7},{\"op\":\"inflate\",\"factor\":3},"
                "{\"op\":\"padded_batch\",\"size\":2,\"length\":{\"x\":5},\"value\":-1},"
                "{\"op\":\"padded_batch\",\"size\":2,\"name\":\"outer\"}",
                0);
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    static const int64_t want[] = {4, 4, 4, -1, -1, 5, 5, 5, -1, -1,
                                   6, 6, 6, -1, -1, 0, 0, 0, 0,  0};
    assert_int_equal(cw_exec_run(plan, 0, 1, CW_BAD_FAIL, &batch, &err), 0);
    assert_int_equal(batch->tensors[0].bytes, sizeof(want));
    assert_memory_equal(cw_batch_data(batch, 0), want, sizeof(want));
    cw_batch_unref(batch);
    cw_plan_unref(plan);
}

/* Behind a filter workers send rows as they are, without those that are too long, and say how the client has
 * to fill them up: rows that came in, and rows that were made inside items. */
static void check_filtered(const char *between, int64_t longest)
{
    CW_STR_AUTO nodes = {0};
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    uint64_t skipped = 0, rows = 0;
    cw_str_addf(&nodes,
                CHUNKS
                ",{\"op\":\"filter\",\"expr\":\"len(name) >= 0\"}%s,{\"op\":\"padded_batch\","
                "\"size\":3,\"length\":2,\"side\":\"left\",\"value\":0.5,\"mask\":true}",
                between);
    struct cw_plan *plan = plan_of(cw_str_text(&nodes), 0);
    const struct cw_plan_info *info = cw_plan_info(plan);
    const size_t x = (size_t)cw_spec_find(&info->out, "x");
    assert_true(info->sparse && info->pads && info->join.batch == 3);
    assert_int_equal(info->pads->n, info->out.n - 1);
    assert_int_equal(info->pads->extra, 1);
    for (size_t f = 0; f < info->pads->n; f++)
        assert_int_equal(info->pads->field[f].is, f == x);
    const struct cw_pad *pad = &info->pads->field[x].how;
    const float half = 0.5F;
    assert_true(pad->on[0] && pad->to[0] == 2 && pad->left && pad->multiple == 1);
    assert_true(pad->length == -1 && pad->mask == (int)info->pads->n);
    assert_memory_equal(pad->value, &half, sizeof(half));
    for (uint64_t i = 0; i < info->items; i++) {
        assert_int_equal(cw_exec_run(plan, 0, i, CW_BAD_SKIP, &batch, &err), 0);
        skipped += batch->skipped;
        rows += batch->elements;
        for (size_t f = 0; batch->elements && f < batch->n; f++)
            assert_true(strcmp(batch->tensors[f].field.name, "x_mask") != 0);
        cw_batch_unref(batch);
    }
    assert_true(rows > 0);
    assert_int_equal(skipped > 0, longest > 2);
    if (longest > 2) {
        int rc = 0;
        for (uint64_t i = 0; rc == 0 && i < info->items; i++) {
            batch = NULL;
            rc = cw_exec_run(plan, 0, i, CW_BAD_FAIL, &batch, &err);
            cw_batch_unref(batch);
        }
        assert_int_equal(rc, CW_E_INVALID);
        assert_non_null(strstr(err.msg, "longer than the 2 to which it is to be filled up"));
    }
    cw_plan_unref(plan);
}

static void behind_a_filter(void **state)
{
    (void)state;
    check_filtered("", 3);
    check_filtered(",{\"op\":\"split\",\"only\":[\"x\"],\"length\":3}", 3);
    check_filtered(",{\"op\":\"split\",\"only\":[\"x\"],\"length\":2}", 2);
}

/* A field of known size that has a length by name is filled up, too. */
static void known_sizes_behind_a_filter(void **state)
{
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    (void)state;
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"stop\":7},{\"op\":\"inflate\",\"factor\":3},"
                "{\"op\":\"filter\",\"expr\":\"len(x) > 0\"},"
                "{\"op\":\"padded_batch\",\"size\":2,\"length\":{\"x\":2}}",
                0);
    assert_non_null(cw_plan_info(plan)->pads);
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_SKIP, &batch, &err), 0);
    assert_true(batch->elements == 0 && batch->skipped == 7);
    cw_batch_unref(batch);
    cw_plan_unref(plan);
    plan = plan_of("{\"op\":\"range\",\"stop\":7},{\"op\":\"filter\",\"expr\":\"x > 2\"},"
                   "{\"op\":\"padded_batch\",\"size\":2}",
                   0);
    assert_null(cw_plan_info(plan)->pads); /* nothing to fill up */
    cw_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_where_they_belong),
                                       cmocka_unit_test(threads_do_not_show),
                                       cmocka_unit_test(longer_ones_are_bad),
                                       cmocka_unit_test(nested),
                                       cmocka_unit_test(behind_a_filter),
                                       cmocka_unit_test(known_sizes_behind_a_filter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
