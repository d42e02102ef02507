/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges that are read ahead, by a scheme of the test whose answers come when the test says so. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "io/ahead.h"
#include "support/cm.h"
#include "support/soon.h"

#define REQUESTS_MAX 64

/* Requests that were begun, in order. */
static struct cw_io_fetch *asked[REQUESTS_MAX];
static char urls[REQUESTS_MAX][64];
static size_t asked_n, cancelled_n;
static int done_n;

static void fetch(const char *url, struct cw_io_fetch *f)
{
    snprintf(urls[asked_n], sizeof(urls[0]), "%s", url);
    asked[asked_n++] = f;
}

static void cancel(struct cw_io_fetch *f)
{
    (void)f;
    cancelled_n++;
}

static const struct cw_io_scheme scheme = {.name = "http", .fetch = fetch, .cancel = cancel};
static const struct cw_io_scheme *const schemes[] = {&scheme, NULL};

static const struct cw_hash state = {1, 2};

/* Answers request i with bytes that tell where they lie. */
static void answer(size_t i, bool is_there)
{
    struct cw_io_fetch *f = asked[i];
    for (size_t k = 0; k < f->n && is_there; k++)
        f->dst[k] = (char)(f->offset + k);
    f->is_there = is_there;
    f->info = (struct cw_io_info){.size = 1 << 20, .state = state};
    f->done(f);
}

static int begin(void **unused)
{
    (void)unused;
    asked_n = cancelled_n = 0;
    done_n = 0;
    cw_io_set_schemes(schemes);
    cw_ahead_set_limit(2);
    return 0;
}

static void on_done(void *arg)
{
    (void)arg;
    done_n++;
}

static struct cw_ahead *ask(const char *url, uint64_t offset, uint64_t n)
{
    struct cw_ahead *ahead = cw_ahead_new(UINT64_MAX);
    cw_ahead_add(ahead, url, offset, n);
    (void)cw_ahead_begin(ahead, on_done, NULL);
    return ahead;
}

static void expect_nothing_left(void)
{
    struct cw_ahead_counts c;
    cw_ahead_counts(&c);
    assert_int_equal(c.bytes + c.ranges + c.waiting + c.under_way, 0);
}

static void expect_bytes(const char *url, uint64_t offset, size_t n)
{
    unsigned char bytes[512];
    assert_true(cw_ahead_has(url, state, offset, n));
    assert_int_equal(cw_ahead_read(url, state, offset, bytes, n, NULL), n);
    for (size_t k = 0; k < n; k++)
        assert_int_equal(bytes[k], (unsigned char)(offset + k));
}

static void requests_are_made_in_order_and_limited(void **unused)
{
    struct cw_ahead *a = ask("http://x/a", 0, 100), *b = ask("http://x/b", 0, 100),
                    *c = ask("http://x/c", 0, 100);
    struct cw_io_info info;
    (void)unused;
    assert_int_equal(asked_n, 2);
    assert_string_equal(urls[0], "http://x/a");
    assert_string_equal(urls[1], "http://x/b");
    answer(1, true);
    assert_int_equal(asked_n, 3);
    assert_string_equal(urls[2], "http://x/c");
    assert_false(cw_ahead_is_done(a));
    assert_true(cw_ahead_is_done(b));
    assert_int_equal(done_n, 1);
    answer(0, true);
    answer(2, true);
    assert_int_equal(done_n, 3);
    assert_true(cw_ahead_info("http://x/a", NULL, &info));
    assert_int_equal(info.size, 1 << 20);
    expect_bytes("http://x/a", 10, 50);
    cw_ahead_free(a);
    assert_false(cw_ahead_has("http://x/a", state, 10, 50));
    expect_bytes("http://x/c", 0, 100);
    cw_ahead_free(b);
    cw_ahead_free(c);
    expect_nothing_left();
}

