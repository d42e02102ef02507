/* SPDX-License-Identifier: Apache-2.0 */
/* TLS: who is let in, what each side is told of the other, and certificates that are replaced. Runs on
 * gRPC, and on the simulated network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "certs.h"
#include "world.h"

struct files {
    char dir[64];
    char cert[128], key[128], ca[128];
    struct cw_tls_options options;
};

static struct {
    char names[256]; /* of the last caller */
    size_t asked;
} seen;

/* Lets everybody in who shows a certificate. */
static enum cw_gate gate(void *arg, const struct cw_gate_question *question, void **ret_caller,
                         const char **ret_why)
{
    (void)arg;
    CW_STR_AUTO names = {0};
    for (size_t i = 0; i < question->names_n; i++)
        cw_str_addf(&names, "%s%s", i > 0 ? " " : "", question->names[i]);
    snprintf(seen.names, sizeof(seen.names), "%s", cw_str_text(&names));
    seen.asked++;
    *ret_caller = NULL;
    *ret_why = "no certificate";
    return question->tls ? CW_GATE_PASS : CW_GATE_DENY;
}

static void files_make(struct files *files, const char *dir, const char *who, const char *ca,
                       const char *names)
{
    *files = (struct files){0};
    snprintf(files->dir, sizeof(files->dir), "%s", dir);
    snprintf(files->cert, sizeof(files->cert), "%s/%s.crt", dir, who);
    snprintf(files->key, sizeof(files->key), "%s/%s.key", dir, who);
    snprintf(files->ca, sizeof(files->ca), "%s/%s.ca", dir, ca);
    files->options.cert = files->cert;
    files->options.key = files->key;
    files->options.ca = files->ca;
    certs_write(dir, who, ca, names);
}

static void dir_make(char dir[64])
{
    snprintf(dir, 64, "/tmp/cw_test_tls_XXXXXX");
    assert_non_null(mkdtemp(dir));
}

static void dir_remove(const char *dir)
{
    static const char *const names[] = {"server.crt", "server.key", "client.crt",
                                        "client.key", "one.ca",     "two.ca"};
    char path[128];
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)remove(path);
    }
    rmdir(dir);
}

/* A server with the gate, and a client with another certificate, in one loop. */
struct pair {
    char dir[64];
    struct files server, client;
    struct world world;
    struct cw_rpc *rpc;
    struct cw_channel *own; /* the world's, of the server's environment */
};

static void pair_open(struct pair *pair, const char *server_names, const char *client_ca,
                      const char *client_names, const char *client_rule)
{
    memset(&seen, 0, sizeof(seen));
    dir_make(pair->dir);
    files_make(&pair->server, pair->dir, "server", "one", server_names);
    files_make(&pair->client, pair->dir, "client", client_ca, client_names);
    if (client_rule)
        pair->client.options.roles.v[pair->client.options.roles.n++] = client_rule;
    world_open_tls(&pair->world, "127.0.0.1:0", &pair->server.options);
    world_stop_server(&pair->world, 0);
    world_wait(&pair->world, &pair->world.stopped);
    char address[256];
    snprintf(address, sizeof(address), "%s", pair->world.address);
    pair->world.gate = gate;
    world_serve(&pair->world, address);
    pair->rpc = cw_rpc_new(pair->world.loop);
    struct cw_err err = {0};
    if (cw_rpc_set_tls(pair->rpc, &pair->client.options, &err) != 0)
        fail_msg("%s", err.msg);
    pair->own = pair->world.channel;
    pair->world.channel = cw_channel_open(pair->rpc, address);
}

static void pair_close(struct pair *pair)
{
    cw_channel_close(pair->world.channel);
    cw_rpc_free(pair->rpc);
    pair->world.channel = pair->own;
    world_close(&pair->world);
    dir_remove(pair->dir);
}

static void call(struct world *world, int expect, const char *says)
{
    struct result result;
    world_call(world, "/test.T/Echo", "x", 1, 60000, &result);
    if (result.code != expect || (says && !strstr(result.msg, says)))
        fail_msg("%d, %s", result.code, result.msg);
    result_fini(&result);
}

static void call_as(struct pair *pair, enum cw_role role, int expect, const char *says)
{
    struct cw_channel *before = pair->world.channel;
    pair->world.channel = cw_channel_open_to(pair->rpc, pair->world.address, role);
    call(&pair->world, expect, says);
    cw_channel_close(pair->world.channel);
    pair->world.channel = before;
}

