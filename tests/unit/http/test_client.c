/* SPDX-License-Identifier: Apache-2.0 */
/* Requests on the loop, against a server that answers with whatever bytes the test wants. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "http/http_client.h"
#include "support/cm.h"
#include "support/http_server.h"

struct world {
    struct cw_loop *loop;
    struct cw_http_client *client;
    struct http_server server;
    const char *scheme;
    /* what a call has told */
    struct cw_http_call *call, *other;
    struct cw_str body, head, seen; /* seen: the last request, by the server's thread */
    int code, status, ends, pieces, wanted;
    size_t last_port;
    struct cw_err err;
    bool cancel_in_piece;
};

static void on_end(void *arg, int code, const struct cw_http_response *response,
                   const struct cw_err *err)
{
    struct world *w = arg;
    w->code = code;
    w->status = response->status;
    w->err = *err;
    if (response->body.len > 0)
        cw_str_add_bytes(&w->body, response->body.s, response->body.len);
    cw_str_clear(&w->head);
    cw_str_add(&w->head, cw_str_text(response->head));
    w->ends++;
    if (w->ends >= w->wanted)
        cw_loop_stop(w->loop);
}

static void begin(struct world *w, http_answer_fn *answer)
{
    memset(w, 0, sizeof(*w));
    w->scheme = "http";
    w->wanted = 1;
    w->server.answer = answer;
    w->server.arg = w;
    w->loop = cw_loop_new();
}

static void begin_plain(struct world *w, http_answer_fn *answer)
{
    begin(w, answer);
    http_server_start(&w->server, NULL, NULL, NULL);
    assert_int_equal(cw_http_client_new(w->loop, "test/1", NULL, &w->client, NULL), CW_OK);
}

static void end(struct world *w)
{
    cw_http_client_free(w->client);
    cw_loop_free(w->loop);
    http_server_stop(&w->server);
    cw_str_fini(&w->body);
    cw_str_fini(&w->head);
    cw_str_fini(&w->seen);
}

static struct cw_http_call *ask_with(struct world *w, struct cw_http_request request,
                                     const char *path,
                                     int (*on_bytes)(void *, const struct cw_http_response *,
                                                     const char *, size_t, struct cw_err *))
{
    cw_autofree char *url = cw_mem_printf("%s://127.0.0.1:%d%s", w->scheme, w->server.port, path);
    struct cw_http_events events = {on_bytes, on_end, w};
    request.url = url;
    if (!request.method)
        request.method = "GET";
    return cw_http_call_new(w->client, &request, &events);
}

static void ask(struct world *w, struct cw_http_request request, const char *path)
{
    w->ends = 0;
    cw_str_clear(&w->body);
    w->call = ask_with(w, request, path, NULL);
    cw_loop_run(w->loop);
}

static void keep_request(void *arg, struct http_exchange *x)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct world *w = arg;
    pthread_mutex_lock(&lock); /* each connection has a thread */
    cw_str_clear(&w->seen);
    cw_str_add(&w->seen, x->text);
    pthread_mutex_unlock(&lock);
    http_respond(x, 201, "X-One: 1\r\nx-two:2 \r\nX-One: again\r\n", "made");
}

