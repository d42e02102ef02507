/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's stream without a session: what it reports by its callbacks. */
#include "support/cm.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/mem.h"
#include "client/transport/recvpool.h"
#include "client/transport/shm_release_queue.h"
#include "client/transport/worker_stream_int.h"
#include "data/batch.h"
#include "loop/loop.h"
#include "rpc/rpc.h"
#include "shm/shm.h"

#define WORKER 77

static struct seen {
    struct cw_received *received;
    int outputs, lost, found, changed, refuse;
    bool told; /* what `lost` returns */
    struct cw_loop *loop;
} seen;

static int on_output(void *arg, struct cw_received *received, struct cw_err *err)
{
    struct seen *s = arg;
    s->outputs++;
    if (s->refuse) {
        cw_received_free(received);
        return cw_err_set(err, s->refuse, "refused");
    }
    s->received = received;
    return 0;
}

static void on_message(void *arg)
{
    (void)arg;
}

static bool on_lost(void *arg, uint64_t worker_id, const char *why)
{
    struct seen *s = arg;
    assert_int_equal(worker_id, WORKER);
    assert_true(why && *why);
    s->lost++;
    if (s->loop)
        cw_loop_stop(s->loop);
    return s->told;
}

static void on_found(void *arg, uint64_t worker_id)
{
    struct seen *s = arg;
    assert_int_equal(worker_id, WORKER);
    s->found++;
}

static uint64_t on_room(void *arg)
{
    (void)arg;
    return 1 << 20;
}

static void on_changed(void *arg)
{
    struct seen *s = arg;
    s->changed++;
}

static void on_no_memory(void *arg, const struct cw_err *err)
{
    (void)arg;
    (void)err;
}

static const struct cw_worker_stream_events events = {
    on_output, on_message, on_lost, on_found, on_room, on_changed, on_no_memory, on_message};

/* ---- outputs ---- */

static int setup(void **state)
{
    struct cw_worker_stream *stream = CW_NEW(struct cw_worker_stream);
    seen = (struct seen){0};
    stream->conf =
        (struct cw_worker_stream_conf){.events = &events, .arg = &seen, .entry_bytes = 10};
    stream->conf.pool = cw_recvpool_new(0);
    stream->address = cw_mem_strdup("somewhere");
    stream->credit = cw_credit_new(1 << 20);
    stream->shm_fd = -1;
    *state = stream;
    return 0;
}

static int teardown(void **state)
{
    struct cw_worker_stream *stream = *state;
    cw_received_free(seen.received);
    assert_int_equal(stream->credit->refs, 1);
    assert_int_equal(stream->credit->held, 0);
    cw_credit_unref(stream->credit);
    cw_recvpool_free(stream->conf.pool);
    cw_mem_free(stream->address);
    cw_mem_free(stream);
    return 0;
}

/* One output of a message whose payload is `have` bytes. */
static int recv_output(struct cw_worker_stream *stream, uint64_t slot, size_t have)
{
    static const char bytes[] = "0123456789";
    struct cw_err err = {0};
    Cachew__V1__Output output = CACHEW__V1__OUTPUT__INIT;
    struct cw_rpc_msg *msg = cw_rpc_msg_from(bytes, sizeof(bytes), sizeof(bytes));
    struct cw_worker_stream_payload payload = {msg, 2, have};
    output.epoch = 3;
    output.item = 4;
    output.payload_bytes = 5;
    output.slot = slot;
    int rc = cw_worker_stream_recv(stream, &output, &payload, &err);
    if (rc == 0) {
        assert_int_equal(payload.at, 7);
        assert_int_equal(payload.left, have - 5);
    }
    cw_rpc_msg_unref(msg);
    return rc;
}

static void bytes_are_copied_out_of_the_message(void **state)
{
    struct cw_worker_stream *stream = *state;
    assert_int_equal(recv_output(stream, 0, 6), 0);
    assert_int_equal(seen.outputs, 1);
    const struct cw_batch *batch = seen.received->batch;
    assert_true(batch->epoch == 3 && batch->item == 4 && !seen.received->shm);
    assert_memory_equal(batch->buf->data, "23456", 5);
    assert_true(seen.received->charge.cost > 5 + 10);
    assert_int_equal(stream->credit->held, seen.received->charge.cost);
}