static void neighbours_share_a_request(void **unused)
{
    struct cw_ahead *busy = ask("http://x/busy", 0, 1), *busy2 = ask("http://x/busy2", 0, 1);
    struct cw_ahead *list = cw_ahead_new(UINT64_MAX);
    (void)unused;
    cw_ahead_add(list, "http://x/a", 300, 100);
    cw_ahead_add(list, "http://x/a", 100, 100);
    cw_ahead_add(list, "http://x/a", 200, 100);
    cw_ahead_add(list, "http://x/a", 900000, 100); /* too far away */
    assert_int_equal(cw_ahead_begin(list, on_done, NULL), 400);
    struct cw_ahead *next = ask("http://x/a", 400, 50), /* not yet begun: it grows */
        *same = ask("http://x/a", 150, 20);             /* is part of it */
    answer(0, true);
    answer(1, true);
    assert_int_equal(asked_n, 4);
    assert_int_equal(asked[2]->offset, 100);
    assert_int_equal(asked[2]->n, 350);
    assert_int_equal(asked[3]->offset, 900000);
    answer(2, true);
    assert_true(cw_ahead_is_done(next));
    assert_true(cw_ahead_is_done(same));
    assert_false(cw_ahead_is_done(list));
    answer(3, true);
    assert_true(cw_ahead_is_done(list));
    cw_ahead_free(list);
    expect_bytes("http://x/a", 410, 40); /* others still want it */
    cw_ahead_free(next);
    cw_ahead_free(same);
    cw_ahead_free(busy);
    cw_ahead_free(busy2);
    expect_nothing_left();
}

static void what_failed_is_as_if_nobody_had_asked(void **unused)
{
    struct cw_ahead *a = ask("http://x/a", 0, 100);
    struct cw_io_info info;
    char byte;
    (void)unused;
    answer(0, false);
    assert_int_equal(done_n, 1);
    assert_true(cw_ahead_is_done(a));
    assert_false(cw_ahead_info("http://x/a", NULL, &info));
    assert_int_equal(cw_ahead_read("http://x/a", state, 0, &byte, 1, NULL), 0);
    struct cw_ahead *again = ask("http://x/a", 0, 100);
    assert_int_equal(asked_n, 2);
    answer(1, true);
    expect_bytes("http://x/a", 0, 100);
    cw_ahead_free(a);
    cw_ahead_free(again);
    expect_nothing_left();
}

static void another_version_is_not_used(void **unused)
{
    struct cw_ahead *a = ask("http://x/a", 0, 100);
    const struct cw_hash other = {3, 4};
    char byte;
    (void)unused;
    answer(0, true);
    assert_int_equal(cw_ahead_read("http://x/a", other, 0, &byte, 1, NULL), 0);
    assert_false(cw_ahead_has("http://x/a", other, 0, 1));
    cw_ahead_free(a);
    expect_nothing_left();
}

static void what_is_given_up_is_cancelled(void **unused)
{
    struct cw_ahead *a = ask("http://x/a", 0, 100), *b = ask("http://x/b", 0, 100),
                    *c = ask("http://x/c", 0, 100);
    (void)unused;
    cw_ahead_free(c); /* never begun */
    cw_ahead_free(a);
    assert_int_equal(cancelled_n, 1);
    assert_false(cw_ahead_has("http://x/a", state, 0, 1));
    struct cw_ahead *again =
        ask("http://x/a", 0, 100); /* it is not the one that is being cancelled */
    answer(0, false);
    assert_int_equal(asked_n, 3);
    answer(1, true);
    answer(2, true);
    expect_bytes("http://x/a", 0, 100);
    assert_int_equal(done_n, 2);
    cw_ahead_free(again);
    cw_ahead_free(b);
    expect_nothing_left();
}

static void a_list_that_is_given_up_before_it_begins_reads_nothing(void **unused)
{
    struct cw_ahead *list = cw_ahead_new(UINT64_MAX), *other = cw_ahead_ref(list);
    (void)unused;
    cw_ahead_add(other, "http://x/a", 0, 100);
    cw_ahead_free(list);
    (void)cw_ahead_begin(other, on_done, NULL);
    cw_ahead_unref(other);
    assert_int_equal(asked_n, 0);
    assert_int_equal(done_n, 0);
    expect_nothing_left();
}

