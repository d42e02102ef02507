/* SPDX-License-Identifier: Apache-2.0 */
/* The program cachew-worker: its command line, its signals, and the one line that it prints on
 * stdout. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "auth/token_file.h"
#include "base/args.h"
#include "base/clock.h"
#include "base/files_limit.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "io/remote/remote.h"
#include "io/source_root.h"
#include "loop/parent.h"
#include "ops/kernels/cpu.h"
#include "ops/plugin.h"
#include "python/python_setup.h"
#include "trace/trace.h"
#include "worker/plugin_parent.h"
#include "worker/worker.h"

/* Time allowed after draining to close streams and files. */
#define CLOSE_MS 10000
/* Bytes reserved for small allocations, of the worker and of gRPC, when large ones have used up the
 * memory. */
#define RESERVE_BYTES ((size_t)16 << 20)

struct program {
    struct cw_loop *loop;
    struct cw_worker_state *worker;
    struct cw_parent_watch *parent;
    int signals;
};

static void guard(void *arg)
{
    int64_t at_ms = (intptr_t)arg;
    cw_clock_sleep_ns((at_ms - cw_clock_ms()) * 1000000);
    cw_log_warn("worker", "leaving at once: something here does not end");
    _exit(0);
}

/* Ends the process after this time, whatever its other threads wait for. */
static void leave_within(int64_t ms)
{
    struct cw_thread thread = {0};
    cw_thread_start(&thread, "cachew-guard", guard, (void *)(intptr_t)(cw_clock_ms() + ms));
    cw_thread_detach(&thread);
}

static void on_drained(void *arg)
{
    struct program *p = arg;
    leave_within(CLOSE_MS);
    cw_loop_stop(p->loop);
}

static void on_signal(void *arg, int signum)
{
    struct program *p = arg;
    if (p->signals++ > 0) {
        cw_log_warn("worker", "signal %d again: leaving at once", signum);
        _exit(0);
    }
    leave_within(cw_worker_drain_limit_ms(p->worker) + CLOSE_MS);
    cw_worker_drain(p->worker, on_drained, p);
}

/* The process that started this one has exited, so no client will read its outputs. The worker
 * leaves at once, unless records wait to be written to the cache. */
static void on_parent_gone(void *arg)
{
    struct program *p = arg;
    cw_log_info("worker", "the process that started us is gone: leaving");
    if (!cw_worker_is_caching(p->worker))
        _exit(0);
    leave_within(cw_worker_drain_limit_ms(p->worker) + CLOSE_MS);
    cw_worker_abandon(p->worker, on_drained, p);
}

/* Says so if strangers may read through this worker whatever its user may. Whoever starts a worker
 * for a private dispatcher or for one job does it with the rights that he has himself. */
static void warn_of_open_files(const struct cw_worker_options *o, bool exit_with_stdin)
{
    bool is_root = geteuid() == 0, is_open = !cw_rpc_address_is_loopback(o->listen);
    bool is_private =
        exit_with_stdin && (o->only_job || strncmp(o->dispatcher, "unix:", strlen("unix:")) == 0);
    if (cw_source_root_is_set() || is_private || (!is_root && !is_open))
        return;
    cw_log_warn("worker",
                "this worker %s, and pipelines may read all files that it may read: name "
                "directories with --source-root",
                is_root ? "runs as root" : "listens beyond this host");
}

