/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/cmd/run_options.h"

#include <string.h>
#include <sys/stat.h>
#include "client/tool/cmd/run_plan.h"
#include "client/tool/tool.h"

/* Whoever asks for caching means it. */
static void warn_of_no_store(const struct tool_run_options *o)
{
    const bool is_local = !o->dispatcher || strcmp(o->dispatcher, "local:") == 0;
    if (is_local && !o->cache_store && o->autocache && *o->autocache &&
        strcmp(o->autocache, "off") != 0)
        fprintf(stderr, "cachew: warning: --autocache %s caches nothing without --cache-store\n",
                o->autocache);
}

static int check(const struct tool_run_options *o)
{
    struct stat st;
    if (strcmp(o->mode, "coordinated") != 0 && strcmp(o->mode, "shared") != 0) {
        (void)tool_fail("option --mode: must be coordinated or shared (given \"%s\")", o->mode);
        return TOOL_USAGE;
    }
    if (o->dispatcher && strcmp(o->dispatcher, "local:") != 0 && (o->workers || o->threads)) {
        (void)tool_fail("option --%s: is for local: only; the dispatcher at %s has workers of its "
                        "own (see --local-workers)",
                        o->workers ? "workers" : "threads", o->dispatcher);
        return TOOL_USAGE;
    }
    const char *wrong = tool_run_plan_misfit(o);
    if (wrong) {
        (void)tool_fail("%s", wrong);
        return TOOL_USAGE;
    }
    if (o->bad_list && !o->skip_bad) {
        (void)tool_fail("option --bad-list: without --skip-bad the job fails at the first one");
        return TOOL_USAGE;
    }
    /* The file is replaced by another one (rename), which is wrong for a device. */
    if (o->save_token && stat(o->save_token, &st) == 0 && !S_ISREG(st.st_mode)) {
        (void)tool_fail("option --save-token: %s is no regular file", o->save_token);
        return TOOL_USAGE;
    }
    warn_of_no_store(o);
    return TOOL_OK;
}

