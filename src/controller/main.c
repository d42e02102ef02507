/* SPDX-License-Identifier: Apache-2.0 */
/* The program cachew-controller: its command line, its signals, and the one line that it prints on
 * stdout. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auth/tls_files.h"
#include "auth/token_file.h"
#include "base/files_limit.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/jobs.h"
#include "controller/kueue_facts.h"
#include "controller/pages.h"
#include "controller/run.h"
#include "controller/store_allow.h"
#include "rpc/rpc.h"

#define LOST_STATUS 3 /* the exit status when the lease was lost */

struct program {
    struct cw_loop *loop;
    struct cw_controller *controller;
    struct cw_pages *pages;
    int status, signals;
};

static void on_stopped(void *arg)
{
    struct program *p = arg;
    cw_loop_stop(p->loop);
}

static void on_signal(void *arg, int signum)
{
    struct program *p = arg;
    if (p->signals++ > 0)
        _exit(0);
    cw_log_info(CW_CONTROLLER, "signal %d: stopping", signum);
    cw_controller_stop(p->controller, on_stopped, p);
}

static void on_listed(void *arg)
{
    const struct program *p = arg;
    printf("ready %s\n", cw_controller_server(p->controller));
    fflush(stdout);
}

static void on_lost(void *arg, const struct cw_err *why)
{
    struct program *p = arg;
    cw_log_error(CW_CONTROLLER, "the lease is lost: %s", why->msg);
    p->status = LOST_STATUS;
    cw_loop_stop(p->loop);
}

static void on_emptied(void *arg)
{
    struct program *p = arg;
    cw_log_info(CW_CONTROLLER, "there is no CacheBackend any more");
    if (p->signals++ == 0)
        cw_controller_stop(p->controller, on_stopped, p);
}

static int run(const struct cw_controller_options *options, struct program *p, struct cw_err *err)
{
    const struct cw_controller_events events = {on_listed, on_lost, on_emptied, p};
    p->loop = cw_loop_new();
    int rc = cw_loop_on_signal(p->loop, SIGTERM, on_signal, p, err);
    if (rc == 0)
        rc = cw_loop_on_signal(p->loop, SIGINT, on_signal, p, err);
    if (rc == 0)
        rc = cw_controller_new(p->loop, options, &events, &p->controller, err);
    if (rc == 0)
        rc = cw_pages_start(p->controller, options->metrics_listen, &p->pages, err);
    if (rc == 0)
        cw_loop_run(p->loop);
    cw_pages_stop(p->pages);
    if (!cw_controller_free(p->controller)) {
        cw_log_warn(CW_CONTROLLER, "leaving although an engine is still at work");
        _exit(p->status);
    }
    cw_loop_free(p->loop);
    return rc;
}

/* ---- the command line ---- */

static int check_token(struct cw_controller_options *o, struct cw_err *err)
{
    char token[CW_AUTH_TOKEN_MAX + 1];
    if (!o->token_file)
        o->token_file = getenv("CACHEW_TOKEN_FILE");
    if (o->token_file && !*o->token_file)
        o->token_file = NULL;
    return o->token_file ? cw_auth_own_token(o->token_file, token, err) : 0;
}

/* Reads the certificates once, so that what is wrong with them is said at the start, and puts their
 * files into the environment, where `cachew cache warm` finds them. */
static int check_tls(struct cw_controller_options *o, struct cw_err *err)
{
    struct cw_tls_files files = {0};
    CW_STR_AUTO roles = {0};
    int rc = cw_tls_options_read(&o->tls, err);
    if (rc != 0 || !cw_tls_options_are_set(&o->tls))
        return rc;
    rc = cw_tls_files_read(&o->tls, &files, err);
    cw_tls_files_fini(&files);
    for (size_t i = 0; i < o->tls.roles.n; i++)
        cw_str_addf(&roles, "%s%s", i > 0 ? "," : "", o->tls.roles.v[i]);
    setenv("CACHEW_TLS_CERT", o->tls.cert, 1);
    setenv("CACHEW_TLS_KEY", o->tls.key, 1);
    setenv("CACHEW_TLS_CA", o->tls.ca, 1);
    setenv("CACHEW_TLS_ROLE", cw_str_text(&roles), 1);
    return rc;
}

