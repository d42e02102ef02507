/* SPDX-License-Identifier: Apache-2.0 */
/* One call: what libcurl is told of it, what it tells, and its end. */
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/mem.h"
#include "http/http_int.h"
#include "http/http_url.h"

#define CONNECT_MS 30000
#define HEAD_MAX ((size_t)256 << 10) /* the most bytes of all header lines */

static size_t on_header(char *line, size_t size, size_t n, void *arg)
{
    struct cw_http_call *call = arg;

    (void)size; /* 1 */
    call->heard_ms = cw_clock_ms();
    if (call->cancelled)
        return 0;
    if (n >= 5 && memcmp(line, "HTTP/", 5) == 0)
        cw_str_clear(&call->head); /* those of 100 Continue do not count */
    if (call->head.len + n > HEAD_MAX) {
        cw_err_set(&call->err, CW_E_LIMIT, "the header is longer than %zu bytes", HEAD_MAX);
        return 0;
    }
    cw_str_add_bytes(&call->head, line, n);
    return n;
}

static void read_status(struct cw_http_call *call)
{
    long status = 0;

    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    call->response.status = (int)status;
}

static int collect(struct cw_http_call *call, const char *bytes, size_t n)
{
    if (call->body_max && n > call->body_max - CW_MIN(call->response.body.len, call->body_max))
        return cw_err_set(&call->err, CW_E_LIMIT, "the response is longer than %zu bytes",
                          call->body_max);
    cw_str_add_bytes(&call->response.body, bytes, n);
    return CW_OK;
}

static size_t on_body(char *bytes, size_t size, size_t n, void *arg)
{
    struct cw_http_call *call = arg;
    int rc;

    (void)size; /* 1 */
    call->heard_ms = cw_clock_ms();
    if (call->cancelled)
        return 0;
    read_status(call);
    if (call->events.on_bytes)
        rc = call->events.on_bytes(call->events.arg, &call->response, bytes, n, &call->err);
    else
        rc = collect(call, bytes, n);
    if (rc != CW_OK && call->err.code == CW_OK)
        cw_err_set(&call->err, rc, "%s", cw_err_text(rc));
    return rc == CW_OK && !call->cancelled ? n : 0;
}

static void on_silence(void *arg)
{
    struct cw_http_call *call = arg;
    int64_t left = call->heard_ms + call->silence_ms - cw_clock_ms();

    if (left > 0) {
        cw_timer_start(call->silence, left, 0);
        return;
    }
    call->is_silent = true;
    cw_http_call_end(call, CURLE_OPERATION_TIMEDOUT);
}

static int code_of(CURLcode result)
{
    static const struct {
        CURLcode result;
        int code;
    } codes[] = {
        {CURLE_OK, CW_OK},
        {CURLE_OPERATION_TIMEDOUT, CW_E_TIMEOUT},
        {CURLE_URL_MALFORMAT, CW_E_INVALID},
        {CURLE_UNSUPPORTED_PROTOCOL, CW_E_INVALID},
        {CURLE_PEER_FAILED_VERIFICATION, CW_E_DENIED},
        {CURLE_SSL_CERTPROBLEM, CW_E_DENIED},
        {CURLE_SSL_CACERT_BADFILE, CW_E_DENIED},
        {CURLE_SSL_ISSUER_ERROR, CW_E_DENIED},
        {CURLE_OUT_OF_MEMORY, CW_E_NOMEM},
    };

    for (size_t i = 0; i < CW_ARRAY_LEN(codes); i++)
        if (codes[i].result == result)
            return codes[i].code;
    return CW_E_UNAVAILABLE;
}

/* What failed: an own error if there is one, or libcurl's words. */
static int describe(struct cw_http_call *call, CURLcode result, struct cw_err *err)
{
    const char *cause = call->cause[0] ? call->cause : curl_easy_strerror(result);
    int code = code_of(result);

    /* The scheme of the URL, or a response that is not HTTP. */
    if (result == CURLE_UNSUPPORTED_PROTOCOL && strncasecmp(call->where, "http", 4) == 0)
        code = CW_E_UNAVAILABLE;
    if (call->err.code != CW_OK)
        *err = call->err;
    else if (call->is_silent)
        cw_err_set(err, CW_E_TIMEOUT, "not a byte came for %lld ms", (long long)call->silence_ms);
    else if (code != CW_OK)
        cw_err_set(err, code, "%s%s", cause,
                   result == CURLE_SSL_CERTPROBLEM
                       ? " (does the key belong to the own certificate?)"
                       : "");
    if (err->code != CW_OK)
        cw_err_wrap(err, "%s %s", call->method, call->where);
    return err->code;
}

/* Whether the empty line behind the headers has come. libcurl takes a connection that ends before it
 * for a response. */
static bool is_head_whole(const struct cw_str *head)
{
    return head->len >= 2 && head->s[head->len - 1] == '\n' &&
           (head->s[head->len - 2] == '\n' ||
            (head->len >= 3 && memcmp(head->s + head->len - 3, "\n\r\n", 3) == 0));
}

