/* SPDX-License-Identifier: Apache-2.0 */
/* The options of cachew-dispatcher: the table of the command line, and the conversion of their
 * texts to struct cw_options. */
#include "base/args.h"
#include "base/cpulimit.h"
#include "cache/store/store.h"
#include "dispatcher/access/access.h"
#include "dispatcher/admin/admin.h"
#include "dispatcher/kubernetes/kubernetes.h"
#include "dispatcher/optimize/first_plan.h"
#include "dispatcher/program.h"
#include "dispatcher/scaling/scaling.h"
#include "dispatcher/state/state.h"
#include "kube/leader.h"
#include "trace/trace.h"

#include <stdio.h>
#include <string.h>

static const char about[] =
    "The dispatcher owns the state of all jobs: it leases work to workers and knows what the "
    "trainers have consumed. It prints one line, "
    "\"ready ADDRESS\", on standard output when it serves, and logs to standard error.";
static const char tail[] =
    "Examples:\n"
    "  cachew-dispatcher --listen 0.0.0.0:7070 --token-file /etc/cachew/tokens --state-dir "
    "/var/lib/cachew\n"
    "  cachew-dispatcher --listen unix:/run/cachew/dispatcher.sock --state-dir /var/lib/cachew\n"
    "  cachew-dispatcher --listen 0.0.0.0:7070 --token-file /etc/cachew/tokens --state-dir "
    "/var/lib/cachew --cache-store "
    "gluster://g1,g2/cache --cache-quota 2T\n"
    "  cachew-dispatcher --listen 0.0.0.0:7070 --token-file /etc/cachew/tokens --state-dir "
    "/var/lib/cachew --tenant "
    "vision:weight=2,max-jobs=20 --tenant '*:max-jobs=5'\n";

static int read_compress(const char *text, int *ret_level, struct cw_err *err)
{
    uint64_t level;
    if (strcmp(text, "auto") == 0)
        *ret_level = CW_CHUNK_AUTO;
    else if (strcmp(text, "off") == 0)
        *ret_level = CW_CHUNK_PLAIN;
    else if (cw_str_to_u64(text, &level) && level >= 1 && level <= 19)
        *ret_level = (int)level;
    else
        return cw_err_set(
            err, CW_E_INVALID,
            "--cache-compress: \"%s\" is neither a level from 1 to 19 nor auto or off", text);
    return 0;
}

/* The policies of eviction as --help and errors list them: "NAME or NAME", behind another " or ". */
#define OR " or "
static const char or_evict_policies[] = ""
#define CW_EVICT(name) OR #name
#include "policies/policy_list.h"
    ;
static const char *const evict_policies = &or_evict_policies[sizeof(OR) - 1];

static int read_cache(struct cw_options *o, const char *evict, const char *compress,
                      struct cw_err *err)
{
    const struct cw_autocache_policy *policy;
    const char *argument;
    int rc = cw_autocache_find(o->autocache, &policy, &argument, err);
    if (rc != 0)
        return cw_err_wrap(err, "--autocache");
    if (o->cache_store && cw_store_url_check(o->cache_store, err) != 0)
        return cw_err_wrap(err, "--cache-store");
    if (!o->cache_store && (o->cache_quota > 0 || o->source_cache_quota > 0 ||
                            cw_tenant_rules_have_quota(&o->tenants)))
        return cw_err_set(err, CW_E_INVALID,
                          "a quota of the cache without a cache: --cache-store URL is missing");
    o->cache_evict = cw_evict_find(evict);
    if (!o->cache_evict)
        return cw_err_set(err, CW_E_INVALID, "--cache-evict: \"%s\" is no policy: %s", evict,
                          evict_policies);
    return read_compress(compress, &o->cache_level, err);
}

static int check_objective(const struct cw_options *o, struct cw_err *err)
{
    const bool is_money = strcmp(o->objective, "money") == 0;
    if (!is_money && strcmp(o->objective, "time") != 0)
        return cw_err_set(err, CW_E_INVALID, "--objective: \"%.100s\" is not time or money",
                          o->objective);
    if (is_money && !(o->worker_price + o->client_price + o->store_price > 0))
        return cw_err_set(
            err, CW_E_INVALID,
            "--objective money needs --worker-price, --client-price or --store-price");
    return 0;
}

