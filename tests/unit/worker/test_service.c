/* SPDX-License-Identifier: Apache-2.0 */
/* A worker between a dispatcher and clients that only speak the protocol: what it does for each
 * message. */
#include <stdio.h>
#include <string.h>

#include "unit/worker/fleet.h"
#include "worker/model/job.h"
#include "worker/model/state.h"

#define RANGE(n) "{\"pipeline\":[{\"op\":\"range\",\"stop\":" n "},{\"op\":\"batch\",\"size\":10}]}"
#define SLOW(ms)                                                                                   \
    "{\"pipeline\":[{\"op\":\"range\",\"stop\":1000},{\"op\":\"sleep\",\"ms\":" ms                 \
    "},{\"op\":\"batch\",\"size\":10}]}"
/* batches of 10 x 64 KiB */
#define OTHER                                                                                      \
    "{\"pipeline\":[{\"op\":\"range\",\"stop\":2000},{\"op\":\"inflate\",\"factor\":8192},{"       \
    "\"op\":\"batch\",\"size\":10}]}"
#define LARGE                                                                                      \
    "{\"pipeline\":[{\"op\":\"range\",\"stop\":400},{\"op\":\"inflate\",\"factor\":8192},{\"op\":" \
    "\"batch\",\"size\":10}]}"
#define ITEM_BYTES 128 /* of RANGE: ten i64, padded to 64 */

static uint64_t count(const struct cw_set *set)
{
    return cw_set_count(set);
}

static void test_prepare(void **state)
{
    (void)state;
    struct fleet f;
    fleet_up(&f, NULL);
    fleet_prepare(&f, "a", RANGE("1005"));
    assert_int_equal(f.prepared_code, 0);
    assert_int_equal(f.items, 101);
    fleet_prepare(&f, "b",
                  "{\"pipeline\":[{\"op\":\"files\",\"pattern\":\"/nonexistent/dir/"
                  "*.jpg\"},{\"op\":\"read_file\"},{\"op\":\"batch\",\"size\":2}]}");
    assert_int_not_equal(f.prepared_code, 0);
    assert_non_null(strstr(f.prepared_error, "/nonexistent/dir"));
    fleet_prepare(&f, "c",
                  "{\"pipeline\":[{\"op\":\"range\",\"stop\":10},{\"op\":\"bacth\",\"size\":2}]}");
    assert_int_not_equal(f.prepared_code, 0);
    assert_non_null(strstr(f.prepared_error, "bacth"));
    fleet_down(&f);
}

static void test_every_item_once_and_right(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    fleet_up(&f, NULL);
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1, false); /* before the job is here */
    fleet_job(&f, "a", RANGE("1000"), 1, false);
    fleet_lease(&f, "a", 0, 0, 60);
    /* ten of them again, which cannot have been sent yet for lack of credit */
    fleet_lease(&f, "a", 0, 50, 100);
    fleet_wait(&f, count(&f.done) == 100);
    client_credit(&c, 1u << 30);
    fleet_wait(&f, c.outputs == 100);
    assert_int_equal(c.duplicates, 0);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(c.first_value[i], 10 * i);
    assert_int_equal(c.bytes, 100 * ITEM_BYTES);
    assert_int_equal(count(&f.failed), 0);
    client_close(&c);
    /* What was sent and is not known to be received goes back. */
    fleet_revoke(&f, "a", 0, 0, 90);
    fleet_wait(&f, count(&f.handed_back) >= 10);
    assert_true(cw_set_has_range(&f.handed_back, 90, 100));
    fleet_down(&f);
}

