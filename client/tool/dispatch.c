/* SPDX-License-Identifier: Apache-2.0 */
/* `cachew COMMAND` and `cachew cache COMMAND`: finds the command and runs it. */
#include <string.h>

#include "base/mem.h"
#include "client/tool/tool.h"

static void print_help(const struct tool_commands *commands, FILE *out)
{
    size_t width = 0;
    for (size_t i = 0; i < commands->n; i++)
        width = CW_MAX(width, strlen(commands->v[i].name));
    fprintf(out, "usage: %s COMMAND [options]\n\n%s\n\ncommands:\n", commands->program,
            commands->about);
    for (size_t i = 0; i < commands->n; i++)
        fprintf(out, "  %-*s  %s\n", (int)width, commands->v[i].name, commands->v[i].summary);
    fprintf(out, "\n`%s COMMAND --help` describes a command.%s\n", commands->program,
            commands->tail);
}

static int unknown_command(const struct tool_commands *commands, const char *name)
{
    cw_autofree const char **names = CW_NEW_ARRAY(const char *, commands->n + 1);
    for (size_t i = 0; i < commands->n; i++)
        names[i] = commands->v[i].name;
    const char *near = cw_str_nearest(name, names);
    if (near)
        fprintf(stderr, "%s: no command \"%s\": did you mean \"%s\"?\n", commands->program, name,
                near);
    else
        fprintf(stderr, "%s: no command \"%s\": see %s --help\n", commands->program, name,
                commands->program);
    return TOOL_USAGE;
}

static int run_command(const struct tool_commands *commands, const char *name, int argc,
                       char **argv)
{
    for (size_t i = 0; i < commands->n; i++)
        if (strcmp(name, commands->v[i].name) == 0)
            return commands->v[i].run(argc, argv);
    return unknown_command(commands, name);
}

/* `help NAME` is `NAME --help`. */
static int help(const struct tool_commands *commands, int argc, char **argv)
{
    char option[] = "--help";
    char *words[] = {argv[1], option, NULL};
    if (argc > 1)
        return run_command(commands, argv[1], 2, words);
    print_help(commands, stdout);
    return TOOL_OK;
}

int tool_dispatch(const struct tool_commands *commands, int argc, char **argv)
{
    if (argc < 2) {
        print_help(commands, stderr);
        return TOOL_USAGE;
    }
    if (strcmp(argv[1], "help") == 0)
        return help(commands, argc - 1, argv + 1);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help(commands, 1, argv + 1);
    return run_command(commands, argv[1], argc - 1, argv + 1);
}
