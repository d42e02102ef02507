/* SPDX-License-Identifier: Apache-2.0 */
/* Slots from pool to view over the socket, and what a bad peer may send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shm/shm.h"

#define MIB ((size_t)1 << 20)

struct link {
    int listen_fd, worker_fd, client_fd;
};

static struct link link_up(uint64_t token)
{
    struct link l;
    char name[64];
    struct cw_err err = {0};
    assert_int_equal(cw_shm_listen(name, sizeof(name), &l.listen_fd, &err), 0);
    assert_int_equal(cw_shm_accept(l.listen_fd, &l.worker_fd, &err), CW_E_AGAIN);
    assert_int_equal(cw_shm_connect(name, token, &l.client_fd, &err), 0);
    assert_int_equal(cw_shm_accept(l.listen_fd, &l.worker_fd, &err), 0);
    uint64_t got = 0;
    assert_int_equal(cw_shm_recv_token(l.worker_fd, &got, &err), 0);
    assert_true(got == token);
    return l;
}

static void link_down(struct link *l)
{
    close(l->listen_fd);
    close(l->worker_fd);
    close(l->client_fd);
}

static int receive_slot(struct link *l, struct cw_shm_view *view, uint64_t *ret_slot)
{
    struct cw_err err = {0};
    size_t cap = 0;
    int memfd = -1;
    int rc = cw_shm_recv_fd(l->client_fd, ret_slot, &cap, &memfd, &err);
    return rc != 0 ? rc : cw_shm_view_add(view, *ret_slot, cap, memfd, &err);
}

static void on_released(void *arg, uint64_t slot)
{
    *(uint64_t *)arg = slot;
}

static bool is_filled(const unsigned char *bytes, size_t n, unsigned char value)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

/* A client that may write has what it writes to itself, until the buffer is freed. */
static void write_batches(size_t most, bool is_locked)
{
    struct cw_err err = {0};
    struct link l = link_up(7);
    struct cw_shm_pool *pool = cw_shm_pool_new(16 * MIB);
    struct cw_shm_view *view = cw_shm_view_new(true);
    struct cw_buf *out = cw_shm_pool_get(pool, most, &err);
    size_t cap = 0;
    int memfd = cw_shm_pool_fd(pool, out, &cap);
    assert_int_equal(cw_shm_send_fd(l.worker_fd, out->tag, cap, memfd, &err), 0);
    uint64_t slot = 0, released = 0;
    assert_int_equal(receive_slot(&l, view, &slot), 0);
    for (unsigned char turn = 1; turn < 9; turn++) {
        struct cw_buf *in = NULL;
        /* Some batches are smaller. */
        const size_t n = turn % 4 == 2 ? most / 3 : turn % 4 == 0 ? most / 2 : most;
        memset(out->data, turn, out->len); /* the worker's next batch in the slot */
        assert_int_equal(cw_shm_view_buf(view, slot, n, on_released, &released, &in, &err), 0);
        unsigned char *bytes = in->data;
        assert_true(is_filled(bytes, n, turn));
        /* In the first turn nothing is written; then single pages, and a run of them. */
        if (turn > 1) {
            bytes[0] = bytes[n - 1] = 99;
            memset(bytes + n / 2, 98, n / 8);
        }
        assert_true(is_filled(out->data, n, turn));
        /* The program locks all of its memory, while it has a batch or while it has none. */
        if (is_locked && turn % 2 == 0)
            assert_int_equal(mlock(bytes, cap), 0);
        cw_buf_unref(in);
        if (is_locked && turn % 2 == 1)
            assert_int_equal(mlock(bytes, cap), 0);
        assert_true(released == slot);
    }
    cw_buf_unref(out);
    cw_shm_view_free(view);
    cw_shm_pool_free(pool);
    link_down(&l);
}

/* Of the sizes that are given up whole, that are looked at with one call, and with several. */
static void test_what_a_client_writes_is_its_own(void **state)
{
    (void)state;
    write_batches(5000, false);
    write_batches(MIB, false);
    write_batches(9 * MIB + 4097, false);
}

static void test_locked_memory_shows_the_present_batch(void **state)
{
    (void)state;
    write_batches(5000, true);
    write_batches(MIB, true);
}