static void paths_and_empty_ranges_are_left_out(void **unused)
{
    struct cw_ahead *list = cw_ahead_new(UINT64_MAX);
    (void)unused;
    cw_ahead_add(list, "/data/a", 0, 100);
    cw_ahead_add(list, "http://x/a", 5, 0);
    cw_ahead_add(list, "http://user:word@x/a", 0, 100);
    (void)cw_ahead_begin(list, on_done, NULL);
    assert_int_equal(done_n, 1);
    assert_true(cw_ahead_is_done(list));
    cw_ahead_free(list);
    cw_ahead_set_limit(0);
    assert_false(cw_ahead_is_for("http://x/a"));
    expect_nothing_left();
}

static void a_list_has_a_bound(void **unused)
{
    struct cw_ahead *list = cw_ahead_new(250);
    (void)unused;
    for (uint64_t i = 0; i < 4; i++)
        cw_ahead_add(list, "http://x/a", i * 1000000, 100);
    cw_ahead_add(list, "http://x/b", 0, 50); /* there is still room for it */
    assert_int_equal(cw_ahead_begin(list, on_done, NULL), 250);
    for (size_t i = 0; i < 3; i++)
        answer(i, true);
    assert_int_equal(asked_n, 3);
    assert_int_equal(done_n, 1);
    cw_ahead_free(list);
    expect_nothing_left();
}

/* ---- readers that come early ---- */

struct reader {
    struct cw_stop stop;
    size_t n;
    atomic_bool is_done;
};

static void read_early(void *arg)
{
    struct reader *r = arg;
    char bytes[100];
    cw_io_thread_computes();
    r->n = cw_ahead_read("http://x/a", state, 0, bytes, sizeof(bytes), &r->stop);
    assert_int_equal(cw_io_thread_waited(), 1);
    atomic_store(&r->is_done, true);
}

static void a_reader_waits_for_what_is_under_way(void **unused)
{
    struct cw_ahead *a = ask("http://x/a", 0, 100);
    struct reader r = {0};
    struct cw_thread thread;
    uint64_t before = cw_io_waited();
    (void)unused;
    cw_thread_start(&thread, "reader", read_early, &r);
    soon(cw_io_waited() == before + 1);
    assert_false(atomic_load(&r.is_done));
    answer(0, true);
    cw_thread_join(&thread);
    assert_int_equal(r.n, 100);
    cw_ahead_free(a);
    expect_nothing_left();
}

static void a_reader_can_be_stopped(void **unused)
{
    struct cw_ahead *a = ask("http://x/a", 0, 100);
    struct reader r = {0};
    struct cw_thread thread;
    uint64_t before = cw_io_waited();
    (void)unused;
    cw_thread_start(&thread, "reader", read_early, &r);
    soon(cw_io_waited() == before + 1);
    cw_stop_set(&r.stop);
    cw_thread_join(&thread);
    assert_int_equal(r.n, 0);
    answer(0, true);
    cw_ahead_free(a);
    expect_nothing_left();
}

static void a_request_that_has_not_begun_is_left_to_the_reader(void **unused)
{
    struct cw_ahead *a = ask("http://x/a", 0, 100), *b = ask("http://x/b", 0, 100),
                    *c = ask("http://x/c", 0, 100);
    char byte;
    (void)unused;
    assert_int_equal(cw_ahead_read("http://x/c", state, 0, &byte, 1, NULL), 0);
    assert_true(cw_ahead_is_done(c));
    answer(0, true);
    answer(1, true);
    assert_int_equal(asked_n, 2);
    cw_ahead_free(a);
    cw_ahead_free(b);
    cw_ahead_free(c);
    expect_nothing_left();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(requests_are_made_in_order_and_limited, begin),
        cmocka_unit_test_setup(neighbours_share_a_request, begin),
        cmocka_unit_test_setup(what_failed_is_as_if_nobody_had_asked, begin),
        cmocka_unit_test_setup(another_version_is_not_used, begin),
        cmocka_unit_test_setup(what_is_given_up_is_cancelled, begin),
        cmocka_unit_test_setup(a_list_that_is_given_up_before_it_begins_reads_nothing, begin),
        cmocka_unit_test_setup(paths_and_empty_ranges_are_left_out, begin),
        cmocka_unit_test_setup(a_list_has_a_bound, begin),
        cmocka_unit_test_setup(a_reader_waits_for_what_is_under_way, begin),
        cmocka_unit_test_setup(a_reader_can_be_stopped, begin),
        cmocka_unit_test_setup(a_request_that_has_not_begun_is_left_to_the_reader, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
