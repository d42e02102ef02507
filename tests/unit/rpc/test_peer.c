/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that die, and peers that are something else. The child is this program with the argument
 * "serve". */
#include <netinet/in.h>
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"
#include "loop/child.h"
#include "world.h"

static char self[4096];

CW_NORETURN static void serve(void)
{
    struct world world;
    world_open(&world, "127.0.0.1:0");
    printf("%s\n", world.address);
    fflush(stdout);
    for (;;)
        cw_loop_run(world.loop);
}

static void test_server_killed(void **state)
{
    const char *const argv[] = {self, "serve", NULL};
    struct cw_child child;
    struct cw_err err = {0};
    struct world world;
    char address[256];
    (void)state;
    assert_int_equal(cw_child_start(&child, argv, NULL, 0, &err), 0);
    if (cw_child_read_line(&child, 60000, address, sizeof address, &err) != 0)
        fail_msg("%s", err.msg);
    world_open(&world, "127.0.0.1:0");
    struct cw_channel *channel = cw_channel_open(world.rpc, address);
    struct inbox inbox = {.world = &world};
    struct cw_buf *buf = pattern_buf(1000, 0);
    inbox.stream = cw_channel_stream(channel, "/test.S/Echo", &inbox_cb, &inbox);
    cw_stream_send(inbox.stream, &buf, 1);
    inbox_wait_n(&inbox, 1);
    cw_child_kill(&child, SIGKILL);
    world_wait(&world, &inbox.closed);
    assert_int_equal(inbox.code, CW_E_UNAVAILABLE);
    assert_non_null(strstr(inbox.msg, address));
    inbox_fini(&inbox);

    struct inbox again = {.world = &world};
    again.stream = cw_channel_stream(channel, "/test.S/Echo", &inbox_cb, &again);
    world_wait(&world, &again.closed);
    assert_int_equal(again.code, CW_E_UNAVAILABLE);
    inbox_fini(&again);
    cw_channel_close(channel);
    cw_child_stop(&child, 60000);
    cw_buf_unref(buf);
    world_close(&world);
}

/* A client killed in the middle of a stream: the server's side hears of it. */
static void test_client_killed(void **state)
{
    struct cw_child child;
    struct cw_err err = {0};
    struct world world;
    char line[256];
    (void)state;
    world_open(&world, "127.0.0.1:0");
    const char *const argv[] = {self, "attach", world.address, NULL};
    assert_int_equal(cw_child_start(&child, argv, NULL, 0, &err), 0);
    if (cw_child_read_line(&child, 60000, line, sizeof line, &err) != 0)
        fail_msg("%s", err.msg);
    while (!world.quiet)
        cw_loop_run(world.loop);
    cw_child_kill(&child, SIGKILL);
    world_wait(&world, &world.quiet_closed);
    assert_int_equal(world.quiet_code, CW_E_UNAVAILABLE);
    cw_child_stop(&child, 60000);
    world_close(&world);
}

CW_NORETURN static void attach(const char *address)
{
    struct world world;
    world_open(&world, "127.0.0.1:0");
    struct inbox inbox = {.world = &world};
    struct cw_channel *channel = cw_channel_open(world.rpc, address);
    inbox.stream = cw_channel_stream(channel, "/test.S/Quiet", &inbox_cb, &inbox);
    printf("attached\n");
    fflush(stdout);
    for (;;)
        cw_loop_run(world.loop);
}

/* ---- wrong peers ---- */

static int bound_socket(bool listening, char ret_address[64])
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof sin;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&sin, n), 0);
    if (listening)
        assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sin, &n), 0);
    snprintf(ret_address, 64, "127.0.0.1:%d", ntohs(sin.sin_port));
    return fd;
}

