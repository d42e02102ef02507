/* SPDX-License-Identifier: Apache-2.0 */
/* A server asks itself on its own port, for which descriptors are kept when all others are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "world.h"

#define FILES 96

/* Descriptors that this test keeps open, so that nobody has them. */
struct used {
    int fds[FILES];
    size_t n;
    int last; /* the highest that is taken */
};

struct wait {
    struct world *world;
    const char *says; /* NULL: that it serves */
    uint64_t connections;
    struct used *used; /* what is closed meanwhile is taken, too; NULL: nothing */
    bool done;
};

static void take_all(struct used *used)
{
    for (int fd; (fd = dup(0)) >= 0; used->fds[used->n++] = fd)
        if (fd > used->last) {
            close(fd);
            break;
        }
}

static void give_back(const struct used *used)
{
    for (size_t i = 0; i < used->n; i++)
        close(used->fds[i]);
}

static void look(void *arg)
{
    struct wait *wait = arg;
    const char *trouble = cw_server_trouble(wait->world->server);
    bool is_said = wait->says ? trouble && strstr(trouble, wait->says) : !trouble;
    if (wait->used) /* gRPC closes a connection some time after its peer did. */
        take_all(wait->used);
    struct cw_server_calls calls = cw_server_calls(wait->world->server);
    wait->done = is_said && calls.connections >= wait->connections && (!wait->used || calls.full);
    if (wait->done)
        world_poke(wait->world);
}

static void wait_while(struct world *world, struct used *used, const char *says,
                       uint64_t connections)
{
    struct wait wait = {.world = world, .says = says, .connections = connections, .used = used};
    struct cw_timer *timer = cw_timer_new(world->loop, look, &wait);
    cw_timer_start(timer, 0, 10);
    world_wait(world, &wait.done);
    cw_timer_free(timer);
}

/* Waits until the last answer says this, and so many connections were taken. */
static void wait_for(struct world *world, const char *says, uint64_t connections)
{
    wait_while(world, NULL, says, connections);
}

static void asks(const char *address)
{
    struct world world;
    world_open(&world, address);
    assert_null(cw_server_trouble(world.server)); /* nobody asks */
    cw_server_add_probe(world.server);
    assert_non_null(cw_server_trouble(world.server));
    wait_for(&world, NULL, 1);
    cw_server_set_serving(world.server, false);
    wait_for(&world, "does not serve", 0);
    cw_server_set_serving(world.server, true);
    wait_for(&world, NULL, 0);
    world_close(&world);
}

static void over_tcp(void **state)
{
    (void)state;
    asks("127.0.0.1:0");
}

static void over_all_addresses(void **state)
{
    (void)state;
    asks("[::]:0");
}

static void over_a_unix_socket(void **state)
{
    char address[64], dir[] = "/tmp/probe-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(address, sizeof(address), "unix:%s/s", dir);
    asks(address);
    assert_int_equal(rmdir(dir), 0);
}

static void when_descriptors_are_short(void **state)
{
    struct world world;
    struct rlimit before, few;
    /* None is left for others: an eighth is reserved, of which this question uses two. */
    struct used used = {.last = FILES - FILES / 8 - 1};
    (void)state;
    world_open(&world, "127.0.0.1:0");
    cw_server_add_probe(world.server);
    wait_for(&world, NULL, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = FILES;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    wait_while(&world, &used, NULL, cw_server_calls(world.server).connections + 2);
    assert_int_equal(cw_server_calls(world.server).connections_refused, 0);
    used.last = FILES;
    wait_while(&world, &used, "open files", 0);
    give_back(&used);
    wait_for(&world, NULL, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_tcp),
        cmocka_unit_test(over_all_addresses),
        cmocka_unit_test(over_a_unix_socket),
        cmocka_unit_test(when_descriptors_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
