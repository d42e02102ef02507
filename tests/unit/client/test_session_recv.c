/* SPDX-License-Identifier: Apache-2.0 */
/* What a dispatcher says means the same in whatever words. */
#include "support/cm.h"

#include <stdatomic.h>
#include <string.h>
#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "client/session/session_int.h"
#include "rpc/rpc.h"
#include "wire/wire.h"

static char address[] = "host:7070";
static struct cachew_client client;
static struct cachew_job job;
static struct cw_session session;

static int setup(void **state)
{
    (void)state;
    client = (struct cachew_client){.timeout_ms = 3600000, .address = address};
    job = (struct cachew_job){.client = &client};
    session = (struct cw_session){.job = &job};
    cw_mutex_init(&job.mutex);
    cw_cond_init(&job.cond);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cw_cond_fini(&job.cond);
    cw_mutex_fini(&job.mutex);
    return 0;
}

static void hear(const Cachew__V1__ClientCommand *command)
{
    struct cw_buf *buf = cw_wire_pack(&command->base);
    struct cw_rpc_msg *msg = cw_rpc_msg_from(buf->data, buf->len, buf->len);
    cw_session_recv(&session, msg);
    cw_rpc_msg_unref(msg);
    cw_buf_unref(buf);
}

static void hear_waiting(const char *reason, bool stuck, uint64_t still_ms)
{
    Cachew__V1__Waiting waiting = CACHEW__V1__WAITING__INIT;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    cw_autofree char *text = cw_mem_strdup(reason);
    waiting.reason = text;
    waiting.stuck = stuck;
    waiting.still_ms = still_ms;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_WAITING;
    command.waiting = &waiting;
    hear(&command);
    assert_string_equal(session.told.text, reason);
}

/* Whether the time limit runs anew. */
static bool waits_on(const char *reason, bool stuck)
{
    job.start_by_ns = 1;
    hear_waiting(reason, stuck, 0);
    return job.start_by_ns > 1;
}

/* The limit counts from when something last moved: it is never put off by being told again that
 * nothing did. */
static void the_limit_counts_from_the_last_step(void **state)
{
    (void)state;
    job.start_by_ns = 1;
    hear_waiting("a worker prepares the job", false, 0);
    int64_t by_ns = job.start_by_ns;
    hear_waiting("a worker prepares the job", false, 1800000);
    hear_waiting("a worker prepares the job", false, UINT64_MAX - 1);
    assert_int_equal(job.start_by_ns, by_ns);
    job.start_by_ns = 1;
    hear_waiting("a worker prepares the job", false, 1800000);
    assert_in_range(job.start_by_ns, 1, cw_clock_ns() + INT64_C(1800000) * 1000000);
}

static void the_limit_hangs_on_no_words(void **state)
{
    (void)state;
    static const char *const reasons[] = {"no worker is connected", "kein Worker da",
                                          "a worker prepares the job",
                                          "no worker needed more than a minute yet", ""};
    for (size_t i = 0; i < CW_ARRAY_LEN(reasons); i++) {
        assert_false(waits_on(reasons[i], true));
        assert_true(waits_on(reasons[i], false));
    }
}

/* Items that are told to be lost. */
static uint64_t lost(const char *reason, Cachew__V1__Skipped__Why why, uint64_t lo, uint64_t hi)
{
    Cachew__V1__Interval interval = CACHEW__V1__INTERVAL__INIT, *intervals[] = {&interval};
    Cachew__V1__EpochSet set = CACHEW__V1__EPOCH_SET__INIT, *sets[] = {&set};
    Cachew__V1__Skipped skipped = CACHEW__V1__SKIPPED__INIT;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    cw_autofree char *text = cw_mem_strdup(reason);
    interval.lo = lo;
    interval.hi = hi;
    set.items = intervals;
    set.n_items = 1;
    skipped.items = sets;
    skipped.n_items = 1;
    skipped.reason = text;
    skipped.why = why;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_SKIPPED;
    command.skipped = &skipped;
    uint64_t before = atomic_load(&job.counts.lost_items);
    hear(&command);
    return atomic_load(&job.counts.lost_items) - before;
}

static void what_is_lost_hangs_on_no_words(void **state)
{
    (void)state;
    const struct cw_plan_join plan = {.take = -1};
    const struct cw_pos from = {0};
    const struct cw_set consumed = {0};
    job.items = 100;
    job.elements = 100;
    job.epochs = 1;
    job.consumers = 1;
    cw_ledger_init(&session.ledger, &job, &plan, &from, &consumed);
    session.begun = true;
    assert_int_equal(lost("shared", CACHEW__V1__SKIPPED__WHY__LEFT_OUT, 0, 3), 3);
    assert_int_equal(lost("of one who shared it", CACHEW__V1__SKIPPED__WHY__TAKEN, 10, 14), 0);
    assert_int_equal(lost("", CACHEW__V1__SKIPPED__WHY__LEFT_OUT, 20, 25), 5);
    cw_ledger_fini(&session.ledger);
}

/* ---- what a dispatcher says without measure ---- */

#define MANY_RUNS 200000
#define MANY_EPOCHS 1000000
#define EPOCHS_OF_A_MESSAGE 50000
/* So many epochs ahead of the present one can have items (reorder_buffer.c). */
#define EPOCHS_OPEN 1025

