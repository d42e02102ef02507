/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of the fake API server as a program: HTTP outside, the core inside, and orders under /fake/. */
#include "kubernetes/api_program.h"
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kubernetes/jpath.h"

static int64_t now_ms(const struct program *program)
{
    return cw_clock_ms() - program->begun_ms;
}

/* ---- time ---- */
static void on_timer(uv_timer_t *timer)
{
    struct program *program = timer->data;
    fk_server_advance(program->server, now_ms(program));
    api_program_set_timer(program);
}

void api_program_set_timer(struct program *program)
{
    int64_t next = fk_server_next_ms(program->server), now = now_ms(program);
    if (next == INT64_MAX)
        uv_timer_stop(&program->timer);
    else
        uv_timer_start(&program->timer, on_timer, next > now ? (uint64_t)(next - now) : 0, 0);
}

/* ---- watches ---- */
struct stream {
    struct http_conn *conn;
    struct fk_watch *watch;
    uv_idle_t ending; /* frees the watch when its function has returned */
};

static void on_ending_closed(uv_handle_t *handle)
{
    cw_mem_free(handle->data);
}

static void on_ending(uv_idle_t *idle)
{
    struct stream *stream = idle->data;
    fk_watch_free(stream->watch);
    uv_close((uv_handle_t *)idle, on_ending_closed);
}

/* The watch may be in the middle of its function: it is freed a turn later. */
static void end_stream(struct stream *stream)
{
    stream->conn = NULL;
    uv_idle_start(&stream->ending, on_ending);
}

static void on_gone(void *arg)
{
    end_stream(arg);
}

static void on_lines(void *arg, const char *bytes, size_t n, enum fk_watch_end end)
{
    struct stream *stream = arg;
    if (!stream->conn)
        return;
    http_send(stream->conn, bytes, n);
    struct http_conn *conn = stream->conn;
    if (!conn || end == FK_WATCH_GOES_ON)
        return;
    end_stream(stream);
    if (end == FK_WATCH_ENDS)
        http_end(conn);
    else
        http_reset(conn);
}

static void begin_stream(struct program *program, struct http_conn *conn, const char *headers,
                         struct fk_watch *watch)
{
    struct stream *stream = CW_NEW(struct stream);
    stream->conn = conn;
    stream->watch = watch;
    uv_idle_init(&program->loop, &stream->ending);
    stream->ending.data = stream;
    http_begin(conn, 200, headers, on_gone, stream);
    fk_watch_start(watch, on_lines, stream);
}

/* ---- orders ---- */
static void do_load(struct program *program, const struct http_request *request, struct cw_err *err)
{
    int rc = fk_server_load(program->server, now_ms(program), request->body, request->body_n, err);
    if (rc < 0)
        cw_err_wrap(err, "while loading");
}

static void do_rate(struct program *program, const json_t *body)
{
    fk_server_set_fault_rate(program->server, json_number_value(json_object_get(body, "rate")));
}

static void do_token(struct program *program, const json_t *body)
{
    const char *token = fk_text(body, "token");
    fk_server_set_token(program->server, token, fk_text(body, "user"), fk_text(body, "group"));
    fk_server_set_audience(program->server, token, fk_text(body, "audience"));
}

static void do_order(struct program *program, const struct http_request *request,
                     struct cw_err *err)
{
    const char *what = request->path + strlen("/fake/");
    json_auto_t *body = json_loadb(request->body, request->body_n, 0, NULL);
    if (cw_str_eq(what, "load"))
        do_load(program, request, err);
    else if (cw_str_eq(what, "fault"))
        (void)fk_server_order(program->server, body, err);
    else if (cw_str_eq(what, "rate"))
        do_rate(program, body);
    else if (cw_str_eq(what, "token") && fk_text(body, "token"))
        do_token(program, body);
    else if (cw_str_eq(what, "wipe"))
        fk_server_wipe(program->server, now_ms(program));
    else if (cw_str_eq(what, "compact"))
        fk_server_compact(program->server);
    else if (cw_str_eq(what, "jump"))
        fk_server_jump_clock(program->server, fk_int(body, "ms", 0));
    else if (!cw_str_eq(what, "away"))
        cw_err_set(err, CW_E_NOT_FOUND, "there is no order %s", what);
}