static void test_credit(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    fleet_up(&f, NULL);
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1, false);
    fleet_job(&f, "a", RANGE("1000"), 1, false);
    fleet_lease(&f, "a", 0, 10, 11);
    fleet_wait(&f, c.outputs == 1);
    fleet_lease(&f, "a", 0, 11, 20);
    fleet_wait(&f, count(&f.done) == 10);
    assert_int_equal(c.outputs, 1);
    assert_true(c.seen[10] == 1);
    client_credit(&c, 2 * ITEM_BYTES); /* balance: 1 - 128 + 256 */
    fleet_wait(&f, c.outputs >= 3);
    assert_int_equal(c.outputs, 3);
    /* What comes before needs no credit. */
    fleet_lease(&f, "a", 0, 4, 5);
    fleet_wait(&f, c.seen[4] == 1);
    assert_int_equal(c.outputs, 4);
    client_credit(&c, 1u << 20);
    fleet_wait(&f, c.outputs == 11);
    assert_int_equal(c.duplicates, 0);
    client_close(&c);
    fleet_down(&f);
}

static void test_revoke_and_forget(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    fleet_up(&f, NULL);
    fleet_job(&f, "a", RANGE("1000"), 1, false);
    fleet_lease(&f, "a", 0, 0, 20);
    fleet_wait(&f, count(&f.done) == 20);
    fleet_revoke(&f, "a", 0, 0, 5);
    fleet_revoke(&f, "a", 0, 15, 30);
    fleet_lease(&f, "a", 0, 40, 41);
    fleet_wait(&f, count(&f.done) == 21); /* so the revocations were read */
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1u << 30, false);
    fleet_wait(&f, c.outputs == 11);
    assert_int_equal(c.disorder, 0);
    assert_true(c.seen[5] && c.seen[14] && c.seen[40] && !c.seen[4] && !c.seen[15]);
    fleet_forget(&f, "a");
    fleet_lease(&f, "a", 0, 50, 60); /* no such job any more */
    fleet_wait(&f, count(&f.handed_back) == 10);
    assert_true(cw_set_has_range(&f.handed_back, 50, 60));
    client_close(&c);
    fleet_down(&f);
}

/* Rows of the job that were read from its source, as told last. */
static uint64_t rows_begun(const struct fleet *f, const char *job)
{
    for (size_t i = 0; i < f->counts_n; i++)
        if (strcmp(f->counts[i].job, job) == 0 && strncmp(f->counts[i].node, "range", 5) == 0)
            return f->counts[i].elements;
    return 0;
}

/* Threads are at items that take hours, and that are no more wanted: they are free for another
 * job. */
static void what_is_not_wanted_ends(void **state)
{
    static const char endless[] = "{\"pipeline\":[{\"op\":\"range\",\"stop\":1000},{\"op\":"
                                  "\"sleep\",\"ms\":60000},{\"op\":\"batch\",\"size\":1000}]}";
    struct fleet f;
    (void)state;
    fleet_up(&f, &(struct cw_worker_options){.threads = 2});
    fleet_job(&f, "forgotten", endless, 1, false);
    fleet_lease(&f, "forgotten", 0, 0, 1);
    fleet_wait(&f, rows_begun(&f, "forgotten") == 2);
    fleet_forget(&f, "forgotten");
    fleet_job(&f, "revoked", endless, 1, false);
    fleet_lease(&f, "revoked", 0, 0, 1);
    fleet_wait(&f, rows_begun(&f, "revoked") == 2);
    fleet_revoke(&f, "revoked", 0, 0, 1);
    fleet_job(&f, "small", RANGE("100"), 1, false);
    fleet_lease(&f, "small", 0, 0, 10);
    fleet_wait(&f, count(&f.done) == 10);
    assert_int_equal(count(&f.failed), 0);
    fleet_down(&f);
}

