/* SPDX-License-Identifier: Apache-2.0 */
/* Pages by HTTP over loopback: made on the loop's thread, and nobody waits for a loop that has
 * ended. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/thread.h"
#include "daemon/http.h"
#include "support/cm.h"

struct service {
    struct cw_loop *loop;
    struct cw_http *http;
    struct cw_http_page pages[6];
    struct cw_thread thread; /* that asks */
    struct cw_thread maker;  /* that makes the page which takes long */
    struct cw_page_request *begun;
    struct cw_http_stream *stream;
    int sent; /* pieces of the stream */
    bool closed;
    pthread_t loop_thread;
    const char *request;
    struct cw_str answer;
    int asked;
    bool healthy, stop_when_asked;
};

static bool print_page(void *arg, struct cw_str *out)
{
    struct service *s = arg;
    assert_true(pthread_equal(pthread_self(), s->loop_thread));
    s->asked++;
    cw_str_addf(out, "page %d\n", s->asked);
    if (s->stop_when_asked)
        cw_loop_stop(s->loop);
    return true;
}

static bool print_health(void *arg, struct cw_str *out)
{
    cw_str_add(out, "not now\n");
    return ((struct service *)arg)->healthy;
}

static void make(void *arg)
{
    struct service *s = arg;
    struct cw_str text = {0};
    cw_str_add(&text, "it took long\n");
    cw_http_answer(s->begun, s->healthy, &text);
}

static void begin_page(void *arg, struct cw_page_request *request)
{
    struct service *s = arg;
    assert_true(pthread_equal(pthread_self(), s->loop_thread));
    s->begun = request;
    if (s->stop_when_asked)
        cw_loop_stop(s->loop);
    else
        cw_thread_start(&s->maker, "makes", make, s);
}

/* Tells what was asked. */
static void begin_told(void *arg, struct cw_page_request *request)
{
    struct service *s = arg;
    struct cw_str text = {0};
    const char *cookie = cw_page_header(request, "cookie"), *job = cw_page_argument(request, "job");
    s->asked++;
    cw_str_addf(&text, "%s cookie=%s job=%s body=%s", cw_page_is_post(request) ? "POST" : "GET",
                cookie ? cookie : "-", job ? job : "-", cw_page_body(request));
    cw_page_set_status(request, 401);
    cw_page_set_type(request, "text/x-told");
    cw_page_add_header(request, "X-Added", "yes");
    cw_http_answer(request, true, &text);
}

static void on_closed(void *arg)
{
    struct service *s = arg;
    assert_true(pthread_equal(pthread_self(), s->loop_thread));
    s->closed = true;
    cw_loop_stop(s->loop);
}

static void begin_stream(void *arg, struct cw_page_request *request)
{
    struct service *s = arg;
    s->stream = cw_http_stream_begin(request, on_closed, s);
}

static int connect_to(const struct service *s)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(cw_http_port(s->http)),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

/* Sends what is to be asked, and reads to the end. */
static void ask(void *arg)
{
    struct service *s = arg;
    int fd = connect_to(s);
    char bytes[4096];
    ssize_t n;
    (void)!write(fd, s->request, strlen(s->request));
    while ((n = read(fd, bytes, sizeof(bytes))) > 0)
        cw_str_add_bytes(&s->answer, bytes, (size_t)n);
    close(fd);
    cw_loop_stop(s->loop);
}

static void begin(struct service *s)
{
    struct cw_err err = {0};
    s->loop = cw_loop_new();
    s->loop_thread = pthread_self();
    s->pages[0] = (struct cw_http_page){
        .path = "/page", .type = "text/plain; version=7", .print = print_page, .arg = s};
    s->pages[1] = (struct cw_http_page){
        .path = "/health", .type = "text/plain", .print = print_health, .arg = s};
    s->pages[2] =
        (struct cw_http_page){.path = "/long", .type = "text/plain", .begin = begin_page, .arg = s};
    s->pages[3] = (struct cw_http_page){
        .path = "/told", .type = "text/plain", .begin = begin_told, .arg = s, .takes_post = true};
    s->pages[4] = (struct cw_http_page){
        .path = "/stream", .type = "text/event-stream", .begin = begin_stream, .arg = s};
    if (cw_http_start(s->loop, "127.0.0.1:0", s->pages, &s->http, &err) != 0)
        fail_msg("%s", err.msg);
    assert_true(cw_http_port(s->http) > 0);
}

static void end(struct service *s)
{
    cw_http_stop(s->http);
    cw_loop_free(s->loop);
    cw_str_fini(&s->answer);
}

static void expect(struct service *s, const char *request, const char *status, const char *part)
{
    s->request = request;
    cw_str_clear(&s->answer);
    cw_thread_start(&s->thread, "asks", ask, s);
    cw_loop_run(s->loop);
    cw_thread_join(&s->thread);
    s->thread = (struct cw_thread){0};
    if (!cw_str_starts(cw_str_text(&s->answer), status) || !strstr(cw_str_text(&s->answer), part))
        fail_msg("%s is answered by %s", request, cw_str_text(&s->answer));
}

