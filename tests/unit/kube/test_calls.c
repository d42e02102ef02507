/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to an API server: what is sent, and what becomes of the answers. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/version.h"
#include "kube/cut_lists.h"
#include "kube/field.h"
#include "kube/kube.h"
#include "kube/kube_list.h"
#include "support/cm.h"
#include "support/http_server.h"

static const struct cw_kube_kind deployments = {"apps", "v1", "deployments"};
static const struct cw_kube_kind pods = {"", "v1", "pods"};

struct world {
    struct cw_loop *loop;
    struct cw_kube *kube;
    struct http_server server;
    struct cw_str seen; /* all requests, by the server's threads */
    char token_file[64];
    /* answers */
    int code, status, ends, lines, items, again, warned;
    enum cw_kube_reason reason;
    int64_t retry_after_ms;
    char text[1200], err[1024];
    struct cw_kube_call *call;
};

static bool asks(const struct http_exchange *x, const char *line)
{
    return cw_str_starts(x->text, line);
}

static void answer(void *arg, struct http_exchange *x)
{
    struct world *w = arg;
    cw_str_add(&w->seen, x->text);
    cw_str_add_char(&w->seen, '\n');
    if (asks(x, "GET /api/v1/namespaces/ns/pods/a "))
        http_respond(x, 200, "Warning: 299 - \"old \"\"x\"\"\"\r\n",
                     "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}");
    else if (asks(x, "GET /api/v1/namespaces/ns/pods/stale") &&
             !strstr(x->text, "Bearer new-token\r\n"))
        http_respond(
            x, 401, "",
            "{\"kind\":\"Status\",\"reason\":\"Unauthorized\",\"message\":\"Unauthorized\"}");
    else if (asks(x, "GET /api/v1/namespaces/ns/pods/stale"))
        http_respond(x, 200, "", "{\"kind\":\"Pod\"}");
    else if (strstr(x->text, "/html "))
        http_respond(x, 200, "", "<html>log in</html>");
    else if (strstr(x->text, "/list "))
        http_respond(x, 200, "", "[1]");
    else if (strstr(x->text, "/away "))
        http_respond(x, 302, "Location: http://127.0.0.1:1/\r\n", "");
    else if (strstr(x->text, "/busy "))
        http_respond(x, 429, "Retry-After: 3\r\nAudit-Id: 1-2-3\r\n", "too many");
    else if (strstr(x->text, "/taken "))
        http_respond(
            x, 409, "",
            "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":\"it is there\"}");
    else
        http_respond(x, 200, "", "{\"kind\":\"Thing\"}");
}

static void on_warned(void *arg, const char *text)
{
    struct world *w = arg;
    assert_string_equal(text, "old \"\"x\"\"");
    w->warned++;
}

static void put_token(struct world *w, const char *text)
{
    FILE *file = fopen(w->token_file, "w");
    assert_true(file && fputs(text, file) >= 0);
    fclose(file);
}

static void begin(struct world *w, http_answer_fn *fn)
{
    memset(w, 0, sizeof(*w));
    w->loop = cw_loop_new();
    w->server.answer = fn;
    w->server.arg = w;
    http_server_start(&w->server, NULL, NULL, NULL);
    snprintf(w->token_file, sizeof(w->token_file), "/tmp/cachew-token-XXXXXX");
    close(mkstemp(w->token_file));
    put_token(w, "old-token\n");
    cw_autofree char *url = cw_mem_printf("http://127.0.0.1:%d", w->server.port);
    struct cw_kube_config config = {
        .server = url, .name_space = (char[]){"ns"}, .token_file = w->token_file};
    struct cw_kube_options options = {.program = "test", .warned = on_warned, .arg = w};
    assert_int_equal(cw_kube_new(w->loop, &config, &options, &w->kube, NULL), CW_OK);
}

static void end(struct world *w)
{
    cw_kube_free(w->kube);
    cw_loop_free(w->loop);
    http_server_stop(&w->server);
    unlink(w->token_file);
    cw_str_fini(&w->seen);
}

static void on_answer(void *arg, struct cw_kube_answer *a)
{
    struct world *w = arg;
    CW_STR_AUTO text = {0};
    w->code = a->code;
    w->status = a->status.http;
    w->reason = a->status.reason;
    w->retry_after_ms = a->status.retry_after_ms;
    snprintf(w->err, sizeof(w->err), "%s", a->err->msg);
    assert_true((a->code == CW_OK) == (a->err->code == CW_OK));
    if (a->object)
        cw_value_print(a->object, &text);
    snprintf(w->text, sizeof(w->text), "%s", cw_str_text(&text));
    w->ends++;
    cw_loop_stop(w->loop);
}