static int read_scaling(struct cw_options *o, const char *provisioner, struct cw_err *err)
{
    int rc = cw_provision_find(provisioner, &o->provisioner, err);
    if (rc != 0)
        return cw_err_wrap(err, "--provisioner");
    if (!o->autoscale)
        o->autoscale = o->provisioner->fixed ? "off" : "auto";
    rc = cw_scaling_check(o->autoscale, err);
    if (rc != 0)
        return cw_err_wrap(err, "--autoscale");
    rc = cw_placement_check(o->autoplace, err);
    if (rc != 0)
        return cw_err_wrap(err, "--autoplace");
    rc = cw_first_plan_check_policy(o->optimize, err);
    if (rc != 0)
        return cw_err_wrap(err, "--optimize");
    rc = check_objective(o, err);
    if (rc != 0)
        return rc;
    rc = cw_cluster_options_check(o, err);
    if (rc != 0)
        return rc;
    if (o->max_workers == 0)
        o->max_workers = cw_cpulimit();
    if (o->min_workers > o->max_workers)
        return cw_err_set(err, CW_E_INVALID, "--min-workers %llu is more than --max-workers %llu",
                          (unsigned long long)o->min_workers, (unsigned long long)o->max_workers);
    return 0;
}

/* Unix sockets are of this host alone, and speak no TLS. */
static int read_tls(struct cw_options *o, struct cw_err *err)
{
    int rc = cw_tls_options_read(&o->tls, err);
    if (rc == 0 && cw_rpc_address_is_unix(o->listen))
        o->tls = (struct cw_tls_options){0};
    return rc;
}

static int check_listen(const struct cw_options *o, struct cw_err *err)
{
    int rc = cw_rpc_address_check(o->listen, err);
    if (rc != 0)
        return cw_err_wrap(err, "--listen");
    if (o->token_file || o->token_review || cw_tls_options_are_set(&o->tls) || o->insecure ||
        cw_rpc_address_is_loopback(o->listen))
        return 0;
    return cw_err_set(
        err, CW_E_INVALID,
        "--listen %s: other hosts reach this address, and without tokens everybody "
        "there may do everything: give --token-file FILE, --token-review AUDIENCE, or "
        "--tls-cert, --tls-key and --tls-ca, an address of this host (127.0.0.1:PORT, unix:/path), "
        "or "
        "--insecure",
        o->listen);
}

static int check_lease(const struct cw_options *o, struct cw_err *err)
{
    if (!o->lease)
        return 0;
    if (o->lease_renew_ms >= o->lease_give_up_ms || o->lease_give_up_ms >= o->lease_duration_ms)
        return cw_err_set(err, CW_E_INVALID,
                          "--lease-renew must be below --lease-give-up, and that below "
                          "--lease-duration: who cannot renew it must have ended before others may "
                          "take it");
    int rc = cw_leader_name_check(o->lease, err);
    return rc == 0 ? 0 : cw_err_wrap(err, "--lease");
}

