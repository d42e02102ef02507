/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of an HTTP server that does all that servers do to their clients. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/copies.h"
#include "io/io.h"
#include "io/remote/remote.h"
#include "support/cm.h"
#include "support/http_server.h"
#include "support/soon.h"

#define BYTES ((size_t)3 << 20)

struct world {
    struct http_server server;
    char url[128];
    unsigned char *bytes; /* of the object */
    size_t n;
    const char *etag; /* a header line, or "" */
    atomic_int cut_head, cut, busy, hide_ranges, hide_length, changed, hang, hostile, loop, here;
    atomic_int hide_size; /* ranges are of "*" bytes */
    const char *busy_line;
    const char *location; /* where GET /away is sent */
    pthread_mutex_t mutex;
    struct cw_str seen; /* all requests; guarded by mutex */
};

static bool asked(struct world *w, const char *text)
{
    pthread_mutex_lock(&w->mutex);
    bool is = strstr(cw_str_text(&w->seen), text) != NULL;
    pthread_mutex_unlock(&w->mutex);
    return is;
}

/* Sends a part, or the half of it, and closes the connection. */
static void send_part(struct world *w, struct http_exchange *x, int status, size_t begin, size_t n,
                      bool has_length)
{
    char head[512], length[64] = "", size[32] = "*";
    bool cut = atomic_load(&w->cut) > 0 && atomic_fetch_sub(&w->cut, 1) > 0;
    if (has_length)
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n", n);
    if (!atomic_load(&w->hide_size))
        snprintf(size, sizeof(size), "%zu", w->n);
    snprintf(head, sizeof(head), "HTTP/1.1 %d x\r\n%s%sContent-Range: bytes %zu-%zu/%s\r\n%s\r\n",
             status, length, atomic_load(&w->changed) ? "ETag: \"2\"\r\n" : w->etag,
             begin + (size_t)atomic_load(&w->hostile), begin + n - 1, size,
             has_length ? "" : "Connection: close\r\n");
    if (atomic_load(&w->cut_head) > 0 && atomic_fetch_sub(&w->cut_head, 1) > 0) {
        *strstr(head, "Content-Length") = '\0';
        http_send_text(x, head);
        x->last = true;
        return;
    }
    http_send_text(x, head);
    http_send(x, (const char *)w->bytes + begin, cut ? n / 2 : n);
    x->last = cut || !has_length;
}

static void answer(void *arg, struct http_exchange *x)
{
    struct world *w = arg;
    const char *range = strstr(x->text, "Range: bytes=");
    size_t begin = 0, end = w->n;
    pthread_mutex_lock(&w->mutex);
    cw_str_add(&w->seen, x->text);
    pthread_mutex_unlock(&w->mutex);
    if (atomic_load(&w->hang)) {
        http_wait_closed(x);
    } else if (atomic_load(&w->busy) > 0 && atomic_fetch_sub(&w->busy, 1) > 0) {
        http_respond(x, 503, w->busy_line, "busy");
    } else if (strstr(x->text, "GET /nothing")) {
        http_respond(x, 404, "", "no");
    } else if (strstr(x->text, "GET /secret")) {
        http_respond(x, 403, "", "no");
    } else if (strstr(x->text, "GET /moved")) {
        char line[200];
        snprintf(line, sizeof(line), "Location: http://localhost:%d/%s\r\n", w->server.port,
                 atomic_load(&w->loop) ? "moved" : "data");
        http_respond(x, 302, line, "");
    } else if (strstr(x->text, "GET /away")) {
        char line[200];
        snprintf(line, sizeof(line), "Location: %s\r\n", w->location);
        http_respond(x, 302, line, "");
    } else if (strstr(x->text, "GET /endless")) {
        http_send_text(x, "HTTP/1.1 403 x\r\nContent-Length: 1000000000000\r\n\r\n");
        http_send(x, (const char *)w->bytes, 20000);
        http_wait_closed(x);
    } else if (!range || atomic_load(&w->hide_ranges)) {
        send_part(w, x, 200, 0, w->n, !atomic_load(&w->hide_length));
    } else {
        (void)sscanf(range, "Range: bytes=%zu-%zu", &begin, &end);
        end = CW_MIN(end + 1, w->n);
        if (begin >= w->n)
            http_respond(x, 416, "Content-Range: bytes */0\r\n", "");
        else
            send_part(w, x, 206, begin, end - begin, true);
    }
}