static void test_consumers(void **state)
{
    (void)state;
    struct fleet f;
    struct client c[2];
    fleet_up(&f, NULL);
    fleet_job(&f, "mod", RANGE("1000"), 2, false);
    fleet_job(&f, "all", RANGE("1000"), 2, true);
    for (uint32_t i = 0; i < 2; i++) {
        client_open(&c[i], &f);
        client_hello(&c[i], "mod", i, 1u << 30, false);
    }
    fleet_lease(&f, "mod", 0, 0, 10);
    fleet_wait(&f, c[0].outputs == 5 && c[1].outputs == 5);
    for (size_t i = 0; i < 10; i++)
        assert_true(c[i % 2].seen[i] && !c[(i + 1) % 2].seen[i]);
    for (uint32_t i = 0; i < 2; i++) {
        client_close(&c[i]);
        client_open(&c[i], &f);
        client_hello(&c[i], "all", i, 1u << 30, false);
    }
    fleet_lease(&f, "all", 0, 0, 10);
    fleet_wait(&f, c[0].outputs == 10 && c[1].outputs == 10);
    /* No such consumer. */
    struct client bad;
    client_open(&bad, &f);
    client_hello(&bad, "all", 7, 1u << 30, false);
    fleet_wait(&f, bad.closed);
    assert_int_equal(bad.close_code, CW_E_INVALID);
    client_close(&bad);
    for (int i = 0; i < 2; i++)
        client_close(&c[i]);
    fleet_down(&f);
}

static void test_dispatcher_comes_back(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    fleet_up(&f, NULL);
    fleet_job(&f, "a", RANGE("1000"), 1, false);
    fleet_lease(&f, "a", 0, 0, 20);
    fleet_wait(&f, count(&f.done) == 20);
    f.generation = 6;
    cw_stream_finish(f.stream, CW_E_UNAVAILABLE, "restarted");
    fleet_wait(&f, f.hellos == 2);
    assert_int_equal(count(&f.held), 20);
    /* One that was seen to be older is not obeyed. */
    f.generation = 4;
    cw_stream_finish(f.stream, CW_E_UNAVAILABLE, "restarted");
    fleet_wait(&f, f.hellos >= 4);
    size_t before = f.hellos;
    f.generation = 7;
    fleet_wait(&f, f.hellos > before);
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1u << 30, false);
    fleet_wait(&f, c.outputs == 20);
    client_close(&c);
    fleet_down(&f);
}

static void test_shared_memory(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    fleet_up(&f, &(struct cw_worker_options){.shm_limit = 8u << 20});
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1u << 30, true);
    fleet_wait(&f, c.welcomed);
    fleet_job(&f, "a", LARGE, 1, false);
    /* Ten batches are held: the worker has room for twelve in shared memory, and goes on
     * without. */
    fleet_lease(&f, "a", 0, 0, 20);
    fleet_wait(&f, c.outputs == 20);
    assert_true(c.slots_used > 0);
    assert_true(c.slots_used <= 12);
    size_t used = c.slots_used;
    for (uint64_t i = 0; i < 20; i++)
        assert_int_equal(c.first_value[i], 10 * i);
    client_release(&c);
    c.auto_release = true;
    fleet_lease(&f, "a", 0, 20, 40);
    fleet_wait(&f, c.outputs == 40);
    assert_true(c.slots_used > used);
    assert_int_equal(c.duplicates, 0);
    /* A client that goes with slots in its hands takes them along: another one gets new ones. */
    c.auto_release = false;
    fleet_lease(&f, "a", 1, 0, 10);
    fleet_wait(&f, c.outputs == 50);
    assert_true(c.slots_n > 0);
    client_close(&c);
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1u << 30, true);
    fleet_wait(&f, c.welcomed);
    c.auto_release = true;
    fleet_lease(&f, "a", 1, 10, 40);
    fleet_wait(&f, c.outputs == 30);
    assert_true(c.slots_used > 0);
    client_close(&c);
    fleet_down(&f);
}

/* Two jobs of one function: each gets every item, and each item is computed once. Slots that
 * both clients have stay until both give them back, and one that goes takes nothing from the
 * other. */