static void expect_unavailable(struct world *world, const char *address)
{
    struct inbox inbox = {.world = world};
    struct cw_channel *channel = cw_channel_open(world->rpc, address);
    inbox.stream = cw_channel_stream(channel, "/test.S/Echo", &inbox_cb, &inbox);
    world_wait(world, &inbox.closed);
    assert_int_equal(inbox.code, CW_E_UNAVAILABLE);
    assert_non_null(strstr(inbox.msg, address));
    inbox_fini(&inbox);
    cw_channel_close(channel);
}

static void test_nobody_there(void **state)
{
    struct world world;
    char address[64];
    (void)state;
    world_open(&world, "127.0.0.1:0");
    int fd = bound_socket(false, address);
    expect_unavailable(&world, address);
    close(fd);
    expect_unavailable(&world, "unix:/nowhere/socket");
    world_close(&world);
}

/* Answers every connection like a web server, until it is told to stop. */
static void run_web_server(void *arg)
{
    static const char answer[] =
        "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    int fd = *(const int *)arg;
    for (;;) {
        int peer = accept(fd, NULL, NULL);
        if (peer < 0)
            return;
        char bytes[512];
        if (recv(peer, bytes, sizeof bytes, 0) > 0)
            (void)!send(peer, answer, sizeof answer - 1, MSG_NOSIGNAL);
        close(peer);
    }
}

static void test_other_server(void **state)
{
    struct world world;
    struct cw_thread thread = {0};
    char address[64];
    (void)state;
    world_open(&world, "127.0.0.1:0");
    int fd = bound_socket(true, address);
    cw_thread_start(&thread, "web", run_web_server, &fd);
    expect_unavailable(&world, address);
    shutdown(fd, SHUT_RDWR);
    cw_thread_join(&thread);
    close(fd);
    world_close(&world);
}

static void send_bytes(const char *address, const void *p, size_t n)
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    unsigned port;
    assert_int_equal(sscanf(strchr(address, ':'), ":%u", &port), 1);
    sin.sin_port = htons((uint16_t)port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&sin, sizeof sin), 0);
    (void)!send(fd, p, n, MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    char bytes[512];
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        ;
    close(fd);
}

struct garbage {
    struct world *world;
    const void *p;
    size_t n;
    bool done;
};

static void on_garbage_sent(void *arg)
{
    struct garbage *garbage = arg;
    garbage->done = true;
    world_poke(garbage->world);
}

static void garbage_thread(void *arg)
{
    struct garbage *garbage = arg;
    send_bytes(garbage->world->address, garbage->p, garbage->n);
    cw_loop_post(garbage->world->loop, on_garbage_sent, garbage);
}

/* Waits until the server has closed the connection; the loop takes connections meanwhile. */
static void send_garbage(struct world *world, const void *p, size_t n)
{
    struct garbage garbage = {.world = world, .p = p, .n = n};
    struct cw_thread thread = {0};
    cw_thread_start(&thread, "garbage", garbage_thread, &garbage);
    world_wait(world, &garbage.done);
    cw_thread_join(&thread);
}

static void test_other_clients(void **state)
{
    static const char http1[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char preface[] =
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    struct world world;
    struct result result;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct cw_buf *noise = pattern_buf(10000, 9);
    send_garbage(&world, http1, sizeof http1 - 1);
    send_garbage(&world, preface, sizeof preface - 1);
    send_garbage(&world, noise->data, noise->len);
    send_garbage(&world, "", 0);
    world_call(&world, "/test.T/Echo", "still here", 10, 60000, &result);
    assert_int_equal(result.code, 0);
    result_fini(&result);
    cw_buf_unref(noise);
    world_close(&world);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_killed), cmocka_unit_test(test_client_killed),
        cmocka_unit_test(test_nobody_there),  cmocka_unit_test(test_other_server),
        cmocka_unit_test(test_other_clients),
    };
    if (argc == 2 && strcmp(argv[1], "serve") == 0)
        serve();
    if (argc == 3 && strcmp(argv[1], "attach") == 0)
        attach(argv[2]);
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
