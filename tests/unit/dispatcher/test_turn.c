/* SPDX-License-Identifier: Apache-2.0 */
/* What may happen only when it is stored, with a real state directory; and whose time it was that passed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "unit/dispatcher/made_up.h"

#define CONSUMERS 5

static char *dir;

static int setup(void **state)
{
    const char *tmp = getenv("TMPDIR");
    dir = cw_mem_printf("%s/cachew-turn-XXXXXX", tmp ? tmp : "/tmp");
    (void)made_up_begin(state);
    struct cw_err err = {0};
    return mkdtemp(dir) && cw_state_open(dir, 0, &made_up.state, &err) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm", "lock"};
    (void)made_up_end(state);
    cw_state_close(made_up.state);
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        cw_autofree char *path = cw_mem_printf("%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
    cw_mem_free(dir);
    return 0;
}

static void store_all(void)
{
    struct cw_err err = {0};
    if (cw_state_commit(made_up.state, &err) != 0)
        fail_msg("%s", err.msg);
}

static struct cw_job *shared_job(void)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->mode = CACHEW__V1__CONSUMER_MODE__SHARED;
    options->consumers = CONSUMERS;
    options->window = 1000;
    info->items = 1000;
    info->item_bytes = -1;
    struct cw_job *job = made_up_job("j", options, info);
    static struct cw_client clients[CONSUMERS];
    for (uint32_t c = 0; c < CONSUMERS; c++)
        job->consumers[c].client = &clients[c];
    cw_job_store(job);
    store_all();
    return job;
}

static void no_client(struct cw_job *job)
{
    for (uint32_t c = 0; c < CONSUMERS; c++)
        job->consumers[c].client = NULL;
}

static size_t leases_n(const struct cw_job *job, bool sent)
{
    size_t n = 0;
    for (const struct cw_share *share = job->shares; share; share = share->next_of_job)
        for (const struct cw_lease *lease = share->leases; lease; lease = lease->next)
            n += (lease->after_seq == 0) == sent;
    return n;
}

/* A filling gives many pieces. All of them are stored together, a row for each consumer, and sent when they are. */
static void shared_leases_wait_until_they_are_stored(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= 4; id++)
        made_up_worker(id, 4);
    struct cw_job *job = shared_job();
    cw_lease_fill_all(&made_up);
    assert_true(leases_n(job, false) > 4);
    assert_int_equal(leases_n(job, true), 0);
    assert_int_equal(cw_state_waiting_n(made_up.state), CONSUMERS + 1);
    cw_lease_send_stored(&made_up);
    assert_int_equal(leases_n(job, true), 0);
    store_all();
    cw_lease_send_stored(&made_up);
    assert_true(leases_n(job, true) > 4);
    assert_int_equal(leases_n(job, false), 0);
    no_client(job);
}

/* A worker that dies before its lease was sent has not died of it. */
static void what_was_not_sent_kills_nobody(void **state)
{
    (void)state;
    made_up_worker(1, 4);
    struct cw_job *job = shared_job();
    cw_lease_fill_all(&made_up);
    cw_trouble_died(job->shares);
    assert_int_equal(job->troubles_n, 0);
    store_all();
    cw_lease_send_stored(&made_up);
    cw_trouble_died(job->shares);
    assert_true(job->troubles_n > 0);
    no_client(job);
}

static int count_job(void *arg, const struct cw_state_job *row, struct cw_err *err)
{
    (void)row, (void)err;
    ++*(int *)arg;
    return 0;
}
static int no_progress(void *arg, const char *id, uint64_t epoch, int consumer, const struct cw_set *items, struct cw_err *err)
{
    (void)arg, (void)id, (void)epoch, (void)consumer, (void)items, (void)err;
    return 0;
}

static int stored_jobs(void)
{
    const struct cw_state_reader reader = {.job = count_job, .progress = no_progress};
    int n = 0;
    struct cw_err err = {0};
    if (cw_state_load(made_up.state, &reader, &n, &err) != 0)
        fail_msg("%s", err.msg);
    return n;
}

/* Written, and removed before that was stored: its row must not stay. */
static void a_job_of_one_turn_leaves_no_row(void **state)
{
    (void)state;
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    info->items = 10;
    struct cw_job *job = made_up_job("j", cachew__v1__job_options__unpack(NULL, 0, NULL), info);
    job->stored = false;
    cw_job_store(job);
    cw_job_remove(job, "its client is gone");
    store_all();
    assert_int_equal(stored_jobs(), 0);
}

static void on_stored(void *arg, const struct cw_err *err)
{
    *(int *)arg = err ? -1 : 1;
}

/* Nobody who waits is forgotten, and nobody is told before it is true. */
static void who_waits_is_told_when_it_is_stored(void **state)
{
    (void)state;
    int first = 0, second = 0, third = 0;
    cw_turn_when_stored(&made_up, on_stored, &first);
    assert_int_equal(first, 1); /* there was nothing to wait for */
    cw_state_put_worker(made_up.state, 1, "x");
    cw_turn_when_stored(&made_up, on_stored, &second);
    cw_state_put_worker(made_up.state, 2, "y");
    cw_turn_when_stored(&made_up, on_stored, &third);
    assert_true(second == 0 && third == 0);
    cw_turn_last(&made_up);
    assert_true(second == 1 && third == 1);
}

static void the_dispatchers_own_time_is_nobodys_silence(void **state)
{
    (void)state;
    static const struct {
        int64_t passed, period, lost;
    } rows[] = {{250, 250, 0}, {0, 250, 0}, {260, 250, 0}, {500, 250, 0}, {501, 250, 251}, {5250, 250, 5000}, {5050, 50, 5000}, {100, 50, 0}};
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++)
        assert_int_equal(cw_turn_lost_ms(rows[i].passed, rows[i].period), rows[i].lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shared_leases_wait_until_they_are_stored, setup, teardown),
        cmocka_unit_test_setup_teardown(what_was_not_sent_kills_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_of_one_turn_leaves_no_row, setup, teardown),
        cmocka_unit_test_setup_teardown(who_waits_is_told_when_it_is_stored, setup, teardown),
        cmocka_unit_test_setup_teardown(the_dispatchers_own_time_is_nobodys_silence, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
