/* SPDX-License-Identifier: Apache-2.0 */
/* The course of a fetch: its tries, and what becomes of them. All but cw_fetch_start, cw_fetch_wait
 * and cw_fetch_fini runs on the loop thread. What an answer says is read in fetch_answer.c. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/http_url.h"
#include "io/copies.h"
#include "io/remote/fetch_int.h"
#include "io/remote/remote_loop.h"
#include "io/source_root.h"
#include "io/source_url.h"

#define CONNECT_MS 10000
#define SILENCE_MS 30000
#define BACKOFF_CAP_MS 5000
#define REDIRECTS_MAX 10
#define LESSONS_MAX 3
#define REFUSAL_MAX ((size_t)8 << 10)
#define STOP_LOOK_NS INT64_C(20000000) /* how often a wait looks whether it shall end */

static void try_once(void *arg);

void cw_wire_add(struct cw_wire *wire, const char *fmt, ...)
{
    va_list args;
    CW_ASSERT(wire->headers_n < CW_WIRE_HEADERS_MAX);
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    CW_ASSERT(n >= 0);
    char *text = CW_NEW_ARRAY(char, (size_t)n + 1);
    va_start(args, fmt);
    (void)vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    wire->headers[wire->headers_n++] = text;
}

void cw_wire_fini(struct cw_wire *wire)
{
    for (size_t i = 0; i < wire->headers_n; i++) {
        explicit_bzero(wire->headers[i], strlen(wire->headers[i]));
        cw_mem_free(wire->headers[i]);
    }
    cw_mem_free(wire->url);
    *wire = (struct cw_wire){0};
}

/* ---- ends ---- */

static void finish(struct cw_fetch *f, int rc)
{
    cw_timer_free(f->timer);
    f->timer = NULL;
    f->rc = rc;
    if (rc < 0)
        f->err.code = rc;
    if (f->on_end) {
        f->is_done = true;
        f->on_end(f);
        return;
    }
    cw_mutex_lock(&f->mutex);
    f->is_done = true;
    cw_cond_signal(&f->ended);
    cw_mutex_unlock(&f->mutex);
}

/* Ends with what `why` says. A question mark and what follows it may be a secret. */
static void fail(struct cw_fetch *f, const struct cw_err *why)
{
    f->err = *why;
    if (f->tries > 1)
        cw_err_wrap(&f->err, "try %d", f->tries);
    cw_err_wrap(&f->err, "%.*s", (int)strcspn(f->ask.url, "?"), f->ask.url);
    finish(f, why->code);
}

static int64_t patience_of(const struct cw_fetch *f)
{
    int64_t patience = cw_remote_patience_ms();
    return f->patience_ms > 0 ? CW_MIN(patience, f->patience_ms) : patience;
}

/* Tries again after a while, of which the server may have said how long it is. */
static void retry(struct cw_fetch *f, const struct cw_err *why, int64_t wait_ms)
{
    int64_t now = cw_clock_ms(), patience = patience_of(f);
    if (f->got > f->got_before) {
        cw_backoff_reset(&f->backoff);
        f->progress_ms = now;
    }
    wait_ms = CW_MAX(wait_ms, cw_backoff_next_ms(&f->backoff));
    if (now + wait_ms < f->progress_ms + patience) {
        cw_mem_free(f->moved_to);
        f->moved_to = NULL;
        f->redirects = 0;
        cw_timer_start(f->timer, wait_ms, 0);
        return;
    }
    struct cw_err last = *why;
    cw_err_wrap(&last, "nothing came for %lld ms, and the server would be asked again in %lld ms",
                (long long)(now - f->progress_ms), (long long)wait_ms);
    fail(f, &last);
}

/* ---- a try ---- */

