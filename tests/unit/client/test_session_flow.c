/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the buffer is left: it does not grow with connections that end, or with workers that
 * come. */
#include "support/cm.h"

#include <string.h>
#include "client/session/session_int.h"
#include "client/transport/worker_stream_int.h"

#define KIB ((uint64_t)1 << 10)

static struct cw_worker_stream streams[8];
static struct cw_worker_stream *list[8];
static struct cw_session session;

/* So many workers, none of which may send anything. */
static void set_workers(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        list[i] = &streams[i];
        if (!streams[i].credit)
            streams[i].credit = cw_credit_new(0);
        streams[i].credit->limit = cw_session_share(&session, n);
    }
    session.streams = list;
    session.streams_n = n;
}

static int setup(void **state)
{
    (void)state;
    session = (struct cw_session){.conf = {.buffer_bytes = 512 * KIB}};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(streams); i++)
        cw_credit_unref(streams[i].credit);
    memset(streams, 0, sizeof(streams));
    return 0;
}

/* A worker sends what it may, and the trainer takes nothing. */
static void send_all(size_t worker)
{
    struct cw_credit *credit = streams[worker].credit;
    while (credit->out > 0) {
        struct cw_charge charge = cw_credit_charge(credit, KIB, KIB);
        session.ledger.buffered += charge.cost;
        cw_credit_unref(charge.credit);
        (void)cw_credit_grant(credit, cw_session_room(&session), true);
    }
}

static void connect(size_t worker)
{
    (void)cw_credit_begin(streams[worker].credit, cw_session_room(&session));
    (void)cw_credit_grant(streams[worker].credit, cw_session_room(&session), true);
}

static void broken_connections_leave_no_room(void **state)
{
    (void)state;
    set_workers(2);
    for (int i = 0; i < 10; i++)
        for (size_t w = 0; w < 2; w++) {
            connect(w);
            send_all(w);
            cw_credit_end(streams[w].credit);
        }
    assert_int_equal(session.ledger.buffered, 512 * KIB);
    assert_int_equal(cw_session_room(&session), 0);
}

static void more_workers_share_the_same_buffer(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 8; n++) {
        set_workers(n);
        connect(n - 1);
        send_all(n - 1);
    }
    assert_int_equal(session.ledger.buffered, 512 * KIB);
}

static void what_may_still_be_sent_counts(void **state)
{
    (void)state;
    set_workers(2);
    assert_int_equal(cw_session_room(&session), 512 * KIB);
    (void)cw_credit_begin(streams[0].credit, cw_session_room(&session));
    assert_int_equal(cw_session_room(&session), 448 * KIB);
    /* Finished batches count, the one that is being filled does not. */
    session.ledger.rebatched = 100 * KIB;
    session.ledger.rebatch.filling.bytes = 1000 * KIB;
    assert_int_equal(cw_session_room(&session), 348 * KIB);
}

static void each_worker_has_a_least_part(void **state)
{
    (void)state;
    session.conf.buffer_bytes = 1;
    set_workers(3);
    assert_int_equal(cw_session_share(&session, 3), 64 * KIB);
    assert_int_equal(cw_session_room(&session), 192 * KIB);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(broken_connections_leave_no_room, setup, teardown),
    cmocka_unit_test_setup_teardown(more_workers_share_the_same_buffer, setup, teardown),
    cmocka_unit_test_setup_teardown(what_may_still_be_sent_counts, setup, teardown),
    cmocka_unit_test_setup_teardown(each_worker_has_a_least_part, setup, teardown)};
CW_TESTS_MAIN(tests)