static void sends_and_receives(void **state)
{
    (void)state;
    static struct world w;
    static const char *const headers[] = {"Content-Type: application/json", "X-Mine: yes", NULL};
    struct cw_str head = {0};
    struct cw_http_response response = {.head = &head};
    char value[16];
    begin_plain(&w, keep_request);
    ask(&w,
        (struct cw_http_request){.method = "PATCH", .headers = headers, .body = "{}", .body_n = 2},
        "/a/b?c=d");
    assert_int_equal(w.code, CW_OK);
    assert_int_equal(w.status, 201);
    assert_string_equal(cw_str_text(&w.body), "made");
    assert_non_null(strstr(w.seen.s, "PATCH /a/b?c=d HTTP/1.1\r\n"));
    assert_non_null(strstr(w.seen.s, "User-Agent: test/1\r\n"));
    assert_non_null(strstr(w.seen.s, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(w.seen.s, "X-Mine: yes\r\n"));
    assert_null(strstr(w.seen.s, "Expect:"));
    assert_string_equal(strstr(w.seen.s, "\r\n\r\n") + 4, "{}");
    cw_str_add(&head, cw_str_text(&w.head));
    assert_true(cw_http_header(&response, "x-one", 0, value, sizeof(value)));
    assert_string_equal(value, "1");
    assert_true(cw_http_header(&response, "X-ONE", 1, value, sizeof(value)));
    assert_string_equal(value, "again");
    assert_true(cw_http_header(&response, "X-Two", 0, value, 2));
    assert_string_equal(value, "2");
    assert_false(cw_http_header(&response, "X-One", 2, value, sizeof(value)));
    assert_false(cw_http_header(&response, "X-On", 0, value, sizeof(value)));
    cw_str_fini(&head);
    ask(&w, (struct cw_http_request){.method = "DELETE"}, "/x");
    assert_non_null(strstr(w.seen.s, "DELETE /x HTTP/1.1\r\n"));
    ask(&w, (struct cw_http_request){.method = "POST", .body = ""}, "/x");
    assert_non_null(strstr(w.seen.s, "Content-Length: 0\r\n"));
    assert_int_equal(atomic_load(&w.server.connections), 1); /* it was used again */
    end(&w);
}

static void redirect(void *arg, struct http_exchange *x)
{
    (void)arg;
    http_respond(x, 302, "Location: http://127.0.0.1:1/\r\n", "go");
}

static void follows_no_redirect(void **state)
{
    (void)state;
    static struct world w;
    begin_plain(&w, redirect);
    ask(&w, (struct cw_http_request){0}, "/");
    assert_int_equal(w.code, CW_OK);
    assert_int_equal(w.status, 302);
    assert_int_equal(atomic_load(&w.server.requests), 1);
    end(&w);
}

static void answer_long(void *arg, struct http_exchange *x)
{
    (void)arg;
    http_send_head(x, 200, "");
    for (int i = 0; i < 100; i++)
        http_send_piece(x, "0123456789", 10);
    http_send_piece(x, "", 0);
}

static void limits_the_body(void **state)
{
    (void)state;
    static struct world w;
    begin_plain(&w, answer_long);
    ask(&w, (struct cw_http_request){.body_max = 1000}, "/");
    assert_int_equal(w.code, CW_OK);
    assert_int_equal(w.body.len, 1000);
    ask(&w, (struct cw_http_request){.body_max = 999}, "/q?secret=1");
    assert_int_equal(w.code, CW_E_LIMIT);
    assert_non_null(strstr(w.err.msg, "GET http://127.0.0.1:"));
    assert_non_null(strstr(w.err.msg, "/q: the response is longer than 999 bytes"));
    assert_null(strstr(w.err.msg, "secret"));
    end(&w);
}

/* Each piece waits until the test has seen the one before. */
static void answer_in_steps(void *arg, struct http_exchange *x)
{
    (void)arg;
    http_send_head(x, 200, "X-Kind: stream\r\n");
    for (int i = 0; i < 3; i++)
        http_send_piece(x, "ab\n", 3);
    http_wait_closed(x);
}

static int on_piece(void *arg, const struct cw_http_response *response, const char *bytes, size_t n,
                    struct cw_err *err)
{
    struct world *w = arg;
    char value[8];
    assert_int_equal(response->status, 200);
    assert_true(cw_http_header(response, "X-Kind", 0, value, sizeof(value)));
    cw_str_add_bytes(&w->body, bytes, n);
    if (w->body.len < 9)
        return CW_OK;
    if (!w->cancel_in_piece)
        return cw_err_set(err, CW_E_CORRUPT, "no good");
    cw_http_call_cancel(w->call);
    cw_http_call_cancel(w->other);
    cw_loop_stop(w->loop);
    return CW_OK;
}

static void streams(void **state)
{
    (void)state;
    static struct world w;
    begin_plain(&w, answer_in_steps);
    w.call = ask_with(&w, (struct cw_http_request){0}, "/", on_piece);
    cw_loop_run(w.loop);
    assert_string_equal(cw_str_text(&w.body), "ab\nab\nab\n");
    assert_int_equal(w.code, CW_E_CORRUPT);
    assert_non_null(strstr(w.err.msg, "no good"));
    end(&w);
}

static void cancels_from_a_piece(void **state)
{
    (void)state;
    static struct world w;
    begin_plain(&w, answer_in_steps);
    w.cancel_in_piece = true;
    w.other = ask_with(&w, (struct cw_http_request){0}, "/other", NULL);
    w.call = ask_with(&w, (struct cw_http_request){0}, "/", on_piece);
    cw_loop_run(w.loop);
    assert_int_equal(w.ends, 0);
    end(&w);
}

/* A call that is begun and cancelled in one turn, and one that nobody waits for. */
static void cancels_at_once(void **state)
{
    (void)state;
    static struct world w;
    begin_plain(&w, keep_request);
    cw_http_call_cancel(ask_with(&w, (struct cw_http_request){0}, "/", NULL));
    cw_http_call_cancel(NULL);
    ask(&w, (struct cw_http_request){0}, "/");
    assert_int_equal(w.ends, 1);
    w.other = ask_with(&w, (struct cw_http_request){0}, "/", NULL);
    end(&w); /* frees it */
    assert_int_equal(w.ends, 1);
}

static void answer_never(void *arg, struct http_exchange *x)
{
    (void)arg;
    if (strstr(x->text, "/some"))
        http_send_text(x, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123");
    http_wait_closed(x);
}

static void ends_what_takes_too_long(void **state)
{
    (void)state;
    static struct world w;
    begin_plain(&w, answer_never);
    ask(&w, (struct cw_http_request){.timeout_ms = 50}, "/");
    assert_int_equal(w.code, CW_E_TIMEOUT);
    ask(&w, (struct cw_http_request){.silence_ms = 50}, "/some");
    assert_int_equal(w.code, CW_E_TIMEOUT);
    assert_int_equal(w.status, 200);
    assert_non_null(strstr(w.err.msg, "not a byte came for 50 ms"));
    end(&w);
}

static void answer_broken(void *arg, struct http_exchange *x)
{
    (void)arg;
    if (strstr(x->text, "/short"))
        http_send_text(x, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123");
    else if (strstr(x->text, "/noise"))
        http_send_text(x, "\x01\x02 what is this\r\n\r\n");
    else if (strstr(x->text, "/head"))
        for (int i = 0; i < 10000; i++)
            http_send_text(x,
                           i == 0 ? "HTTP/1.1 200 OK\r\n" : "X-Long: 0123456789012345678901\r\n");
    x->last = true;
}

static void names_what_broke(void **state)
{
    (void)state;
    static struct world w;
    begin_plain(&w, answer_broken);
    ask(&w, (struct cw_http_request){0}, "/short");
    assert_int_equal(w.code, CW_E_UNAVAILABLE);
    ask(&w, (struct cw_http_request){0}, "/noise");
    assert_int_equal(w.code, CW_E_UNAVAILABLE);
    ask(&w, (struct cw_http_request){0}, "/nothing");
    assert_int_equal(w.code, CW_E_UNAVAILABLE);
    assert_int_equal(w.status, 0);
    ask(&w, (struct cw_http_request){0}, "/head");
    assert_int_equal(w.code, CW_E_LIMIT);
    w.scheme = "file";
    ask(&w, (struct cw_http_request){0}, "/etc/passwd");
    assert_int_equal(w.code, CW_E_INVALID);
    w.scheme = "ftp";
    ask(&w, (struct cw_http_request){0}, "/");
    assert_int_equal(w.code, CW_E_INVALID);
    struct cw_http_events events = {NULL, on_end, &w};
    static const char *const bad[] = {"http://[::1", "", "http://no.such.host.invalid/",
                                      "http://127.0.0.1:1/"};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_http_request request = {.method = "GET", .url = bad[i]};
        w.ends = 0;
        w.call = cw_http_call_new(w.client, &request, &events);
        cw_loop_run(w.loop);
        assert_int_equal(w.code, i < 2 ? CW_E_INVALID : CW_E_UNAVAILABLE);
        assert_non_null(strstr(w.err.msg, bad[i]));
    }
    end(&w);
}

struct certs {
    struct test_ca *ca, *foreign;
    char *ca_text, *foreign_text, *cert, *key, *old_cert, *old_key, *own_cert, *own_key;
};

static void make_certs(struct certs *c)
{
    c->ca = test_ca_new("test-ca");
    c->foreign = test_ca_new("foreign-ca");
    c->ca_text = test_ca_text(c->ca);
    c->foreign_text = test_ca_text(c->foreign);
    test_ca_sign(c->ca, "server", 2, &c->cert, &c->key);
    test_ca_sign(c->ca, "old", -2, &c->old_cert, &c->old_key);
    test_ca_sign(c->ca, "client", 2, &c->own_cert, &c->own_key);
}

static void free_certs(struct certs *c)
{
    char *texts[] = {c->ca_text,  c->foreign_text, c->cert,     c->key,
                     c->old_cert, c->old_key,      c->own_cert, c->own_key};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++)
        free(texts[i]);
    test_ca_free(c->ca);
    test_ca_free(c->foreign);
}

static int ask_by_tls(const char *cert, const char *key, const char *client_ca,
                      const struct cw_http_identity *identity, const char *part)
{
    static struct world w;
    begin(&w, keep_request);
    w.scheme = "https";
    http_server_start(&w.server, cert, key, client_ca);
    assert_int_equal(cw_http_client_new(w.loop, "test/1", identity, &w.client, NULL), CW_OK);
    ask(&w, (struct cw_http_request){.timeout_ms = 60000}, "/");
    int code = w.code;
    if (code == CW_OK)
        assert_string_equal(cw_str_text(&w.body), "made");
    else
        assert_int_equal(atomic_load(&w.server.requests), 0);
    if (part && !strstr(w.err.msg, part))
        fail_msg("%s does not say %s", w.err.msg, part);
    end(&w);
    return code;
}

static void speaks_tls(void **state)
{
    (void)state;
    struct certs c;
    make_certs(&c);
    struct cw_http_identity known = {c.ca_text, NULL, NULL};
    struct cw_http_identity foreign = {c.foreign_text, NULL, NULL};
    struct cw_http_identity own = {c.ca_text, c.own_cert, c.own_key};
    struct cw_http_identity mixed = {c.ca_text, c.own_cert, c.key};
    struct cw_http_identity half = {c.ca_text, c.own_cert, NULL};
    struct cw_http_identity noise = {"no certificate", NULL, NULL};
    struct cw_http_client *client = NULL;
    assert_int_equal(ask_by_tls(c.cert, c.key, NULL, &known, NULL), CW_OK);
    assert_int_equal(ask_by_tls(c.cert, c.key, NULL, &foreign, "certificate"), CW_E_DENIED);
    assert_int_equal(ask_by_tls(c.cert, c.key, NULL, NULL, "certificate"), CW_E_DENIED);
    assert_int_equal(ask_by_tls(c.old_cert, c.old_key, NULL, &known, "expired"), CW_E_DENIED);
    assert_int_equal(ask_by_tls(c.cert, c.key, c.ca_text, &own, NULL), CW_OK);
    assert_int_equal(ask_by_tls(c.cert, c.key, c.ca_text, &known, NULL), CW_E_UNAVAILABLE);
    assert_int_equal(ask_by_tls(c.cert, c.key, c.ca_text, &mixed, "does the key belong to"),
                     CW_E_DENIED);
    assert_int_equal(ask_by_tls(c.cert, c.key, NULL, &noise, "certificate"), CW_E_DENIED);
    assert_int_equal(cw_http_client_new(NULL, "test/1", &half, &client, NULL), CW_E_INVALID);
    free_certs(&c);
}

static void speaks_to_several(void **state)
{
    (void)state;
    static struct world w;
    begin_plain(&w, keep_request);
    w.wanted = 20;
    for (int i = 0; i < 20; i++)
        w.call = ask_with(&w, (struct cw_http_request){0}, "/", NULL);
    cw_loop_run(w.loop);
    assert_int_equal(w.ends, 20);
    assert_int_equal(w.code, CW_OK);
    end(&w);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_and_receives),
        cmocka_unit_test(follows_no_redirect),
        cmocka_unit_test(limits_the_body),
        cmocka_unit_test(streams),
        cmocka_unit_test(cancels_from_a_piece),
        cmocka_unit_test(cancels_at_once),
        cmocka_unit_test(ends_what_takes_too_long),
        cmocka_unit_test(names_what_broke),
        cmocka_unit_test(speaks_tls),
        cmocka_unit_test(speaks_to_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
