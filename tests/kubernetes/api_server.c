/* SPDX-License-Identifier: Apache-2.0 */
/* The fake API server as a program: the core of fk.h behind HTTP on loopback.
 *
 *   api_server [--port N] [--load FILE]... [--token TOKEN=USER[,GROUP]]... [--open] [--nodes N]
 *              [--namespace NAME]... [--seed N] [--fault-rate P] [--window N] [--bookmark-ms N]
 *              [--old-gone] [--no-streaming-list] [--no-controllers] [--log FILE]
 *
 * It prints "ready http://127.0.0.1:PORT". Files are YAML or JSON: definitions, roles, any objects.
 * --open makes whoever has no token an administrator; --nodes makes so many ready nodes; --log gets a
 * line for each request: user, verb's method, path with query, status.
 *
 * Orders go to paths that no real server has, without a token:
 *   POST /fake/fault    an order of fault.c
 *   POST /fake/rate     {"rate": 0.01}
 *   POST /fake/token    {"token": T, "user": U, "group": G}; without user the token is forgotten
 *   POST /fake/load     documents
 *   POST /fake/wipe, /fake/compact
 *   POST /fake/jump     {"ms": 3600000}  the wall clock
 *   POST /fake/away     {"ms": 1000}     nobody listens for so long
 *   GET  /fake/counts   */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "kubernetes/fk.h"
#include "kubernetes/http_front.h"
#include "kubernetes/jpath.h"

struct program {
    uv_loop_t loop;
    uv_timer_t timer;
    uv_signal_t on_term, on_int;
    struct fk_server *server;
    struct http_front *front;
    int64_t begun_ms;
    FILE *log;
};

static int64_t now_ms(const struct program *program)
{
    return cw_clock_ms() - program->begun_ms;
}

/* ---- time ---- */
static void set_timer(struct program *program);

static void on_timer(uv_timer_t *timer)
{
    struct program *program = timer->data;
    fk_server_advance(program->server, now_ms(program));
    set_timer(program);
}

static void set_timer(struct program *program)
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
        fk_server_set_token(program->server, fk_text(body, "token"), fk_text(body, "user"),
                            fk_text(body, "group"));
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
    set_timer(program);
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

static void on_request(void *arg, struct http_conn *conn, const struct http_request *request)
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
    set_timer(program);
}

/* ---- the command line ---- */
struct arguments {
    struct fk_options options;
    int port, nodes;
    bool open;
    double rate;
    const char *log;
    json_t *loads, *tokens, *namespaces;
};

static const char *value_of(char **argv, int *at)
{
    if (!argv[*at + 1]) {
        fprintf(stderr, "api_server: %s needs a value\n", argv[*at]);
        exit(2);
    }
    return argv[++*at];
}

static bool take_flag(struct arguments *args, const char *flag)
{
    if (cw_str_eq(flag, "--open"))
        args->open = true;
    else if (cw_str_eq(flag, "--old-gone"))
        args->options.old_gone = true;
    else if (cw_str_eq(flag, "--no-streaming-list"))
        args->options.no_streaming_list = true;
    else if (cw_str_eq(flag, "--no-controllers"))
        args->options.no_controllers = true;
    else
        return false;
    return true;
}

static void take_value(struct arguments *args, const char *flag, const char *value)
{
    if (cw_str_eq(flag, "--port"))
        args->port = (int)strtol(value, NULL, 10);
    else if (cw_str_eq(flag, "--nodes"))
        args->nodes = (int)strtol(value, NULL, 10);
    else if (cw_str_eq(flag, "--seed"))
        args->options.seed = strtoull(value, NULL, 10);
    else if (cw_str_eq(flag, "--window"))
        args->options.window = strtoul(value, NULL, 10);
    else if (cw_str_eq(flag, "--bookmark-ms"))
        args->options.bookmark_ms = strtol(value, NULL, 10);
    else if (cw_str_eq(flag, "--fault-rate"))
        args->rate = strtod(value, NULL);
    else if (cw_str_eq(flag, "--log"))
        args->log = value;
    else if (cw_str_eq(flag, "--load"))
        json_array_append_new(args->loads, json_string(value));
    else if (cw_str_eq(flag, "--token"))
        json_array_append_new(args->tokens, json_string(value));
    else if (cw_str_eq(flag, "--namespace"))
        json_array_append_new(args->namespaces, json_string(value));
    else {
        fprintf(stderr, "api_server: unknown option %s\n", flag);
        exit(2);
    }
}

static void add_token(struct program *program, const char *text)
{
    cw_autofree char *copy = cw_mem_strdup(text);
    char *user = strchr(copy, '='), *group = user ? strchr(user, ',') : NULL;
    if (!user) {
        fprintf(stderr, "api_server: --token TOKEN=USER[,GROUP]\n");
        exit(2);
    }
    *user++ = '\0';
    if (group)
        *group++ = '\0';
    fk_server_set_token(program->server, copy, user, group);
}

