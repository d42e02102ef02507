/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses in the file system: what a server finds where its unix socket is to be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

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

static void leave_dead_socket(const char *path)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    size_t n = strlen(path);
    assert_true(n < sizeof sun.sun_path);
    memcpy(sun.sun_path, path, n + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&sun, sizeof sun), 0);
    close(fd);
}

/* It is replaced. */
static void test_dead_socket(void **state)
{
    struct world world;
    struct result result;
    char address[128];
    (void)state;
    snprintf(address, sizeof address, "unix:%s/socket", directory);
    leave_dead_socket(address + strlen("unix:"));
    world_open(&world, address);
    world_call(&world, "/test.T/Echo", "x", 1, 60000, &result);
    assert_int_equal(result.code, 0);
    result_fini(&result);
    world_close(&world);
    unlink(address + strlen("unix:"));
}

static void test_no_directory(void **state)
{
    struct world world;
    struct cw_err err;
    char address[128];
    (void)state;
    snprintf(address, sizeof address, "unix:%s/none/socket", directory);
    world_open(&world, "127.0.0.1:0");
    assert_int_equal(world_listen(&world, address, &err), CW_E_NOT_FOUND);
    world_close(&world);
}

static void test_not_a_socket(void **state)
{
    struct world world;
    struct cw_err err;
    char address[128];
    struct stat st;
    (void)state;
    snprintf(address, sizeof address, "unix:%s/file", directory);
    FILE *file = fopen(address + strlen("unix:"), "w");
    assert_non_null(file);
    fclose(file);
    world_open(&world, "127.0.0.1:0");
    assert_int_equal(world_listen(&world, address, &err), CW_E_EXISTS);
    world_close(&world);
    assert_int_equal(stat(address + strlen("unix:"), &st), 0);
    unlink(address + strlen("unix:"));
}

static void test_loopback(void **state)
{
    static const char *const here[] = {"unix:/run/socket",     "127.0.0.1:0",
                                       "127.200.3.4:7070",     "[::1]:7070",
                                       "[::ffff:127.0.0.1]:1", "localhost:7070"};
    static const char *const beyond[] = {"0.0.0.0:0",    "[::]:7070",      "10.0.0.1:7070",
                                         "node1:7070",   "[fe80::1]:7070", "[::ffff:10.0.0.1]:1",
                                         "128.0.0.1:80", "127.0.0.1",      "localhost.example:80",
                                         "0:7070",       "127.1:7070",     ""};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(here); i++)
        if (!cw_rpc_address_is_loopback(here[i]))
            fail_msg("%s", here[i]);
    for (size_t i = 0; i < CW_ARRAY_LEN(beyond); i++)
        if (cw_rpc_address_is_loopback(beyond[i]))
            fail_msg("%s", beyond[i]);
}

/* The address that clients are told, of a host and the port at which a server listens. */
static void test_of_host(void **state)
{
    static const char *const good[][3] = {
        {"10.0.0.8", "0.0.0.0:7071", "10.0.0.8:7071"},
        {"node8.example", "[::]:7071", "node8.example:7071"},
        {"a_b-c", "127.0.0.1:1", "a_b-c:1"},
        {"fd00::8", "[::]:7071", "[fd00::8]:7071"},
        {"[fd00::8]", "0.0.0.0:7071", "[fd00::8]:7071"},
        {"::ffff:10.0.0.1", "[::]:65535", "[::ffff:10.0.0.1]:65535"},
    };
    static const char *const bad[] = {
        "",           "0.0.0.0",
        "::",         "[::]",
        "[10.0.0.8]", "[node8]",
        "[]",         "node8:80",
        "fe80::1%2",  "a/b",
        "unix:/x",    "10.0.0.8:7071",
        "300.1.1.1",  "10.0.0",
        "a b",        "-a",
        "fd00:8",     "[fd00::8",
        "fd00::8]",   "7071",
        "n\n",        "[fd00::8]:7071",
        "node8.",
    };
    char address[300] = "", longest[400];
    struct cw_err err = {0};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(good); i++) {
        assert_int_equal(
            cw_rpc_address_of_host(good[i][0], good[i][1], address, sizeof(address), &err), 0);
        assert_string_equal(address, good[i][2]);
        assert_int_equal(cw_rpc_address_check(address, &err), 0);
    }
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        if (cw_rpc_address_of_host(bad[i], "0.0.0.0:7071", address, sizeof(address), &err) !=
            CW_E_INVALID)
            fail_msg("\"%s\"", bad[i]);
    assert_int_equal(cw_rpc_address_of_host("node8", "unix:/run/s", address, sizeof(address), &err),
                     CW_E_INVALID);
    memset(longest, 'a', sizeof(longest));
    longest[255] = '\0';
    assert_int_equal(cw_rpc_address_of_host(longest, "[::]:65535", address, sizeof(address), &err),
                     0);
    assert_int_equal(cw_rpc_address_check(address, &err), 0);
    longest[255] = 'a';
    longest[256] = '\0';
    assert_int_equal(cw_rpc_address_of_host(longest, "[::]:1", address, sizeof(address), &err),
                     CW_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loopback),     cmocka_unit_test(test_of_host),
        cmocka_unit_test(test_dead_socket),  cmocka_unit_test(test_no_directory),
        cmocka_unit_test(test_not_a_socket),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
