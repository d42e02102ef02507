/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share: arguments, errors, the live line, tables. */
#include "client/tool/tool.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cachew/cachew.h"

bool tool_parse(const struct cw_args_spec *spec, int argc, char **argv, const char **ret_positional,
                size_t max, size_t *ret_n, int *ret_exit)
{
    struct cw_err err = {0};
    int rc = cw_args_parse(spec, argc, argv, ret_positional, max, ret_n, &err);
    if (rc == CW_ARGS_RUN)
        return true;
    if (rc == CW_ARGS_DONE) {
        *ret_exit = TOOL_OK;
        return false;
    }
    fprintf(stderr, "%s: %s\n", spec->program, err.msg);
    *ret_exit = TOOL_USAGE;
    return false;
}

bool tool_parse_words(const struct cw_args_spec *spec, int argc, char **argv, const char *question,
                      const char **ret_words, size_t n, int *ret_exit)
{
    size_t given = 0;
    if (!tool_parse(spec, argc, argv, ret_words, n, &given, ret_exit))
        return false;
    if (given == n)
        return true;
    fprintf(stderr, "%s: %s usage: %s %.*s\n", spec->program, question, spec->program,
            (int)strcspn(spec->usage, "\n"), spec->usage);
    *ret_exit = TOOL_USAGE;
    return false;
}

int tool_fail(const char *fmt, ...)
{
    va_list args;
    tool_line_clear();
    fputs("cachew: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return TOOL_FAILED;
}

int tool_fail_err(const struct cw_err *err)
{
    return tool_fail("%s", err->msg);
}

int tool_flush_output(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return TOOL_OK;
    const char *why = errno ? strerror(errno) : "an earlier write failed";
    return tool_fail("cannot write to standard output: %s", why);
}

/* `timeout` and shells send a signal to a process and to its group. Two signals within this time
 * count as one. */
#define SAME_SIGNAL_NS 1000000000

static volatile sig_atomic_t interrupted;
static _Atomic int64_t interrupted_ns;
static struct cachew_cancel *cancel;

/* If the call failed because of a signal, the exit status says so. */
int tool_fail_cachew(const struct cachew_error *error)
{
    if (interrupted && error->code == CACHEW_E_CANCELLED)
        return TOOL_INTERRUPTED;
    int code = tool_fail("%s", error->message);
    return interrupted ? TOOL_INTERRUPTED : code;
}

static void on_interrupt(int signum)
{
    const struct sigaction end = {.sa_handler = SIG_DFL};
    int64_t now = cw_clock_ns();
    if (interrupted && now - interrupted_ns >= SAME_SIGNAL_NS) {
        sigaction(signum, &end, NULL);
        raise(signum); /* The signal is delivered when this handler has returned. */
    }
    if (!interrupted)
        interrupted_ns = now;
    interrupted = 1;
    cachew_cancel_set(cancel);
}

void tool_catch_signals(void)
{
    const struct sigaction action = {.sa_handler = on_interrupt};
    cancel = cancel ? cancel : cachew_cancel_new();
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

const struct cachew_cancel *tool_cancel(void)
{
    return cancel;
}

bool tool_is_interrupted(void)
{
    return interrupted != 0;
}

const char *tool_dispatcher(void)
{
    const char *address = getenv("CACHEW_DISPATCHER");
    return address && *address ? address : "local:";
}

/* ---- live line ---- */

static bool line_shown;

bool tool_line_wanted(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && !(term && !strcmp(term, "dumb"));
}

static size_t terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 10)
        return size.ws_col;
    return 80;
}

void tool_line_show(const char *text)
{
    size_t n = CW_MIN(strlen(text), terminal_columns() - 1);
    fprintf(stderr, "\r%.*s\033[K", (int)n, text);
    fflush(stderr);
    line_shown = true;
}