static void add_header(struct cw_ask *ask, const char *fmt, ...) CW_PRINTF(2, 3);
static void add_header(struct cw_ask *ask, const char *fmt, ...)
{
    va_list args;
    CW_ASSERT(ask->headers_n < CW_ARRAY_LEN(ask->headers));
    va_start(args, fmt);
    (void)vsnprintf(ask->headers[ask->headers_n], sizeof(ask->headers[0]), fmt, args);
    va_end(args);
    ask->headers_n++;
}

static void add_condition(struct cw_fetch *f, const char *version)
{
    if (f->dialect->version_header)
        add_header(&f->ask, "x-goog-if-generation-match: %s", version);
    else if (version[0] == '"')
        add_header(&f->ask, "If-Match: %s", version);
    else if (strncmp(version, "W/", 2) != 0) /* a weak ETag fits no condition */
        add_header(&f->ask, "If-Unmodified-Since: %s", version);
}

static void add_headers(struct cw_fetch *f)
{
    const struct cw_io_info *means = cw_fetch_means(f);
    uint64_t begin = f->offset + f->got;
    f->ask.headers_n = 0;
    if (f->body_max)
        return;
    add_header(&f->ask, "Accept-Encoding: identity");
    if (!f->no_range && f->n == UINT64_MAX)
        add_header(&f->ask, "Range: bytes=%llu-", (unsigned long long)begin);
    else if (!f->no_range)
        add_header(&f->ask, "Range: bytes=%llu-%llu", (unsigned long long)begin,
                   (unsigned long long)(f->offset + f->n - 1));
    if (means && means->version[0])
        add_condition(f, means->version);
}