static void load_text(struct program *program, const char *what, const char *text, size_t n)
{
    struct cw_err err = {0};
    if (fk_server_load(program->server, 0, text, n, &err) < 0) {
        fprintf(stderr, "api_server: %s: %s\n", what, err.msg);
        exit(1);
    }
}

static void load_file(struct program *program, const char *path)
{
    struct cw_str CW_CLEANUP(cw_str_fini) text = {0};
    char piece[4096];
    size_t n;
    FILE *file = fopen(path, "r");
    while (file && (n = fread(piece, 1, sizeof(piece), file)) > 0)
        cw_str_add_bytes(&text, piece, n);
    if (!file) {
        perror(path);
        exit(1);
    }
    fclose(file);
    load_text(program, path, cw_str_text(&text), text.len);
}

static void add_node(struct program *program, int number)
{
    char text[512];
    int n = snprintf(text, sizeof(text),
                     "apiVersion: v1\nkind: Node\nmetadata: {name: node-%d, labels: "
                     "{kubernetes.io/hostname: node-%d}}\n",
                     number, number);
    load_text(program, "node", text, (size_t)n);
    struct fk_answer answer;
    char path[64];
    snprintf(path, sizeof(path), "/api/v1/nodes/node-%d/status", number);
    static const char STATUS[] =
        "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
        "\"allocatable\":{\"pods\":\"110\"}}}";
    struct fk_request request = {.method = "PATCH",
                                 .path = path,
                                 .token = "\001",
                                 .content_type = "application/merge-patch+json",
                                 .body = STATUS,
                                 .body_n = sizeof(STATUS) - 1};
    fk_server_set_token(program->server, "\001", "system:admin", "system:masters");
    fk_server_handle(program->server, 0, &request, &answer);
    fk_answer_fini(&answer);
    fk_server_set_token(program->server, "\001", NULL, NULL);
}

static void set_up(struct program *program, const struct arguments *args)
{
    size_t i;
    json_t *value;
    json_array_foreach(args->namespaces, i, value)
    {
        char text[400];
        int n =
            snprintf(text, sizeof(text), "{apiVersion: v1, kind: Namespace, metadata: {name: %s}}",
                     json_string_value(value));
        load_text(program, "namespace", text, (size_t)n);
    }
    json_array_foreach(args->loads, i, value) load_file(program, json_string_value(value));
    json_array_foreach(args->tokens, i, value) add_token(program, json_string_value(value));
    for (int node = 0; node < args->nodes; node++)
        add_node(program, node);
    if (args->open)
        fk_server_open_to_all(program->server);
    fk_server_set_fault_rate(program->server, args->rate);
    program->log = args->log ? fopen(args->log, "a") : NULL;
    if (*fk_server_unchecked(program->server))
        fprintf(stderr, "api_server: rules that are not evaluated:\n%s",
                fk_server_unchecked(program->server));
}

static void on_signal(uv_signal_t *handle, int signum)
{
    (void)signum;
    uv_stop(handle->loop);
}

static void catch_signal(struct program *program, uv_signal_t *handle, int signum)
{
    uv_signal_init(&program->loop, handle);
    uv_signal_start(handle, on_signal, signum);
    uv_unref((uv_handle_t *)handle);
}

/* Ends the server first, so that its watches say nothing any more. */
static void shut_down(struct program *program)
{
    http_front_close(program->front);
    uv_close((uv_handle_t *)&program->timer, NULL);
    uv_close((uv_handle_t *)&program->on_term, NULL);
    uv_close((uv_handle_t *)&program->on_int, NULL);
    uv_run(&program->loop, UV_RUN_DEFAULT);
    uv_loop_close(&program->loop);
    fk_server_free(program->server);
    if (program->log)
        fclose(program->log);
}

int main(int argc, char **argv)
{
    struct arguments args = {.options = {.seed = 1, .wall_ms = cw_clock_wall_ms()},
                             .loads = json_array(),
                             .tokens = json_array(),
                             .namespaces = json_array()};
    struct program program = {.begun_ms = cw_clock_ms()};
    struct cw_err err = {0};
    for (int i = 1; i < argc; i++)
        if (!take_flag(&args, argv[i])) {
            const char *flag = argv[i];
            take_value(&args, flag, value_of(argv, &i));
        }
    signal(SIGPIPE, SIG_IGN);
    uv_loop_init(&program.loop);
    uv_timer_init(&program.loop, &program.timer);
    program.timer.data = &program;
    program.server = fk_server_new(&args.options);
    set_up(&program, &args);
    catch_signal(&program, &program.on_term, SIGTERM);
    catch_signal(&program, &program.on_int, SIGINT);
    program.front =
        http_front_open(&program.loop, "127.0.0.1", args.port, on_request, &program, &err);
    if (!program.front) {
        fprintf(stderr, "api_server: %s\n", err.msg);
        return 1;
    }
    printf("ready http://127.0.0.1:%d\n", http_front_port(program.front));
    fflush(stdout);
    set_timer(&program);
    uv_run(&program.loop, UV_RUN_DEFAULT);
    shut_down(&program);
    json_decref(args.loads);
    json_decref(args.tokens);
    json_decref(args.namespaces);
    return 0;
}
