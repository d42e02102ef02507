/* SPDX-License-Identifier: Apache-2.0 */
#include "base/args.h"
#include "dispatcher/dispatcher.h"

static const char about[] =
    "The dispatcher owns the state of all jobs: it leases work to workers and knows what the trainers have consumed. It prints one line, "
    "\"ready ADDRESS\", on standard output when it serves, and logs to standard error.";
static const char tail[] =
    "Examples:\n"
    "  cachew-dispatcher --listen 0.0.0.0:7070 --state-dir /var/lib/cachew\n"
    "  cachew-dispatcher --listen unix:/run/cachew/dispatcher.sock --state-dir /var/lib/cachew\n";

int cw_options_parse(int argc, char **argv, struct cw_options *ret_options, struct cw_err *err)
{
    struct cw_options o = {
        .silence_ms = 3000,
        .grace_ms = 10000,
        .client_grace_ms = 10000,
        .job_idle_ms = (int64_t)24 * 3600 * 1000,
        .lease_ms = 2000,
        .takeover_ms = 5000,
        .max_jobs = 1000,
        .deaths_max = 3,
    };
    const struct cw_arg rows[] = {
        {"listen", 0, CW_ARG_STR, &o.listen, "HOST:PORT", "where to serve; port 0 = any; also unix:/path (required)", 0, 0},
        {"state-dir", 0, CW_ARG_STR, &o.state_dir, "DIR", "where jobs and their progress are kept; made if it is not there (required)", 0, 0},
        {"standby", 0, CW_ARG_FLAG, &o.standby, NULL, "wait until no other dispatcher has the state directory, then serve", 0, 0},
        {"heartbeat", 0, CW_ARG_MS, &o.silence_ms, "TIME", "a worker that is silent for so long is lost (default 3s)", 100, 3600000},
        {"grace", 0, CW_ARG_MS, &o.grace_ms, "TIME", "after a restart, wait so long for known workers and clients (default 10s)", 0, 3600000},
        {"client-grace", 0, CW_ARG_MS, &o.client_grace_ms, "TIME", "an anonymous job without its client is kept so long (default 10s)", 0, 86400000},
        {"job-idle", 0, CW_ARG_MS, &o.job_idle_ms, "TIME", "a named job without clients is kept so long (default 24h)", 0, 0},
        {"lease-ms", 0, CW_ARG_MS, &o.lease_ms, "TIME", "work that a worker holds at a time (default 2s)", 1, 600000},
        {"takeover", 0, CW_ARG_MS, &o.takeover_ms, "TIME", "a second client of a consumer's place waits so long for the first (default 5s)", 0, 3600000},
        {"max-jobs", 0, CW_ARG_U64, &o.max_jobs, "N", "jobs at once (default 1000)", 1, 1000000},
        {"poison-deaths", 0, CW_ARG_U64, &o.deaths_max, "N", "a job fails when so many workers died at one of its items (default 3)", 2, 1000000},
        {"exit-with-stdin", 0, CW_ARG_FLAG, &o.exit_with_stdin, NULL, "end when standard input reaches its end (the parent is gone)", 0, 0},
        {0},
    };
    const struct cw_args_spec spec = {"cachew-dispatcher", "--listen HOST:PORT --state-dir DIR [options]", about, rows, tail, "CACHEW_DISPATCHER"};
    const char *rest[1];
    size_t rest_n = 0;
    int rc = cw_args_parse(&spec, argc, argv, rest, CW_ARRAY_LEN(rest), &rest_n, err);
    if (rc != CW_ARGS_RUN)
        return rc;
    if (rest_n > 0)
        return cw_err_set(err, CW_E_INVALID, "unexpected argument \"%s\" (see --help)", rest[0]);
    if (!o.listen || !o.state_dir)
        return cw_err_set(err, CW_E_INVALID, "%s is required (see --help)", o.listen ? "--state-dir DIR" : "--listen HOST:PORT");
    *ret_options = o;
    return CW_ARGS_RUN;
}
