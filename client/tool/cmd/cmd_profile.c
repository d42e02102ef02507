/* SPDX-License-Identifier: Apache-2.0 */
/* cachew profile: writes what was measured of a pipeline, for `cachew plan`. */
#include <stdio.h>

#include "client/tool/profile_run.h"
#include "client/tool/tool.h"
#include "ops/plugin.h"

int tool_cmd_profile(int argc, char **argv)
{
    const char *dispatcher = tool_dispatcher(), *job = NULL, *out = NULL;
    uint64_t seconds = 10, threads = 1;
    const struct cw_arg rows[] = {
        {.name = "seconds",
         .type = CW_ARG_U64,
         .target = &seconds,
         .metavar = "N",
         .help = "how long it runs (default 10)",
         .min = 1,
         .max = 86400},
        {.name = "threads",
         .type = CW_ARG_U64,
         .target = &threads,
         .metavar = "N",
         .help = "half of the time with so many, to see how it scales (default 1)",
         .min = 1,
         .max = 1024},
        {.name = "from-job",
         .type = CW_ARG_STR,
         .target = &job,
         .metavar = "JOB",
         .help = "what this job has measured; nothing is run"},
        {.name = "output",
         .letter = 'o',
         .type = CW_ARG_STR,
         .target = &out,
         .metavar = "FILE",
         .help = "JSON if it ends with .json, else YAML (default: YAML to the output)"},
        TOOL_ROW_PLUGIN("load operators of one's own; may stand several times"),
        TOOL_ROW_DISPATCHER(&dispatcher),
        {0},
    };
    const struct cw_args_spec spec = {
        .program = "cachew profile",
        .usage = "FILE.json [options] | --from-job JOB [options]",
        .about =
            "Measures what each operator of a pipeline costs, and writes a profile for `cachew "
            "plan`. docs/profile.md describes it.",
        .rows = rows,
    };
    struct cw_cost_profile profile = {0};
    struct cw_err err = {0};
    const char *files[1];
    size_t n = 0;
    int code = 0;
    if (!tool_parse(&spec, argc, argv, files, 1, &n, &code))
        return code;
    if ((n == 1) == (job != NULL)) {
        fputs("cachew profile: either a pipeline's file or --from-job\n", stderr);
        return TOOL_USAGE;
    }
    if (cw_plugin_load_all(tool_plugins.v, tool_plugins.n, &err) < 0)
        return tool_fail_err(&err);
    tool_catch_signals();
    int rc = job ? tool_profile_job(dispatcher, job, &profile, &err)
                 : tool_profile_run(files[0], (double)seconds, (size_t)threads, &profile, &err);
    code = rc < 0 ? tool_fail_err(&err) : tool_profile_write(&profile, out);
    cw_cost_profile_fini(&profile);
    return code;
}
