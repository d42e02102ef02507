/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles: made of what was measured, written, and read again. */
#include <math.h>
#include <string.h>

#include "conf/value_yaml.h"
#include "rewrite/profile.h"
#include "support/cm.h"

static struct cw_checked *checked_of(const char *text)
{
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};
    if (cw_graph_parse(text, strlen(text), "", &graph, &err) < 0 ||
        cw_graph_check(graph, &checked, &err) < 0)
        fail_msg("%s", err.msg);
    cw_graph_unref(graph);
    return checked;
}

static const char PIPELINE[] =
    "{\"pipeline\": [{\"op\": \"range\", \"stop\": 100}, {\"op\": \"shuffle\"}, {\"op\": \"cast\","
    "\"dtype\": \"i32\"}, {\"op\": \"filter\", \"name\": \"true\", \"expr\": \"x > 3\"},"
    "{\"op\": \"batch\", \"size\": 4}]}";

/* Of range, shuffle, cast, filter and batch. All calls of an operator have the same size, so cast, which
 * is pointwise, is taken as in proportion to bytes, and the others are not. */
static struct cw_cost_profile measured_profile(const struct cw_checked *checked)
{
    struct cw_cost_profile profile;
    struct cw_cost_measured measured[5] = {0};
    for (size_t i = 0; i < 5; i++) {
        struct cw_cost_measured *m = &measured[i];
        m->elements = 100;
        m->cpu_ns = 100 * 24;
        m->wall_ns = 100 * 32;
        m->sums = (struct cw_cost_sums){.timed = 50,
                                        .calls = 100,
                                        .in_bytes = i ? 800 : 0,
                                        .in_bytes_squared = i ? 6400 : 0,
                                        .out_bytes = 400,
                                        .cpu_ns_bytes = i ? 800 * 24 : 0,
                                        .wall_ns_bytes = i ? 800 * 32 : 0,
                                        .dropped = i == 3 ? 25 : 0};
    }
    cw_cost_profile_of_measured(checked, measured, &profile);
    profile.elements = 100;
    return profile;
}

static void test_measured(void **state)
{
    struct cw_checked *checked = checked_of(PIPELINE);
    struct cw_cost_profile profile = measured_profile(checked);
    char text[CW_HASH_TEXT_BYTES];
    (void)state;
    assert_int_equal(profile.n, 3); /* what does no work is not there */
    cw_hash_text(checked->fingerprint, text);
    assert_string_equal(profile.pipeline, text);
    const struct cw_cost_profile_node *cast = cw_cost_profile_find(&profile, "cast");
    assert_true(cast && cast->assumed && fabs(cast->ns) < 1e-9 && fabs(cast->ns_byte - 4) < 1e-9);
    assert_true(fabs(cast->cpu_ns_byte - 3) < 1e-9 && fabs(cast->out_bytes - 4) < 1e-9);
    const struct cw_cost_profile_node *filter = cw_cost_profile_find(&profile, "true");
    assert_true(filter && fabs(filter->keep - 0.75) < 1e-9);
    const struct cw_cost_profile_node *range = cw_cost_profile_find(&profile, "range");
    assert_true(range && fabs(range->ns - 32) < 1e-9 && fabs(range->ns_byte) < 1e-9);
    cw_cost_profile_fini(&profile);
    cw_checked_unref(checked);
}

/* An operator that says so is taken as in proportion to bytes; one like it that does not, is not. */
static void test_says_by_bytes(void **state)
{
    static const char *const OPTIONS[] = {"\"ns_per_byte\": 4", "\"ns\": 32"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct cw_cost_profile profile;
        struct cw_cost_measured measured[2] = {0};
        CW_STR_AUTO text = {0};
        cw_str_addf(&text,
                    "{\"pipeline\": [{\"op\": \"range\", \"stop\": 9}, {\"op\": \"emulate\", %s}]}",
                    OPTIONS[i]);
        struct cw_checked *checked = checked_of(cw_str_text(&text));
        measured[1] = (struct cw_cost_measured){
            .elements = 100,
            .wall_ns = 3200,
            .sums = {.timed = 50, .calls = 100, .in_bytes = 800, .in_bytes_squared = 6400}};
        cw_cost_profile_of_measured(checked, measured, &profile);
        const struct cw_cost_profile_node *node = cw_cost_profile_find(&profile, "emulate");
        assert_true(fabs(node->ns_byte - (i == 0 ? 4 : 0)) < 1e-9);
        assert_true(fabs(node->ns - (i == 0 ? 0 : 32)) < 1e-9);
        cw_cost_profile_fini(&profile);
        cw_checked_unref(checked);
    }
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-5 * fabs(b) + 1e-12;
}

static void assert_same(const struct cw_cost_profile *a, const struct cw_cost_profile *b)
{
    assert_string_equal(a->pipeline, b->pipeline);
    assert_true(near(a->elements, b->elements) && near(a->step_ms, b->step_ms));
    assert_true(near(a->source_bytes_s, b->source_bytes_s));
    assert_true(near(a->engine_ns, b->engine_ns) && near(a->engine_cpu_ns, b->engine_cpu_ns));
    assert_true(near(a->network_bytes_s, b->network_bytes_s));
    assert_int_equal(a->has_store, b->has_store);
    assert_true(near(a->store.read_ns, b->store.read_ns));
    assert_true(near(a->store.write_byte_ns, b->store.write_byte_ns));
    assert_true(near(a->store.write_bytes_s, b->store.write_bytes_s));
    assert_true(near(a->store.free_bytes, b->store.free_bytes));
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct cw_cost_profile_node *x = &a->nodes[i];
        const struct cw_cost_profile_node *y = cw_cost_profile_find(b, x->name);
        assert_non_null(y);
        assert_true(near(x->ns, y->ns) && near(x->ns_byte, y->ns_byte));
        assert_true(near(x->cpu_ns, y->cpu_ns) && near(x->cpu_ns_byte, y->cpu_ns_byte));
        assert_true(near(x->in_bytes, y->in_bytes) && near(x->out_bytes, y->out_bytes));
        assert_true(near(x->keep, y->keep) && near(x->samples, y->samples));
        assert_int_equal(x->assumed, y->assumed);
    }
}

