/* SPDX-License-Identifier: Apache-2.0 */
/* Items that a worker hands back: they are not held any more, and no dispatcher goes on believing
 * that they are, whenever the client's stream and the dispatcher's stream break. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "unit/worker/bare_worker.h"
#include "unit/worker/fleet.h"
#include "worker/compute/outputs.h"
#include "worker/serve/client_streams.h"

#define PIPELINE "{\"pipeline\":[{\"op\":\"range\",\"stop\":1000},{\"op\":\"batch\",\"size\":10}]}"

/* What was handed back of the last job that handed something back. */
static struct cw_set handed_back;
void __real_cw_report_hand_back(struct cw_worker_state *w, const char *job_id, uint64_t epoch,
                                const struct cw_set *items);
void __wrap_cw_report_hand_back(struct cw_worker_state *w, const char *job_id, uint64_t epoch,
                                const struct cw_set *items);
void __wrap_cw_report_hand_back(struct cw_worker_state *w, const char *job_id, uint64_t epoch,
                                const struct cw_set *items)
{
    cw_set_copy(&handed_back, items);
    __real_cw_report_hand_back(w, job_id, epoch, items);
}

/* A client to whom the first output of its consumer's queue was sent. */
static void send_first(struct cw_wjob *job, uint32_t consumer)
{
    struct cw_wclient *c = CW_NEW(struct cw_wclient);
    struct cw_output *first = cw_outq_pop(&job->queues[consumer]);
    c->magic = CW_WCLIENT_MAGIC;
    c->worker = job->worker;
    c->job_id = cw_mem_strdup(job->id);
    c->job = job;
    c->consumer = consumer;
    c->shm_fd = -1;
    job->clients[consumer] = c;
    CW_GROW(c->sent, c->sent_n, c->sent_cap);
    c->sent[c->sent_n++] = (struct cw_epoch_set){.epoch = first->epoch};
    cw_set_add(&c->sent[0].items, first->item, first->item + 1);
    cw_output_release(job, first);
    c->next = job->worker->clients;
    if (c->next)
        c->next->prev = c;
    job->worker->clients = c;
    job->worker->clients_n++;
}

/* What was sent to one of several consumers may be lost with its stream. The copies for the others
 * do not keep the item held. */
static void test_copies_for_others(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 3);
    job->to_all = true;
    (void)bare_output(job, 1, 4, 100, true);
    (void)bare_output(job, 1, 5, 100, true);
    (void)bare_output(job, 2, 4, 100, true); /* the same number in another epoch */
    send_first(job, 0);
    const struct cw_set *held = &cw_wjob_epoch(job, 1)->held;
    assert_true(cw_set_has(held, 4));
    cw_wclients_close_all(w);
    assert_null(w->clients);
    assert_null(job->clients[0]);
    assert_false(cw_set_has(held, 4));
    assert_true(cw_set_has(held, 5));
    assert_true(cw_set_has(&cw_wjob_epoch(job, 2)->held, 4));
    assert_int_equal(job->queued_n, 2);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(job->queues[i].n, 2);
    /* It can be leased again, for all. */
    bare_lease(job, 1, 1, 4, 6);
    assert_int_equal(job->leases_n, 1);
    assert_int_equal(cw_set_count(&job->leases[0].pending), 1);
    bare_free(w);
}

/* Where each item has one consumer, what is queued was not sent since it was computed: it stays, and
 * the dispatcher is not told that it is gone. */
static void test_one_consumer_each(void **state)
{
    (void)state;
    struct cw_worker_state *w = bare_new();
    struct cw_wjob *job = bare_job(w, "j", 1);
    (void)bare_output(job, 0, 4, 100, false);
    send_first(job, 0);
    assert_false(cw_set_has(&cw_wjob_epoch(job, 0)->held, 4));
    (void)bare_output(job, 0, 4, 100, false); /* leased and computed again meanwhile */
    cw_set_add(&handed_back, 4, 5);
    cw_wclients_close_all(w);
    assert_int_equal(cw_set_count(&handed_back), 0);
    cw_set_fini(&handed_back);
    assert_int_equal(job->queued_n, 1);
    assert_true(cw_set_has(&cw_wjob_epoch(job, 0)->held, 4));
    bare_free(w);
}

/* The stream of a consumer ends when the worker has said hello, and is not welcomed yet: the
 * dispatcher learns that the hello is not true any more. If that is lost as well, the next hello
 * is true. */
static void test_hand_back_before_welcome(void **state)
{
    (void)state;
    struct fleet f;
    struct client c[2];
    fleet_up(&f, NULL);
    fleet_job(&f, "a", PIPELINE, 2, true);
    client_open(&c[0], &f);
    client_hello(&c[0], "a", 0, 1u << 30, false);
    fleet_lease(&f, "a", 0, 0, 4);
    fleet_wait(&f, c[0].outputs == 4);
    f.welcome = false;
    cw_stream_finish(f.stream, CW_E_UNAVAILABLE, "restarted");
    fleet_wait(&f, f.hellos == 2);
    assert_int_equal(cw_set_count(&f.held), 4); /* for consumer 1 */
    client_close(&c[0]);
    fleet_wait(&f, f.worker->clients_n == 0);
    fleet_wait(&f, cw_set_count(&f.handed_back) == 4);
    f.welcome = true;
    cw_stream_finish(f.stream, CW_E_UNAVAILABLE, "restarted");
    fleet_wait(&f, f.hellos == 3);
    assert_int_equal(cw_set_count(&f.held), 0);
    assert_int_equal(f.held_jobs, 1); /* the job may have been removed meanwhile */
    /* Both get all of them. */
    fleet_lease(&f, "a", 0, 0, 4);
    for (uint32_t i = 0; i < 2; i++) {
        client_open(&c[i], &f);
        client_hello(&c[i], "a", i, 1u << 30, false);
    }
    fleet_wait(&f, c[0].outputs == 4 && c[1].outputs == 4);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(c[i].duplicates, 0);
        client_close(&c[i]);
    }
    fleet_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies_for_others),
                                       cmocka_unit_test(test_one_consumer_each),
                                       cmocka_unit_test(test_hand_back_before_welcome)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