static void answers(void **state)
{
    (void)state;
    static struct service s;
    begin(&s);
    expect(&s, "GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 ",
           "page 1\n");
    assert_non_null(strstr(cw_str_text(&s.answer), "Content-Type: text/plain; version=7\r\n"));
    expect(&s, "GET /page?x=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 ",
           "page 2\n");
    expect(&s, "HEAD /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 ",
           "Content-Length: 7\r\n");
    assert_null(strstr(cw_str_text(&s.answer), "page 3"));
    /* one connection */
    expect(&s,
           "GET /page HTTP/1.1\r\nHost: x\r\n\r\nGET /page HTTP/1.1\r\nHost: x\r\nConnection: "
           "close\r\n\r\n",
           "HTTP/1.1 200 ", "page 5\n");
    expect(&s, "GET /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 404 ",
           "no such page");
    expect(&s, "GET /page/../health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
           "HTTP/1.1 404 ", "no such page");
    expect(&s, "POST /page HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx",
           "HTTP/1.1 405 ", "Allow: GET, HEAD\r\n");
    expect(&s, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 503 ",
           "not now\n");
    s.healthy = true;
    expect(&s, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 ",
           "not now\n");
    expect(&s, "\x16\x03\x01 not HTTP at all\r\n\r\n", "HTTP/1.", " 400 ");
    assert_int_equal(s.asked, 5);
    end(&s);
}

static void ask_and_leave(void *arg)
{
    struct service *s = arg;
    s->asked = connect_to(s);
    (void)!write(s->asked, s->request, strlen(s->request));
}

/* A request that the loop has not come to when it ends: stopping takes no time, and who asked is
 * told. */
static void ends_with_a_request_on_its_way(void **state)
{
    (void)state;
    static struct service s;
    char bytes[4096] = "";
    begin(&s);
    s.request = "GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    cw_thread_start(&s.thread, "asks", ask_and_leave, &s);
    cw_thread_join(&s.thread);
    int fd = s.asked; /* whether the request has come in by now or not: both must do */
    cw_http_stop(s.http);
    s.http = NULL;
    ssize_t n = read(fd, bytes, sizeof(bytes) - 1);
    assert_true(n <= 0 || strstr(bytes, " 503 "));
    close(fd);
    s.asked = 0;
    end(&s); /* what was posted is run, and prints nothing */
    assert_int_equal(s.asked, 0);
}

static void a_page_may_be_made_by_another_thread(void **state)
{
    (void)state;
    static struct service s;
    s.healthy = true;
    begin(&s);
    for (int i = 0; i < 2; i++, s.healthy = false) {
        expect(&s, "GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
               i == 0 ? "HTTP/1.1 200 " : "HTTP/1.1 503 ", "it took long\n");
        cw_thread_join(&s.maker);
        s.maker = (struct cw_thread){0};
    }
    end(&s);
}

/* The page is made when nobody waits for it any more. */
static void a_page_may_come_after_the_end(void **state)
{
    (void)state;
    static struct service s = {.stop_when_asked = true};
    begin(&s);
    s.request = "GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    cw_thread_start(&s.thread, "asks", ask_and_leave, &s);
    cw_loop_run(s.loop);
    cw_thread_join(&s.thread);
    cw_http_stop(s.http);
    s.http = NULL;
    close(s.asked);
    make(&s);
    end(&s);
}

/* A client that says nothing holds up neither others nor the end. */
static void a_silent_client_is_no_trouble(void **state)
{
    (void)state;
    static struct service s;
    begin(&s);
    int fd = connect_to(&s);
    expect(&s, "GET /page HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 ",
           "page 1\n");
    end(&s);
    close(fd);
}

static void a_page_is_told_what_was_asked(void **state)
{
    (void)state;
    static struct service s;
    begin(&s);
    expect(
        &s,
        "GET /told?x=1&job=a%20b HTTP/1.1\r\nHost: x\r\nCOOKIE: c=1\r\nConnection: close\r\n\r\n",
        "HTTP/1.1 401 ", "GET cookie=c=1 job=a b body=");
    assert_non_null(strstr(cw_str_text(&s.answer), "Content-Type: text/x-told\r\n"));
    assert_non_null(strstr(cw_str_text(&s.answer), "X-Added: yes\r\n"));
    expect(&s,
           "POST /told HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nConnection: "
           "close\r\n\r\nhello",
           "HTTP/1.1 401 ", "POST cookie=- job=- body=hello");
    CW_STR_AUTO much = {0};
    cw_str_addf(&much,
                "POST /told HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nConnection: "
                "close\r\n\r\n",
                CW_HTTP_BODY_MAX + 1);
    for (size_t i = 0; i <= CW_HTTP_BODY_MAX; i++)
        cw_str_add_char(&much, 'x');
    expect(&s, cw_str_text(&much), "HTTP/1.1 413 ", "too much");
    assert_int_equal(s.asked, 2);
    end(&s);
}

#define STREAM_PIECES 3
#define PIECE_BYTES 50000 /* more than microhttpd takes at a time */

