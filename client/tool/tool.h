/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of the program `cachew` share. Each command is one file, and one line in
 * tool_list.h. */
#ifndef CW_CLIENT_TOOL_TOOL_H
#define CW_CLIENT_TOOL_TOOL_H

#include <stdbool.h>
#include <stdio.h>

#include "auth/tls_options.h"
#include "base/args.h"
#include "base/err.h"
#include "base/json_member.h"
#include "base/str.h"
#include "conf/value.h"

/* Exit codes, on which scripts may rely. */
enum tool_exit { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2, TOOL_INTERRUPTED = 130 };

struct tool_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name. Returns the exit code. */
};

/* Declares int tool_cmd_NAME(int argc, char **argv) of every command in tool_list.h. */
#define TOOL(name, summary) int tool_cmd_##name(int argc, char **argv);
#include "client/tool/tool_list.h"
#undef TOOL
/* Declares int tool_cache_NAME(int argc, char **argv) of every subcommand in cache_list.h. */
#define TOOL(name, summary) int tool_cache_##name(int argc, char **argv);
#include "client/tool/cache_list.h"
#undef TOOL

/* A program or a command that has commands: finds the one that argv[1] names and runs it, and
 * answers --help. */
struct tool_commands {
    const char *program; /* The name of the program in help texts, for example "cachew cache". */
    const char *about, *tail;
    const struct tool_command *v;
    size_t n;
};
int tool_dispatch(const struct tool_commands *commands, int argc, char **argv);

/* The file with the token that is shown to a dispatcher that asks for one: --token-file of every
 * command that asks a dispatcher; NULL: $CACHEW_TOKEN_FILE, if that is set. */
extern const char *tool_token_file;
/* The options of TLS, of the same commands. tool_parse has completed them. */
extern struct cw_tls_options tool_tls;
/* Files with operators of one's own: --plugin of the commands that compute here or in local:. Those that
 * compute here load them (cw_plugin_load_all). */
extern struct cw_arg_list tool_plugins;
struct cachew_connect_options;
/* Puts the token, TLS and plugins into the options of a connection. */
void tool_connect_options(struct cachew_connect_options *connect);
#define TOOL_ROW_TOKEN_FILE                                                                        \
    {"token-file",                                                                                 \
     0,                                                                                            \
     CW_ARG_STR,                                                                                   \
     &tool_token_file,                                                                             \
     "FILE",                                                                                       \
     "the token that the dispatcher may ask for (default: $CACHEW_TOKEN_FILE)",                    \
     0,                                                                                            \
     0},                                                                                           \
        CW_TLS_ARG_ROWS(&tool_tls)
/* The rows for the options that name the dispatcher and the token, which many commands have. */
#define TOOL_ROW_DISPATCHER(target)                                                                \
    {"dispatcher",                                                                                 \
     'd',                                                                                          \
     CW_ARG_STR,                                                                                   \
     (target),                                                                                     \
     "ADDRESS",                                                                                    \
     "HOST:PORT or unix:/path (default: $CACHEW_DISPATCHER)",                                      \
     0,                                                                                            \
     0},                                                                                           \
        TOOL_ROW_TOKEN_FILE
#define TOOL_ROW_DISPATCHER_OR_LOCAL(target)                                                       \
    {"dispatcher",                                                                                 \
     'd',                                                                                          \
     CW_ARG_STR,                                                                                   \
     (target),                                                                                     \
     "ADDRESS",                                                                                    \
     "HOST:PORT, unix:/path, or local: (default: $CACHEW_DISPATCHER, else local:)",                \
     0,                                                                                            \
     0},                                                                                           \
        TOOL_ROW_TOKEN_FILE
/* Which cache a command is about; tool_cache() is the default. */
#define TOOL_ROW_CACHE(target)                                                                     \
    {                                                                                              \
        "cache", 0, CW_ARG_STR, (target), "NAME",                                                  \
            "which cache (default: $CACHEW_CACHE, or the dispatcher's own)", 0, 0                  \
    }
#define TOOL_ROW_JSON(target, help)                                                                \
    {                                                                                              \
        "json", 0, CW_ARG_FLAG, (target), NULL, (help), 0, 0                                       \
    }
#define TOOL_ROW_PLUGIN(help)                                                                      \
    {                                                                                              \
        "plugin", 0, CW_ARG_LIST, &tool_plugins, "FILE", (help), 0, 0                              \
    }
#define TOOL_ROW_QUIET(target, help)                                                               \
    {                                                                                              \
        "quiet", 'q', CW_ARG_FLAG, (target), NULL, (help), 0, 0                                    \
    }

/* Parses the command's arguments by its table. Returns true if the command should run. Otherwise it
 * sets *ret_exit; it has printed the help or an error. */
bool tool_parse(const struct cw_args_spec *spec, int argc, char **argv, const char **ret_positional,
                size_t max, size_t *ret_n, int *ret_exit);
/* Parses the arguments of a command that takes exactly n words, as tool_parse does. `question` asks
 * for what is missing, for example "which file?". */
bool tool_parse_words(const struct cw_args_spec *spec, int argc, char **argv, const char *question,
                      const char **ret_words, size_t n, int *ret_exit);