static void test_sharing(void **state)
{
    (void)state;
    struct fleet f;
    struct client c[2];
    const char *const ids[] = {"a", "b"};
    fleet_up(&f, &(struct cw_worker_options){.budget = 256u << 20, .share_window = 128u << 20});
    for (int i = 0; i < 2; i++) {
        client_open(&c[i], &f);
        client_hello(&c[i], ids[i], 0, 1u << 30, true);
        fleet_job(&f, ids[i], LARGE, 1, false);
        fleet_lease(&f, ids[i], 0, 0, 1);
        fleet_wait(&f, c[i].outputs == 1); /* the job is open */
    }
    fleet_wait(&f, c[0].welcomed && c[1].welcomed);
    uint64_t before = f.shared;
    for (int i = 0; i < 2; i++)
        fleet_lease(&f, ids[i], 0, 1, 20);
    fleet_wait(&f, c[0].outputs == 20 && c[1].outputs == 20 && f.shared - before == 19);
    /* The first goes with slots in its hands. */
    client_close(&c[0]);
    client_release(&c[1]);
    c[1].auto_release = true;
    fleet_lease(&f, "b", 0, 20, 40);
    fleet_wait(&f, c[1].outputs == 40);
    client_open(&c[0], &f);
    client_hello(&c[0], "a", 0, 1u << 30, true);
    c[0].auto_release = true;
    fleet_lease(&f, "a", 0, 20, 40); /* what was kept */
    fleet_wait(&f, c[0].outputs >= 20 && f.shared - before == 39);
    for (uint64_t i = 20; i < 40; i++)
        assert_int_equal(c[0].first_value[i], 10 * i);
    for (uint64_t i = 0; i < 40; i++)
        assert_int_equal(c[1].first_value[i], 10 * i);
    assert_int_equal(c[0].duplicates + c[1].duplicates, 0);
    /* One job goes while the other waits for what it computes. */
    fleet_lease(&f, "a", 1, 0, 40);
    fleet_lease(&f, "b", 1, 0, 40);
    fleet_forget(&f, "a");
    fleet_wait(&f, c[1].outputs == 80);
    for (int i = 0; i < 2; i++)
        client_close(&c[i]);
    fleet_down(&f);
}

static void on_drained(void *arg)
{
    ((struct fleet *)arg)->drained = true;
}

static void test_drain(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    fleet_up(&f, NULL);
    fleet_job(&f, "a", SLOW("1"), 1, false);
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1u << 30, false);
    fleet_lease(&f, "a", 0, 0, 100);
    fleet_wait(&f, c.outputs > 0);
    cw_worker_drain(f.worker, on_drained, &f);
    fleet_wait(&f, f.draining && count(&f.handed_back) > 0);
    uint64_t kept = 100 - count(&f.handed_back);
    fleet_wait(&f, c.outputs == kept);
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(c.seen[i], !cw_set_has(&f.handed_back, i));
    fleet_revoke(&f, "a", 0, 0, 100); /* received: the worker may go */
    fleet_wait(&f, f.drained);
    assert_int_equal(100 - count(&f.handed_back), kept);
    client_close(&c);
    fleet_down(&f);
}

static void test_budget(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    /* Room for two batches of 640 KiB or so. */
    fleet_up(&f, &(struct cw_worker_options){.budget = 2u << 20});
    fleet_job(&f, "a", LARGE, 1, false);
    fleet_lease(&f, "a", 0, 10, 40);
    fleet_wait(&f, count(&f.done) >= 1);
    /* Another job is not stopped by the first one's full queue, and an item before all others is
     * not either. */
    fleet_job(&f, "b", LARGE, 1, false);
    cw_set_clear(&f.done);
    fleet_lease(&f, "b", 0, 0, 1);
    fleet_wait(&f, cw_set_has(&f.done, 0));
    fleet_lease(&f, "a", 0, 5, 6);
    fleet_wait(&f, cw_set_has(&f.done, 5));
    assert_false(cw_set_has(&f.done, 39));
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1u << 30, false);
    fleet_wait(&f, c.outputs == 31);
    client_close(&c);
    fleet_down(&f);
}

/* A job that was there first and that nobody reads has filled the memory. The next one gets its
 * part of it: what the first needs last is handed back, and of that no more than the other can
 * use. */
