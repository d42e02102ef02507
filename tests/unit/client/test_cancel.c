/* SPDX-License-Identifier: Apache-2.0 */
/* What waits is ended by a struct cachew_cancel, and by its time limit. (A start that waits for
 * a worker: tests/integration/test_start.sh.) */
#include "support/cm.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/thread.h"
#include "cachew/cachew.h"

#define LONG_MS 600000

static struct cachew_error error;

/* A port where somebody listens and never answers. */
static int listen_somewhere(char *ret_address, size_t cap)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)(void *)&addr, n), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)(void *)&addr, &n), 0);
    snprintf(ret_address, cap, "127.0.0.1:%d", ntohs(addr.sin_port));
    return fd;
}

struct waiter {
    int listener;
    struct cachew_cancel *cancel;
};

static void cancel_when_connected(void *arg)
{
    struct waiter *waiter = arg;
    int fd = accept(waiter->listener, NULL, NULL);
    cachew_cancel_set(waiter->cancel);
    close(fd);
}

static void connecting_is_cancelled(void **state)
{
    (void)state;
    char address[64];
    struct cachew_client *client = NULL;
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    struct waiter waiter = {listen_somewhere(address, sizeof(address)), cachew_cancel_new()};
    struct cw_thread thread = {0};
    options.timeout_ms = LONG_MS;
    options.cancel = waiter.cancel;
    cw_thread_start(&thread, "cancel", cancel_when_connected, &waiter);
    assert_int_equal(cachew_connect(address, &options, &client, &error), CACHEW_E_CANCELLED);
    assert_non_null(strstr(error.message, address));
    cw_thread_join(&thread);
    /* it stays set */
    assert_int_equal(cachew_connect(address, &options, &client, &error), CACHEW_E_CANCELLED);
    assert_int_equal(cachew_connect("local:", &options, &client, &error), CACHEW_E_CANCELLED);
    assert_null(client);
    close(waiter.listener);
    cachew_cancel_free(waiter.cancel);
}

static void silence_is_bounded(void **state)
{
    (void)state;
    char address[64];
    struct cachew_client *client = NULL;
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    int listener = listen_somewhere(address, sizeof(address));
    options.timeout_ms = 100;
    assert_int_equal(cachew_connect(address, &options, &client, &error), CACHEW_E_UNAVAILABLE);
    assert_non_null(strstr(error.message, address));
    close(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connecting_is_cancelled),
        cmocka_unit_test(silence_is_bounded),
    };
    return cmocka_run_group_tests_name("client_cancel", tests, NULL, NULL);
}