/* Prints "cachew: <message>" to stderr, and returns TOOL_FAILED. */
int tool_fail(const char *fmt, ...) CW_PRINTF(1, 2);
int tool_fail_err(const struct cw_err *err);
/* What tool_fail has printed last; "": nothing. For programs that read a command's JSON. */
const char *tool_last_failure(void);
struct cachew_error;
/* Prints the message as tool_fail does, but nothing if a signal has ended the call. */
int tool_fail_cachew(const struct cachew_error *error);
/* Writes out what was printed to standard output. Fails with a message if that, or anything printed
 * before, could not be written: a full disk, or nobody who reads. */
int tool_flush_output(void);

/* From now on SIGINT and SIGTERM set tool_is_interrupted and cancel calls that wait, so that the
 * command can end in good order. Another signal, a second later or more, ends the program at
 * once. */
void tool_catch_signals(void);
struct cachew_cancel;
/* Returns what to pass to cachew_connect and cachew_job_start; NULL before tool_catch_signals. */
const struct cachew_cancel *tool_cancel(void);
bool tool_is_interrupted(void);

/* Returns the default of --dispatcher: $CACHEW_DISPATCHER or "local:". */
const char *tool_dispatcher(void);

/* Returns the default of --cache: $CACHEW_CACHE or "". */
const char *tool_cache(void);

/* A live line on a terminal: it is rewritten in place, is at most as wide as the terminal, and is
 * erased by tool_line_clear. */
bool tool_line_wanted(void);
void tool_line_show(const char *text);
void tool_line_clear(void);
/* The functions print, for example, "1.2M", "345", "6.7 GiB" and "1:02:03". */
void tool_print_count(double n, struct cw_str *out);
void tool_print_bytes(double n, struct cw_str *out);
void tool_print_time(double seconds, struct cw_str *out);
/* Prints how long ago the wall time was, for example "3 s ago", "12 min ago", "5 h ago" or "8 d ago";
 * "-" means never. (cache/cache_ls.c) */
void tool_print_ago(int64_t wall_ms, struct cw_str *out);

/* Returns the seconds since start_ns, a time of cw_clock_ns. */
double tool_seconds_since(int64_t start_ns);

/* Rows with aligned columns; the first row is the head. */
struct tool_table {
    size_t columns;
    char **cells;
    size_t cells_n, cap;
    uint32_t hidden; /* a bit mask of columns that are not printed */
};
void tool_table_init(struct tool_table *table, size_t columns, const char *const *heads);
/* Appends a cell. Cells are added row by row. */
void tool_table_add(struct tool_table *table, const char *fmt, ...) CW_PRINTF(2, 3);
void tool_table_print(struct tool_table *table, FILE *out);
/* Hides columns, by their heads and in this order, until the table is no wider. `drop` ends with
 * NULL. */
void tool_table_fit(struct tool_table *table, const char *const *drop, size_t width);
/* The same for the terminal that standard output is, if it is one. */
void tool_table_fit_terminal(struct tool_table *table, const char *const *drop);
void tool_table_fini(struct tool_table *table);

/* Prints lines of text to standard output, each indented by so many spaces. On a terminal, longer lines
 * are broken between words, and what follows is indented by two more. */
void tool_print_lines(const char *text, int indent);

/* How a reply that is a list is printed: as a table, or as one JSON object per line. */
struct tool_listing {
    const char *const *heads;
    size_t columns;
    void (*add_cells)(struct tool_table *table, const void *reply, size_t i);
    void (*add_members)(struct cw_str *out, const void *reply, size_t i);
    /* On a terminal that is too narrow these columns are left out, in this order; ends with NULL. NULL:
     * none is. */
    const char *const *drop;
};
void tool_listing_print(const struct tool_listing *listing, const void *reply, size_t n, bool json);

struct cw_rpc;
/* Opens a channel to a dispatcher, which shows the token if it is asked for it. */
struct cw_channel *tool_open_channel(struct cw_rpc *rpc, const char *address);
/* Makes one unary call to the Admin service of a dispatcher, and waits for the reply, 10 s at most.
 * The reply has the type of the given protobuf-c descriptor; the caller frees it with
 * protobuf_c_message_free_unpacked. */
struct ProtobufCMessage;
struct ProtobufCMessageDescriptor;
int tool_admin_call(const char *address, const char *method, const struct ProtobufCMessage *request,
                    const struct ProtobufCMessageDescriptor *reply_type,
                    struct ProtobufCMessage **ret_reply, struct cw_err *err);
/* Makes a call that changes something. The dispatcher answers it once the change is stored, so the
 * call waits longer: the disk may be slow. */
int tool_admin_change(const char *address, const char *method,
                      const struct ProtobufCMessage *request,
                      const struct ProtobufCMessageDescriptor *reply_type,
                      struct ProtobufCMessage **ret_reply, struct cw_err *err);
/* Makes a call with a time limit of its own. */
int tool_admin_call_within(const char *address, const char *method, int64_t timeout_ms,
                           const struct ProtobufCMessage *request,
                           const struct ProtobufCMessageDescriptor *reply_type,
                           struct ProtobufCMessage **ret_reply, struct cw_err *err);

#endif