static void test_names(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, "cachew-dispatcher", "one", "vision.cachew-client cachew-admin", NULL);
    call(&pair.world, 0, NULL);
    assert_string_equal(seen.names, "vision.cachew-client cachew-admin");
    pair_close(&pair);
}

static void test_who_serves(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, "cachew-worker node1.example", "one", "vision.cachew-client",
              "node2.example=dispatcher");
    call(&pair.world, CW_E_UNAVAILABLE, "cachew-worker, node1.example, and the role dispatcher");
    call_as(&pair, CW_ROLE_WORKER, 0, NULL);
    assert_int_equal(seen.asked, 1);
    pair_close(&pair);
    pair_open(&pair, "node1.example", "one", "vision.cachew-client", "node1.example=dispatcher");
    call(&pair.world, 0, NULL);
    call_as(&pair, CW_ROLE_WORKER, CW_E_UNAVAILABLE, "role worker");
    pair_close(&pair);
}

/* A worker beside a trainer shows the trainer's certificate: it serves its tenant only. */
static void test_worker_of_tenant(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, "vision.cachew-client", "one", "vision.cachew-client", NULL);
    call_as(&pair, CW_ROLE_WORKER, 0, NULL);
    call_as(&pair, CW_ROLE_DISPATCHER, CW_E_UNAVAILABLE, "role dispatcher");
    pair_close(&pair);
    pair_open(&pair, "speech.cachew-client", "one", "vision.cachew-client", NULL);
    call_as(&pair, CW_ROLE_WORKER, CW_E_UNAVAILABLE, "speech.cachew-client, and the role worker");
    pair_close(&pair);
}

static void test_wrong_ca(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, "cachew-dispatcher", "two", "vision.cachew-client", NULL);
    call(&pair.world, CW_E_UNAVAILABLE, pair.client.ca);
    /* This one knows who signs for the server, which does not know who has signed for it. */
    struct cw_tls_options options = pair.client.options;
    options.ca = pair.server.ca;
    struct cw_rpc *rpc = cw_rpc_new(pair.world.loop);
    assert_int_equal(cw_rpc_set_tls(rpc, &options, NULL), 0);
    struct cw_channel *before = pair.world.channel;
    pair.world.channel = cw_channel_open(rpc, pair.world.address);
    call(&pair.world, CW_E_UNAVAILABLE, pair.client.cert);
    cw_channel_close(pair.world.channel);
    cw_rpc_free(rpc);
    pair.world.channel = before;
    assert_int_equal(seen.asked, 0);
    pair_close(&pair);
}

static void test_plaintext(void **state)
{
    struct pair pair;
    (void)state;
    pair_open(&pair, "cachew-dispatcher", "one", "vision.cachew-client", NULL);
    struct cw_rpc *rpc = cw_rpc_new(pair.world.loop);
    struct cw_channel *before = pair.world.channel;
    pair.world.channel = cw_channel_open(rpc, pair.world.address);
    call(&pair.world, CW_E_UNAVAILABLE, "does it want TLS");
    cw_channel_close(pair.world.channel);
    pair.world.channel = before;
    assert_int_equal(seen.asked, 0);
    struct cw_rpc *tls = pair.world.rpc; /* a server that speaks none */
    struct cw_server *server = pair.world.server;
    char address[256];
    snprintf(address, sizeof(address), "%s", pair.world.address);
    pair.world.rpc = rpc;
    pair.world.gate = NULL;
    world_serve(&pair.world, "127.0.0.1:0");
    pair.world.channel = cw_channel_open(pair.rpc, pair.world.address);
    call(&pair.world, CW_E_UNAVAILABLE, "TLS");
    cw_channel_close(pair.world.channel);
    world_stop_server(&pair.world, 0);
    world_wait(&pair.world, &pair.world.stopped);
    cw_rpc_free(rpc);
    pair.world.rpc = tls;
    pair.world.server = server;
    pair.world.stopped = false;
    pair.world.channel = before;
    pair_close(&pair);
}