void cw_http_call_end(struct cw_http_call *call, CURLcode result)
{
    struct cw_err err = {0};

    if (result == CURLE_OK && !is_head_whole(&call->head))
        result = CURLE_GOT_NOTHING;
    read_status(call);
    int code = describe(call, result, &err);
    cw_http_multi_remove(call->client, call);
    if (call->silence)
        cw_timer_stop(call->silence);
    call->events.on_end(call->events.arg, code, &call->response, &err);
    cw_http_call_free(call);
}

static void unlink_call(struct cw_http_call *call)
{
    struct cw_http_call **at = &call->client->waiting;

    while (*at && *at != call)
        at = &(*at)->next_waiting;
    if (*at)
        *at = call->next_waiting;
    if (call->prev)
        call->prev->next = call->next;
    else
        call->client->calls = call->next;
    if (call->next)
        call->next->prev = call->prev;
}

void cw_http_call_free(struct cw_http_call *call)
{
    cw_http_multi_remove(call->client, call);
    unlink_call(call);
    curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    cw_timer_free(call->silence);
    cw_str_fini(&call->head);
    cw_str_fini(&call->response.body);
    cw_mem_free(call->method);
    cw_mem_free(call->where);
    cw_mem_free(call);
}

void cw_http_call_cancel(struct cw_http_call *call)
{
    if (!call)
        return;
    if (call->client->in_curl)
        call->cancelled = true;
    else
        cw_http_call_free(call);
}

static void set_blob(CURL *easy, CURLoption option, const char *text)
{
    struct curl_blob blob = {
        .data = (void *)(uintptr_t)text, .len = strlen(text), .flags = CURL_BLOB_COPY};

    curl_easy_setopt(easy, option, &blob);
}

static void set_identity(CURL *easy, const struct cw_http_client *client)
{
    if (client->ca)
        set_blob(easy, CURLOPT_CAINFO_BLOB, client->ca);
    if (client->cert) {
        set_blob(easy, CURLOPT_SSLCERT_BLOB, client->cert);
        set_blob(easy, CURLOPT_SSLKEY_BLOB, client->key);
    }
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
}

/* What is the same for all calls. */
static void set_fixed(CURL *easy, const struct cw_http_client *client)
{
    curl_easy_setopt(easy, CURLOPT_USERAGENT, client->user_agent);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L); /* does not wait for a name to be looked up */
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L); /* what is signed is what is sent */
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 15L);
}

static void set_callbacks(CURL *easy, struct cw_http_call *call)
{
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->cause);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
}

static void add_header(struct cw_http_call *call, const char *line)
{
    struct curl_slist *headers = curl_slist_append(call->headers, line);

    CW_ASSERT(headers);
    call->headers = headers;
}

static void set_request(struct cw_http_call *call, const struct cw_http_request *request)
{
    bool has_body = request->body != NULL;

    for (const char *const *line = request->headers; line && *line; line++)
        add_header(call, *line);
    add_header(call, "Expect:"); /* no round trip before a body */
    curl_easy_setopt(call->easy, CURLOPT_URL, request->url);
    /* Waits for a connection that may be shared: TLS tells whether it may. Without TLS the first
     * response does, which may take for ever. */
    curl_easy_setopt(call->easy, CURLOPT_PIPEWAIT,
                     (long)(strncasecmp(request->url, "https:", 6) == 0));
    if (has_body) {
        curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_n);
        curl_easy_setopt(call->easy, CURLOPT_COPYPOSTFIELDS, request->body);
    }
    curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, request->method);
    if (strcmp(request->method, "HEAD") == 0)
        curl_easy_setopt(call->easy, CURLOPT_NOBODY, 1L);
    curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
    curl_easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS,
                     (long)(request->connect_ms ? request->connect_ms : CONNECT_MS));
    curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
}

static void link_call(struct cw_http_client *client, struct cw_http_call *call)
{
    call->client = client;
    call->next = client->calls;
    if (call->next)
        call->next->prev = call;
    client->calls = call;
}

struct cw_http_call *cw_http_call_new(struct cw_http_client *client,
                                      const struct cw_http_request *request,
                                      const struct cw_http_events *events)
{
    struct cw_http_call *call = CW_NEW(struct cw_http_call);

    call->easy = curl_easy_init();
    CW_ASSERT(call->easy);
    call->method = cw_mem_strdup(request->method);
    call->where = cw_http_url_shown(request->url);
    call->events = *events;
    call->response.head = &call->head;
    call->body_max = request->body_max;
    call->heard_ms = cw_clock_ms();
    link_call(client, call);
    set_fixed(call->easy, client);
    set_identity(call->easy, client);
    set_callbacks(call->easy, call);
    set_request(call, request);
    if (request->silence_ms) {
        call->silence_ms = request->silence_ms;
        call->silence = cw_timer_new(client->loop, on_silence, call);
        cw_timer_start(call->silence, request->silence_ms, 0);
    }
    cw_http_multi_add(client, call);
    return call;
}