static int begin(void **state)
{
    struct world *w = CW_NEW(struct world);
    signal(SIGPIPE, SIG_IGN);
    unsetenv("CACHEW_HTTP_TOKENS");
    setenv("CACHEW_SOURCE_PATIENCE", "60s", 1);
    setenv("CACHEW_SOURCE_COPIES", "8M", 1);
    w->n = BYTES;
    w->bytes = CW_NEW_ARRAY(unsigned char, w->n);
    for (size_t i = 0; i < w->n; i++)
        w->bytes[i] = (unsigned char)((i * 2654435761U) >> 13);
    w->etag = "ETag: \"1\"\r\n";
    w->busy_line = "";
    pthread_mutex_init(&w->mutex, NULL);
    w->server.answer = answer;
    w->server.arg = w;
    http_server_start(&w->server, NULL, NULL, NULL);
    snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%d/data", w->server.port);
    cw_io_remote_start();
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    cw_io_remote_stop();
    http_server_stop(&w->server);
    cw_str_fini(&w->seen);
    cw_mem_free(w->bytes);
    cw_mem_free(w);
    return 0;
}

static void open_it(struct world *w, struct cw_io_file *file)
{
    struct cw_err err = {0};
    if (cw_io_open(w->url, NULL, file, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(file->info.size, w->n);
}

static void read_it(struct world *w, const struct cw_io_file *file, size_t offset, size_t n)
{
    struct cw_err err = {0};
    unsigned char *got = CW_NEW_ARRAY(unsigned char, n + 1);
    if (cw_io_read(file, offset, got, n, NULL, &err) < 0)
        fail_msg("%zu at %zu: %s", n, offset, err.msg);
    if (memcmp(got, w->bytes + offset, n) != 0)
        fail_msg("%zu at %zu: other bytes", n, offset);
    cw_mem_free(got);
}

static void small_and_large_reads(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    open_it(w, &file);
    for (size_t at = 0; at < w->n; at += 1000)
        read_it(w, &file, at, CW_MIN((size_t)1000, w->n - at));
    int requests = atomic_load(&w->server.requests);
    assert_true(requests < 10); /* and not three thousand */
    assert_int_equal(atomic_load(&w->server.connections), 1);
    read_it(w, &file, 0, w->n);
    read_it(w, &file, 17, w->n - 17);
    read_it(w, &file, w->n - 1, 1);
    read_it(w, &file, w->n, 0);
    struct cw_err err = {0};
    char byte[2];
    assert_int_equal(cw_io_read(&file, w->n - 1, byte, 2, NULL, &err), CW_E_CORRUPT);
    assert_int_equal(cw_io_read(&file, UINT64_MAX, byte, 2, NULL, &err), CW_E_CORRUPT);
    cw_io_close(&file);
}

static void broken_bodies_are_continued(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    open_it(w, &file);
    atomic_store(&w->cut, 3);
    read_it(w, &file, 1 << 20, 2 << 20);
    assert_int_equal(atomic_load(&w->cut), 0);
    assert_true(asked(w, "bytes=2097152-3145727")); /* the second half alone */
    assert_true(asked(w, "If-Match: \"1\""));
    atomic_store(&w->cut_head, 2);
    read_it(w, &file, 1 << 20, 2 << 20);
    assert_int_equal(atomic_load(&w->cut_head), 0);
    cw_io_close(&file);
}

static void busy_servers_are_asked_again(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    w->busy_line = "Retry-After: 0\r\n";
    atomic_store(&w->busy, 3);
    open_it(w, &file);
    atomic_store(&w->busy, 2);
    read_it(w, &file, 1 << 20, 5);
    cw_io_close(&file);
}

static void patience_ends(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    struct cw_err err = {0};
    w->busy_line = "Retry-After: 3600\r\n";
    atomic_store(&w->busy, 1000);
    assert_int_equal(cw_io_open(w->url, NULL, &file, &err), CW_E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, w->url));
    assert_non_null(strstr(err.msg, "status 503"));
    assert_non_null(strstr(err.msg, "3600000 ms"));
    cw_io_remote_stop();
    cw_io_remote_start();
    setenv("CACHEW_SOURCE_PATIENCE", "300ms", 1);
    w->busy_line = "";
    assert_int_equal(cw_io_open(w->url, NULL, &file, &err), CW_E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "try "));
    http_server_stop(&w->server); /* nobody is there any more */
    assert_int_equal(cw_io_open(w->url, NULL, &file, &err), CW_E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, w->url));
    http_server_start(&w->server, NULL, NULL, NULL);
}