static void or_stay_in_it(void **state)
{
    struct cw_worker_stream *stream = *state;
    stream->conf.keep_msg = true;
    assert_int_equal(recv_output(stream, 0, 6), 0);
    assert_null(seen.received->batch->buf);
    assert_non_null(seen.received->msg);
    assert_int_equal(seen.received->offset, 2);
}

static void what_makes_no_sense_is_not_handed_over(void **state)
{
    struct cw_worker_stream *stream = *state;
    assert_int_equal(recv_output(stream, 0, 4), CW_E_CORRUPT); /* the message is too short */
    assert_int_equal(recv_output(stream, 9, 6), CW_E_CORRUPT); /* there is no shared memory */
    assert_int_equal(seen.outputs, 0);
}

static void what_the_callee_refuses_ends_the_connection(void **state)
{
    seen.refuse = CW_E_CORRUPT;
    assert_int_equal(recv_output(*state, 0, 6), CW_E_CORRUPT);
    assert_int_equal(seen.outputs, 1);
}

/* ---- the socket of shared memory ---- */

static int worker_fd; /* the worker's end of it */

static int setup_socket(void **state)
{
    int fds[2];
    struct cw_err err = {0};
    (void)setup(state);
    struct cw_worker_stream *stream = *state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    worker_fd = fds[0];
    stream->shm_fd = fds[1];
    stream->conf.loop = seen.loop = cw_loop_new();
    stream->conf.worker_id = WORKER;
    stream->up = true;
    stream->view = cw_shm_view_new(false);
    stream->released = cw_shm_release_queue_new(on_message, &seen);
    stream->retry = cw_timer_new(seen.loop, on_message, &seen);
    stream->shm_poll =
        cw_poll_new(seen.loop, stream->shm_fd, cw_worker_stream_on_socket, stream, &err);
    assert_non_null(stream->shm_poll);
    return 0;
}

static int teardown_socket(void **state)
{
    struct cw_worker_stream *stream = *state;
    cw_received_free(seen.received);
    seen.received = NULL;
    cw_worker_stream_shm_stop(stream);
    cw_timer_free(stream->retry);
    cw_loop_free(seen.loop);
    close(worker_fd);
    return teardown(state);
}

/* The worker sends an output of 5 bytes in the slot over the socket. */
static void send_output(uint64_t slot)
{
    struct cw_err err = {0};
    uint8_t bytes[CW_SHM_MESSAGE_MAX];
    Cachew__V1__Output output = CACHEW__V1__OUTPUT__INIT, *list[] = {&output};
    Cachew__V1__DataMessage message = CACHEW__V1__DATA_MESSAGE__INIT;
    output.epoch = 3;
    output.item = 4;
    output.payload_bytes = 5;
    output.slot = slot;
    message.outputs = list;
    message.n_outputs = 1;
    size_t n = cachew__v1__data_message__pack(&message, bytes);
    assert_int_equal(cw_shm_send_message(worker_fd, bytes, n, &err), 0);
}

static void send_slot(uint64_t slot)
{
    struct cw_err err = {0};
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0 && ftruncate(fd, 4096) == 0);
    assert_int_equal(pwrite(fd, "01234", 5, 0), 5);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    assert_int_equal(cw_shm_send_fd(worker_fd, slot, 4096, fd, &err), 0);
    close(fd);
}

static void outputs_come_over_the_socket(void **state)
{
    struct cw_worker_stream *stream = *state;
    send_slot(9);
    send_output(9);
    cw_worker_stream_on_socket(stream);
    assert_true(seen.outputs == 1 && seen.lost == 0 && seen.received->shm);
    assert_memory_equal(seen.received->batch->buf->data, "01234", 5);
}

/* The stream names a slot of which the descriptor still waits in the socket, behind an output. */
static void what_waits_before_a_descriptor_is_taken_as_well(void **state)
{
    struct cw_worker_stream *stream = *state;
    send_slot(9);
    send_output(9);
    send_slot(10);
    seen.refuse = CW_E_EXISTS; /* of the output in the socket: its error is the stream's */
    assert_int_equal(recv_output(stream, 10, 6), CW_E_EXISTS);
    assert_int_equal(seen.outputs, 1);
    seen.refuse = 0;
    send_output(10);
    cw_worker_stream_on_socket(stream);
    assert_int_equal(seen.outputs, 2);
    assert_int_equal(seen.lost, 0);
}

/* A worker that names slots of which it has sent no descriptor ends its connection, however many
 * such messages wait. */
