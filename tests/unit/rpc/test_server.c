/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, stopping, health and reflection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "grpc/health/v1/health.pb-c.h"
#include "grpc/reflection/v1/reflection.pb-c.h"
#include "world.h"

static char directory[64];

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/cachew-rpc-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

static void test_addresses(void **state)
{
    struct world world;
    struct cw_err err;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    assert_string_not_equal(world.address, "127.0.0.1:0");
    assert_int_equal(world_listen(&world, world.address, &err), CW_E_EXISTS);
    assert_non_null(strstr(err.msg, world.address));
    assert_int_equal(world_listen(&world, "127.0.0.1:0", &err), 0);
    assert_int_equal(world_listen(&world, "somewhere", &err), CW_E_INVALID);
    /* not an address of this machine */
    assert_int_equal(world_listen(&world, "192.0.2.1:0", &err) < 0, 1);
    assert_non_null(strstr(err.msg, "192.0.2.1:0"));
    char address[200];
    snprintf(address, sizeof address, "unix:%s/%0120d", directory, 0);
    assert_int_equal(world_listen(&world, address, &err), CW_E_INVALID);
    world_close(&world);
}

static void test_unix(void **state)
{
    struct world world;
    struct cw_err err;
    struct result result;
    char address[128];
    (void)state;
    snprintf(address, sizeof address, "unix:%s/socket", directory);
    world_open(&world, address);
    assert_string_equal(world.address, address);
    assert_int_equal(world_listen(&world, address, &err),
                     CW_E_EXISTS); /* a live one is left alone */
    world_call(&world, "/test.T/Echo", "x", 1, 60000, &result);
    assert_int_equal(result.code, 0);
    result_fini(&result);
    world_close(&world);
    snprintf(address, sizeof address, "%s/socket", directory);
    unlink(address);
}

static void test_stop_with_open_streams(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox echo = {.world = &world}, quiet = {.world = &world};
    struct cw_buf *buf = pattern_buf(100, 1);
    echo.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &echo);
    quiet.stream = cw_channel_stream(world.channel, "/test.S/Quiet", &inbox_cb, &quiet);
    cw_stream_send(echo.stream, &buf, 1);
    inbox_wait_n(&echo, 1);
    while (!world.quiet)
        cw_loop_run(world.loop);
    world_stop_server(&world, 100);
    world_wait(&world, &world.stopped);
    world_wait(&world, &echo.closed);
    world_wait(&world, &quiet.closed);
    assert_true(echo.code < 0 && quiet.code < 0);
    assert_true(world.quiet_closed);
    /* And a new call is refused. */
    struct inbox late = {.world = &world};
    late.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &late);
    world_wait(&world, &late.closed);
    assert_int_equal(late.code, CW_E_UNAVAILABLE);
    assert_non_null(strstr(late.msg, world.address));
    cw_buf_unref(buf);
    inbox_fini(&echo);
    inbox_fini(&quiet);
    inbox_fini(&late);
    world_close(&world);
}

/* ---- health ---- */

static struct cw_buf *health_request(const char *service)
{
    Grpc__Health__V1__HealthCheckRequest request = GRPC__HEALTH__V1__HEALTH_CHECK_REQUEST__INIT;
    char name[64];
    snprintf(name, sizeof name, "%s", service);
    request.service = name;
    struct cw_buf *buf =
        cw_buf_new(grpc__health__v1__health_check_request__get_packed_size(&request));
    grpc__health__v1__health_check_request__pack(&request, buf->data);
    return buf;
}

static int health_of(const struct cw_buf *reply)
{
    Grpc__Health__V1__HealthCheckResponse *response =
        grpc__health__v1__health_check_response__unpack(NULL, reply->len, reply->data);
    assert_non_null(response);
    int status = (int)response->status;
    grpc__health__v1__health_check_response__free_unpacked(response, NULL);
    return status;
}

static int check(struct world *world, const char *service)
{
    struct result result;
    struct cw_buf *request = health_request(service);
    world_call(world, "/grpc.health.v1.Health/Check", request->data, request->len, 60000, &result);
    int status = result.code ? result.code : health_of(result.reply);
    result_fini(&result);
    cw_buf_unref(request);
    return status;
}

static void test_liveness_and_readiness(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    assert_int_equal(check(&world, "liveness"), 1);
    assert_int_equal(check(&world, "readiness"), 1);
    struct inbox watch = {.world = &world};
    struct cw_buf *request = health_request("readiness");
    watch.stream =
        cw_channel_stream(world.channel, "/grpc.health.v1.Health/Watch", &inbox_cb, &watch);
    cw_stream_send(watch.stream, &request, 1);
    inbox_wait_n(&watch, 1);
    assert_int_equal(health_of(watch.last), 1);
    cw_server_set_ready(world.server, false);
    inbox_wait_n(&watch, 2);
    assert_int_equal(health_of(watch.last), 2);
    assert_int_equal(check(&world, "readiness"), 2);
    assert_int_equal(check(&world, "liveness"), 1);
    assert_int_equal(check(&world, ""), 1);
    cw_server_set_serving(world.server, false); /* no news for whoever asks for readiness */
    assert_int_equal(check(&world, "liveness"), 1);
    cw_server_set_ready(world.server, true);
    assert_int_equal(check(&world, "readiness"), 2);
    cw_server_set_serving(world.server, true);
    inbox_wait_n(&watch, 3);
    assert_int_equal(watch.n, 3);
    assert_int_equal(health_of(watch.last), 1);
    cw_buf_unref(request);
    inbox_fini(&watch);
    world_close(&world);
}

