/* SPDX-License-Identifier: Apache-2.0 */
/* Where a job begins, as the first welcome says. */
#include "support/cm.h"

#include <malloc.h>
#include <stdatomic.h>
#include <string.h>
#include "base/mem.h"
#include "client/session/session_int.h"
#include "wire/wire.h"

#define ID_BYTES (1u << 20)
#define WELCOMES 64

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* A dispatcher that is asked again and again, and answers what the client refuses. (Sanitizers
 * have another malloc, and look for leaks themselves.) */
static void refused_welcomes_leave_nothing(void **state)
{
    (void)state;
    struct cachew_job job = {.client = NULL};
    struct cw_session session = {.job = &job};
    struct cw_plan_info info = {
        .items = 10, .elements = 10, .join.take = -1, .fingerprint = {1, 2}};
    struct cw_err err = {0};
    char token = 0;
    cw_autofree char *id = cw_mem_new(ID_BYTES);
    memset(id, 'j', ID_BYTES - 1);
    session.conf.token_bytes = &token; /* of another fingerprint: zero */
    Cachew__V1__ClientWelcome welcome = CACHEW__V1__CLIENT_WELCOME__INIT;
    welcome.job_id = id;
    welcome.info = cw_wire_info_to(&info);
    size_t before = in_use();
    for (int i = 0; i < WELCOMES; i++)
        assert_int_equal(cw_session_begin(&session, &welcome, &err), CW_E_STATE);
    assert_true(in_use() < before + WELCOMES / 2 * ID_BYTES);
    assert_string_equal(job.id, id);
    assert_false(session.begun);
    cw_wire_info_free(welcome.info);
    cw_mem_free(job.id);
}

/* A dispatcher that is wrong about where a job stands would end it without a batch and a word. */
static void a_beginning_behind_the_end_is_refused(void **state)
{
    static const struct {
        uint64_t epoch, item;
        int code;
    } cases[] = {{3, 0, CW_E_CORRUPT},
                 {UINT64_MAX, 0, CW_E_CORRUPT},
                 {1, 11, CW_E_CORRUPT},
                 {1, UINT64_MAX, CW_E_CORRUPT},
                 {0, 0, 0},
                 {1, 10, 0},
                 {2, 0, 0} /* this job is over */};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++)
        for (int packed = 0; packed < 2; packed++) {
            struct cachew_job job = {.consumers = 1};
            struct cw_session session = {.job = &job};
            struct cw_plan_info info = {.items = 10, .elements = 10, .join.take = -1};
            struct cw_err err = {0};
            char id[] = "j";
            Cachew__V1__Position at = CACHEW__V1__POSITION__INIT;
            Cachew__V1__ClientWelcome welcome = CACHEW__V1__CLIENT_WELCOME__INIT;
            welcome.job_id = id;
            welcome.epochs = 2;
            welcome.info = cw_wire_info_to(&info);
            at.epoch = welcome.first_epoch = cases[i].epoch;
            at.item = welcome.first_item = cases[i].item;
            welcome.position = packed ? &at : NULL;
            assert_int_equal(cw_session_begin(&session, &welcome, &err), cases[i].code);
            assert_int_equal(session.begun, cases[i].code == 0);
            if (session.begun) {
                assert_int_equal(job.over, cases[i].epoch == 2);
                cw_ledger_fini(&session.ledger);
            }
            cw_wire_info_free(welcome.info);
            cw_mem_free(job.id);
        }
}

#define RUNS 400000

/* A job without order of which every second item was consumed: it begins with the others. */
static void very_many_runs_were_consumed(void **state)
{
    (void)state;
    for (int unordered = 0; unordered < 2; unordered++) {
        struct cachew_job job = {.consumers = 1, .unordered = unordered != 0};
        struct cw_session session = {.job = &job};
        struct cw_plan_info info = {
            .items = (uint64_t)2 * RUNS, .elements = 2 * RUNS, .join.take = -1};
        struct cw_err err = {0};
        char id[] = "j";
        Cachew__V1__ClientWelcome welcome = CACHEW__V1__CLIENT_WELCOME__INIT;
        Cachew__V1__EpochSet set = CACHEW__V1__EPOCH_SET__INIT, *sets[] = {&set};
        struct cw_set consumed = {0};
        for (uint64_t i = 0; i < RUNS; i++)
            cw_set_push(&consumed, 2 * i, 2 * i + 1);
        set.items = cw_wire_set_to(&consumed, &set.n_items);
        welcome.job_id = id;
        welcome.info = cw_wire_info_to(&info);
        welcome.consumed = sets;
        welcome.n_consumed = 1;
        assert_int_equal(cw_session_begin(&session, &welcome, &err), 0);
        assert_true(cw_set_eq(&job.used, &consumed));
        assert_int_equal(atomic_load(&job.counts.done_items), RUNS);
        assert_int_equal(cw_reorder_first_missing(&session.ledger.reorder), 1);
        cw_ledger_fini(&session.ledger);
        cw_wire_info_free(welcome.info);
        cw_mem_free(set.items);
        cw_set_fini(&consumed);
        cw_set_fini(&job.used);
        cw_mem_free(job.id);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_welcomes_leave_nothing),
        cmocka_unit_test(a_beginning_behind_the_end_is_refused),
        cmocka_unit_test(very_many_runs_were_consumed),
    };
    return cmocka_run_group_tests_name("client_session_begin", tests, NULL, NULL);
}
