/* SPDX-License-Identifier: Apache-2.0 */
/* cachew: the command-line tool. */
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "client/tool/tool.h"
#include "exec/exec.h"
#include "io/remote/remote.h"

static const struct tool_command list[] = {
#define TOOL(name, summary) {#name, summary, tool_cmd_##name},
#include "client/tool/tool_list.h"
#undef TOOL
};

static const struct tool_commands commands = {
    .program = "cachew",
    .about = "Input data processing for machine learning, as a service.",
    .tail = " The dispatcher's address comes from\n"
            "--dispatcher or $CACHEW_DISPATCHER; without one, commands that run pipelines use a\n"
            "private service on this host (local:).",
    .v = list,
    .n = CW_ARRAY_LEN(list),
};

static int run(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        printf("cachew %s\n", CW_VERSION);
        return TOOL_OK;
    }
    return tool_dispatch(&commands, argc, argv);
}

int main(int argc, char **argv)
{
    cw_io_remote_start();
    cw_exec_surveys();
    int code = run(argc, argv);
    cw_io_remote_stop();
    tool_line_clear(); /* an interrupt may have left the line of progress */
    return code == TOOL_OK ? tool_flush_output() : code;
}