static void answer_counts(struct program *program, struct http_conn *conn)
{
    struct fk_counts counts = fk_server_counts(program->server);
    json_auto_t *json =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "reads", (json_int_t)counts.reads, "lists",
                  (json_int_t)counts.lists, "watches", (json_int_t)counts.watches, "writes",
                  (json_int_t)counts.writes, "refused", (json_int_t)counts.refused, "version",
                  (json_int_t)fk_server_version(program->server));
    cw_autofree char *text = fk_dump(json, false, NULL);
    http_answer(conn, 200, "Content-Type: application/json\r\n", text, strlen(text));
}

static void handle_order(struct program *program, struct http_conn *conn,
                         const struct http_request *request)
{
    struct cw_err err = {0};
    if (cw_str_eq(request->path, "/fake/counts")) {
        answer_counts(program, conn);
        return;
    }
    do_order(program, request, &err);
    json_auto_t *body = json_loadb(request->body, request->body_n, 0, NULL);
    http_answer(conn, err.code ? 400 : 200, "", err.msg, strlen(err.msg));
    if (cw_str_eq(request->path, "/fake/away"))
        http_front_away(program->front, fk_int(body, "ms", 1000));
    api_program_set_timer(program);
}

/* ---- requests ---- */
static char *headers_of(const struct fk_answer *answer)
{
    struct cw_str str = {0};
    bool is_json = !answer->body || *answer->body == '{';
    cw_str_addf(&str, "Audit-Id: %s\r\nCache-Control: no-cache, private\r\nContent-Type: %s\r\n",
                answer->audit_id, is_json ? "application/json" : "text/plain; charset=utf-8");
    if (answer->retry_after_s)
        cw_str_addf(&str, "Retry-After: %d\r\n", answer->retry_after_s);
    if (answer->warning) {
        struct cw_str CW_CLEANUP(cw_str_fini) quoted = {0};
        cw_str_add_json(&quoted, answer->warning, strlen(answer->warning));
        cw_str_addf(&str, "Warning: 299 - %s\r\n", cw_str_text(&quoted));
    }
    return cw_str_take(&str);
}

static const char *bearer_of(const struct http_request *request)
{
    static const char BEARER[] = "Bearer ";
    return request->authorization && cw_str_starts(request->authorization, BEARER)
               ? request->authorization + sizeof(BEARER) - 1
               : NULL;
}

static void log_request(struct program *program, const struct http_request *request,
                        const struct fk_answer *answer)
{
    if (!program->log)
        return;
    const char *token = bearer_of(request);
    fprintf(program->log, "%s %s %s%s%s %d\n", token ? token : "-", request->method, request->path,
            request->query ? "?" : "", request->query ? request->query : "",
            answer->harm ? -(int)answer->harm : answer->status);
    fflush(program->log);
}

static void give_answer(struct program *program, struct http_conn *conn, struct fk_answer *answer)
{
    cw_autofree char *headers = headers_of(answer);
    bool is_cut = answer->harm == FK_HARM_RESET || answer->harm == FK_HARM_DONE;
    if (is_cut)
        fk_watch_free(answer->watch);
    if (is_cut)
        http_reset(conn);
    else if (answer->harm == FK_HARM_SILENCE)
        http_silence(conn);
    else if (answer->watch)
        begin_stream(program, conn, headers, answer->watch);
    else
        http_answer(conn, answer->status, headers, answer->body, answer->body_n);
}

void api_program_request(void *arg, struct http_conn *conn, const struct http_request *request)
{
    struct program *program = arg;
    struct fk_answer answer;
    struct fk_request asked = {
        .method = request->method,
        .path = request->path,
        .query = request->query,
        .content_type = request->content_type,
        .accept = request->accept,
        .token = bearer_of(request),
        .user_agent = request->user_agent,
        .body = request->body,
        .body_n = request->body_n,
    };
    if (cw_str_starts(request->path, "/fake/")) {
        handle_order(program, conn, request);
        return;
    }
    fk_server_handle(program->server, now_ms(program), &asked, &answer);
    log_request(program, request, &answer);
    give_answer(program, conn, &answer);
    fk_answer_fini(&answer);
    api_program_set_timer(program);
}