int cw_options_parse(int argc, char **argv, struct cw_options *ret_options, struct cw_err *err)
{
    struct cw_options o = {
        .trace_every = CW_TRACE_EVERY,
        .silence_ms = 3000,
        .grace_ms = 10000,
        .client_grace_ms = 10000,
        .job_idle_ms = (int64_t)24 * 3600 * 1000,
        .lease_ms = 2000,
        .takeover_ms = 5000,
        .max_jobs = 1000,
        .max_jobs_bytes = (uint64_t)4 << 30,
        .deaths_max = 3,
        .autocache = "auto",
        .autoplace = "auto",
        .optimize = "auto",
        .objective = "time",
        .scale_window_ms = 2000,
        .scale_in_ms = 10000,
        .lease_duration_ms = 15000,
        .lease_renew_ms = 2000,
        .lease_give_up_ms = 10000,
    };
    const char *provisioner = "none", *level_name = NULL;
    bool markdown = false;
    const char *evict = "benefit", *compress = "off";
    CW_STR_AUTO evict_help = {0};
    cw_str_addf(&evict_help, "what leaves when it is full: %s (default %s)", evict_policies, evict);
    const struct cw_arg rows[] = {
        {"listen", 0, CW_ARG_STR, &o.listen, "HOST:PORT",
         "where to serve; port 0 = any; also unix:/path (required)", 0, 0},
        {"state-dir", 0, CW_ARG_STR, &o.state_dir, "DIR",
         "where jobs and their progress are kept; made if it is not there (required)", 0, 0},
        {"generation-above", 0, CW_ARG_U64, &o.generation_above, "N",
         "begin above this generation: workers and trainers have seen it, as the log says "
         "(default: by the state and the time)",
         0, (double)(CW_GENERATION_MAX / 2)},
        {"standby", 0, CW_ARG_FLAG, &o.standby, NULL,
         "wait until no other dispatcher has the state directory, then serve", 0, 0},
        {"lease", 0, CW_ARG_STR, &o.lease, "[NAMESPACE/]NAME",
         "serve only while this Lease of Kubernetes is held, else stand by; the state is kept in "
         "generations, and may be on a network file system (default: the state directory's lock "
         "decides)",
         0, 0},
        {"lease-duration", 0, CW_ARG_MS, &o.lease_duration_ms, "TIME",
         "others may take the Lease when it was not renewed for so long (default 15s)", 10,
         3600000},
        {"lease-renew", 0, CW_ARG_MS, &o.lease_renew_ms, "TIME",
         "between renewals of the Lease (default 2s)", 1, 3600000},
        {"lease-give-up", 0, CW_ARG_MS, &o.lease_give_up_ms, "TIME",
         "end when the Lease could not be renewed for so long (default 10s)", 5, 3600000},
        {"heartbeat", 0, CW_ARG_MS, &o.silence_ms, "TIME",
         "a worker that is silent for so long is lost (default 3s)", 100, 3600000},
        {"grace", 0, CW_ARG_MS, &o.grace_ms, "TIME",
         "after a restart, wait so long for known workers and clients (default 10s)", 0, 3600000},
        {"client-grace", 0, CW_ARG_MS, &o.client_grace_ms, "TIME",
         "an anonymous job without its client is kept so long (default 10s)", 0, 86400000},
        {"job-idle", 0, CW_ARG_MS, &o.job_idle_ms, "TIME",
         "a named job without clients is kept so long (default 24h)", 0, 0},
        {"lease-ms", 0, CW_ARG_MS, &o.lease_ms, "TIME",
         "work that a worker holds at a time (default 2s)", 1, 600000},
        {"takeover", 0, CW_ARG_MS, &o.takeover_ms, "TIME",
         "a second client of a consumer's place waits so long for the first (default 5s)", 0,
         3600000},
        {"max-jobs", 0, CW_ARG_U64, &o.max_jobs, "N", "jobs at once (default 1000)", 1, 1000000},
        {"max-jobs-bytes", 0, CW_ARG_BYTES, &o.max_jobs_bytes, "BYTES",
         "pipelines and lists of files of all jobs (default 4G)", 1, 0},
        {"tenant", 0, CW_ARG_LIST, &o.tenants, "RULE",
         "NAME:KEY=VALUE,... of weight, max-workers, max-jobs, max-memory, cache-quota; NAME * = "
         "all others; may stand several times",
         0, 0},
        {"poison-deaths", 0, CW_ARG_U64, &o.deaths_max, "N",
         "a job fails when so many workers died at one of its items (default 3)", 2, 1000000},
        {"cache-store", 0, CW_ARG_STR, &o.cache_store, "URL",
         "where the cache is: dir:/path, gluster://host/volume/path (default: no cache)", 0, 0},
        {"cache-quota", 0, CW_ARG_BYTES, &o.cache_quota, "BYTES",
         "what the cache may hold (default: what the store has)", 0, 0},
        {"cache-evict", 0, CW_ARG_STR, &evict, "POLICY", cw_str_text(&evict_help), 0, 0},
        {"autocache", 0, CW_ARG_STR, &o.autocache, "POLICY",
         "what jobs cache that do not say: auto, cachew, off, force:NODE (default auto)", 0, 0},
        {"cache-chunk-bytes", 0, CW_ARG_BYTES, &o.cache_chunk_bytes, "BYTES",
         "how large a file of the cache becomes (default 64M)", 4096, 1073741824},
        {"cache-compress", 0, CW_ARG_STR, &compress, "LEVEL",
         "1 to 19 (zstd), off, or auto: where it helps (default off)", 0, 0},
        {"provisioner", 0, CW_ARG_STR, &provisioner, "NAME",
         "where workers come from: none (they register themselves), process, kubernetes (pods of "
         "--kube-deployment), or external, which only tells how many (default none)",
         0, 0},
        {"min-workers", 0, CW_ARG_U64, &o.min_workers, "N",
         "with a provisioner: workers that are always there (default 0)", 0, 1000000},
        {"max-workers", 0, CW_ARG_U64, &o.max_workers, "N",
         "and at most (default: the CPUs that this process may use; with kubernetes it, or max= of "
         "each Deployment, must be given)",
         1, 1000000},
        {"kube-deployment", 0, CW_ARG_LIST, &o.kube_deployments, "NAME[,max=N][,price=P]",
         "a Deployment whose pods are workers: at most N pods, P an hour for each; may stand "
         "several times, cheapest are filled first",
         0, 0},
        {"kube-namespace", 0, CW_ARG_STR, &o.kube_namespace, "NAME",
         "where they are (default: that of the kubeconfig, or of the own pod)", 0, 0},
        {"kubeconfig", 0, CW_ARG_STR, &o.kubeconfig, "FILE",
         "where the API server is, and who we are there (default: $KUBECONFIG, or as a pod)", 0, 0},
        {"worker-arg", 0, CW_ARG_LIST, &o.worker_args, "ARG",
         "given to started workers, as in --worker-arg=--threads=2; may stand several times", 0, 0},
        {"autoscale", 0, CW_ARG_STR, &o.autoscale, "POLICY",
         "how many workers jobs get that do not say: auto, cachew, hpa, fixed:N, off = all "
         "(default off without a provisioner, else auto)",
         0, 0},
        {"autoplace", 0, CW_ARG_STR, &o.autoplace, "POLICY",
         "which workers run beside the trainer, where it allows local ones, of jobs that do not "
         "say: auto, fixed:R,L, pecan, off (default auto)",
         0, 0},
        {"optimize", 0, CW_ARG_STR, &o.optimize, "POLICY",
         "in which order operators of jobs are computed that do not say, which changes no batch: "
         "auto, auto:once, cedar, off, pecan (default auto)",
         0, 0},
        {"worker-price", 0, CW_ARG_F64, &o.worker_price, "PRICE",
         "of a worker, an hour: policies and accounts use it (default 0)", 0, 1e9},
        {"client-price", 0, CW_ARG_F64, &o.client_price, "PRICE",
         "of a trainer's host, an hour, of jobs that do not say (default 0)", 0, 1e9},
        {"store-price", 0, CW_ARG_F64, &o.store_price, "PRICE",
         "of a GB in the cache, an hour: plans of jobs use it (default 0)", 0, 1e9},
        {"objective", 0, CW_ARG_STR, &o.objective, "WHAT",
         "what plans of jobs make least: time, or money, which needs a price (default time)", 0, 0},
        {"max-stall", 0, CW_ARG_F64, &o.max_stall, "SHARE",
         "autoscale auto: of its time that a trainer may wait (default 0.05)", 0, 1},
        {"scale-window", 0, CW_ARG_MS, &o.scale_window_ms, "TIME",
         "shortest measurement before a decision (default 2s)", 10, 3600000},
        {"scale-in", 0, CW_ARG_MS, &o.scale_in_ms, "TIME",
         "workers that nobody needs are kept so long (default 10s)", 0, 86400000},
        {"source-cache-quota", 0, CW_ARG_BYTES, &o.source_cache_quota, "BYTES",
         "what blocks of source files may take in the cache's store, besides (default 0: none are "
         "kept there)",
         0, 0},
        {"token-file", 0, CW_ARG_STR, &o.token_file, "FILE",
         "who may do what: a line NAME KIND TOKEN each, KIND tenant, worker or operator; read "
         "again "
         "when it changes (default: everybody may do everything)",
         0, 0},
        {"token-review", 0, CW_ARG_STR, &o.token_review, "AUDIENCE",
         "also take tokens of service accounts of Kubernetes for this audience, such as cachew, "
         "and "
         "ask the API server about them: the tenant is the account's namespace (default: not)",
         0, 0},
        {"token-role", 0, CW_ARG_LIST, &o.token_roles, "NAMESPACE:NAME=ROLE",
         "what a service account is instead: worker, admin or client:TENANT; may stand several "
         "times",
         0, 0},
        CW_TLS_ARG_ROWS(&o.tls),
        {"insecure", 0, CW_ARG_FLAG, &o.insecure, NULL,
         "without tokens and TLS: allow --listen to name an address that other hosts reach", 0, 0},
        {"source-root", 0, CW_ARG_LIST, &o.source_roots, "URL-PREFIX",
         "with --provisioner process: what pipelines may read on the workers that it starts: /path "
         "or file:///path, with ,tenant=NAME for one tenant; may stand several times (default: "
         "anything). The dispatcher itself opens no data",
         0, 0},
        {"metrics-listen", 0, CW_ARG_STR, &o.metrics_listen, "HOST:PORT",
         "serve /metrics and /healthz by HTTP there, of all tenants to whoever asks, and a page "
         "for "
         "browsers, beyond loopback only to who has a token (default: not)",
         0, 0},
        {"metrics-tls", 0, CW_ARG_FLAG, &o.metrics_tls, NULL,
         "speak HTTPS there, with the certificate of --tls-cert", 0, 0},
        {"show-elements", 0, CW_ARG_FLAG, &o.show_elements, NULL,
         "let who may see a job see elements of its batches, in that page (default: nobody sees "
         "data)",
         0, 0},
        {"web-host", 0, CW_ARG_LIST, &o.web_hosts, "NAME",
         "a name under which browsers may ask for that page, besides addresses, localhost and the "
         "host's own name; may be given several times",
         0, 0},
        CW_TRACE_ARG_ROWS(&o.trace_url, &o.trace_every),
        {"log-level", 0, CW_ARG_STR, &level_name, "LEVEL",
         "what is logged: error, warn, info, debug (default: $CACHEW_LOG, else info)", 0, 0},
        {"metrics-markdown", 0, CW_ARG_FLAG, &markdown, NULL,
         "print the reference that is docs/metrics.md, and end", 0, 0},
        {"exit-with-stdin", 0, CW_ARG_FLAG, &o.exit_with_stdin, NULL,
         "end with the process that started us: when standard input ends, or when it does", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {"cachew-dispatcher",
                                      "--listen HOST:PORT --state-dir DIR [options]",
                                      about,
                                      rows,
                                      tail,
                                      "CACHEW_DISPATCHER",
                                      NULL};
    const char *rest[1];
    size_t rest_n = 0;
    int rc = cw_args_parse(&spec, argc, argv, rest, CW_ARRAY_LEN(rest), &rest_n, err);
    if (rc != CW_ARGS_RUN)
        return rc;
    if (rest_n > 0)
        return cw_err_set(err, CW_E_INVALID, "unexpected argument \"%s\" (see --help)", rest[0]);
    if (markdown) {
        CW_STR_AUTO text = {0};
        cw_metrics_markdown(&text);
        (void)fputs(cw_str_text(&text), stdout);
        return CW_ARGS_DONE;
    }
    if (!o.listen || !o.state_dir)
        return cw_err_set(err, CW_E_INVALID, "%s is required (see --help)",
                          o.listen ? "--state-dir DIR" : "--listen HOST:PORT");
    rc = cw_log_choose_level(level_name, err);
    if (rc == 0)
        rc = read_tls(&o, err);
    if (rc == 0 && o.metrics_tls && !(o.metrics_listen && o.tls.cert))
        rc = cw_err_set(err, CW_E_INVALID,
                        "--metrics-tls needs --metrics-listen, and the certificate of --tls-cert");
    if (rc == 0)
        rc = cw_service_accounts_check(&o, err);
    if (rc == 0)
        rc = check_listen(&o, err);
    if (rc == 0)
        rc = cw_tenant_rules_check(&o.tenants, err);
    if (rc == 0)
        rc = read_cache(&o, evict, compress, err);
    if (rc == 0)
        rc = read_scaling(&o, provisioner, err);
    if (rc == 0)
        rc = check_lease(&o, err);
    if (rc != 0)
        return rc;
    *ret_options = o;
    return CW_ARGS_RUN;
}
