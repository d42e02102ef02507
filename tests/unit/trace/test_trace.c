/* SPDX-License-Identifier: Apache-2.0 */
/* Traces: which items are traced, and spans as text. tests/integration/test_traces.sh has the rest. */
#include "trace/trace.h"

#include <string.h>

#include "support/cm.h"
#include "trace/trace_int.h"

static void off(void **state)
{
    struct cw_set items = {0};
    uint64_t item;
    (void)state;
    cw_set_add(&items, 0, 100);
    assert_false(cw_trace_has(0));
    assert_false(cw_trace_next(&items, 0, &item));
    cw_trace_leased("job", 0, &items, "worker");
    cw_trace_received("job", 0, &items);
    cw_trace_consumed("job", 0, &items);
    cw_trace_add(&(struct cw_trace_span){.job = "job", .name = "compute"});
    cw_trace_stop();
    cw_set_fini(&items);
}

static void which(void **state)
{
    static const struct cw_interval parts[] = {{1, 7}, {8, 9}, {14, 16}, {20, 31}};
    static const uint64_t wanted[] = {14, 21, 28};
    struct cw_loop *loop = cw_loop_new();
    struct cw_trace_options options = {"ftp://nowhere", 7, "test", "here"};
    struct cw_set items = {0};
    struct cw_err err = {0};
    uint64_t item;
    size_t n = 0;
    (void)state;
    assert_int_equal(cw_trace_start(loop, &options, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "ftp://nowhere"));
    options.url = "ftp://me:secret@nowhere/x?key=other";
    assert_int_equal(cw_trace_start(loop, &options, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "\"ftp://nowhere/x\""));
    options.url = "http://127.0.0.1:1/v1/traces";
    assert_int_equal(cw_trace_start(loop, &options, &err), 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(parts); i++)
        cw_set_add(&items, parts[i].lo, parts[i].hi);
    for (item = 0; cw_trace_next(&items, item, &item); item++)
        assert_int_equal(item, wanted[n++]);
    assert_int_equal(n, CW_ARRAY_LEN(wanted));
    cw_set_clear(&items);
    cw_set_add(&items, UINT64_MAX - 3, UINT64_MAX);
    assert_int_equal(cw_trace_next(&items, 0, &item),
                     (UINT64_MAX - 3) % 7 > 4 || (UINT64_MAX - 3) % 7 == 0);
    assert_true(cw_trace_has(14));
    assert_false(cw_trace_has(15));
    cw_trace_stop();
    cw_set_fini(&items);
    cw_loop_free(loop);
}

/* A trainer may say that it has all items there could be: that takes no longer than what is open. */
static void what_nobody_has(void **state)
{
    struct cw_loop *loop = cw_loop_new();
    const struct cw_trace_options options = {"http://127.0.0.1:1/v1/traces", 7, "test", "here"};
    struct cw_set items = {0}, all = {0};
    size_t *next, left = 0;
    (void)state;
    assert_int_equal(cw_trace_start(loop, &options, NULL), 0);
    const struct cw_trace_open *open = cw_trace_opened(&next);
    cw_set_add(&items, 10, 30);
    cw_set_add(&all, 0, UINT64_MAX);
    cw_trace_leased("job", 0, &items, "worker"); /* 14, 21 and 28 */
    cw_trace_received("job", 0, &all);
    for (size_t i = 0; i < 3; i++)
        assert_true(open[i].item == 14 + 7 * i && open[i].received_ns > 0);
    cw_trace_consumed("job", 1, &all);
    cw_trace_consumed("another", 0, &all);
    assert_true(open[0].received_ns > 0);
    cw_set_remove(&all, 28, 29);
    cw_trace_consumed("job", 0, &all);
    for (size_t i = 0; i < CW_TRACE_OPEN_MAX; i++)
        left += open[i].leased_ns != 0;
    assert_int_equal(left, 1);
    assert_int_equal(open[2].item, 28);
    cw_trace_stop();
    cw_set_fini(&items);
    cw_set_fini(&all);
    cw_loop_free(loop);
}

static void texts(void **state)
{
    struct cw_str out = {0}, whole = {0};
    struct cw_trace_span span = {.job = "a \"job\"\n",
                                 .epoch = 1,
                                 .item = 2,
                                 .name = "compute",
                                 .begin_ns = 10,
                                 .end_ns = 30,
                                 .error = "bad \x01 \xff",
                                 .key = "cachew.worker",
                                 .text = "w",
                                 .number_key = {"n"},
                                 .number = {5}};
    (void)state;
    cw_trace_text_add(&out, &span, 6, 1000);
    assert_non_null(strstr(out.s, "\"spanId\":\"0000000000000007\""));
    assert_non_null(strstr(out.s, "\"startTimeUnixNano\":\"1010\",\"endTimeUnixNano\":\"1030\""));
    assert_non_null(strstr(out.s, "\"stringValue\":\"a \\\"job\\\"\\n\""));
    assert_non_null(strstr(out.s, "{\"key\":\"n\",\"value\":{\"intValue\":\"5\"}}]"));
    assert_non_null(strstr(out.s, "\"message\":\"bad \\u0001 \xef\xbf\xbd\""));
    const char *parent = strstr(out.s, "\"parentSpanId\":\"");
    assert_non_null(parent);
    span.is_root = true;
    span.error = NULL;
    cw_trace_text_add(&whole, &span, 6, 1000);
    assert_null(strstr(whole.s, "parentSpanId"));
    assert_null(strstr(whole.s, "status"));
    assert_memory_equal(strstr(whole.s, "\"spanId\":\"") + 10, parent + 16, 16);
    cw_str_fini(&out);
    cw_str_fini(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(off), cmocka_unit_test(which),
                                       cmocka_unit_test(what_nobody_has), cmocka_unit_test(texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