static void run(struct world *w, struct cw_kube_call *call)
{
    int before = w->ends;
    cw_str_clear(&w->seen);
    w->call = call;
    cw_loop_run(w->loop);
    assert_int_equal(w->ends, before + 1);
}

static struct cw_kube_target pod(const char *name)
{
    return (struct cw_kube_target){&pods, "ns", name, NULL};
}

static void get(struct world *w, const char *name)
{
    struct cw_kube_target target = pod(name);
    run(w, cw_kube_get(w->kube, &target, on_answer, w));
}

static void says_what_it_wants(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, answer);
    get(&w, "a");
    assert_int_equal(w.code, CW_OK);
    assert_string_equal(w.text, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}");
    assert_non_null(strstr(w.seen.s, "User-Agent: cachew-test/" CW_VERSION "\r\n"));
    assert_non_null(strstr(w.seen.s, "Authorization: Bearer old-token\r\n"));
    assert_non_null(strstr(w.seen.s, "Accept: application/json\r\n"));
    assert_null(strstr(w.seen.s, "Content-Type"));
    get(&w, "a");
    assert_int_equal(w.warned, 1);
    struct cw_kube_target t = {&deployments, "ns", "w", "scale"};
    run(&w, cw_kube_patch(w.kube, &t, "{\"spec\":{}}", on_answer, &w));
    assert_true(cw_str_starts(w.seen.s, "PATCH /apis/apps/v1/namespaces/ns/deployments/w/scale?"
                                        "fieldManager=cachew-test HTTP/1.1\r\n"));
    assert_non_null(strstr(w.seen.s, "Content-Type: application/merge-patch+json\r\n"));
    assert_non_null(strstr(w.seen.s, "\r\n\r\n{\"spec\":{}}"));
    t = pod("p");
    t.subresource = "eviction";
    run(&w, cw_kube_create(w.kube, &t, "{}", on_answer, &w));
    assert_true(cw_str_starts(w.seen.s, "POST /api/v1/namespaces/ns/pods/p/eviction?fieldManager"));
    assert_non_null(strstr(w.seen.s, "Content-Type: application/json\r\n"));
    run(&w, cw_kube_update(w.kube, &t, "{}", on_answer, &w));
    assert_true(cw_str_starts(w.seen.s, "PUT /api/v1/namespaces/ns/pods/p/eviction?fieldManager"));
    t = pod("a/../b c");
    run(&w, cw_kube_delete(w.kube, &t, "u\"1", "7", "Background", on_answer, &w));
    assert_true(cw_str_starts(w.seen.s, "DELETE /api/v1/namespaces/ns/pods/a%2F..%2Fb%20c HTTP"));
    assert_non_null(strstr(
        w.seen.s, "\r\n\r\n{\"preconditions\":{\"uid\":\"u\\\"1\",\"resourceVersion\":\"7\"},"
                  "\"propagationPolicy\":\"Background\"}"));
    run(&w, cw_kube_delete(w.kube, &t, NULL, NULL, NULL, on_answer, &w));
    assert_non_null(strstr(w.seen.s, "\r\n\r\n{\"preconditions\":{}}"));
    end(&w);
}

static void names_failures(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, answer);
    get(&w, "busy");
    assert_int_equal(w.reason, CW_KUBE_TooManyRequests);
    assert_int_equal(w.retry_after_ms, 3000);
    assert_string_equal(w.err, "get pods ns/busy: TooManyRequests (HTTP 429) [Audit-Id 1-2-3]");
    get(&w, "taken");
    assert_int_equal(w.code, CW_E_EXISTS);
    assert_string_equal(w.err, "get pods ns/taken: AlreadyExists (HTTP 409): it is there");
    get(&w, "html");
    assert_int_equal(w.code, CW_E_CORRUPT);
    assert_non_null(strstr(w.err, "get pods ns/html: the answer is no object of Kubernetes: "));
    get(&w, "list");
    assert_int_equal(w.code, CW_E_CORRUPT);
    get(&w, "away");
    assert_int_equal(w.code, CW_E_UNAVAILABLE);
    assert_int_equal(w.status, 302);
    assert_non_null(strstr(w.err, "redirects are not followed"));
    cw_str_clear(&w.seen);
    get(&w, "..");
    assert_int_equal(w.code, CW_E_INVALID);
    assert_string_equal(w.err, "get pods ns/..: \"..\" is no name of an object");
    assert_int_equal(w.seen.len, 0);
    http_server_stop(&w.server);
    get(&w, "a");
    assert_int_equal(w.code, CW_E_UNAVAILABLE);
    assert_int_equal(w.status, 0);
    assert_non_null(strstr(w.err, "get pods ns/a: GET http://127.0.0.1:"));
    memset(&w.server, 0, sizeof(w.server));
    http_server_start(&w.server, NULL, NULL, NULL);
    end(&w);
}

