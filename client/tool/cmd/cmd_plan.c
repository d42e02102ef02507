/* SPDX-License-Identifier: Apache-2.0 */
/* cachew plan: the order of operators, what to cache and how many workers, by what was measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client/tool/plan_cedar.h"
#include "client/tool/plan_problem.h"
#include "client/tool/plan_work.h"
#include "client/tool/tool.h"
#include "ops/plugin.h"
#include "policies/optimizer.h"

#define ROWS_MAX 32
#define NOT_GIVEN UINT64_MAX

/* A flag that switches something of the plan. */
#define ROW_FLAG(option, to, text)                                                                 \
    {                                                                                              \
        .name = (option), .type = CW_ARG_FLAG, .target = (to), .help = (text)                      \
    }
/* A number of at least 1; 0 stands for one that is not given. */
#define ROW_COUNT(option, to, letter_, text, most)                                                 \
    {                                                                                              \
        .name = (option), .type = CW_ARG_U64, .target = (to), .metavar = (letter_),                \
        .help = (text), .min = 1, .max = (most)                                                    \
    }
#define ROW_TEXT(option, to, what, text)                                                           \
    {                                                                                              \
        .name = (option), .type = CW_ARG_STR, .target = (to), .metavar = (what), .help = (text)    \
    }

/* The command line. */
struct words {
    const char *stats, *profile;
    bool no_reorder, no_fusion, json;
    /* with --profile, or without both */
    const char *optimize, *workers, *output;
    const char *objective;
    uint64_t epochs, threads;
    double cores, worker_price, trainer_price, store_price;
    bool relaxed, no_caching, no_workers;
    /* with --cedar-stats */
    uint64_t cpus, samples, free_bytes;
    bool caching, no_offload, no_parallelism;
};
struct rows {
    struct cw_arg v[ROWS_MAX];
    size_t n;
};

static void add_rows(struct rows *rows, const struct cw_arg *more, size_t n)
{
    CW_ASSERT(rows->n + n < ROWS_MAX); /* the last one ends the table */
    memcpy(rows->v + rows->n, more, n * sizeof(*more));
    rows->n += n;
}

static void add_profile_rows(struct words *words, struct rows *rows)
{
    const struct cw_arg more[] = {
        ROW_TEXT("profile", &words->profile, "FILE",
                 "what was measured of the pipeline, as JSON or YAML"),
        ROW_TEXT("optimize", &words->optimize, "POLICY",
                 "auto (default), cedar, off: as written, with all workers, or pecan"),
        ROW_FLAG("relaxed", &words->relaxed, "moves need to keep only types and shapes"),
        ROW_COUNT("epochs", &words->epochs, "E", "how many there will be (default 1)", 1e9),
        ROW_COUNT("threads", &words->threads, "T", "threads of a worker (default 1)", 100000),
        {.name = "cores",
         .type = CW_ARG_F64,
         .target = &words->cores,
         .metavar = "C",
         .help = "CPUs of a worker (default: as many as its threads can use)",
         .min = 0,
         .max = 100000},
        ROW_TEXT("workers", &words->workers, "R,L",
                 "the most workers, remote and beside the trainer (default 1,0)"),
        TOOL_ROWS_MONEY(words),
        {.name = "output",
         .letter = 'o',
         .type = CW_ARG_STR,
         .target = &words->output,
         .metavar = "PLAN",
         .help = "write the plan to this file, for cachew run --plan: YAML if it ends with .yaml, "
                 "else JSON"},
        ROW_FLAG("disable-caching", &words->no_caching, "nothing is cached"),
        ROW_FLAG("disable-workers", &words->no_workers, "all workers are used"),
    };
    add_rows(rows, more, CW_ARRAY_LEN(more));
}

static void add_cedar_rows(struct words *words, struct rows *rows)
{
    const struct cw_arg more[] = {
        ROW_TEXT("cedar-stats", &words->stats, "STATS.yaml", "what cedar's profiler measured"),
        ROW_COUNT("cpus", &words->cpus, "N", "CPUs at the trainer's host (default 1)", 100000),
        {.name = "samples",
         .type = CW_ARG_U64,
         .target = &words->samples,
         .metavar = "N",
         .help = "elements of an epoch, for the size of a cache"},
        {.name = "free-bytes",
         .type = CW_ARG_BYTES,
         .target = &words->free_bytes,
         .metavar = "BYTES",
         .help = "room for a cache (default: no limit)"},
        ROW_FLAG("enable-caching", &words->caching, "look for a place for a cache"),
        ROW_FLAG("disable-offload", &words->no_offload, "nothing runs on Ray"),
        ROW_FLAG("disable-parallelism", &words->no_parallelism, "one copy of the pipeline"),
    };
    add_rows(rows, more, CW_ARRAY_LEN(more));
}

static void add_common_rows(struct words *words, struct rows *rows)
{
    const struct cw_arg more[] = {
        TOOL_ROW_PLUGIN("load operators of one's own; may stand several times"),
        ROW_FLAG("disable-reorder", &words->no_reorder, "the written order stays"),
        ROW_FLAG("disable-fusion", &words->no_fusion, "operators are called one by one"),
        TOOL_ROW_JSON(&words->json, "print one JSON object"),
    };
    add_rows(rows, more, CW_ARRAY_LEN(more));
}

static const char *policy_of(const struct words *words)
{
    return words->optimize ? words->optimize : "auto";
}

/* Whether it is said what was measured: once, or not at all if the policy does not ask for it. */
static bool is_measured(const struct words *words)
{
    const struct cw_optimizer *optimizer = cw_optimizer_find(policy_of(words));

    if (words->stats && words->profile)
        return false;
    return words->stats || words->profile || (optimizer && !optimizer->needs_profile);
}