static int check_lists(const struct cw_controller_options *o, struct cw_err *err)
{
    for (size_t i = 0; i < o->allow_stores.n; i++)
        if (cw_store_allow_check(o->allow_stores.v[i], err) != 0)
            return CW_E_INVALID;
    for (size_t i = 0; i < o->job_kinds.n; i++)
        if (!cw_job_kind_find(o->job_kinds.v[i]))
            return cw_err_set(err, CW_E_INVALID,
                              "--job-kind: \"%s\" is none of Job, JobSet, TrainJob, RayJob",
                              o->job_kinds.v[i]);
    return 0;
}

/* Loads a plug-in, as a controller does in a child before it loads it itself. Returns the exit status. */
static int check_plugin(const char *path)
{
    const struct cachew_engine *engine = NULL;
    struct cw_err err = {0};
    int rc = cw_plugin_load(path, &engine, &err);
    printf("%s\n", rc == 0 ? "ok" : err.msg);
    return rc == 0 ? 0 : 1;
}

static int check(struct cw_controller_options *o, struct cw_err *err)
{
    if (o->check_plugin)
        return CW_ARGS_RUN;
    if (!o->dispatcher)
        return cw_err_set(err, CW_E_INVALID, "--dispatcher ADDRESS is required");
    if (cw_rpc_address_check(o->dispatcher, err) != 0)
        return cw_err_wrap(err, "--dispatcher");
    if (!o->client_dispatcher || !*o->client_dispatcher)
        o->client_dispatcher = o->dispatcher;
    if (cw_rpc_address_check(o->client_dispatcher, err) != 0)
        return cw_err_wrap(err, "--client-dispatcher");
    if (o->name_space && !*o->name_space)
        o->name_space = NULL;
    if (o->localfs_root && !*o->localfs_root)
        o->localfs_root = NULL;
    if (o->csi_driver && !*o->csi_driver)
        o->csi_driver = NULL;
    if (o->plugin_dir && !*o->plugin_dir)
        o->plugin_dir = NULL;
    if (o->localfs_root && o->localfs_root[0] != '/')
        return cw_err_set(err, CW_E_INVALID, "--localfs-root: \"%s\" does not begin with /",
                          o->localfs_root);
    int rc = check_lists(o, err);
    if (rc == 0)
        rc = check_tls(o, err);
    return rc == 0 ? check_token(o, err) : rc;
}