static void test_memory_is_divided(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    enum { ROOM = 16 }; /* batches of 640 KiB */
    fleet_up(&f, &(struct cw_worker_options){.budget = (ROOM * 640u << 10) + (100u << 10)});
    fleet_job(&f, "a", LARGE, 1, false);
    fleet_lease(&f, "a", 0, 0, 40);
    fleet_wait(&f, cw_set_has_range(&f.done, 0, ROOM - 1));
    fleet_job(&f, "b", OTHER, 1, false);
    fleet_lease(&f, "b", 0, 100, 160);
    fleet_wait(&f, cw_set_has(&f.done, 100 + ROOM / 2 - 2));
    uint64_t back = count(&f.handed_back);
    assert_in_range(back, ROOM / 4, ROOM / 2 + 2);
    assert_true(f.handed_back.n == 1 && f.handed_back.v[0].hi <= 40 &&
                f.handed_back.v[0].lo >= ROOM / 2 - 2);
    /* All of the second, and what is left of the first, still comes. */
    struct cw_set gone = {0};
    cw_set_copy(&gone, &f.handed_back);
    client_open(&c, &f);
    client_hello(&c, "b", 0, 1u << 30, false);
    fleet_wait(&f, c.outputs == 60);
    client_close(&c);
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1u << 30, false);
    fleet_wait(&f, c.outputs == 40 - back);
    for (uint64_t i = 0; i < 40; i++)
        assert_int_equal(c.seen[i], !cw_set_has(&gone, i));
    cw_set_fini(&gone);
    client_close(&c);
    fleet_down(&f);
}

/* By parts: three quarters and one. */
static void test_memory_by_parts(void **state)
{
    (void)state;
    struct fleet f;
    enum { ROOM = 16 };
    fleet_up(&f, &(struct cw_worker_options){.budget = (ROOM * 640u << 10) + (100u << 10)});
    fleet_job(&f, "a", LARGE, 1, false);
    fleet_job(&f, "b", OTHER, 1, false);
    fleet_part(&f, "a", 0.75);
    fleet_part(&f, "b", 0.25);
    fleet_lease(&f, "a", 0, 0, 40);
    fleet_lease(&f, "b", 0, 100, 160);
    fleet_wait(&f,
               cw_set_has(&f.done, 3 * ROOM / 4 - 2) && cw_set_has(&f.done, 100 + ROOM / 4 - 2));
    /* the other may have had more while it was alone, until this one needed its part */
    assert_false(cw_set_has(&f.done, 100 + ROOM / 4 + 1));
    assert_in_range(count(&f.handed_back), 0, ROOM / 4);
    fleet_down(&f);
}

static void test_bad_peers(void **state)
{
    (void)state;
    struct fleet f;
    struct client c, bad;
    fleet_up(&f, NULL);
    fleet_job(&f, "a", RANGE("1000"), 1, false);
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1u << 30, false);
    client_open(&bad, &f);
    struct cw_buf *garbage = cw_buf_copy("\xff\xff\xff\xff", 4);
    cw_stream_send(bad.stream, &garbage, 1);
    cw_buf_unref(garbage);
    fleet_wait(&f, bad.closed);
    assert_int_equal(bad.close_code, CW_E_CORRUPT);
    client_close(&bad);
    client_open(&bad, &f);
    client_credit(&bad, 5);
    fleet_wait(&f, bad.closed);
    client_close(&bad);
    client_open(&bad, &f);
    client_hello(&bad, "a", 0, 5, false);
    client_hello(&bad, "a", 0, 5, false);
    fleet_wait(&f, bad.closed && c.closed); /* c lost its place to it */
    client_close(&bad);
    client_close(&c);
    client_open(&c, &f);
    client_hello(&c, "a", 0, 1u << 30, false);
    /* What is sent on the stream that was refused, while that ends, is handed back. */
    fleet_wait(&f, f.worker->clients_n == 1 && cw_wjob_get(f.worker, "a")->clients[0]);
    fleet_lease(&f, "a", 0, 0, 5);
    fleet_wait(&f, c.outputs == 5);
    client_close(&c);
    fleet_down(&f);
}

