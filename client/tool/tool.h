/* SPDX-License-Identifier: Apache-2.0 */
/* The `cachew` program: one file a command, one line each in tool_list.h. */
#ifndef CW_TOOL_TOOL_H
#define CW_TOOL_TOOL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/args.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/value.h"

/* Exit codes: what a script may rely on. */
enum tool_exit { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2, TOOL_INTERRUPTED = 130 };

struct tool_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
};

/* int tool_cmd_NAME(int argc, char **argv) of every command in tool_list.h. */
#define TOOL(name, summary) int tool_cmd_##name(int argc, char **argv);
#include "client/tool/tool_list.h"
#undef TOOL
/* int tool_cache_NAME(int argc, char **argv) of every subcommand in cache_list.h. */
#define TOOL(name, summary) int tool_cache_##name(int argc, char **argv);
#include "client/tool/cache_list.h"
#undef TOOL

/* Parses the command's arguments by its table. Returns true when the command should run; else *ret_exit is set
 * (help was printed, or an error was). */
bool tool_parse(const struct cw_args_spec *spec, int argc, char **argv, const char **ret_positional, size_t max,
                size_t *ret_n, int *ret_exit);
/* "cachew: <message>" on stderr; returns TOOL_FAILED. */
int tool_fail(const char *fmt, ...) CW_PRINTF(1, 2);
int tool_fail_err(const struct cw_err *err);

/* Default of --dispatcher: $CACHEW_DISPATCHER or "local:". */
const char *tool_dispatcher(void);

/* A live line on a terminal: rewritten in place, at most the terminal's width, erased by tool_line_clear. */
bool tool_line_wanted(void);
void tool_line_show(const char *text);
void tool_line_clear(void);
/* "1.2M", "345", "6.7 GB", "1:02:03". */
void tool_print_count(double n, struct cw_str *out);
void tool_print_bytes(double n, struct cw_str *out);
void tool_print_time(double seconds, struct cw_str *out);

/* Rows with aligned columns: the first row is the head. */
struct tool_table {
    size_t columns;
    char **cells;
    size_t cells_n, cap;
};
void tool_table_init(struct tool_table *table, size_t columns, const char *const *heads);
void tool_table_add(struct tool_table *table, const char *fmt, ...) CW_PRINTF(2, 3); /* the next cell */
void tool_table_print(struct tool_table *table, FILE *out);
void tool_table_fini(struct tool_table *table);

/* One unary call to a dispatcher's Admin service, from start to end. request is packed; the reply is unpacked by
 * the given protobuf-c descriptor and freed by protobuf_c_message_free_unpacked. */
struct ProtobufCMessage;
struct ProtobufCMessageDescriptor;
int tool_admin_call(const char *address, const char *method, const struct ProtobufCMessage *request,
                    const struct ProtobufCMessageDescriptor *reply_type, struct ProtobufCMessage **ret_reply,
                    struct cw_err *err);
/* The same for what may take longer than 10 s. */
int tool_admin_call_within(const char *address, const char *method, int64_t timeout_ms, const struct ProtobufCMessage *request,
                           const struct ProtobufCMessageDescriptor *reply_type, struct ProtobufCMessage **ret_reply,
                           struct cw_err *err);

#endif