static void versions(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    struct cw_err err = {0};
    struct cw_io_info one, two, later;
    char byte;
    open_it(w, &file);
    assert_string_equal(file.info.version, "\"1\"");
    assert_int_equal(cw_io_stat(w->url, NULL, &one, &err), 0);
    assert_int_equal(cw_io_stat(w->url, NULL, &two, &err), 0);
    assert_int_equal(cw_io_mark(&one), cw_io_mark(&two));
    assert_true(cw_hash_eq(one.state, two.state));
    atomic_store(&w->changed, 1);
    assert_int_equal(cw_io_read(&file, 1 << 20, &byte, 1, NULL, &err), CW_E_OTHER_FILE);
    assert_non_null(strstr(err.msg, "it has changed"));
    assert_non_null(strstr(err.msg, w->url));
    assert_int_equal(cw_io_stat(w->url, NULL, &later, &err), 0);
    assert_true(cw_io_mark(&one) != cw_io_mark(&later));
    assert_false(cw_hash_eq(one.state, later.state));
    cw_io_close(&file);
    atomic_store(&w->changed, 0);
    w->etag = "Last-Modified: Thu, 01 Jan 1970 00:00:01 GMT\r\n";
    open_it(w, &file);
    read_it(w, &file, 1 << 20, 1);
    assert_true(asked(w, "If-Unmodified-Since: Thu, 01 Jan 1970 00:00:01 GMT"));
    cw_io_close(&file);
    w->etag = "";
    open_it(w, &file);
    read_it(w, &file, 1 << 20, 1);
    assert_string_equal(file.info.version, "");
    cw_io_close(&file);
}

/* Copies of objects of servers without ranges are counted, and have a bound. */
static void copies_have_a_bound(void **state)
{
    struct world *w = *state;
    struct cw_io_file files[3];
    struct cw_io_copies copies;
    struct cw_err err = {0};
    atomic_store(&w->hide_ranges, 1);
    for (int i = 0; i < 2; i++)
        open_it(w, &files[i]);
    cw_io_copies_get(&copies);
    assert_int_equal(copies.bytes, 2 * BYTES);
    assert_int_equal(copies.max, 8u << 20);
    assert_int_equal(cw_io_open(w->url, NULL, &files[2], &err), CW_E_IO);
    assert_non_null(strstr(err.msg, w->url));
    assert_non_null(strstr(err.msg, "more than 8388608 bytes (CACHEW_SOURCE_COPIES)"));
    cw_io_copies_get(&copies);
    assert_int_equal(copies.bytes, 2 * BYTES);
    cw_io_close(&files[0]);
    open_it(w, &files[2]);
    cw_io_close(&files[1]);
    cw_io_close(&files[2]);
    cw_io_copies_get(&copies);
    assert_int_equal(copies.bytes, 0);
    assert_true(copies.copied >= 3 * BYTES);
}

static void servers_without_ranges(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    struct cw_io_info info;
    struct cw_err err = {0};
    atomic_store(&w->hide_ranges, 1);
    for (int hide = 0; hide < 2; hide++) {
        atomic_store(&w->hide_length, hide);
        atomic_store(&w->cut, hide ? 0 : 2);
        open_it(w, &file);
        int requests = atomic_load(&w->server.requests);
        for (size_t at = 0; at < w->n; at += 100000)
            read_it(w, &file, at, CW_MIN((size_t)70000, w->n - at));
        assert_int_equal(atomic_load(&w->server.requests), requests); /* the copy is read */
        cw_io_close(&file);
        assert_int_equal(cw_io_stat(w->url, NULL, &info, &err), 0);
        assert_int_equal(info.size, w->n);
    }
    atomic_store(&w->hide_length, 0);
    w->n = 1000; /* the first answer has all of it */
    open_it(w, &file);
    read_it(w, &file, 0, 1000);
    cw_io_close(&file);
}

/* RFC 9110 lets a server answer with a range without saying how long all of it is. */
static void ranges_of_unknown_length(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    struct cw_io_info info;
    struct cw_err err = {0};
    atomic_store(&w->hide_size, 1);
    open_it(w, &file);
    read_it(w, &file, BYTES - 100, 100);
    char byte;
    assert_int_equal(cw_io_read(&file, BYTES, &byte, 1, NULL, &err), CW_E_CORRUPT);
    cw_io_close(&file);
    assert_int_equal(cw_io_stat(w->url, NULL, &info, &err), 0);
    assert_int_equal(info.size, w->n);
}

static void empty_object(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    w->n = 0;
    open_it(w, &file);
    read_it(w, &file, 0, 0);
    assert_string_equal(file.info.version, "\"1\"");
    cw_io_close(&file);
}

static void refuse(struct world *w, const char *path, int code, const char *says)
{
    struct cw_io_file file;
    struct cw_err err = {0};
    cw_autofree char *url = cw_mem_printf("http://127.0.0.1:%d/%s", w->server.port, path);
    int rc = cw_io_open(url, NULL, &file, &err);
    if (rc != code || !strstr(err.msg, says))
        fail_msg("%s: %d %s", path, rc, err.msg);
    assert_null(strstr(err.msg, "geheim"));
}

