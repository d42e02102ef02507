/* SPDX-License-Identifier: Apache-2.0 */
/* TLS on this host: unix sockets need none, a server asks itself, and its port has no plaintext. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "certs.h"
#include "world.h"

struct place {
    char dir[64], cert[96], key[96], ca[96], socket[96];
    struct cw_tls_options options;
};

static void place_make(struct place *place)
{
    *place = (struct place){0};
    snprintf(place->dir, sizeof(place->dir), "/tmp/cw_test_tls_host_XXXXXX");
    assert_non_null(mkdtemp(place->dir));
    snprintf(place->cert, sizeof(place->cert), "%s/a.crt", place->dir);
    snprintf(place->key, sizeof(place->key), "%s/a.key", place->dir);
    snprintf(place->ca, sizeof(place->ca), "%s/one.ca", place->dir);
    snprintf(place->socket, sizeof(place->socket), "unix:%s/s", place->dir);
    place->options.cert = place->cert;
    place->options.key = place->key;
    place->options.ca = place->ca;
    certs_write(place->dir, "a", "one", "cachew-dispatcher");
}

static void place_remove(const struct place *place)
{
    remove(place->cert);
    remove(place->key);
    remove(place->ca);
    assert_int_equal(rmdir(place->dir), 0);
}

static void call(struct world *world, int expect)
{
    struct result result;
    world_call(world, "/test.T/Echo", "x", 1, 60000, &result);
    if (result.code != expect)
        fail_msg("%d, %s", result.code, result.msg);
    result_fini(&result);
}

static void test_unix(void **state)
{
    struct place place;
    struct world world;
    (void)state;
    place_make(&place);
    world_open_tls(&world, place.socket, &place.options);
    call(&world, 0);
    struct cw_rpc *plain = cw_rpc_new(world.loop);
    struct cw_channel *before = world.channel;
    world.channel = cw_channel_open(plain, world.address);
    call(&world, 0);
    cw_channel_close(world.channel);
    cw_rpc_free(plain);
    world.channel = before;
    world_close(&world);
    place_remove(&place);
}

struct wait {
    struct world *world;
    const char *says; /* NULL: no trouble */
    bool done;
};

static void look(void *arg)
{
    struct wait *wait = arg;
    const char *trouble = cw_server_trouble(wait->world->server);
    wait->done = wait->says ? trouble && strstr(trouble, wait->says) : !trouble;
    if (wait->done)
        world_poke(wait->world);
}

static void wait_for(struct world *world, const char *says)
{
    struct wait wait = {.world = world, .says = says};
    struct cw_timer *timer = cw_timer_new(world->loop, look, &wait);
    cw_timer_start(timer, 0, 10);
    world_wait(world, &wait.done);
    cw_timer_free(timer);
}

static void test_probe(void **state)
{
    struct place place;
    struct world world;
    (void)state;
    place_make(&place);
    world_open_tls(&world, "127.0.0.1:0", &place.options);
    cw_server_add_probe(world.server);
    cw_server_set_serving(world.server, false);
    wait_for(&world, "does not serve");
    cw_server_set_serving(world.server, true);
    wait_for(&world, NULL);
    call(&world, 0);
    world_close(&world);
    place_remove(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_unix), cmocka_unit_test(test_probe)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