static void assert_reads_back(const struct cw_cost_profile *profile, bool yaml)
{
    struct cw_value written = {0}, read = {0};
    struct cw_cost_profile again = {0};
    struct cw_err err = {0};
    CW_STR_AUTO text = {0};
    cw_cost_profile_print(profile, &written);
    (yaml ? cw_value_print_yaml : cw_value_print)(&written, &text);
    int rc = yaml ? cw_value_parse_yaml(cw_str_text(&text), text.len, "it", &read, &err)
                  : cw_value_parse(cw_str_text(&text), text.len, "it", &read, &err);
    if (rc < 0 || cw_cost_profile_from(&read, "it", &again, &err) < 0)
        fail_msg("%s: %s", err.msg, cw_str_text(&text));
    assert_same(profile, &again);
    cw_cost_profile_fini(&again);
    cw_value_fini(&read);
    cw_value_fini(&written);
}

/* Also a node that has the name of what YAML takes for a truth value. */
static void test_is_read_back(void **state)
{
    struct cw_checked *checked = checked_of(PIPELINE);
    struct cw_cost_profile profile = measured_profile(checked);
    (void)state;
    assert_reads_back(&profile, false);
    assert_reads_back(&profile, true);
    profile.has_store = true;
    profile.store = (struct cw_cost_profile_store){2000, 0.15, 5000, 1, 0, 1234567.89, -1};
    profile.source_bytes_s = 1e9;
    profile.network_bytes_s = 2.5e9;
    profile.step_ms = 12.5;
    profile.engine_ns = 40;
    profile.engine_cpu_ns = 30.5;
    profile.nodes[0].ns = 1234567890123;
    profile.nodes[0].ns_byte = 1e-9;
    profile.rates_n = 2;
    profile.rates[0].threads = 1;
    profile.rates[0].rate = 240.5;
    profile.rates[1].threads = 8;
    assert_reads_back(&profile, false);
    assert_reads_back(&profile, true);
    cw_cost_profile_fini(&profile);
    cw_checked_unref(checked);
}

/* Blocks of members; keys that are no plain words are quoted; lists and empty objects as JSON. */
static void test_yaml(void **state)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    CW_STR_AUTO text = {0};
    static const char JSON[] =
        "{\"a\": {\"b_2\": 1, \"no\": [1, {\"x\": 2}], \"2\": \"t: \\\"q\\\"\","
        "\"e\": {}}, \"a b\": {\"c\": {\"d\": null}}}";
    static const char YAML[] = "a:\n  b_2: 1\n  \"no\": [1,{\"x\":2}]\n  \"2\": \"t: \\\"q\\\"\"\n"
                               "  e: {}\n\"a b\":\n  c:\n    d: null\n";
    (void)state;
    assert_int_equal(cw_value_parse(JSON, strlen(JSON), "", &value, &err), 0);
    cw_value_print_yaml(&value, &text);
    assert_string_equal(cw_str_text(&text), YAML);
    cw_value_fini(&value);
}

/* What is measured of work on many elements, and of sets of filters, is written and read again. */
static void test_together(void **state)
{
    const char *const names[CW_FILTERS_MAX] = {"true", "other"};
    const double shown[CW_FILTER_SETS] = {0, 40, 40, 40}, passed[CW_FILTER_SETS] = {0, 20, 10, 10};
    struct cw_checked *checked = checked_of(PIPELINE);
    struct cw_cost_profile profile = measured_profile(checked), again;
    struct cw_value value = {0};
    struct cw_err err = {0};
    (void)state;
    profile.nodes[1].batch = (struct cw_cost_batch){.ns_byte = 0.5, .cpu_ns_byte = 0.25};
    cw_cost_profile_add_filters(&profile, names, shown, passed);
    cw_cost_profile_print(&profile, &value);
    assert_int_equal(cw_cost_profile_from(&value, "p", &again, &err), 0);
    assert_true(fabs(again.nodes[1].batch.ns_byte - 0.5) < 1e-12);
    assert_true(fabs(again.nodes[1].batch.cpu_ns_byte - 0.25) < 1e-12);
    assert_int_equal(again.filters_n, 3);
    assert_true(again.filters[2].n == 2 && fabs(again.filters[2].keep - 0.25) < 1e-12);
    assert_string_equal(again.filters[2].nodes[1], "other");
    assert_true(again.filters[2].samples > 39);
    cw_cost_profile_fini(&again);
    cw_cost_profile_fini(&profile);
    cw_value_fini(&value);
    cw_checked_unref(checked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_measured), cmocka_unit_test(test_together),
        cmocka_unit_test(test_says_by_bytes), cmocka_unit_test(test_is_read_back),
        cmocka_unit_test(test_yaml)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