/* Returns an option that is of no use in this mode; NULL: none was given. */
static const char *out_of_place(const struct words *words)
{
    const struct {
        const char *name;
        bool is_given, is_of_cedar;
    } all[] = {
        {"optimize", words->optimize != NULL, false},
        {"epochs", words->epochs > 0, false},
        {"threads", words->threads > 0, false},
        {"cores", words->cores > 0, false},
        {"workers", words->workers != NULL, false},
        {"relaxed", words->relaxed, false},
        {"output", words->output != NULL, false},
        {"objective", words->objective != NULL, false},
        {"worker-price", words->worker_price > 0, false},
        {"trainer-price", words->trainer_price > 0, false},
        {"store-price", words->store_price > 0, false},
        {"disable-caching", words->no_caching, false},
        {"disable-workers", words->no_workers, false},
        {"cpus", words->cpus > 0, true},
        {"samples", words->samples != NOT_GIVEN, true},
        {"free-bytes", words->free_bytes != NOT_GIVEN, true},
        {"enable-caching", words->caching, true},
        {"disable-offload", words->no_offload, true},
        {"disable-parallelism", words->no_parallelism, true},
    };
    for (size_t i = 0; i < CW_ARRAY_LEN(all); i++)
        if (all[i].is_given && all[i].is_of_cedar != (words->stats != NULL))
            return all[i].name;
    return NULL;
}

static int plan_by_profile(const char *file, const struct words *words, bool is_problem)
{
    struct tool_plan_options options = {
        .policy = policy_of(words),
        .output = words->output,
        .epochs = words->epochs ? words->epochs : 1,
        .threads = words->threads ? words->threads : 1,
        .cores = words->cores,
        .objective = words->objective,
        .worker_price = words->worker_price,
        .trainer_price = words->trainer_price,
        .store_price = words->store_price,
        .relaxed = words->relaxed,
        .no_reorder = words->no_reorder,
        .no_fusion = words->no_fusion,
        .no_caching = words->no_caching,
        .no_workers = words->no_workers,
    };

    if (!tool_parse_workers(words->workers ? words->workers : "1,0", &options) ||
        !cw_optimizer_find(options.policy)) {
        fprintf(stderr,
                "cachew plan: --workers takes two numbers of at most 1000, not both 0, as in 4,1; "
                "--optimize takes one of %s\n",
                cw_optimizer_names());
        return TOOL_USAGE;
    }
    if (!tool_plan_objective_is_good("plan", &options))
        return TOOL_USAGE;
    return is_problem ? tool_plan_problem(file, &options, words->json)
                      : tool_plan_profile(file, words->profile, &options, words->json);
}

static int plan_as_cedar(const char *file, const struct words *words)
{
    const struct cw_cedar_options options = {
        .cpus = words->cpus ? (unsigned)words->cpus : 1,
        .samples = words->samples == NOT_GIVEN ? 0 : (double)words->samples,
        .free_bytes = words->free_bytes == NOT_GIVEN ? HUGE_VAL : (double)words->free_bytes,
        .with_caching = words->caching,
        .no_offload = words->no_offload,
        .no_reorder = words->no_reorder,
        .no_fusion = words->no_fusion,
        .no_parallelism = words->no_parallelism,
    };

    return tool_plan_cedar(file, words->stats, &options, words->json);
}

/* What a problem says itself. */
static bool asks_for_numbers(const struct words *words)
{
    return words->epochs > 0 || words->threads > 0 || words->cores > 0 || words->workers ||
           words->objective || words->worker_price > 0 || words->trainer_price > 0 ||
           words->store_price > 0;
}

static int plan(const char *file, const struct words *words)
{
    bool is_problem = !words->stats && !words->profile && tool_plan_is_problem(file);
    if (!is_problem && !is_measured(words)) {
        fputs("cachew plan: either --profile or --cedar-stats says what was measured\n", stderr);
        return TOOL_USAGE;
    }
    if (is_problem && asks_for_numbers(words)) {
        fputs(
            "cachew plan: --epochs, --threads, --workers, --objective and prices are those of the "
            "problem\n",
            stderr);
        return TOOL_USAGE;
    }
    const char *option = out_of_place(words);
    if (option) {
        fprintf(stderr, "cachew plan: --%s is %s for --cedar-stats\n", option,
                words->stats ? "not" : "only");
        return TOOL_USAGE;
    }
    return words->stats ? plan_as_cedar(file, words) : plan_by_profile(file, words, is_problem);
}

int tool_cmd_plan(int argc, char **argv)
{
    struct words words = {.samples = NOT_GIVEN, .free_bytes = NOT_GIVEN};
    struct rows rows = {0};
    const char *files[1];
    struct cw_err err = {0};
    int code = 0;

    add_profile_rows(&words, &rows);
    add_cedar_rows(&words, &rows);
    add_common_rows(&words, &rows);
    const struct cw_args_spec spec = {
        .program = "cachew plan",
        .usage = "FILE.json --profile PROFILE [options], or PROBLEM.json, or CHAIN.json "
                 "--cedar-stats STATS.yaml [options]",
        .about = "Finds the best order of a pipeline's operators, what to cache and how many "
                 "workers, by a profile of it; or says again what a running job's plan was made "
                 "of (PROBLEM.json: the inputs of a decision); or plans a chain of operators as "
                 "cedar's optimizer does, by its formulas and constants. docs/optimizing.md "
                 "describes the files.",
        .rows = rows.v,
    };
    if (!tool_parse_words(&spec, argc, argv, "which file?", files, 1, &code))
        return code;
    if (cw_plugin_load_all(tool_plugins.v, tool_plugins.n, &err) < 0)
        return tool_fail_err(&err);
    return plan(files[0], &words);
}
