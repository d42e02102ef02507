/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/cmd/bench_options.h"

#include <stdio.h>

#include "client/tool/tool.h"

#define ROW_FLAG(option, to, text)                                                                 \
    {                                                                                              \
        .name = (option), .type = CW_ARG_FLAG, .target = (to), .help = (text)                      \
    }
#define ROW_FILE(option, to, text)                                                                 \
    {                                                                                              \
        .name = (option), .type = CW_ARG_STR, .target = (to), .metavar = "FILE", .help = (text)    \
    }
#define ROW_COUNT(option, to, text, least)                                                         \
    {                                                                                              \
        .name = (option), .type = CW_ARG_U64, .target = (to), .metavar = "N", .help = (text),      \
        .min = (least), .max = 1e15                                                                \
    }

bool tool_bench_is_local(const struct tool_bench_options *o)
{
    return !o->dispatcher || cw_str_eq(o->dispatcher, "local:");
}

/* Returns what is wrong with the options together; NULL: nothing. */
static const char *misfit(const struct tool_bench_options *o)
{
    if (o->run_profiling && o->generate_plan)
        return "--run-profiling and --generate-plan: either of them, as the command ends with it";
    if (o->generate_plan && !o->profile)
        return "--generate-plan: plans by a --profile (--run-profiling makes one)";
    if (o->no_optimizer && (o->plan || o->generate_plan))
        return "--disable-optimizer: the order is the written one, so there is no plan";
    if (o->relaxed && !o->plan && !o->profile)
        return "--relaxed: needs --plan or --profile, since the order must be the same at every "
               "start";
    if (o->cache_store && !tool_bench_is_local(o))
        return "--cache-store: is for local: only";
    return NULL;
}

bool tool_bench_options_parse(int argc, char **argv, struct tool_bench_options *o, int *ret_exit)
{
    *o = (struct tool_bench_options){.dispatcher = tool_dispatcher(), .epochs = 1, .seconds = 10};
    const struct cw_arg rows[] = {
        TOOL_ROW_DISPATCHER_OR_LOCAL(&o->dispatcher),
        ROW_COUNT("batch-size", &o->batch_size,
                  "elements of a batch: sets that of the pipeline's last batch, or adds one at its "
                  "end (default: as the pipeline says)",
                  1),
        {.name = "epochs",
         .letter = 'e',
         .type = CW_ARG_U64,
         .target = &o->epochs,
         .metavar = "N",
         .help = "passes over the data (default 1)",
         .min = 1,
         .max = 1e9},
        ROW_COUNT("samples", &o->samples, "stop after so many elements in all (default: all)", 1),
        ROW_COUNT("seed", &o->seed, "of shuffling and augmentation (default 0)", 0),
        {.name = "step-ms",
         .type = CW_ARG_STR,
         .target = &o->step_ms,
         .metavar = "N",
         .help = "emulate a training step of N milliseconds a batch, as cachew run does"},
        ROW_FILE("results", &o->results, "write what was measured, as JSON"),
        ROW_FILE("write-output", &o->output, "write the bytes of all tensors, batch after batch"),
        ROW_FILE("profile", &o->profile,
                 "plan by what was measured before the job begins; with --run-profiling it is "
                 "written"),
        ROW_FLAG("run-profiling", &o->run_profiling, "measure the operators, and end"),
        ROW_COUNT("seconds", &o->seconds, "how long --run-profiling takes (default 10)", 1),
        ROW_FLAG("generate-plan", &o->generate_plan,
                 "plan by --profile, write it to --plan or the output, and end"),
        ROW_FILE("plan", &o->plan, "compute in the order of this plan"),
        ROW_FLAG("relaxed", &o->relaxed, "the plan needs to keep only types and shapes"),
        TOOL_ROW_PLUGIN("local: only: load operators of one's own; may stand several times"),
        {.name = "workers",
         .letter = 'w',
         .type = CW_ARG_I64,
         .target = &o->workers,
         .metavar = "N",
         .help = "local: worker processes (default 1); else workers on this host",
         .max = 64},
        {.name = "threads",
         .letter = 't',
         .type = CW_ARG_I64,
         .target = &o->threads,
         .metavar = "N",
         .help = "of each of these (default: CPUs)",
         .max = 1024},
        {.name = "cache-store",
         .type = CW_ARG_STR,
         .target = &o->cache_store,
         .metavar = "URL",
         .help = "local: only: where elements are cached (default: nowhere)"},
        ROW_FLAG("disable-optimizer", &o->no_optimizer, "the order is the written one"),
        ROW_FLAG("disable-controller", &o->no_controller,
                 "nothing changes while the job runs: the first plan stays, and all workers"),
        ROW_FLAG("disable-prefetch", &o->no_prefetch, "one batch is computed ahead"),
        ROW_FLAG("disable-offload", &o->no_offload, "no worker on another host"),
        ROW_FLAG("disable-parallelism", &o->no_parallelism, "one worker, and one thread of it"),
        ROW_FLAG("disable-reorder", &o->no_reorder,
                 "the plan keeps the written order, and chooses the cache only"),
        ROW_FLAG("disable-fusion", &o->no_fusion,
                 "operators are called one by one for each element, and make whole images"),
        ROW_FLAG("disable-caching", &o->no_caching, "nothing is cached"),
        TOOL_ROW_QUIET(&o->quiet, "print nothing but errors"),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew bench",
        .usage = "FILE.json [options]",
        .about = "Measures how long epochs of a pipeline take, as cedar's runner does and with its "
                 "switches: the clock starts at the second batch of an epoch. docs/optimizing.md "
                 "says what each switch means here.",
        .rows = rows,
        .tail = "examples:\n"
                "  cachew bench photos.json --run-profiling --profile photos.yaml\n"
                "  cachew bench photos.json --profile photos.yaml --results photos_results.json\n",
    };
    if (!tool_parse_words(&spec, argc, argv, "which file?", &o->file, 1, ret_exit))
        return false;
    const char *wrong = misfit(o);
    if (wrong)
        fprintf(stderr, "cachew bench: %s\n", wrong);
    *ret_exit = wrong ? TOOL_USAGE : TOOL_OK;
    return !wrong;
}

