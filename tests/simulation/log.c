/* SPDX-License-Identifier: Apache-2.0 */
/* The event log: a file when one is asked for, and always the last lines in memory. */
#include "core.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES ((size_t)64 << 10)
#define LINE_BYTES 2048

static FILE *file;
static char kept[KEPT_BYTES]; /* a ring */
static size_t kept_at, kept_n;

void sim_log_open(const char *path)
{
    kept_at = kept_n = 0;
    file = path ? fopen(path, "we") : NULL;
    if (path && !file) {
        perror(path);
        exit(2);
    }
}

void sim_log_close(void)
{
    if (file && fclose(file) != 0) {
        perror("the event log");
        exit(2);
    }
    file = NULL;
}

bool sim_log_is_on(void)
{
    return true;
}

static void keep(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        kept[kept_at] = p[i];
        kept_at = (kept_at + 1) % KEPT_BYTES;
    }
    kept_n = kept_n + n > KEPT_BYTES ? KEPT_BYTES : kept_n + n;
}

void sim_log(const char *fmt, ...)
{
    char line[LINE_BYTES];
    const struct sim_actor *self = sim_self();
    struct sim_mem *mem = sim_mem_enter(NULL);
    int64_t now = sim_now_ns();
    int n = snprintf(line, sizeof(line), "%lld.%09lld %s: ", (long long)(now / 1000000000),
                     (long long)(now % 1000000000), self ? sim_name(self) : "world");
    va_list args;

    va_start(args, fmt);
    int more = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, args);
    va_end(args);
    size_t len = strnlen(line, sizeof(line) - 2);
    if (more >= 0 && (len == 0 || line[len - 1] != '\n'))
        line[len++] = '\n';
    keep(line, len);
    if (file)
        (void)fwrite(line, 1, len, file);
    sim_mem_enter(mem);
}

void sim_log_dump(void)
{
    size_t from = (kept_at + KEPT_BYTES - kept_n) % KEPT_BYTES;

    fprintf(stderr, "---- the last events ----\n");
    for (size_t i = 0; i < kept_n; i++)
        fputc(kept[(from + i) % KEPT_BYTES], stderr);
    fprintf(stderr, "----\n");
    if (file)
        fflush(file);
}