static void test_the_readers_bytes_are_the_writers(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct link l = link_up(0x1234567890abcdefu);
    struct cw_shm_pool *pool = cw_shm_pool_new(16 * MIB);
    struct cw_shm_view *view = cw_shm_view_new(false);
    struct cw_buf *out = cw_shm_pool_get(pool, 2 * MIB, &err);
    memset(out->data, 42, out->len);
    size_t cap = 0;
    int memfd = cw_shm_pool_fd(pool, out, &cap);
    assert_int_equal(cw_shm_send_fd(l.worker_fd, out->tag, cap, memfd, &err), 0);
    uint64_t slot = 0, released = 0;
    assert_int_equal(receive_slot(&l, view, &slot), 0);
    assert_int_equal(receive_slot(&l, view, &slot), CW_E_AGAIN);
    struct cw_buf *in = NULL;
    assert_int_equal(cw_shm_view_buf(view, slot + 1, 10, on_released, &released, &in, &err),
                     CW_E_NOT_FOUND);
    assert_int_equal(cw_shm_view_buf(view, slot, cap + 1, on_released, &released, &in, &err),
                     CW_E_CORRUPT);
    assert_int_equal(cw_shm_view_buf(view, slot, out->len, on_released, &released, &in, &err), 0);
    assert_memory_equal(in->data, out->data, out->len);
    ((char *)out->data)[100] = 43; /* the same page */
    assert_int_equal(((const char *)in->data)[100], 43);
    /* The worker lets go of everything, and the trainer still holds its batch. */
    cw_shm_view_drop(view, slot);
    cw_shm_view_free(view);
    cw_buf_unref(out);
    cw_shm_pool_free(pool);
    assert_int_equal(((const char *)in->data)[100], 43);
    assert_int_equal(released, 0);
    cw_buf_unref(in);
    assert_int_equal(released, slot);
    link_down(&l);
}

static void test_bad_tokens(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct link l = link_up(5);
    uint64_t token;
    assert_int_equal(cw_shm_recv_token(l.worker_fd, &token, &err), CW_E_AGAIN);
    assert_int_equal(send(l.client_fd, "x", 1, 0), 1);
    assert_int_equal(cw_shm_recv_token(l.worker_fd, &token, &err), CW_E_CORRUPT);
    char long_message[100] = "";
    assert_int_equal(send(l.client_fd, long_message, sizeof(long_message), 0),
                     (int)sizeof(long_message));
    assert_int_equal(cw_shm_recv_token(l.worker_fd, &token, &err), CW_E_CORRUPT);
    shutdown(l.client_fd, SHUT_RDWR);
    assert_int_equal(cw_shm_recv_token(l.worker_fd, &token, &err), CW_E_END);
    int fd;
    assert_int_not_equal(cw_shm_connect("cachew-shm-nobody-is-here", 1, &fd, &err), 0);
    char name[200];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(cw_shm_connect(name, 1, &fd, &err), CW_E_INVALID);
    link_down(&l);
}