static void begin_endless(bool unordered, bool sparse)
{
    const struct cw_plan_join plan = {.take = -1};
    const struct cw_pos from = {0};
    const struct cw_set consumed = {0};
    job.items = 4 * MANY_RUNS;
    job.elements = 4 * MANY_RUNS;
    job.epochs = 0;
    job.consumers = 1;
    job.unordered = unordered;
    job.sparse = sparse;
    cw_ledger_init(&session.ledger, &job, &plan, &from, &consumed);
    session.begun = true;
}

static int error_code(void)
{
    return job.err.code;
}

/* Names `runs` items of each of the epochs [from, to), every fourth one. */
static void hear_skipped(uint64_t from, uint64_t to, uint64_t runs, bool batches)
{
    Cachew__V1__Skipped skipped = CACHEW__V1__SKIPPED__INIT;
    Cachew__V1__ClientCommand command = CACHEW__V1__CLIENT_COMMAND__INIT;
    const size_t sets_n = (size_t)(to - from), n = sets_n * (size_t)runs;
    cw_autofree Cachew__V1__EpochSet *sets = CW_NEW_ARRAY(Cachew__V1__EpochSet, sets_n);
    cw_autofree Cachew__V1__EpochSet **list = CW_NEW_ARRAY(Cachew__V1__EpochSet *, sets_n);
    cw_autofree Cachew__V1__Interval *intervals = CW_NEW_ARRAY(Cachew__V1__Interval, n);
    cw_autofree Cachew__V1__Interval **items = CW_NEW_ARRAY(Cachew__V1__Interval *, n);
    for (size_t i = 0; i < n; i++) {
        cachew__v1__interval__init(&intervals[i]);
        intervals[i].lo = 4 * (i % runs);
        intervals[i].hi = intervals[i].lo + 1;
        items[i] = &intervals[i];
    }
    for (size_t i = 0; i < sets_n; i++) {
        cachew__v1__epoch_set__init(&sets[i]);
        sets[i].epoch = from + i;
        sets[i].items = items + i * runs;
        sets[i].n_items = (size_t)runs;
        list[i] = &sets[i];
    }
    *(batches ? &skipped.batches : &skipped.items) = list;
    *(batches ? &skipped.n_batches : &skipped.n_items) = sets_n;
    command.kind_case = CACHEW__V1__CLIENT_COMMAND__KIND_SKIPPED;
    command.skipped = &skipped;
    hear(&command);
}

/* Also when it is told twice. */
static void all_of_very_many_runs_count(void **state)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        setup(state);
        begin_endless(unordered != 0, false);
        hear_skipped(0, 1, MANY_RUNS, false);
        hear_skipped(0, 1, MANY_RUNS, false);
        assert_int_equal(atomic_load(&job.counts.lost_items), MANY_RUNS);
        assert_int_equal(cw_set_count(cw_reorder_received(&session.ledger.reorder, 0)), MANY_RUNS);
        assert_int_equal(error_code(), 0);
        cw_ledger_fini(&session.ledger);
        teardown(state);
    }
}

/* Nothing is kept of epochs that are further ahead than any window. */
static void few_of_very_many_epochs_are_kept(void **state)
{
    for (int unordered = 0; unordered < 2; unordered++) {
        setup(state);
        begin_endless(unordered != 0, false);
        for (uint64_t at = 1; at <= MANY_EPOCHS; at += EPOCHS_OF_A_MESSAGE)
            hear_skipped(at, at + EPOCHS_OF_A_MESSAGE, 1, false);
        const struct cw_ledger *ledger = &session.ledger;
        assert_in_range(ledger->reorder.epochs.n, 1, EPOCHS_OPEN);
        assert_in_range(ledger->received.n, 0, EPOCHS_OPEN);
        assert_in_range(ledger->consumed.n, 0, EPOCHS_OPEN);
        assert_in_range(ledger->all_consumed.n, 0, EPOCHS_OPEN);
        assert_int_equal(error_code(), 0);
        cw_ledger_fini(&session.ledger);
        teardown(state);
    }
}

/* Of batches the dispatcher says at once what is left out in later epochs: of so many, and no more. */
static void batches_of_too_many_epochs_are_refused(void **state)
{
    (void)state;
    begin_endless(false, true);
    hear_skipped(0, CW_SKIPPED_EPOCHS_MAX, 1, true);
    assert_int_equal(error_code(), 0);
    hear_skipped(CW_SKIPPED_EPOCHS_MAX, CW_SKIPPED_EPOCHS_MAX + 1, 1, true);
    assert_int_equal(error_code(), CW_E_LIMIT);
    assert_int_equal(session.ledger.rebatch.skips.n, CW_SKIPPED_EPOCHS_MAX);
    cw_ledger_fini(&session.ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_very_many_runs_count),
        cmocka_unit_test(few_of_very_many_epochs_are_kept),
        cmocka_unit_test_setup_teardown(batches_of_too_many_epochs_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(the_limit_hangs_on_no_words, setup, teardown),
        cmocka_unit_test_setup_teardown(the_limit_counts_from_the_last_step, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_lost_hangs_on_no_words, setup, teardown),
    };
    return cmocka_run_group_tests_name("client_session_recv", tests, NULL, NULL);
}