/* Reads the token from standard input, byte by byte: what follows is for --exit-with-stdin. */
static int read_token_line(char ret_token[CW_AUTH_TOKEN_MAX + 1], struct cw_err *err)
{
    size_t n = 0;
    char byte;
    while (n < CW_AUTH_TOKEN_MAX && read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n')
        ret_token[n++] = byte;
    ret_token[n] = '\0';
    if (cw_auth_token_check(ret_token, err) == 0)
        return 0;
    return cw_err_wrap(err, "--token-file -");
}

/* Finds the token that is shown to the dispatcher, and says early if it cannot be read. */
static int find_token(struct cw_worker_options *o, struct cw_err *err)
{
    static char token[CW_AUTH_TOKEN_MAX + 1];
    if (!o->token_file)
        o->token_file = getenv("CACHEW_TOKEN_FILE");
    if (o->token_file && !*o->token_file)
        o->token_file = NULL;
    if (o->token_file && strcmp(o->token_file, "-") == 0) {
        o->token_file = NULL;
        o->token = token;
        return read_token_line(token, err);
    }
    return o->token_file ? cw_auth_own_token(o->token_file, token, err) : 0;
}

static int check_listen(const struct cw_worker_options *o, struct cw_err *err)
{
    int rc = cw_rpc_address_check(o->listen, err);
    if (rc != 0)
        return cw_err_wrap(err, "--listen");
    if (o->token || o->token_file || cw_tls_options_are_set(&o->tls) || o->insecure ||
        cw_rpc_address_is_loopback(o->listen))
        return 0;
    return cw_err_set(err, CW_E_INVALID,
                      "--listen %s: other hosts reach this address, and without tokens everybody "
                      "there may fetch what this worker computes: give --token-file FILE, or "
                      "--tls-cert, --tls-key and --tls-ca (and the same to the dispatcher), an "
                      "address of this host (127.0.0.1:PORT, unix:/path), "
                      "or --insecure",
                      o->listen);
}

/* An empty option is none: so a variable of the environment may be empty. */
static int check_advertise(const struct cw_worker_options *o, struct cw_err *err)
{
    char address[512];
    if (!o->advertise_host || !*o->advertise_host)
        return 0;
    if (o->advertise && *o->advertise)
        return cw_err_set(err, CW_E_INVALID,
                          "--advertise and --advertise-host: give one of them, the first with a "
                          "port, the second without");
    return cw_rpc_address_of_host(o->advertise_host, o->listen, address, sizeof(address), err) == 0
               ? 0
               : cw_err_wrap(err, "--advertise-host");
}

static int allow_functions(const char *interpreter, const char *sandbox, struct cw_err *err)
{
    int how = 0;
    while (cw_python_sandbox_names[how] && strcmp(cw_python_sandbox_names[how], sandbox) != 0)
        how++;
    if (!cw_python_sandbox_names[how])
        return cw_err_set(err, CW_E_INVALID, "--python-sandbox: \"%s\" is none of on, off, auto",
                          sandbox);
    return cw_python_allow(interpreter, (enum cw_python_sandbox)how, err) == 0
               ? 0
               : cw_err_wrap(err, "--allow-python");
}

static int run(const struct cw_worker_options *options, bool exit_with_stdin, struct cw_err *err)
{
    struct program p = {.loop = cw_loop_new()};
    cw_loop_lend(p.loop);
    int rc = cw_loop_on_signal(p.loop, SIGTERM, on_signal, &p, err);
    if (rc == 0)
        rc = cw_loop_on_signal(p.loop, SIGINT, on_signal, &p, err);
    if (rc == 0)
        rc = cw_worker_new(p.loop, options, &p.worker, err);
    if (rc == 0 && exit_with_stdin)
        rc = cw_parent_watch(p.loop, on_parent_gone, &p, &p.parent, err);
    if (rc == 0) {
        cw_worker_on_drained(p.worker, on_drained, &p);
        printf("ready %s\n", cw_worker_address(p.worker));
        fflush(stdout);
        cw_loop_run(p.loop);
        cw_log_info("worker", "drained");
        if (cw_worker_is_held_up(p.worker))
            _exit(0);
    }
    cw_parent_unwatch(p.parent);
    cw_worker_free(p.worker);
    cw_loop_free(p.loop);
    return rc;
}

/* What the worker is started with. */
struct start {
    struct cw_worker_options options;
    struct cw_arg_list plugins;
    bool exit_with_stdin;
};

static int serve(void *arg, const struct cw_worker_death *died)
{
    struct start *start = arg;
    struct cw_err err = {0};
    if (cw_plugin_load_all(start->plugins.v, start->plugins.n, &err) < 0) {
        fprintf(stderr, "cachew-worker: %s\n", err.msg);
        return 2;
    }
    size_t n = 0;
    char **operators = cw_plugin_definitions(&n);
    start->options.operators = operators;
    start->options.operators_n = n;
    start->options.died = died;
    cw_io_remote_start();
    int rc = run(&start->options, start->exit_with_stdin, &err);
    cw_io_remote_stop();
    for (size_t i = 0; i < n; i++)
        cw_mem_free(operators[i]);
    cw_mem_free(operators);
    if (rc != 0)
        fprintf(stderr, "cachew-worker: %s\n", err.msg);
    return rc != 0 ? 1 : 0;
}

static void print_version(void)
{
    const char *asked = getenv("CACHEW_CPU");
    printf("kernels: %s (this CPU can run %s%s%s)\n", cw_cpu_level_name(cw_cpu_level()),
           cw_cpu_level_name(cw_cpu_best()), asked && *asked ? ", CACHEW_CPU=" : "",
           asked ? asked : "");
}

int main(int argc, char **argv)
{
    struct cw_worker_options o = {
        .listen = "127.0.0.1:0",
        .share_window = UINT64_MAX,
        .read_ahead = UINT64_MAX,
        .trace_every = CW_TRACE_EVERY,
    };
    uint64_t threads = 0;
    int64_t nice_level = 0, plugin_limit_ms = 60000;
    uint64_t index_requests = 0;
    bool exit_with_stdin = false, shm = true;
    bool allow_python = false;
    const char *python = "python3", *python_sandbox = "on";
    struct cw_arg_list source_roots = {0}, plugins = {0};
    const char *level_name = NULL;
    const struct cw_arg rows[] = {
        {"dispatcher", 'd', CW_ARG_STR, &o.dispatcher, "ADDRESS",
         "dispatcher: HOST:PORT or unix:/path (required)", 0, 0},
        {"listen", 'l', CW_ARG_STR, &o.listen, "ADDRESS",
         "where clients fetch batches; port 0 = any (default 127.0.0.1:0)", 0, 0},
        {"advertise", 0, CW_ARG_STR, &o.advertise, "ADDRESS",
         "what clients are told (default: the listen address, by host name if it is a wildcard)", 0,
         0},
        {"advertise-host", 0, CW_ARG_STR, &o.advertise_host, "HOST",
         "the same, with the port at which it listens: a name, or an address of IPv4 or IPv6", 0,
         0},
        {"threads", 't', CW_ARG_U64, &threads, "N", "threads that compute (default 0 = CPUs)", 0,
         4096},
        {"cpu-limit", 0, CW_ARG_F64, &o.cpus, "CPUS",
         "CPU time that they may use together, in seconds a second (default: no limit)", 0, 4096},
        {"budget", 0, CW_ARG_BYTES, &o.budget, "BYTES",
         "memory for items in hand and outputs not yet sent (default: a quarter of the RAM, at "
         "most 8G)",
         0, 0},
        {"shm-limit", 0, CW_ARG_BYTES, &o.shm_limit, "BYTES",
         "shared memory of batches, those that clients hold included (default: the budget)", 0, 0},
        {"shm", 0, CW_ARG_FLAG, &shm, NULL,
         "hand batches to clients of this host in shared memory (default; --no-shm: never)", 0, 0},
        {"share-window", 0, CW_ARG_BYTES, &o.share_window, "BYTES",
         "of the budget: items kept for other jobs of the same pipeline and seed (default: a "
         "quarter)",
         0, 0},
        {"source-cache-memory", 0, CW_ARG_BYTES, &o.source_memory, "BYTES",
         "blocks of source files kept in memory (default 256M with a directory or a store, else "
         "none)",
         0, 0},
        {"source-cache-dir", 0, CW_ARG_STR, &o.source_dir, "DIR",
         "keep them in a directory on a local disk too; workers of a host may share it", 0, 0},
        {"source-cache-dir-bytes", 0, CW_ARG_BYTES, &o.source_dir_bytes, "BYTES",
         "and at most so much there (default 10G)", 0, 0},
        {"index-requests", 0, CW_ARG_U64, &index_requests, "N",
         "files whose indices are made at a time, when a job is prepared (default 16)", 0, 256},
        {"read-ahead", 0, CW_ARG_U64, &o.read_ahead, "N",
         "requests to servers and slow disks that are under way before their bytes are needed "
         "(default 64; 0 = none)",
         0, 1024},
        {"cache-memory", 0, CW_ARG_BYTES, &o.cache_memory, "BYTES",
         "of the budget: for the cache, if the dispatcher has one (default: a quarter)", 0, 0},
        {"only-job", 0, CW_ARG_STR, &o.only_job, "ID", "serve this job alone", 0, 0},
        {"token-file", 0, CW_ARG_STR, &o.token_file, "FILE",
         "the token that the dispatcher may ask for, read at each connection; - = one line of "
         "standard input (default: $CACHEW_TOKEN_FILE)",
         0, 0},
        CW_TLS_ARG_ROWS(&o.tls),
        {"insecure", 0, CW_ARG_FLAG, &o.insecure, NULL,
         "without a token and TLS: allow --listen to name an address that other hosts reach", 0, 0},
        {"source-root", 0, CW_ARG_LIST, &source_roots, "URL-PREFIX",
         "what pipelines may read: /path, file:///path, s3://bucket/train; with ,tenant=NAME only "
         "those of this tenant; may stand several times (default: all that this user may read)",
         0, 0},
        {"allow-python", 0, CW_ARG_FLAG, &allow_python, NULL,
         "compute functions in Python of pipelines, each in a child process that can do nothing "
         "but "
         "compute",
         0, 0},
        {"python", 0, CW_ARG_STR, &python, "PROGRAM",
         "with --allow-python: the Python that runs them (default python3)", 0, 0},
        {"python-sandbox", 0, CW_ARG_STR, &python_sandbox, "WORD",
         "with --allow-python: on = only where this kernel has Landlock and seccomp; off: "
         "functions "
         "may do what this worker may; auto: on where it can be had (default on)",
         0, 0},
        {"plugin", 0, CW_ARG_LIST, &plugins, "FILE",
         "load a shared object with operators of one's own (docs/user-operators.md), which may do "
         "all "
         "that this worker may; may stand several times",
         0, 0},
        {"plugin-limit", 0, CW_ARG_MS, &plugin_limit_ms, "TIME",
         "longest call of an operator of a plugin, which has failed then; ten times as long to "
         "open "
         "it (default 60s; 0 = no limit)",
         0, 0},
        {"store-root", 0, CW_ARG_LIST, &o.store_roots, "URL-PREFIX",
         "stores of the cache that the dispatcher may name; may stand several times (default: any, "
         "if the dispatcher is on this host, else none)",
         0, 0},
        {"drain-limit", 0, CW_ARG_MS, &o.drain_limit_ms, "TIME",
         "after SIGTERM, longest time to compute and serve what is begun (default 30s)", 0, 0},
        {"metrics-listen", 0, CW_ARG_STR, &o.metrics_listen, "HOST:PORT",
         "serve /livez, /readyz and /metrics by HTTP there, to whoever asks (default: not)", 0, 0},
        CW_TRACE_ARG_ROWS(&o.trace_url, &o.trace_every),
        {"log-level", 0, CW_ARG_STR, &level_name, "LEVEL",
         "what is logged: error, warn, info, debug (default: $CACHEW_LOG, else info)", 0, 0},
        {"exit-with-stdin", 0, CW_ARG_FLAG, &exit_with_stdin, NULL,
         "leave with the process that started us: when standard input ends, or when it does", 0, 0},
        {"nice", 0, CW_ARG_I64, &nice_level, "N", "scheduling priority, -20 to 19 (default 0)", -20,
         19},
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew-worker",
        .usage = "--dispatcher ADDRESS [options]",
        .about = "Computes batches of pipelines for a cachew dispatcher and serves them to "
                 "training programs. Prints one line "
                 "`ready ADDRESS` on standard output once it serves; logs to standard error. "
                 "SIGTERM drains: what is begun is "
                 "finished and served, the rest handed back; a second one leaves at once.",
        .rows = rows,
        .tail = "Example:\n  cachew-worker --dispatcher trainer1:7070 --listen 0.0.0.0:0 "
                "--token-file /etc/cachew/token\n",
        .env_prefix = "CACHEW_WORKER",
        .print_version = print_version,
    };
    /* The allocator must return large buffers to the system when they are freed, since memory that
     * it keeps would not count in the budget. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    cw_mem_reserve(RESERVE_BYTES);
    struct cw_err err = {0};
    size_t rest_n = 0;
    const char *rest[1];
    int rc = cw_args_parse(&spec, argc, argv, rest, 1, &rest_n, &err);
    if (rc == CW_ARGS_DONE)
        return 0;
    if (rc == CW_ARGS_RUN && rest_n > 0)
        rc = cw_err_set(&err, CW_E_INVALID, "unexpected argument \"%s\"", rest[0]);
    if (rc == CW_ARGS_RUN && !o.dispatcher)
        rc = cw_err_set(&err, CW_E_INVALID, "--dispatcher ADDRESS is required");
    if (rc == CW_ARGS_RUN && cw_rpc_address_check(o.dispatcher, &err) != 0)
        rc = cw_err_wrap(&err, "--dispatcher");
    if (rc == CW_ARGS_RUN)
        rc = cw_log_choose_level(level_name, &err);
    if (rc == CW_ARGS_RUN)
        rc = cw_cpu_check(&err);
    if (rc == CW_ARGS_RUN)
        rc = find_token(&o, &err);
    if (rc == CW_ARGS_RUN)
        rc = cw_tls_options_read(&o.tls, &err);
    if (rc == CW_ARGS_RUN)
        rc = check_listen(&o, &err);
    if (rc == CW_ARGS_RUN)
        rc = check_advertise(&o, &err);
    if (rc == CW_ARGS_RUN && allow_python)
        rc = allow_functions(python, python_sandbox, &err);
    if (rc != CW_ARGS_RUN) {
        fprintf(stderr, "cachew-worker: %s\n", err.msg);
        return 2;
    }
    for (size_t i = 0; i < source_roots.n; i++) {
        if (cw_source_root_add(source_roots.v[i], &err) != 0) {
            fprintf(stderr, "cachew-worker: %s\n", err.msg);
            return 2;
        }
    }
    if (nice_level != 0 && setpriority(PRIO_PROCESS, 0, (int)nice_level) != 0)
        cw_log_warn("worker", "nice %lld: %s", (long long)nice_level, strerror(errno));
    cw_files_limit_raise();
    warn_of_open_files(&o, exit_with_stdin);
    o.threads = (size_t)threads;
    o.index_requests = (unsigned)index_requests;
    o.no_shm = !shm;
    struct start start = {.options = o, .plugins = plugins, .exit_with_stdin = exit_with_stdin};
    const struct cw_plugin_parent parent = {
        .limit_ms = plugin_limit_ms, .serve = serve, .arg = &start};
    return plugins.n > 0 ? cw_plugin_parent_run(&parent) : serve(&start, NULL);
}