static int write_bytes(struct cw_fetch *f, const char *bytes, size_t n, struct cw_err *err)
{
    if (f->dst) {
        memcpy(f->dst + f->got, bytes, n);
        f->got += n;
        return 0;
    }
    int rc = cw_io_copies_add(n, err);
    if (rc < 0)
        return rc;
    f->copied += n;
    while (n > 0) {
        ssize_t done = pwrite(f->fd, bytes, n, (off_t)(f->offset + f->got));
        if (done < 0)
            return cw_err_errno(err, errno, "a temporary copy of it");
        f->got += (uint64_t)done;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

static int take_body(struct cw_fetch *f, const char *bytes, size_t n)
{
    if (n > f->body_max - CW_MIN(f->body.len, f->body_max))
        return cw_err_set(&f->why, CW_E_LIMIT, "the answer is longer than %zu bytes", f->body_max);
    cw_str_add_bytes(&f->body, bytes, n);
    return 0;
}

/* What is not wanted any more ends the call with END. */
static int on_bytes(void *arg, const struct cw_http_response *response, const char *bytes, size_t n,
                    struct cw_err *err)
{
    struct cw_fetch *f = arg;
    if (!f->head_seen)
        cw_fetch_read_head(f, response);
    if (f->why.code < 0)
        return cw_err_set(err, CW_E_END, "not what was asked for");
    if (!f->is_good) {
        cw_str_add_bytes(&f->refusal, bytes, CW_MIN(n, REFUSAL_MAX - f->refusal.len));
        return f->refusal.len < REFUSAL_MAX ? 0 : cw_err_set(err, CW_E_END, "enough");
    }
    if (f->body_max)
        return take_body(f, bytes, n);
    size_t skip = (size_t)CW_MIN(f->skip, (uint64_t)n);
    f->skip -= skip;
    size_t take = (size_t)CW_MIN((uint64_t)(n - skip), f->n - f->got);
    int rc = write_bytes(f, bytes + skip, take, &f->why);
    if (rc == 0 && take < n - skip)
        rc = cw_err_set(err, CW_E_END, "enough");
    return rc;
}

static void follow(struct cw_fetch *f, const struct cw_http_response *response)
{
    struct cw_err why = {0};
    char location[4096] = "";
    struct cw_str to = {0};
    const char *from = f->moved_to ? f->moved_to : f->ask.url;
    cw_source_root_read_as(f->reader); /* of the loop's thread, which reads for all */
    if (!cw_http_header(response, "Location", 0, location, sizeof(location)) ||
        !cw_http_url_resolve(from, location, &to))
        cw_err_set(&why, CW_E_CORRUPT, "status %d: a redirect to nowhere", f->status);
    else if (++f->redirects > REDIRECTS_MAX)
        cw_err_set(&why, CW_E_LIMIT, "more than %d redirects", REDIRECTS_MAX);
    else if (strncmp(from, "https:", 6) == 0 && strncmp(to.s, "https:", 6) != 0)
        cw_err_set(&why, CW_E_DENIED, "a redirect from https to http");
    else if (!cw_url_is_plain(to.s))
        cw_err_set(&why, CW_E_DENIED, "a redirect to a URL with a password, or with \"..\" in it");
    else if (!cw_source_root_allows_url(to.s))
        cw_err_set(&why, CW_E_DENIED,
                   "a redirect to %.*s, which is outside of what --source-root "
                   "lets pipelines read",
                   (int)strcspn(to.s, "?"), to.s);
    if (why.code < 0) {
        cw_str_fini(&to);
        fail(f, &why);
        return;
    }
    cw_mem_free(f->moved_to);
    f->moved_to = cw_str_take(&to);
    try_once(f);
}

static void refused(struct cw_fetch *f, const struct cw_http_response *response)
{
    struct cw_err why = {0};
    int64_t wait_ms = 0;
    if (f->dialect->follows && cw_fetch_is_redirect(f->status)) {
        follow(f, response);
        return;
    }
    if (f->dialect->learn && f->lessons < LESSONS_MAX &&
        f->dialect->learn(&f->ask, response, cw_str_text(&f->refusal))) {
        f->lessons++;
        try_once(f);
        return;
    }
    if (f->status == 416 && !f->no_range && f->offset == 0 && !f->expected) {
        f->no_range = true; /* it is empty: asked as a whole, it tells its version */
        try_once(f);
        return;
    }
    cw_fetch_read_refusal(f, &why);
    if (cw_fetch_may_pass(f, response, &wait_ms))
        retry(f, &why, wait_ms);
    else
        fail(f, &why);
}

static bool is_all_there(const struct cw_fetch *f, int code)
{
    if (f->body_max)
        return code == CW_OK;
    uint64_t size = f->info.size >= 0 ? (uint64_t)f->info.size : UINT64_MAX;
    uint64_t there = size - CW_MIN(size, f->offset);
    if (f->got == CW_MIN(f->n, there))
        return true;
    return code == CW_OK && f->info.size < 0 && f->n == UINT64_MAX;
}

static void on_end(void *arg, int code, const struct cw_http_response *response,
                   const struct cw_err *err)
{
    struct cw_fetch *f = arg;
    struct cw_err why = *err;
    f->call = NULL;
    if (!f->head_seen && code == CW_OK) /* without a body; else the head may have been cut */
        cw_fetch_read_head(f, response);
    if (f->why.code < 0) {
        fail(f, &f->why);
    } else if (f->is_good && is_all_there(f, code)) {
        finish(f, 0);
    } else if ((code == CW_OK || code == CW_E_END) && !f->is_good) {
        refused(f, response); /* END: what it says is longer than what is looked at */
    } else if (code == CW_OK) {
        cw_err_set(&why, CW_E_UNAVAILABLE, "status %d, but the body ended before its end",
                   f->status);
        retry(f, &why, 0);
    } else if (code == CW_E_UNAVAILABLE || code == CW_E_TIMEOUT) {
        retry(f, &why, 0);
    } else {
        fail(f, &why);
    }
}

static void send_it(struct cw_fetch *f, const struct cw_wire *wire)
{
    const char *headers[CW_WIRE_HEADERS_MAX + 1] = {0};
    for (size_t i = 0; i < wire->headers_n; i++)
        headers[i] = wire->headers[i];
    int64_t patience = patience_of(f);
    const struct cw_http_request request = {.method = f->ask.method,
                                            .url = wire->url,
                                            .headers = headers,
                                            .body = f->ask.body,
                                            .body_n = f->ask.body ? strlen(f->ask.body) : 0,
                                            .connect_ms = CW_MIN(CONNECT_MS, patience),
                                            .silence_ms = CW_MIN(SILENCE_MS, patience)};
    const struct cw_http_events events = {.on_bytes = on_bytes, .on_end = on_end, .arg = f};
    f->call = cw_http_call_new(cw_remote_client(), &request, &events);
}

static void try_once(void *arg)
{
    struct cw_fetch *f = arg;
    struct cw_wire wire = {0};
    f->tries++;
    f->head_seen = f->is_good = false;
    f->status = 0;
    f->skip = 0;
    f->got_before = f->got;
    f->why = (struct cw_err){0};
    cw_str_clear(&f->refusal);
    cw_str_clear(&f->body);
    add_headers(f);
    struct cw_ask ask = f->ask;
    if (f->moved_to)
        ask.url = f->moved_to;
    int rc = f->dialect->make(&ask, &wire, &f->why);
    if (rc < 0)
        fail(f, &f->why);
    else
        send_it(f, &wire);
    cw_wire_fini(&wire);
}

/* ---- for the thread that waits ---- */

static void begin(void *arg)
{
    struct cw_fetch *f = arg;
    f->timer = cw_timer_new(cw_remote_loop(), try_once, f);
    f->progress_ms = cw_clock_ms();
    cw_backoff_init(&f->backoff, BACKOFF_CAP_MS);
    try_once(f);
}

void cw_fetch_cancel(struct cw_fetch *f)
{
    if (f->is_done) /* set by this thread alone */
        return;
    cw_http_call_cancel(f->call);
    cw_err_set(&f->err, CW_E_CANCELLED, "%s", cw_err_text(CW_E_CANCELLED));
    finish(f, CW_E_CANCELLED);
}

static void cancel(void *arg)
{
    struct cw_fetch *f = arg;
    cw_fetch_cancel(f);
    cw_mutex_lock(&f->mutex);
    f->cancel_ran = true;
    cw_cond_signal(&f->ended);
    cw_mutex_unlock(&f->mutex);
}

void cw_fetch_start(struct cw_fetch *f)
{
    cw_mutex_init(&f->mutex);
    cw_cond_init(&f->ended);
    f->info.size = -1;
    f->reader = cw_source_root_reads_as();
    f->begin_node = (struct cw_loop_node){.fn = begin, .arg = f};
    cw_loop_post_node(cw_remote_loop(), &f->begin_node);
}

int cw_fetch_wait(struct cw_fetch *f, const struct cw_stop *stop, struct cw_err *err)
{
    cw_mutex_lock(&f->mutex);
    while (!f->is_done || (f->cancel_asked && !f->cancel_ran)) {
        if (!stop || f->cancel_asked)
            cw_cond_wait(&f->ended, &f->mutex);
        else
            (void)cw_cond_wait_until(&f->ended, &f->mutex, cw_clock_ns() + STOP_LOOK_NS);
        if (f->is_done || f->cancel_asked || !cw_stop_is_set(stop))
            continue;
        f->cancel_asked = true;
        f->cancel_node = (struct cw_loop_node){.fn = cancel, .arg = f};
        cw_loop_post_node(cw_remote_loop(), &f->cancel_node);
    }
    cw_mutex_unlock(&f->mutex);
    if (f->rc < 0 && err)
        *err = f->err;
    return f->rc;
}

void cw_fetch_fini(struct cw_fetch *f)
{
    cw_mutex_fini(&f->mutex);
    cw_cond_fini(&f->ended);
    cw_str_fini(&f->refusal);
    cw_str_fini(&f->body);
    cw_mem_free(f->moved_to);
    f->moved_to = NULL;
}

int cw_fetch_run(struct cw_fetch *f, const struct cw_stop *stop, struct cw_err *err)
{
    cw_fetch_start(f);
    return cw_fetch_wait(f, stop, err);
}