static void an_output_in_a_slot_that_was_never_sent_ends_the_connection(void **state)
{
    struct cw_worker_stream *stream = *state;
    for (int i = 0; i < 50; i++)
        send_output(9);
    cw_worker_stream_on_socket(stream);
    assert_true(seen.outputs == 0 && seen.lost == 1);
    assert_null(stream->view);
    assert_null(stream->shm_poll);
}

/* Only outputs come over the socket. */
static void a_welcome_over_the_socket_ends_the_connection(void **state)
{
    struct cw_worker_stream *stream = *state;
    struct cw_err err = {0};
    uint8_t bytes[100];
    Cachew__V1__DataWelcome welcome = CACHEW__V1__DATA_WELCOME__INIT;
    Cachew__V1__DataMessage message = CACHEW__V1__DATA_MESSAGE__INIT;
    welcome.worker_id = WORKER;
    message.welcome = &welcome;
    size_t n = cachew__v1__data_message__pack(&message, bytes);
    assert_int_equal(cw_shm_send_message(worker_fd, bytes, n, &err), 0);
    cw_worker_stream_on_socket(stream);
    assert_true(seen.lost == 1 && !cw_worker_stream_is_up(stream));
}

static void the_end_of_the_socket_is_not_the_streams(void **state)
{
    struct cw_worker_stream *stream = *state;
    send_slot(9);
    send_output(9);
    shutdown(worker_fd, SHUT_RDWR);
    cw_worker_stream_on_socket(stream);
    assert_true(seen.outputs == 1 && seen.lost == 0);
    assert_null(stream->shm_poll);
    assert_int_equal(recv_output(stream, 10, 6), CW_E_NOT_FOUND);
}

/* ---- life ---- */

static void a_worker_that_cannot_be_reached_is_reported(void **state)
{
    (void)state;
    seen = (struct seen){.told = false, .loop = cw_loop_new()};
    struct cw_rpc *rpc = cw_rpc_new(seen.loop);
    const struct cw_worker_stream_conf conf = {.events = &events,
                                               .arg = &seen,
                                               .loop = seen.loop,
                                               .rpc = rpc,
                                               .host_id = "here",
                                               .job_id = "job",
                                               .worker_id = WORKER,
                                               .worker_address = "unix:/nowhere/to/be/found.sock",
                                               .worker_host_id = "there",
                                               .limit = 1 << 20};
    struct cw_worker_stream *stream = cw_worker_stream_new(&conf);
    cw_loop_run(seen.loop);
    assert_true(seen.lost == 1 && seen.changed == 1 && seen.found == 0);
    assert_false(cw_worker_stream_is_up(stream));
    /* The dispatcher was not there to be told: it is told once it is there. */
    seen.told = true;
    cw_worker_stream_report(stream);
    assert_int_equal(seen.lost, 2);
    assert_false(cw_worker_stream_is_over(stream));
    cw_worker_stream_set_listed(stream, false);
    assert_true(cw_worker_stream_is_over(stream));
    cw_worker_stream_flush(stream, 0, true); /* there is nobody to grant credit to */
    cw_worker_stream_overdraw(stream);
    cw_worker_stream_close(stream);
    cw_rpc_free(rpc);
    cw_loop_free(seen.loop);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(bytes_are_copied_out_of_the_message, setup, teardown),
    cmocka_unit_test_setup_teardown(or_stay_in_it, setup, teardown),
    cmocka_unit_test_setup_teardown(what_makes_no_sense_is_not_handed_over, setup, teardown),
    cmocka_unit_test_setup_teardown(what_the_callee_refuses_ends_the_connection, setup, teardown),
    cmocka_unit_test_setup_teardown(outputs_come_over_the_socket, setup_socket, teardown_socket),
    cmocka_unit_test_setup_teardown(what_waits_before_a_descriptor_is_taken_as_well, setup_socket,
                                    teardown_socket),
    cmocka_unit_test_setup_teardown(an_output_in_a_slot_that_was_never_sent_ends_the_connection,
                                    setup_socket, teardown_socket),
    cmocka_unit_test_setup_teardown(a_welcome_over_the_socket_ends_the_connection, setup_socket,
                                    teardown_socket),
    cmocka_unit_test_setup_teardown(the_end_of_the_socket_is_not_the_streams, setup_socket,
                                    teardown_socket),
    cmocka_unit_test(a_worker_that_cannot_be_reached_is_reported)};
CW_TESTS_MAIN(tests)