/* Who plans the running job: nobody, if the order is fixed before or has to stay. */
static const char *policy_of(const struct tool_bench_options *o)
{
    if (o->no_optimizer || o->no_reorder || o->plan || o->profile)
        return "off";
    return o->no_controller ? "once" : NULL;
}

void tool_bench_run_options(const struct tool_bench_options *o, struct tool_run_options *ret_run)
{
    *ret_run = (struct tool_run_options){.dispatcher = o->dispatcher,
                                         .epochs = o->epochs,
                                         .seed = o->seed,
                                         .workers = o->no_parallelism ? 1 : o->workers,
                                         .threads = o->no_parallelism ? 1 : o->threads,
                                         .cache_store = o->cache_store,
                                         .plan = o->plan,
                                         .profile = o->plan || o->no_optimizer ? NULL : o->profile,
                                         .relaxed = o->relaxed,
                                         .no_reorder = o->no_reorder,
                                         .no_fusion = o->no_fusion,
                                         .no_caching = o->no_caching,
                                         .window = o->no_prefetch ? 1 : 0,
                                         .autocache = o->no_caching ? "off" : NULL,
                                         .quiet = o->quiet};
    /* The profile's plan is made by `auto`; the dispatcher must not plan another one. */
    ret_run->optimize = policy_of(o);
    if (o->no_controller || o->no_parallelism)
        ret_run->autoscale = o->no_parallelism ? "fixed:1" : "off";
    if (o->no_controller)
        ret_run->autoplace = "off";
}

void tool_bench_plan_options(const struct tool_bench_options *o, struct tool_plan_options *ret_plan)
{
    *ret_plan = (struct tool_plan_options){
        .policy = "auto",
        .output = o->plan,
        .epochs = o->epochs,
        .threads = o->no_parallelism || o->threads < 1 ? 1 : (uint64_t)o->threads,
        .remote = o->no_parallelism || o->workers < 1 ? 1 : (uint64_t)o->workers,
        .relaxed = o->relaxed,
        .no_reorder = o->no_reorder,
        .no_fusion = o->no_fusion,
        .no_caching = o->no_caching,
    };
}