static void asks_again_with_a_new_token(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, answer);
    get(&w, "stale");
    assert_int_equal(w.reason, CW_KUBE_Unauthorized);
    assert_int_equal(w.code, CW_E_DENIED);
    assert_int_equal(atomic_load(&w.server.requests), 1);
    put_token(&w, "new-token");
    get(&w, "stale");
    assert_int_equal(w.code, CW_OK);
    assert_int_equal(atomic_load(&w.server.requests), 3);
    put_token(&w, "not a token");
    get(&w, "stale");
    assert_int_equal(w.code, CW_OK);
    end(&w);
}

/* ---- lists ---- */

static void answer_list(void *arg, struct http_exchange *x)
{
    struct world *w = arg;
    bool wide = strstr(x->text, "labelSelector=a%3Db%2Cc") != NULL;
    cw_str_add(&w->seen, x->text);
    if (asks(x, "GET /api/v1/namespaces/bad/"))
        http_respond(x, 200, "", "{\"kind\":\"PodList\",\"metadata\":{},\"items\":[]}");
    else if (asks(x, "GET /api/v1/namespaces/html/"))
        http_respond(x, 200, "", "{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"1\"}}");
    else if (asks(x, "GET /api/v1/namespaces/text/"))
        http_respond(
            x, 200, "",
            "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":\"1\"}");
    else if (asks(x, "GET /api/v1/namespaces/long/"))
        http_respond(x, 200, "",
                     "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"1\"},\"items\":["
                     "{\"volumes\":[{\"name\":\"]\"}],\"x\":[1]},{\"volumes\":[[2],3]}]}");
    else if (strstr(x->text, "continue=gone"))
        http_respond(x, 410, "", "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}");
    else if (strstr(x->text, "continue=next"))
        http_respond(
            x, 200, "",
            "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[3]}");
    else if (!strstr(x->text, "limit="))
        http_respond(
            x, 200, "",
            "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"11\"},\"items\":[1,2,3,4]}");
    else
        http_respond(x, 200, "",
                     wide ? "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\","
                            "\"continue\":\"next\"},\"items\":[1,2]}"
                          : "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\","
                            "\"continue\":\"gone\"},\"items\":[1,2]}");
}

static void on_item(void *arg, struct cw_value *object)
{
    struct world *w = arg;
    cw_value_print(object, &w->seen);
    w->items++;
}

static void on_again(void *arg)
{
    struct world *w = arg;
    w->again++;
    w->items = 0;
}

static void on_list(void *arg, const char *resource_version, const struct cw_kube_answer *a)
{
    struct world *w = arg;
    w->code = a->code;
    snprintf(w->text, sizeof(w->text), "%s", resource_version ? resource_version : "");
    snprintf(w->err, sizeof(w->err), "%s", a->err->msg);
    cw_loop_stop(w->loop);
}

static void list(struct world *w, const char *name_space, const char *labels)
{
    static const char *const unread[] = {CW_KUBE_LIST("volumes"), NULL};
    struct cw_kube_list_request request = {
        .target = {&pods, name_space, NULL, NULL}, .labels = labels, .page = 2, .without = unread};
    struct cw_kube_list_events events = {on_item, on_again, on_list, w};
    w->items = w->again = 0;
    cw_str_clear(&w->seen);
    struct cw_kube_list *l = cw_kube_list_new(w->kube, &request, &events);
    assert_non_null(l);
    cw_loop_run(w->loop);
}

