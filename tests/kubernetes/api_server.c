/* SPDX-License-Identifier: Apache-2.0 */
/* The fake API server as a program: the core of fk.h behind HTTP on loopback.
 *
 *   api_server [--host A] [--port N] [--load FILE]... [--token TOKEN=USER[,GROUP]]... [--open]
 *              [--nodes N] [--namespace NAME]... [--seed N] [--fault-rate P] [--window N]
 *              [--bookmark-ms N] [--old-gone] [--no-streaming-list] [--no-controllers] [--log FILE]
 *
 * It prints "ready http://HOST:PORT"; the host is 127.0.0.1, or the address of --host. Files are YAML
 * or JSON: definitions, roles, any objects.
 * --open makes whoever has no token an administrator; --nodes makes so many ready nodes; --log gets a
 * line for each request: user, verb's method, path with query, status.
 *
 * Orders go to paths that no real server has, without a token:
 *   POST /fake/fault    an order of fault.c
 *   POST /fake/rate     {"rate": 0.01}
 *   POST /fake/token    {"token": T, "user": U, "group": G, "audience": A}; without user the token is
 *                       forgotten; a TokenReview for another audience than A does not know it
 *   POST /fake/load     documents
 *   POST /fake/wipe, /fake/compact
 *   POST /fake/jump     {"ms": 3600000}  the wall clock
 *   POST /fake/away     {"ms": 1000}     nobody listens for so long
 *   GET  /fake/counts   */
#include "kubernetes/api_program.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
struct arguments {
    struct fk_options options;
    int port, nodes;
    bool open;
    double rate;
    const char *host, *log;
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
    if (cw_str_eq(flag, "--host"))
        args->host = value;
    else if (cw_str_eq(flag, "--port"))
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
    json_array_foreach (args->namespaces, i, value) {
        char text[400];
        int n =
            snprintf(text, sizeof(text), "{apiVersion: v1, kind: Namespace, metadata: {name: %s}}",
                     json_string_value(value));
        load_text(program, "namespace", text, (size_t)n);
    }
    json_array_foreach (args->loads, i, value)
        load_file(program, json_string_value(value));
    json_array_foreach (args->tokens, i, value)
        add_token(program, json_string_value(value));
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
                             .host = "127.0.0.1",
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
        http_front_open(&program.loop, args.host, args.port, api_program_request, &program, &err);
    if (!program.front) {
        fprintf(stderr, "api_server: %s\n", err.msg);
        return 1;
    }
    printf("ready http://%s:%d\n", args.host, http_front_port(program.front));
    fflush(stdout);
    api_program_set_timer(&program);
    uv_run(&program.loop, UV_RUN_DEFAULT);
    shut_down(&program);
    json_decref(args.loads);
    json_decref(args.tokens);
    json_decref(args.namespaces);
    return 0;
}