void tool_line_clear(void)
{
    if (!line_shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    line_shown = false;
}

static void print_scaled(double n, double base, const char *const *units, size_t units_n,
                         struct cw_str *out)
{
    size_t i = 0;
    while (n >= base && i + 1 < units_n) {
        n /= base;
        i++;
    }
    cw_str_addf(out, i == 0 ? "%.0f%s" : "%.1f%s", n, units[i]);
}

void tool_print_count(double n, struct cw_str *out)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    print_scaled(n, 1000, units, CW_ARRAY_LEN(units), out);
}

void tool_print_bytes(double n, struct cw_str *out)
{
    static const char *const units[] = {" B", " kB", " MB", " GB", " TB", " PB"};
    print_scaled(n, 1000, units, CW_ARRAY_LEN(units), out);
}

void tool_print_time(double seconds, struct cw_str *out)
{
    unsigned long long s = seconds < 0 ? 0 : (unsigned long long)(seconds + 0.5);
    if (s >= 3600)
        cw_str_addf(out, "%llu:%02llu:%02llu", s / 3600, s / 60 % 60, s % 60);
    else
        cw_str_addf(out, "%llu:%02llu", s / 60, s % 60);
}

double tool_seconds_since(int64_t start_ns)
{
    return (double)(cw_clock_ns() - start_ns) / 1e9;
}

/* ---- JSON ---- */

static void add_key(struct cw_str *out, const char *key)
{
    bool first = out->len > 0 && out->s[out->len - 1] == '{';
    cw_str_addf(out, "%s\"%s\":", first ? "" : ",", key);
}

void tool_json_text(struct cw_str *out, const char *key, const char *text)
{
    add_key(out, key);
    cw_str_add_json(out, text, strlen(text));
}

void tool_json_real(struct cw_str *out, const char *key, double number)
{
    add_key(out, key);
    cw_str_add_f64(out, number);
}

void tool_json_number(struct cw_str *out, const char *key, uint64_t number)
{
    add_key(out, key);
    cw_str_addf(out, "%" PRIu64, number);
}

/* ---- tables ---- */

void tool_table_init(struct tool_table *table, size_t columns, const char *const *heads)
{
    *table = (struct tool_table){.columns = columns};
    for (size_t i = 0; i < columns; i++)
        tool_table_add(table, "%s", heads[i]);
}

void tool_table_add(struct tool_table *table, const char *fmt, ...)
{
    CW_GROW(table->cells, table->cells_n, table->cap);
    va_list args;
    char text[512];
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    table->cells[table->cells_n++] = cw_mem_strdup(text);
}

void tool_table_print(struct tool_table *table, FILE *out)
{
    size_t widths[32] = {0};
    CW_ASSERT(table->columns <= CW_ARRAY_LEN(widths));
    for (size_t i = 0; i < table->cells_n; i++)
        widths[i % table->columns] = CW_MAX(widths[i % table->columns], strlen(table->cells[i]));
    for (size_t i = 0; i < table->cells_n; i++) {
        if ((i + 1) % table->columns == 0)
            fprintf(out, "%s\n", table->cells[i]);
        else
            fprintf(out, "%-*s  ", (int)widths[i % table->columns], table->cells[i]);
    }
}

void tool_table_fini(struct tool_table *table)
{
    for (size_t i = 0; i < table->cells_n; i++)
        cw_mem_free(table->cells[i]);
    cw_mem_free(table->cells);
}

void tool_listing_print(const struct tool_listing *listing, const void *reply, size_t n, bool json)
{
    struct tool_table table;
    for (size_t i = 0; json && i < n; i++) {
        CW_STR_AUTO out = {0};
        cw_str_add_char(&out, '{');
        listing->add_members(&out, reply, i);
        cw_str_add_char(&out, '}');
        puts(cw_str_text(&out));
    }
    if (json)
        return;
    tool_table_init(&table, listing->columns, listing->heads);
    for (size_t i = 0; i < n; i++)
        listing->add_cells(&table, reply, i);
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}