static void test_health(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    assert_int_equal(check(&world, ""), 1);
    assert_int_equal(check(&world, "test.T"), 1);
    assert_int_equal(check(&world, "test.X"), CW_E_NOT_FOUND);

    struct inbox watch = {.world = &world}, unknown = {.world = &world};
    struct cw_buf *request = health_request("test.S"), *other = health_request("test.X");
    watch.stream =
        cw_channel_stream(world.channel, "/grpc.health.v1.Health/Watch", &inbox_cb, &watch);
    cw_stream_send(watch.stream, &request, 1);
    cw_stream_finish(watch.stream, 0, NULL); /* as every client of a server stream does */
    inbox_wait_n(&watch, 1);
    assert_int_equal(health_of(watch.last), 1);
    unknown.stream =
        cw_channel_stream(world.channel, "/grpc.health.v1.Health/Watch", &inbox_cb, &unknown);
    cw_stream_send(unknown.stream, &other, 1);
    inbox_wait_n(&unknown, 1);
    assert_int_equal(health_of(unknown.last), 3);
    cw_server_set_serving(world.server, false);
    inbox_wait_n(&watch, 2);
    assert_int_equal(health_of(watch.last), 2);
    assert_int_equal(check(&world, ""), 2);
    cw_server_set_serving(world.server, true);
    inbox_wait_n(&watch, 3);
    world_stop_server(&world, 60000); /* the watchers do not hold it up */
    world_wait(&world, &watch.closed);
    world_wait(&world, &unknown.closed);
    world_wait(&world, &world.stopped);
    assert_int_equal(watch.n, 4);
    assert_int_equal(health_of(watch.last), 2);
    cw_buf_unref(request);
    cw_buf_unref(other);
    inbox_fini(&watch);
    inbox_fini(&unknown);
    world_close(&world);
}

/* ---- reflection ---- */

typedef Grpc__Reflection__V1__ServerReflectionRequest request_pb;
typedef Grpc__Reflection__V1__ServerReflectionResponse response_pb;

static void ask(struct inbox *inbox, int what, const char *text, response_pb **ret)
{
    char copy[128];
    request_pb request = GRPC__REFLECTION__V1__SERVER_REFLECTION_REQUEST__INIT;
    snprintf(copy, sizeof copy, "%s", text);
    request.message_request_case =
        (Grpc__Reflection__V1__ServerReflectionRequest__MessageRequestCase)what;
    request.list_services = copy; /* all of the union are strings here */
    struct cw_buf *buf =
        cw_buf_new(grpc__reflection__v1__server_reflection_request__get_packed_size(&request));
    grpc__reflection__v1__server_reflection_request__pack(&request, buf->data);
    size_t before = inbox->n;
    cw_stream_send(inbox->stream, &buf, 1);
    cw_buf_unref(buf);
    inbox_wait_n(inbox, before + 1);
    *ret = grpc__reflection__v1__server_reflection_response__unpack(NULL, inbox->last->len,
                                                                    inbox->last->data);
    assert_non_null(*ret);
}

static bool contains(const ProtobufCBinaryData *data, const char *text)
{
    return memmem(data->data, data->len, text, strlen(text)) != NULL;
}

static void try_reflection(struct world *world, const char *method)
{
    struct inbox inbox = {.world = world};
    response_pb *response;
    inbox.stream = cw_channel_stream(world->channel, method, &inbox_cb, &inbox);
    ask(&inbox, 7, "", &response);
    assert_int_equal(response->message_response_case, 6);
    assert_int_equal(response->list_services_response->n_service, 5);
    assert_string_equal(response->list_services_response->service[0]->name, "test.T");
    assert_string_equal(response->list_services_response->service[2]->name,
                        "grpc.health.v1.Health");
    grpc__reflection__v1__server_reflection_response__free_unpacked(response, NULL);

    ask(&inbox, 4, "cachew.v1.Jobs.Attach", &response);
    assert_int_equal(response->message_response_case, 4);
    /* and what it imports */
    assert_int_equal(response->file_descriptor_response->n_file_descriptor_proto, 3);
    assert_true(contains(&response->file_descriptor_response->file_descriptor_proto[0],
                         "cachew/v1/job.proto"));
    assert_true(contains(&response->file_descriptor_response->file_descriptor_proto[1],
                         "cachew/v1/bad.proto"));
    assert_true(contains(&response->file_descriptor_response->file_descriptor_proto[2],
                         "cachew/v1/graph.proto"));
    grpc__reflection__v1__server_reflection_response__free_unpacked(response, NULL);

    static const char *const symbols[] = {"cachew.v1.Jobs", "cachew.v1.Value.List",
                                          "cachew.v1.ConsumerMode", "grpc.health.v1.Health"};
    for (size_t i = 0; i < CW_ARRAY_LEN(symbols); i++) {
        ask(&inbox, 4, symbols[i], &response);
        assert_int_equal(response->message_response_case, 4);
        grpc__reflection__v1__server_reflection_response__free_unpacked(response, NULL);
    }
    ask(&inbox, 3, "cachew/v1/graph.proto", &response);
    assert_int_equal(response->message_response_case, 4);
    grpc__reflection__v1__server_reflection_response__free_unpacked(response, NULL);
    ask(&inbox, 4, "no.such.Thing", &response);
    assert_int_equal(response->message_response_case, 7);
    assert_int_equal(response->error_response->error_code, 5);
    grpc__reflection__v1__server_reflection_response__free_unpacked(response, NULL);
    cw_stream_finish(inbox.stream, 0, NULL);
    world_wait(world, &inbox.closed);
    assert_int_equal(inbox.code, 0);
    inbox_fini(&inbox);
}

static void test_reflection(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    try_reflection(&world, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
    try_reflection(&world, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_unix),
        cmocka_unit_test(test_stop_with_open_streams),
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_liveness_and_readiness),
        cmocka_unit_test(test_reflection),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
