/* SPDX-License-Identifier: Apache-2.0 */
/* cachew profile: writes what was measured of a pipeline, for `cachew plan`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/tool/profile_run.h"
#include "client/tool/tool.h"
#include "conf/value_yaml.h"

static bool is_json(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;

    return dot && strcmp(dot, ".json") == 0;
}

static int write_file(const char *path, const struct cw_str *text)
{
    FILE *file = fopen(path, "we");
    bool wrong = !file || fwrite(cw_str_text(text), 1, text->len, file) != text->len;

    if (file)
        wrong = fclose(file) != 0 || wrong;
    return wrong ? tool_fail("%s: %s", path, strerror(errno)) : TOOL_OK;
}

static int write_profile(const struct cw_cost_profile *profile, const char *path)
{
    struct cw_value value = {0};
    CW_STR_AUTO text = {0};

    cw_cost_profile_print(profile, &value);
    if (is_json(path)) {
        cw_value_print(&value, &text);
        cw_str_add_char(&text, '\n');
    } else {
        cw_value_print_yaml(&value, &text);
    }
    cw_value_fini(&value);
    if (path)
        return write_file(path, &text);
    fputs(cw_str_text(&text), stdout);
    return tool_flush_output();
}

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
    tool_catch_signals();
    int rc = job ? tool_profile_job(dispatcher, job, &profile, &err)
                 : tool_profile_run(files[0], (double)seconds, (size_t)threads, &profile, &err);
    code = rc < 0 ? tool_fail_err(&err) : write_profile(&profile, out);
    cw_cost_profile_fini(&profile);
    return code;
}