static void lists_by_pages(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, answer_list);
    list(&w, "ns", "a=b,c");
    assert_int_equal(w.code, CW_OK);
    assert_int_equal(w.items, 3);
    assert_int_equal(w.again, 0);
    assert_string_equal(w.text, "9");
    assert_non_null(
        strstr(w.seen.s, "GET /api/v1/namespaces/ns/pods?labelSelector=a%3Db%2Cc&limit=2 "));
    list(&w, NULL, NULL);
    assert_int_equal(w.code, CW_OK);
    assert_int_equal(w.again, 1);
    assert_int_equal(w.items, 4);
    assert_string_equal(w.text, "11");
    list(&w, "long", NULL);
    assert_int_equal(w.code, CW_OK);
    assert_non_null(strstr(w.seen.s, "{\"volumes\":[],\"x\":[1]}{\"volumes\":[]}"));
    static const char *const bad[][2] = {{"bad", "it has no metadata.resourceVersion"},
                                         {"html", "its kind is no list"},
                                         {"text", "its items are no list"}};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        list(&w, bad[i][0], NULL);
        assert_int_equal(w.code, CW_E_CORRUPT);
        assert_non_null(strstr(w.err, bad[i][1]));
    }
    struct cw_kube_list_request request = {.target = {&pods, NULL, NULL, NULL}};
    struct cw_kube_list_events events = {on_item, on_again, on_list, &w};
    cw_kube_list_cancel(cw_kube_list_new(w.kube, &request, &events));
    cw_kube_list_cancel(NULL);
    end(&w);
}

/* ---- streams ---- */

static void answer_stream(void *arg, struct http_exchange *x)
{
    static char large[1 << 16];
    (void)arg;
    if (strstr(x->text, "/gone?")) {
        http_respond(x, 410, "", "{\"kind\":\"Status\",\"reason\":\"Gone\"}");
        return;
    }
    http_send_head(x, 200, "");
    http_send_piece(x, "{}\n{", 4);
    http_send_piece(x, "}\n{}\n", 5);
    if (strstr(x->text, "/silent?"))
        http_wait_closed(x);
    memset(large, ' ', sizeof(large));
    for (int i = 0; strstr(x->text, "/endless?") && i < 200; i++)
        http_send_piece(x, large, sizeof(large));
    http_send_piece(x, "", 0);
}

static int on_stream_line(void *arg, const char *line, size_t n, struct cw_err *err)
{
    struct world *w = arg;
    (void)err;
    assert_int_equal(n, 2);
    assert_memory_equal(line, "{}", 2);
    w->lines++;
    return CW_OK;
}

static int cancel_at_line(void *arg, const char *line, size_t n, struct cw_err *err)
{
    struct world *w = arg;
    (void)line;
    (void)n;
    (void)err;
    w->lines++;
    cw_kube_call_cancel(w->call);
    cw_loop_stop(w->loop);
    return CW_OK;
}

static struct cw_kube_call *stream(struct world *w, const char *name, int64_t silence_ms,
                                   cw_kube_stream_fn *line)
{
    static const char *const query[] = {"watch", "1", NULL};
    struct cw_kube_request request = {.verb = CW_KUBE_WATCH, .target = pod(name), .query = query};
    w->lines = 0;
    return cw_kube_stream_new(w->kube, &request, silence_ms, line, on_answer, w);
}

static void streams_lines(void **state)
{
    (void)state;
    static struct world w;
    begin(&w, answer_stream);
    run(&w, stream(&w, "usual", 0, on_stream_line));
    assert_int_equal(w.code, CW_OK);
    assert_int_equal(w.lines, 3);
    run(&w, stream(&w, "gone", 0, on_stream_line));
    assert_int_equal(w.reason, CW_KUBE_Gone);
    assert_int_equal(w.lines, 0);
    run(&w, stream(&w, "silent", 50, on_stream_line));
    assert_int_equal(w.code, CW_E_TIMEOUT);
    assert_int_equal(w.lines, 3);
    run(&w, stream(&w, "endless", 0, on_stream_line));
    assert_int_equal(w.code, CW_E_LIMIT);
    int before = w.ends;
    w.call = stream(&w, "silent", 0, cancel_at_line);
    cw_loop_run(w.loop);
    assert_int_equal(w.lines, 1);
    assert_int_equal(w.ends, before);
    w.call = stream(&w, "silent", 0, on_stream_line);
    end(&w); /* frees it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_it_wants),
        cmocka_unit_test(names_failures),
        cmocka_unit_test(asks_again_with_a_new_token),
        cmocka_unit_test(lists_by_pages),
        cmocka_unit_test(streams_lines),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