static void test_bad_files(void **state)
{
    char dir[64];
    struct files files;
    struct world world;
    struct cw_err err = {0};
    (void)state;
    dir_make(dir);
    files_make(&files, dir, "server", "one", "cachew-dispatcher");
    world_open(&world, "127.0.0.1:0");
    struct cw_tls_options options = files.options;
    options.key = "/nonexistent/x.key";
    struct cw_rpc *rpc = cw_rpc_new(world.loop);
    assert_int_not_equal(cw_rpc_set_tls(rpc, &options, &err), 0);
    assert_non_null(strstr(err.msg, "--tls-key /nonexistent/x.key"));
    struct cw_channel *before = world.channel;
    world.channel = cw_channel_open(rpc, world.address);
    call(&world, err.code, "--tls-key /nonexistent/x.key"); /* and not in plaintext */
    cw_channel_close(world.channel);
    cw_rpc_free(rpc);
    world.channel = before;
    world_close(&world);
    dir_remove(dir);
}

static void wait_for_names(struct pair *pair, const char *names)
{
    while (!cw_str_eq(seen.names, names))
        call(&pair->world, 0, NULL);
}

static void echo(struct inbox *inbox)
{
    struct cw_buf *buf = cw_buf_copy("x", 1);
    size_t before = inbox->n;
    cw_stream_send(inbox->stream, &buf, 1);
    cw_buf_unref(buf);
    inbox_wait_n(inbox, before + 1);
}

/* Both sides get other certificates: calls that are under way go on, and what connects then shows the
 * new ones. */
static void test_rotation(void **state)
{
    struct pair pair;
    struct inbox inbox = {.world = &pair.world};
    (void)state;
    pair_open(&pair, "cachew-dispatcher", "one", "vision.cachew-client", NULL);
    inbox.stream = cw_channel_stream(pair.world.channel, "/test.S/Echo", &inbox_cb, &inbox);
    echo(&inbox);
    certs_write(pair.dir, "client", "one", "speech.cachew-client");
    wait_for_names(&pair, "speech.cachew-client");
    echo(&inbox);
    certs_write(pair.dir, "client", "one", "third.cachew-client");
    wait_for_names(&pair, "third.cachew-client");
    echo(&inbox);
    certs_write(pair.dir, "server", "one", "cachew-worker");
    struct result result = {.code = 0};
    while (result.code == 0) { /* each time over a connection of its own */
        struct cw_channel *before = pair.world.channel;
        pair.world.channel = cw_channel_open(pair.rpc, pair.world.address);
        world_call(&pair.world, "/test.T/Echo", "x", 1, 60000, &result);
        result_fini(&result);
        cw_channel_close(pair.world.channel);
        pair.world.channel = before;
    }
    assert_non_null(strstr(result.msg, "cachew-worker, and the role dispatcher"));
    echo(&inbox);
    call(&pair.world, 0, NULL); /* the connection that stands */
    inbox_fini(&inbox);
    pair_close(&pair);
}

static bool told; /* what is wrong with the files was logged */

static void on_log(enum cw_log_level level, const char *module, const char *text)
{
    (void)level;
    (void)module;
    told = told || strstr(text, "what was read before still counts: --tls-key");
}

/* A key that does not fit, as while files are being replaced: what was read before still counts. */
static void test_half_replaced(void **state)
{
    struct pair pair;
    char key[160], kept[168];
    (void)state;
    pair_open(&pair, "cachew-dispatcher", "one", "vision.cachew-client", NULL);
    snprintf(key, sizeof(key), "%s", pair.client.key);
    snprintf(kept, sizeof(kept), "%s.kept", key);
    call(&pair.world, 0, NULL);
    assert_int_equal(rename(key, kept), 0);
    certs_write(pair.dir, "client", "one", "speech.cachew-client");
    assert_int_equal(rename(kept, key), 0); /* the old key beside the new certificate */
    told = false;
    cw_log_set_sink(on_log);
    for (bool last = false; !last;) {
        last = told;
        call_as(&pair, CW_ROLE_DISPATCHER, 0, NULL);
        assert_string_equal(seen.names, "vision.cachew-client");
    }
    cw_log_set_sink(NULL);
    certs_write(pair.dir, "client", "one", "third.cachew-client");
    wait_for_names(&pair, "third.cachew-client");
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_who_serves),
        cmocka_unit_test(test_worker_of_tenant),
        cmocka_unit_test(test_wrong_ca),
        cmocka_unit_test(test_plaintext),
        cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_half_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
