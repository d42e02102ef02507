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

static bool spec_has(const struct cw_args_spec *spec, const char *option)
{
    const struct cw_arg *row = spec->rows;
    while (row->name && !cw_str_eq(row->name, option))
        row++;
    return row->name != NULL;
}

bool tool_parse(const struct cw_args_spec *spec, int argc, char **argv, const char **ret_positional,
                size_t max, size_t *ret_n, int *ret_exit)
{
    struct cw_err err = {0};
    int rc = cw_args_parse(spec, argc, argv, ret_positional, max, ret_n, &err);
    if (rc == CW_ARGS_RUN && spec_has(spec, "tls-cert"))
        rc = cw_tls_options_read(&tool_tls, &err);
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

static char last_failure[1024];

int tool_fail(const char *fmt, ...)
{
    va_list args;
    tool_line_clear();
    fputs("cachew: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    va_start(args, fmt);
    vsnprintf(last_failure, sizeof(last_failure), fmt, args);
    va_end(args);
    return TOOL_FAILED;
}

const char *tool_last_failure(void)
{
    return last_failure;
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

const char *tool_cache(void)
{
    const char *name = getenv("CACHEW_CACHE");
    return name ? name : "";
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

static size_t columns_of(int fd)
{
    struct winsize size;
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 10)
        return size.ws_col;
    return 80;
}

void tool_line_show(const char *text)
{
    size_t n = CW_MIN(strlen(text), columns_of(STDERR_FILENO) - 1);
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

void tool_print_count(double n, struct cw_str *out)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    size_t i = 0;
    for (; n >= 1000 && i + 1 < CW_ARRAY_LEN(units); i++)
        n /= 1000;
    cw_str_addf(out, i == 0 ? "%.0f%s" : "%.1f%s", n, units[i]);
}

void tool_print_bytes(double n, struct cw_str *out)
{
    cw_str_add_size(out, n);
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

/* ---- tables ---- */

#define COLUMNS_MAX 32

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

static bool is_hidden(const struct tool_table *table, size_t column)
{
    return (table->hidden >> column) & 1;
}

/* Sets the width of each column, 0 for those that are hidden. Returns the width of the table. */
static size_t measure(const struct tool_table *table, size_t *ret_widths)
{
    size_t all = 0;
    CW_ASSERT(table->columns <= COLUMNS_MAX);
    memset(ret_widths, 0, COLUMNS_MAX * sizeof(ret_widths[0]));
    for (size_t i = 0; i < table->cells_n; i++) {
        size_t *width = &ret_widths[i % table->columns];
        if (!is_hidden(table, i % table->columns))
            *width = CW_MAX(*width, strlen(table->cells[i]));
    }
    for (size_t c = 0; c < table->columns; c++)
        all += ret_widths[c] > 0 ? ret_widths[c] + 2 : 0;
    return all > 0 ? all - 2 : 0;
}

void tool_table_fit(struct tool_table *table, const char *const *drop, size_t width)
{
    size_t widths[COLUMNS_MAX];
    for (; *drop && measure(table, widths) > width; drop++)
        for (size_t c = 0; c < table->columns; c++)
            if (strcmp(table->cells[c], *drop) == 0)
                table->hidden |= UINT32_C(1) << c;
}

void tool_table_fit_terminal(struct tool_table *table, const char *const *drop)
{
    if (isatty(STDOUT_FILENO))
        tool_table_fit(table, drop, columns_of(STDOUT_FILENO));
}

void tool_table_print(struct tool_table *table, FILE *out)
{
    size_t widths[COLUMNS_MAX], last = table->columns - 1;
    (void)measure(table, widths);
    while (last > 0 && is_hidden(table, last))
        last--;
    int blanks = 0; /* before the next text of the line: no line ends with some */
    for (size_t i = 0; i < table->cells_n; i++) {
        const char *cell = table->cells[i];
        size_t column = i % table->columns;
        if (is_hidden(table, column))
            continue;
        if (*cell)
            fprintf(out, "%*s%s", blanks, "", cell);
        blanks = *cell ? 0 : blanks;
        blanks += (int)widths[column] + 2 - (int)CW_MIN(strlen(cell), widths[column]);
        if (column == last) {
            fputc('\n', out);
            blanks = 0;
        }
    }
}

void tool_table_fini(struct tool_table *table)
{
    for (size_t i = 0; i < table->cells_n; i++)
        cw_mem_free(table->cells[i]);
    cw_mem_free(table->cells);
}

/* Returns how much of the text to print in a line of so many columns: up to a space, or to the end of
 * the word if it is longer. */
static size_t line_length(const char *text, size_t width)
{
    size_t n = strcspn(text, "\n"), at = width;
    if (n <= width)
        return n;
    while (at > 0 && text[at] != ' ')
        at--;
    return at > 0 ? at : CW_MIN(n, width + strcspn(text + width, " \n"));
}

void tool_print_lines(const char *text, int indent)
{
    const size_t width = isatty(STDOUT_FILENO) ? columns_of(STDOUT_FILENO) : SIZE_MAX;
    while (*text) {
        size_t all = strcspn(text, "\n");
        for (int more = 0; all > 0; more = 2) {
            size_t room = width - CW_MIN(width - 1, (size_t)(indent + more));
            size_t n = CW_MIN(line_length(text, room), all);
            printf("%*s%.*s\n", indent + more, "", (int)n, text);
            n += text[n] == ' ';
            text += n;
            all -= n;
        }
        text += *text == '\n';
    }
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
    if (listing->drop)
        tool_table_fit_terminal(&table, listing->drop);
    tool_table_print(&table, stdout);
    tool_table_fini(&table);
}
