/* SPDX-License-Identifier: Apache-2.0 */
/* A line is built on the stack and written with one call, so that lines of several threads and
 * processes do not mix. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

#define LINES_A_SECOND 20
#define TEXT_BYTES 1536

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static atomic_int current_level = -1;
static _Atomic(cw_log_sink_fn *) sink;       /* NULL: stderr */
static struct cw_mutex lock = CW_MUTEX_INIT; /* guards the numbers of every call site */

void cw_log_set_level(enum cw_log_level level)
{
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

void cw_log_set_sink(cw_log_sink_fn *fn)
{
    atomic_store_explicit(&sink, fn, memory_order_release);
}

void cw_log_forked(void)
{
    static _Atomic pid_t freed_in;
    pid_t self = getpid();

    /* later the memory may belong to another thread of this process */
    if (atomic_exchange(&freed_in, self) != self)
        cw_mutex_init(&lock);
}

bool cw_log_parse_level(const char *text, enum cw_log_level *ret_level)
{
    for (size_t i = 0; text && i < CW_ARRAY_LEN(level_names); i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *ret_level = (enum cw_log_level)i;
            return true;
        }
    }
    return false;
}

int cw_log_choose_level(const char *option, struct cw_err *err)
{
    enum cw_log_level level;

    if (!option)
        return 0;
    if (!cw_log_parse_level(option, &level))
        return cw_err_set(err, CW_E_INVALID,
                          "--log-level: \"%s\" is none of error, warn, info, debug", option);
    cw_log_set_level(level);
    return 0;
}

bool cw_log_wants(enum cw_log_level level)
{
    int now = atomic_load_explicit(&current_level, memory_order_relaxed);

    if (CW_UNLIKELY(now < 0)) {
        enum cw_log_level wanted = CW_LOG_INFO;
        const char *text = getenv("CACHEW_LOG");
        int unset = -1;

        bool is_known = !text || cw_log_parse_level(text, &wanted);
        if (atomic_compare_exchange_strong(&current_level, &unset, (int)wanted) && !is_known)
            cw_log_warn("log",
                        "CACHEW_LOG is \"%s\", and none of error, warn, info, debug: "
                        "it is taken for info",
                        text);
        now = atomic_load_explicit(&current_level, memory_order_relaxed);
    }
    return (int)level <= now;
}

/* Whether the call site may write now; *ret_dropped receives how many lines it left out before. */
static bool pass_limit(struct cw_log_site *site, int *ret_dropped)
{
    int64_t now = cw_clock_ms();

    cw_mutex_lock(&lock);
    if (site->window_ms == 0 || now - site->window_ms >= 1000) {
        site->window_ms = now;
        site->count = 0;
    }
    bool pass = site->count < LINES_A_SECOND;
    *ret_dropped = pass ? site->dropped : 0;
    site->count += pass;
    site->dropped = pass ? 0 : site->dropped + 1;
    cw_mutex_unlock(&lock);
    return pass;
}

/* Writes text for use inside of quotes: quote and backslash are escaped, control characters become
 * spaces. */
static size_t quote(char *out, size_t cap, const char *text)
{
    size_t n = 0;

    for (; *text && n + 2 < cap; text++) {
        if (*text == '"' || *text == '\\')
            out[n++] = '\\';
        out[n++] = (unsigned char)*text < 0x20 ? ' ' : *text;
    }
    return n;
}

static void write_all(const char *p, size_t n)
{
    while (n > 0) {
        ssize_t w = write(STDERR_FILENO, p, n);
        if (w <= 0)
            return;
        p += w;
        n -= (size_t)w;
    }
}

/* Whether stderr goes to the journal of systemd, which adds times itself. sd_journal_stream_fd(3)
 * describes the variable. */
static bool is_journal(void)
{
    static atomic_int known = -1;
    unsigned long long dev, ino;
    struct stat st;

    if (atomic_load_explicit(&known, memory_order_relaxed) < 0) {
        const char *text = getenv("JOURNAL_STREAM");
        bool is = text && sscanf(text, "%llu:%llu", &dev, &ino) == 2 &&
                  fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
        atomic_store_explicit(&known, is, memory_order_relaxed);
    }
    return atomic_load_explicit(&known, memory_order_relaxed) > 0;
}

/* Writes "time=2026-01-31T23:59:59.999Z " (RFC 3339, UTC), or nothing for the journal. */
static size_t write_time(char *out, size_t cap)
{
    int64_t now_ms = cw_clock_wall_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;

    if (is_journal() || !gmtime_r(&seconds, &tm))
        return 0;
    size_t n = strftime(out, cap, "time=%Y-%m-%dT%H:%M:%S", &tm);
    return n + (size_t)snprintf(out + n, cap - n, ".%03dZ ", (int)(now_ms % 1000));
}

static void write_line(enum cw_log_level level, const char *module, const char *text, int dropped)
{
    char line[2 * TEXT_BYTES + 160];
    size_t n = write_time(line, 48);

    n += (size_t)snprintf(line + n, 96, "level=%s mod=%.40s msg=\"", level_names[level], module);
    n += quote(line + n, sizeof(line) - n - 32, text);
    line[n++] = '"';
    if (dropped)
        n += (size_t)snprintf(line + n, 24, " dropped=%d", dropped);
    line[n++] = '\n';
    write_all(line, n);
}

void cw_log_at(struct cw_log_site *site, enum cw_log_level level, const char *module,
               const char *fmt, ...)
{
    char text[TEXT_BYTES];
    int dropped = 0;
    va_list args;

    if (level != CW_LOG_ERROR && !pass_limit(site, &dropped))
        return;
    va_start(args, fmt);
    if (vsnprintf(text, sizeof(text), fmt, args) < 0)
        text[0] = '\0';
    va_end(args);
    cw_log_sink_fn *fn = atomic_load_explicit(&sink, memory_order_acquire);
    if (fn)
        fn(level, module, text);
    else
        write_line(level, module, text, dropped);
}