static void test_job_that_cannot_be_opened(void **state)
{
    (void)state;
    struct fleet f;
    fleet_up(&f, NULL);
    fleet_prepare(&f, "a", RANGE("1000"));
    Cachew__V1__JobSpec spec = CACHEW__V1__JOB_SPEC__INIT;
    char id[] = "a";
    uint8_t junk[] = "not a manifest";
    spec.job_id = id;
    spec.graph = graph_message(RANGE("1000"));
    spec.manifest = (ProtobufCBinaryData){sizeof(junk), junk};
    Cachew__V1__WorkerCommand m = CACHEW__V1__WORKER_COMMAND__INIT;
    m.kind_case = CACHEW__V1__WORKER_COMMAND__KIND_JOB;
    m.job = &spec;
    fleet_send(&f, &m);
    cw_wire_graph_free(spec.graph);
    fleet_lease(&f, "a", 0, 3, 10);
    fleet_wait(&f, cw_set_has(&f.failed, 3) && cw_set_has_range(&f.handed_back, 4, 10));
    assert_false(f.failed_element);
    assert_true(strlen(f.failed_error) > 0);
    fleet_down(&f);
}

/* A consumer was killed, and another client has its slot. It is not sent what was leased for the
 * first one, even before the revoke has come: others may have these items by now. */
static void test_outputs_of_the_client_before(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    fleet_up(&f, NULL);
    fleet_job(&f, "a", LARGE, 1, false);
    f.lease_client = 1;
    fleet_lease(&f, "a", 0, 0, 5);
    fleet_wait(&f, cw_set_has_range(&f.done, 0, 5));
    client_open(&c, &f);
    c.id = 2;
    client_hello(&c, "a", 0, 1u << 30, false);
    fleet_wait(&f, c.welcomed);
    f.lease_client = 2;
    fleet_lease(&f, "a", 0, 10, 15);
    fleet_wait(&f, c.outputs == 5);
    for (uint64_t i = 0; i < 15; i++)
        assert_int_equal(c.seen[i], i >= 10);
    fleet_revoke(&f, "a", 0, 0, 5);
    fleet_lease(&f, "a", 0, 0, 5);
    f.lease_client = 0;
    fleet_lease(&f, "a", 0, 15, 20);
    fleet_wait(&f, c.outputs == 15);
    assert_int_equal(c.duplicates, 0);
    client_close(&c);
    fleet_down(&f);
}

/* The first client of a slot was sent items by another worker, acknowledged them, and was killed:
 * nobody revoked them here. They are leased again, to this worker, for the next client. */
static void test_items_of_the_client_before(void **state)
{
    (void)state;
    struct fleet f;
    struct client c;
    fleet_up(&f, NULL);
    fleet_job(&f, "a", LARGE, 1, false);
    f.lease_client = 1;
    fleet_lease(&f, "a", 0, 0, 5);
    fleet_wait(&f, cw_set_has_range(&f.done, 0, 5));
    client_open(&c, &f);
    c.id = 2;
    client_hello(&c, "a", 0, 1u << 30, false);
    fleet_wait(&f, c.welcomed);
    f.lease_client = 2;
    fleet_lease(&f, "a", 0, 3, 8);
    fleet_wait(&f, c.outputs == 5);
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(c.seen[i], i >= 3);
    client_close(&c);
    fleet_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prepare),
        cmocka_unit_test(test_every_item_once_and_right),
        cmocka_unit_test(test_credit),
        cmocka_unit_test(test_revoke_and_forget),
        cmocka_unit_test(what_is_not_wanted_ends),
        cmocka_unit_test(test_consumers),
        cmocka_unit_test(test_dispatcher_comes_back),
        cmocka_unit_test(test_shared_memory),
        cmocka_unit_test(test_sharing),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_memory_is_divided),
        cmocka_unit_test(test_memory_by_parts),
        cmocka_unit_test(test_bad_peers),
        cmocka_unit_test(test_outputs_of_the_client_before),
        cmocka_unit_test(test_items_of_the_client_before),
        cmocka_unit_test(test_job_that_cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