static void refusals(void **state)
{
    struct world *w = *state;
    refuse(w, "nothing?key=geheim", CW_E_NOT_FOUND, "status 404");
    refuse(w, "secret", CW_E_DENIED, "status 403");
    atomic_store(&w->loop, 1);
    refuse(w, "moved", CW_E_LIMIT, "more than 10 redirects");
    refuse(w, "endless", CW_E_DENIED, "status 403"); /* nobody waits for the end of what it says */
    w->location = "http://user:geheim@127.0.0.1:1/data";
    refuse(w, "away", CW_E_DENIED, "a redirect to a URL with a password");
    w->location = "/data/%2e%2E/secret";
    refuse(w, "away", CW_E_DENIED, "with \"..\"");
    w->location = "/secret?of=a/../b";
    refuse(w, "away", CW_E_DENIED, "status 403");
    atomic_store(&w->hostile, 1);
    refuse(w, "data", CW_E_CORRUPT, "another range");
    w->etag = "Content-Range: bytes 5-4/99999999999999999999999999999\r\n";
    refuse(w, "data", CW_E_CORRUPT, "another range");
}

static void tokens_stay_with_their_host(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    char path[] = "/tmp/cw_test_tokens_XXXXXX", text[200];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    int n =
        snprintf(text, sizeof(text), "other.host abc\n127.0.0.1:%d geheim-12345\n", w->server.port);
    assert_int_equal(write(fd, text, (size_t)n), n);
    close(fd);
    setenv("CACHEW_HTTP_TOKENS", path, 1);
    snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%d/moved", w->server.port);
    open_it(w, &file);
    read_it(w, &file, 1 << 20, 10);
    cw_io_close(&file);
    unlink(path);
    const char *to_us = strstr(w->seen.s, "GET /moved"), *moved = strstr(w->seen.s, "GET /data");
    assert_non_null(to_us);
    assert_non_null(moved);
    assert_true(asked(w, "Authorization: Bearer geheim-12345\r\n"));
    const char *end_of_moved = strstr(moved, "\r\n\r\n"), *token = strstr(moved, "geheim");
    assert_true(!token || token > end_of_moved);
}

struct stopper {
    struct world *w;
    struct cw_stop stop;
};

/* Sets the flag once the server has the request. */
static void *set_stop(void *arg)
{
    struct stopper *s = arg;
    soon(asked(s->w, "GET /data"));
    cw_stop_set(&s->stop);
    return NULL;
}

static void a_stop_ends_waiting(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    struct cw_err err = {0};
    struct stopper stopper = {.w = w};
    pthread_t thread;
    atomic_store(&w->hang, 1);
    assert_int_equal(pthread_create(&thread, NULL, set_stop, &stopper), 0);
    assert_int_equal(cw_io_open(w->url, &stopper.stop, &file, &err), CW_E_CANCELLED);
    pthread_join(thread, NULL);
}

struct reader {
    struct world *w;
    struct cw_io_file *file;
    unsigned seed;
};

static void *read_at_random(void *arg)
{
    struct reader *r = arg;
    for (int i = 0; i < 200; i++) {
        size_t at = (size_t)rand_r(&r->seed) % (r->w->n - 5000);
        read_it(r->w, r->file, at, (size_t)rand_r(&r->seed) % 5000);
    }
    return NULL;
}

static void many_threads_read_one_object(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    struct reader readers[8];
    pthread_t threads[8];
    open_it(w, &file);
    atomic_store(&w->cut, 20);
    for (unsigned i = 0; i < 8; i++) {
        readers[i] = (struct reader){w, &file, i};
        assert_int_equal(pthread_create(&threads[i], NULL, read_at_random, &readers[i]), 0);
    }
    for (unsigned i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    cw_io_close(&file);
}

static void names_are_given(void **state)
{
    struct cw_io_list list = {0};
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_io_glob("http://h/{b,a}.tar?v=1", 0, NULL, &list, &err), 0);
    cw_io_list_sort(&list);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.v[0].url, "http://h/a.tar?v=1");
    assert_int_equal(list.v[0].size, -1);
    assert_int_equal(cw_io_glob("http://h/*.tar", 0, NULL, &list, &err), CW_E_UNSUPPORTED);
    cw_io_list_fini(&list);
}

int main(void)
{
#define TEST(name_) cmocka_unit_test_setup_teardown(name_, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(small_and_large_reads),
        TEST(broken_bodies_are_continued),
        TEST(busy_servers_are_asked_again),
        TEST(patience_ends),
        TEST(versions),
        TEST(servers_without_ranges),
        TEST(copies_have_a_bound),
        TEST(ranges_of_unknown_length),
        TEST(empty_object),
        TEST(refusals),
        TEST(tokens_stay_with_their_host),
        TEST(a_stop_ends_waiting),
        TEST(many_threads_read_one_object),
        TEST(names_are_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