/* Asks for the stream, and leaves when it has seen so many pieces. */
static void listen_to_stream(void *arg)
{
    struct service *s = arg;
    int fd = connect_to(s);
    char bytes[4096];
    ssize_t n;
    (void)!write(fd, s->request, strlen(s->request));
    while (!strstr(cw_str_text(&s->answer), "piece 2 ends") &&
           (n = read(fd, bytes, sizeof(bytes))) > 0)
        cw_str_add_bytes(&s->answer, bytes, (size_t)n);
    close(fd);
}

/* Adds a piece as soon as the one before has been taken: the connection is suspended by then. */
static void on_pace(void *arg)
{
    struct service *s = arg;
    CW_STR_AUTO piece = {0};
    if (!s->stream || cw_http_stream_waiting(s->stream) > 0)
        return;
    cw_str_addf(&piece, "piece %d begins", s->sent);
    while (piece.len < PIECE_BYTES)
        cw_str_add_char(&piece, '.');
    cw_str_addf(&piece, "piece %d ends", s->sent++);
    cw_http_stream_send(s->stream, piece.s, piece.len);
}

static void a_stream_goes_on_until_nobody_listens(void **state)
{
    (void)state;
    static struct service s;
    begin(&s);
    s.request = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n";
    struct cw_timer *pace = cw_timer_new(s.loop, on_pace, &s);
    cw_timer_start(pace, 1, 1);
    cw_thread_start(&s.thread, "listens", listen_to_stream, &s);
    cw_loop_run(s.loop); /* until it is closed */
    cw_thread_join(&s.thread);
    s.thread = (struct cw_thread){0};
    assert_true(s.closed && s.sent >= STREAM_PIECES);
    for (int i = 0; i < STREAM_PIECES; i++) {
        cw_autofree char *begins = cw_mem_printf("piece %d begins", i);
        assert_non_null(strstr(cw_str_text(&s.answer), begins));
    }
    cw_http_stream_close(s.stream);
    cw_timer_free(pace);
    end(&s);
}

static void on_stream_begun(void *arg)
{
    struct service *s = arg;
    if (s->stream)
        cw_loop_stop(s->loop);
}

/* The owner ends a stream behind what was sent; or the server stops while it is open. */
static void a_stream_ends(void **state)
{
    (void)state;
    for (int stopped = 0; stopped < 2; stopped++) {
        struct service s = {.asked = -1};
        char bytes[4096] = "";
        size_t got = 0;
        ssize_t n;
        begin(&s);
        s.request = "GET /stream HTTP/1.0\r\nHost: x\r\n\r\n";
        struct cw_timer *look = cw_timer_new(s.loop, on_stream_begun, &s);
        cw_timer_start(look, 1, 1);
        cw_thread_start(&s.thread, "asks", ask_and_leave, &s);
        cw_loop_run(s.loop);
        cw_thread_join(&s.thread);
        cw_http_stream_send(s.stream, "the end", 7);
        if (!stopped)
            cw_http_stream_close(s.stream);
        else
            cw_http_stop(cw_steal(&s.http));
        while (got < sizeof(bytes) - 1 &&
               (n = read(s.asked, &bytes[got], sizeof(bytes) - 1 - got)) > 0)
            got += (size_t)n;
        assert_true(stopped || strstr(bytes, "the end"));
        if (stopped)
            cw_http_stream_close(s.stream);
        close(s.asked);
        cw_timer_free(look);
        end(&s);
    }
}

static void refuses_addresses(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "localhost",
                                      ":",
                                      ":80",
                                      "127.0.0.1:",
                                      "127.0.0.1:x",
                                      "::1:80",
                                      "no.such.host.invalid:80",
                                      "127.0.0.1:99999999"};
    const struct cw_http_page pages[1] = {
        {0},
    };
    struct cw_loop *loop = cw_loop_new();
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_http *http = NULL;
        struct cw_err err = {0};
        int rc = cw_http_start(loop, bad[i], pages, &http, &err);
        if (rc == 0)
            fail_msg("\"%s\" is accepted", bad[i]);
        assert_true(err.msg[0] != '\0');
    }
    struct cw_http *first = NULL, *second = NULL;
    struct cw_err err = {0};
    assert_int_equal(cw_http_start(loop, "127.0.0.1:0", pages, &first, &err), 0);
    cw_autofree char *taken = cw_mem_printf("127.0.0.1:%u", cw_http_port(first));
    assert_int_equal(cw_http_start(loop, taken, pages, &second, &err), CW_E_IO);
    assert_non_null(strstr(err.msg, taken));
    cw_http_stop(first);
    cw_http_stop(NULL);
    cw_loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(ends_with_a_request_on_its_way),
        cmocka_unit_test(a_page_may_be_made_by_another_thread),
        cmocka_unit_test(a_page_may_come_after_the_end),
        cmocka_unit_test(a_silent_client_is_no_trouble),
        cmocka_unit_test(a_page_is_told_what_was_asked),
        cmocka_unit_test(a_stream_goes_on_until_nobody_listens),
        cmocka_unit_test(a_stream_ends),
        cmocka_unit_test(refuses_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