static int parse(int argc, char **argv, struct cw_controller_options *o, struct cw_err *err)
{
    const char *level_name = NULL, *rest[1];
    size_t rest_n = 0;
    const struct cw_arg rows[] = {
        {"dispatcher", 'd', CW_ARG_STR, &o->dispatcher, "ADDRESS",
         "the dispatcher whose caches CacheBackends become: HOST:PORT or unix:/path (required)", 0,
         0},
        {"client-dispatcher", 0, CW_ARG_STR, &o->client_dispatcher, "ADDRESS",
         "where jobs of any namespace find it, for their ConfigMaps (default: that of "
         "--dispatcher)",
         0, 0},
        {"namespace", 'n', CW_ARG_STR, &o->name_space, "NAMESPACE",
         "look after the CacheBackends of this namespace alone (default: of all)", 0, 0},
        {"lease", 0, CW_ARG_STR, &o->lease, "[NAMESPACE/]NAME",
         "of several controllers with this lease one acts, the others stand by (default: no lease)",
         0, 0},
        {"localfs-root", 0, CW_ARG_STR, &o->localfs_root, "DIR",
         "where caches of the engine localfs lie; dispatcher and workers see it under this path "
         "(default: there are none)",
         0, 0},
        {"allow-store", 0, CW_ARG_LIST, &o->allow_stores, "URL-PREFIX",
         "stores that CacheBackends may name, such as gluster://HOST/VOLUME; may stand several "
         "times (default: none)",
         0, 0},
        {"plugin-dir", 0, CW_ARG_STR, &o->plugin_dir, "DIR",
         "where engines of others lie, as libcachew_engine_NAME.so (default: there are none)", 0,
         0},
        {"check-plugin", 0, CW_ARG_STR, &o->check_plugin, "FILE",
         "load this engine, say on standard output what is wrong with it, and end", 0, 0},
        {"csi-driver", 0, CW_ARG_STR, &o->csi_driver, "NAME",
         "make volumes of this CSI driver for CacheBackends with a mountPath (default: they are "
         "refused)",
         0, 0},
        {"job-kind", 0, CW_ARG_LIST, &o->job_kinds, "KIND",
         "kinds of jobs that wait, besides Job: JobSet, TrainJob, RayJob; may stand several times",
         0, 0},
        {"job-annotations", 0, CW_ARG_FLAG, &o->job_annotations, NULL,
         "jobs may carry the spec of their CacheBackend in an annotation: whoever may create jobs "
         "then has caches",
         0, 0},
        {"kueue", 0, CW_ARG_FLAG, &o->kueue, NULL,
         "answer the AdmissionCheck " CW_KUEUE_CONTROLLER " of Kueue: jobs in its queues are "
         "admitted when their cache is ready",
         0, 0},
        {"release-all", 0, CW_ARG_FLAG, &o->release_all, NULL,
         "delete every CacheBackend and what it has cached, as its deletionPolicy says, and end", 0,
         0},
        {"kubeconfig", 0, CW_ARG_STR, &o->kubeconfig, "FILE",
         "where the API server is (default: $KUBECONFIG, else as a pod is told)", 0, 0},
        {"token-file", 0, CW_ARG_STR, &o->token_file, "FILE",
         "an operator's token that the dispatcher may ask for (default: $CACHEW_TOKEN_FILE)", 0, 0},
        CW_TLS_ARG_ROWS(&o->tls),
        {"period", 0, CW_ARG_MS, &o->period_ms, "TIME",
         "between two questions to the dispatcher about its caches (default 5s)", 10, 3600000},
        {"away", 0, CW_ARG_MS, &o->away_ms, "TIME",
         "so long without an answer, the dispatcher counts as away (default 60s)", 10, 86400000},
        {"prefetch-turn", 0, CW_ARG_MS, &o->prefetch_turn_ms, "TIME",
         "so long one CacheBackend is warmed while others wait, of namespaces that have fewer "
         "under "
         "way (default 5m)",
         100, 86400000},
        {"metrics-listen", 0, CW_ARG_STR, &o->metrics_listen, "HOST:PORT",
         "serve /livez, /readyz and /metrics by HTTP there, to whoever asks (default: not)", 0, 0},
        {"log-level", 0, CW_ARG_STR, &level_name, "LEVEL",
         "what is logged: error, warn, info, debug (default: $CACHEW_LOG, else info)", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew-controller",
        .usage = "--dispatcher ADDRESS [options]",
        .about = "Looks after the CacheBackends of a Kubernetes cluster: makes their caches in a "
                 "cachew dispatcher, lets the jobs begin that wait for them, and takes them away "
                 "when nobody uses them any more. Prints one line `ready SERVER` on standard "
                 "output once its first lists are in; logs to standard error.",
        .rows = rows,
        .tail = "Example:\n  cachew-controller --dispatcher cachew-dispatcher:7070 --allow-store "
                "gluster://gluster-0/vol\n",
        .env_prefix = "CACHEW_CONTROLLER",
    };
    int rc = cw_args_parse(&spec, argc, argv, rest, 1, &rest_n, err);
    if (rc == CW_ARGS_RUN && rest_n > 0)
        rc = cw_err_set(err, CW_E_INVALID, "unexpected argument \"%s\"", rest[0]);
    if (rc == CW_ARGS_RUN && cw_log_choose_level(level_name, err) != 0)
        return CW_E_INVALID;
    return rc == CW_ARGS_RUN ? check(o, err) : rc;
}

int main(int argc, char **argv)
{
    struct cw_controller_options o = {
        .period_ms = 5000, .away_ms = 60000, .prefetch_turn_ms = 300000};
    struct program p = {0};
    struct cw_err err = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    int rc = parse(argc, argv, &o, &err);
    if (rc == CW_ARGS_DONE)
        return 0;
    if (rc != CW_ARGS_RUN) {
        fprintf(stderr, "cachew-controller: %s\n", err.msg);
        return 2;
    }
    if (o.check_plugin)
        return check_plugin(o.check_plugin);
    cw_files_limit_raise();
    if (run(&o, &p, &err) != 0) {
        fprintf(stderr, "cachew-controller: %s\n", err.msg);
        return 1;
    }
    return p.status;
}