bool tool_run_options_parse(int argc, char **argv, struct tool_run_options *o,
                            const char **ret_file, int *ret_exit)
{
    *o = (struct tool_run_options){
        .dispatcher = tool_dispatcher(), .epochs = 1, .mode = "coordinated", .consumers = 1};
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER_OR_LOCAL(&o->dispatcher),
        {"epochs", 'e', CW_ARG_U64, &o->epochs, "N",
         "passes over the data; 0 = without end (default 1)", 0, 0},
        {"seed", 's', CW_ARG_U64, &o->seed, "S", "of shuffling and augmentation (default 0)", 0, 0},
        {"workers", 'w', CW_ARG_I64, &o->workers, "N", "local: only: worker processes (default 1)",
         0, 1024},
        {"threads", 't', CW_ARG_I64, &o->threads, "N",
         "local: only: threads of each worker (default: CPUs)", 0, 1024},
        {"no-order", 0, CW_ARG_FLAG, &o->no_order, NULL,
         "take batches as they are ready; the hash is then a sum", 0, 0},
        TOOL_ROW_JSON(&o->json, "print one JSON line an epoch, and nothing else"),
        {"name", 'n', CW_ARG_STR, &o->name, "NAME",
         "name the job: it outlives its clients, and can be joined", 0, 0},
        {"identity", 0, CW_ARG_STR, &o->identity, "WORD",
         "what tells one source file from another: mtime, size, sample or content (default: as the "
         "pipeline says, else mtime)",
         0, 0},
        {"plan", 0, CW_ARG_STR, &o->plan, "FILE",
         "compute in the order of this plan (cachew plan -o), and in no other; the batches are the "
         "same unless --relaxed is given",
         0, 0},
        {"skip-bad", 0, CW_ARG_FLAG, &o->skip_bad, NULL,
         "leave out bad elements and count them, instead of failing", 0, 0},
        {"bad-list", 0, CW_ARG_STR, &o->bad_list, "FILE",
         "with --skip-bad: a line of JSON for each bad element: file, record, operator, reason", 0,
         0},
        {"step-ms", 0, CW_ARG_STR, &o->step_ms, "N",
         "emulate a training step of N milliseconds a batch; N,N@TIME,...: others from TIME after "
         "the first batch on",
         0, 0},
        {"stop-after", 0, CW_ARG_U64, &o->stop_after, "N", "stop after N batches", 0, 0},
        {"save-token", 0, CW_ARG_STR, &o->save_token, "FILE", "save the position after each batch",
         0, 0},
        {"resume", 0, CW_ARG_STR, &o->resume, "FILE", "go on behind a saved position", 0, 0},
        {"batches", 0, CW_ARG_STR, &o->batches_path, "FILE",
         "append a line per batch: epoch, number, elements, digest", 0, 0},
        {"recipes", 0, CW_ARG_FLAG, &o->recipes, NULL,
         "with --batches: a fifth column, what `cachew replay` takes", 0, 0},
        {"consumers", 0, CW_ARG_I64, &o->consumers, "N", "consumers of the job in all (default 1)",
         1, 1024},
        {"consumer", 0, CW_ARG_I64, &o->consumer, "I", "which of them this is, from 0", 0, 1023},
        {"mode", 0, CW_ARG_STR, &o->mode, "WORD",
         "several consumers: coordinated (default) or shared", 0, 0},
        {"at-most-once", 0, CW_ARG_FLAG, &o->at_most_once, NULL,
         "leave out what a dead worker held", 0, 0},
        TOOL_ROW_PLUGIN("local: only: load operators of one's own; may stand several times"),
        {"cache-store", 0, CW_ARG_STR, &o->cache_store, "URL",
         "local: only: where elements are cached, for example dir:/var/cache/cachew (default: "
         "nowhere)",
         0, 0},
        {"cache-quota", 0, CW_ARG_BYTES, &o->cache_quota, "BYTES",
         "local: only: bytes there at most (default: no limit)", 0, 0},
        {"autocache", 0, CW_ARG_STR, &o->autocache, "POLICY",
         "what is cached: auto, cachew, off, force:NODE (default: the dispatcher's)", 0, 0},
        {"tenant", 0, CW_ARG_STR, &o->tenant, "NAME",
         "whose job it is: caches are shared within a tenant only (default: $CACHEW_TENANT)", 0, 0},
        {"cache", 0, CW_ARG_STR, &o->cache, "NAME",
         "which cache it uses (cachew cache attach; default: $CACHEW_CACHE, or the dispatcher's "
         "own)",
         0, 0},
        {"autoscale", 0, CW_ARG_STR, &o->autoscale, "POLICY",
         "how many workers it gets: auto, cachew, hpa, fixed:N, off = all (default: the "
         "dispatcher's)",
         0, 0},
        {"autoplace", 0, CW_ARG_STR, &o->autoplace, "POLICY",
         "with --local-workers, which run here: auto, fixed:R,L, pecan, off (default: the "
         "dispatcher's)",
         0, 0},
        {"optimize", 0, CW_ARG_STR, &o->optimize, "POLICY",
         "in which order operators are computed, which changes no batch: auto, auto:once, off "
         "(default: the dispatcher's); pecan, or cedar with --profile, plan before the job begins",
         0, 0},
        {"profile", 0, CW_ARG_STR, &o->profile, "FILE",
         "plan by what was measured (cachew profile) before the job begins, and compute in that "
         "order",
         0, 0},
        {"relaxed", 0, CW_ARG_FLAG, &o->relaxed, NULL,
         "the plan needs to keep only types and shapes, not values: the job is then that of the "
         "plan's order, and has its own hash",
         0, 0},
        {"disable-fusion", 0, CW_ARG_FLAG, &o->no_fusion, NULL,
         "operators are called one by one for each element, and make whole images, which changes "
         "no "
         "batch",
         0, 0},
        {"min-workers", 0, CW_ARG_I64, &o->min_workers, "N",
         "workers that it has a right to (default 1)", 0, 1e6},
        {"max-workers", 0, CW_ARG_I64, &o->max_workers, "N",
         "workers at most (default: the dispatcher's limit)", 0, 1e6},
        {"priority", 0, CW_ARG_I64, &o->priority, "N",
         "jobs of a higher one are served first, above the minimum of all (default 0)", -1e6, 1e6},
        {"weight", 0, CW_ARG_F64, &o->weight, "W", "of the tenant's share (default 1)", 0, 1e6},
        {"max-stall", 0, CW_ARG_F64, &o->max_stall, "SHARE",
         "of its time that the trainer may wait (default: the dispatcher's)", 0, 1},
        {"client-price", 0, CW_ARG_F64, &o->client_price, "PRICE",
         "of this host, an hour (default: the dispatcher's)", 0, 1e9},
        {"local-workers", 0, CW_ARG_I64, &o->local_workers, "N",
         "workers that may be started on this host for this job (default none)", 0, 64},
        {"local-threads", 0, CW_ARG_I64, &o->local_threads, "N", "threads of each (default: CPUs)",
         0, 1024},
        {"local-nice", 0, CW_ARG_I64, &o->local_nice, "N",
         "nice level of each, on top of our own (default 0)", 0, 19},
        {"local-cpus", 0, CW_ARG_F64, &o->local_cpus, "CPUS",
         "CPU time that each may use, in seconds a second (default: no limit)", 0, 4096},
        {"local-memory", 0, CW_ARG_BYTES, &o->local_memory, "BYTES",
         "memory that all of them may hold together (default: a quarter of the RAM)", 0, 0},
        {"buffer", 0, CW_ARG_BYTES, &o->buffer, "BYTES",
         "received and not yet consumed (default 256M)", 0, 0},
        {"window", 0, CW_ARG_I64, &o->window, "N", "batches computed ahead (default: chosen)", 0,
         1e9},
        {"lease-items", 0, CW_ARG_U64, &o->lease_items, "N",
         "fixed length of leases, for tests (default: adapts)", 0, 0},
        {"no-shm", 0, CW_ARG_FLAG, &o->no_shm, NULL, "batches come by gRPC also on one host", 0, 0},
        {"no-hash", 0, CW_ARG_FLAG, &o->no_hash, NULL,
         "neither digest batches nor print a hash (benchmarks)", 0, 0},
        {"stats", 0, CW_ARG_FLAG, &o->stats, NULL, "print a JSON line of statistics at the end", 0,
         0},
        {"timeout", 0, CW_ARG_MS, &o->timeout_ms, "TIME",
         "to reach the dispatcher, and for the job to begin since something last moved (default "
         "10s; local: starts in 30s)",
         0, 0},
        TOOL_ROW_QUIET(&o->quiet, "no progress bar"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew run",
        .usage = "FILE.json [options]",
        .about = "Runs a pipeline through the service and consumes its batches. Prints for each "
                 "epoch what came, and a "
                 "128-bit hash of it: equal for the same pipeline and seed, whatever computed it.",
        .rows = rows,
        .tail = "examples:\n  cachew run photos.json\n  cachew run photos.json --dispatcher "
                "host:7070 --epochs 3 --json\n",
    };
    if (!tool_parse_words(&spec, argc, argv, "which file?", ret_file, 1, ret_exit))
        return false;
    *ret_exit = check(o);
    return *ret_exit == TOOL_OK;
}