/* One descriptor too many: the message is refused, and none of them stays open here. */
static void test_two_descriptors(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct link l = link_up(5);
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control = {
        .room = {0},
    };
    uint64_t words[3] = {0x4341434845575330u, 1, MIB};
    struct iovec iov = {words, sizeof(words)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(2 * sizeof(int));
    int fds[2] = {l.listen_fd, l.worker_fd};
    memcpy(CMSG_DATA(c), fds, sizeof(fds));
    int before = dup(l.client_fd);
    close(before);
    assert_int_equal(sendmsg(l.worker_fd, &msg, 0), (int)sizeof(words));
    uint64_t slot;
    size_t cap;
    int memfd = -1;
    assert_int_equal(cw_shm_recv_fd(l.client_fd, &slot, &cap, &memfd, &err), CW_E_CORRUPT);
    int after = dup(l.client_fd);
    close(after);
    assert_int_equal(after, before);
    link_down(&l);
}

static int memfd_of(size_t bytes, bool sealed)
{
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    if (sealed)
        assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return fd;
}

static void test_bad_slots(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_shm_view *view = cw_shm_view_new(false);
    assert_int_equal(cw_shm_view_add(view, 1, 8192, memfd_of(4096, true), &err), CW_E_CORRUPT);
    assert_int_equal(cw_shm_view_add(view, 1, 0, memfd_of(4096, true), &err), CW_E_CORRUPT);
    assert_int_equal(cw_shm_view_add(view, 1, 4096, memfd_of(4096, false), &err), CW_E_CORRUPT);
    assert_int_equal(cw_shm_view_add(view, 1, 4096, open("/dev/null", O_RDONLY), &err),
                     CW_E_CORRUPT);
    assert_int_equal(cw_shm_view_add(view, 1, 4096, memfd_of(4096, true), &err), 0);
    assert_int_equal(cw_shm_view_add(view, 1, 4096, memfd_of(4096, true), &err), CW_E_EXISTS);
    cw_shm_view_drop(view, 99);
    cw_shm_view_free(view);
    struct link l = link_up(5);
    uint64_t slot;
    size_t cap;
    int memfd;
    assert_int_equal(send(l.worker_fd, "garbage", 7, 0), 7);
    assert_int_equal(cw_shm_recv_fd(l.client_fd, &slot, &cap, &memfd, &err), CW_E_CORRUPT);
    /* A client that does not read is told from a broken one. */
    int fd = memfd_of(4096, true), rc = 0;
    for (int i = 0; i < 100000 && rc == 0; i++)
        rc = cw_shm_send_fd(l.worker_fd, 7, 4096, fd, &err);
    assert_int_equal(rc, CW_E_AGAIN);
    close(fd);
    shutdown(l.worker_fd, SHUT_RDWR);
    do {
        rc = cw_shm_recv_fd(l.client_fd, &slot, &cap, &memfd, &err);
        if (rc == 0)
            close(memfd);
    } while (rc == 0);
    assert_int_equal(rc, CW_E_END);
    link_down(&l);
}

static int send_one_message(struct link *l, size_t n)
{
    unsigned char bytes[CW_SHM_MESSAGE_MAX];
    struct cw_err err = {0};
    memset(bytes, 5, sizeof(bytes));
    return cw_shm_send_message(l->worker_fd, bytes, n, &err);
}

/* Messages and descriptors come in the order in which they were sent. */
static void test_messages(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_shm_packet packet;
    struct link l = link_up(5);
    int fd = memfd_of(4096, true);
    assert_int_equal(send_one_message(&l, 1), 0);
    assert_int_equal(cw_shm_send_fd(l.worker_fd, 7, 4096, fd, &err), 0);
    assert_int_equal(send_one_message(&l, CW_SHM_MESSAGE_MAX), 0);
    close(fd);
    assert_int_equal(cw_shm_recv(l.client_fd, &packet, &err), 0);
    assert_true(packet.slot == 0 && packet.n == 1 && packet.bytes[0] == 5);
    assert_int_equal(cw_shm_recv(l.client_fd, &packet, &err), 0);
    assert_true(packet.slot == 7 && packet.cap == 4096);
    close(packet.memfd);
    assert_int_equal(cw_shm_recv(l.client_fd, &packet, &err), 0);
    assert_true(packet.slot == 0 && packet.n == CW_SHM_MESSAGE_MAX);
    assert_int_equal(packet.bytes[CW_SHM_MESSAGE_MAX - 1], 5);
    assert_int_equal(cw_shm_recv(l.client_fd, &packet, &err), CW_E_AGAIN);
    /* A client that does not read is told from one that is gone. */
    int rc = 0;
    for (int i = 0; i < 100000 && rc == 0; i++)
        rc = send_one_message(&l, 100);
    assert_int_equal(rc, CW_E_AGAIN);
    shutdown(l.client_fd, SHUT_RDWR);
    assert_int_equal(send_one_message(&l, 100), CW_E_UNAVAILABLE);
    link_down(&l);
}

static void test_bad_messages(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_shm_packet packet;
    struct link l = link_up(5);
    unsigned char bytes[CW_SHM_MESSAGE_MAX + 100] = {0};
    uint64_t magic = 0x4341434845574d30u, slot = 0x4341434845575330u;
    memcpy(bytes, &magic, sizeof(magic));
    const size_t bad[] = {sizeof(magic), CW_SHM_MESSAGE_MAX + 9, sizeof(bytes)};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        assert_int_equal(send(l.worker_fd, bytes, bad[i], 0), (ssize_t)bad[i]);
        assert_int_equal(cw_shm_recv(l.client_fd, &packet, &err), CW_E_CORRUPT);
    }
    /* a slot without a descriptor; and a message where a descriptor is wanted */
    memcpy(bytes, &slot, sizeof(slot));
    assert_int_equal(send(l.worker_fd, bytes, 24, 0), 24);
    assert_int_equal(cw_shm_recv(l.client_fd, &packet, &err), CW_E_CORRUPT);
    assert_int_equal(send_one_message(&l, 9), 0);
    assert_int_equal(cw_shm_recv_fd(l.client_fd, &packet.slot, &packet.cap, &packet.memfd, &err),
                     CW_E_CORRUPT);
    link_down(&l);
}

static void test_host_id(void **state)
{
    (void)state;
    char a[128], b[128];
    cw_shm_host_id(a, sizeof(a));
    cw_shm_host_id(b, sizeof(b));
    assert_string_equal(a, b);
    assert_true(strlen(a) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_readers_bytes_are_the_writers),
        cmocka_unit_test(test_what_a_client_writes_is_its_own),
        cmocka_unit_test(test_locked_memory_shows_the_present_batch),
        cmocka_unit_test(test_two_descriptors),
        cmocka_unit_test(test_bad_tokens),
        cmocka_unit_test(test_bad_slots),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_bad_messages),
        cmocka_unit_test(test_host_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
