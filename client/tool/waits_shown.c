/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/waits_shown.h"

#include <ctype.h>

#include "base/clock.h"
#include "client/tool/tool.h"

#define AGAIN_NS INT64_C(60000000000)

/* Texts that differ in numbers only, such as seconds, say the same. */
static bool says_the_same(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (isdigit((unsigned char)*a))
            a++;
        while (isdigit((unsigned char)*b))
            b++;
        if (*a != *b || *a == '\0')
            return *a == *b;
    }
}

void tool_waits_tell(struct tool_waits *waits, const struct cachew_waiting *waiting)
{
    int64_t now = cw_clock_ns();
    if (waiting->kind == CACHEW_WAIT_NOTHING || waiting->kind == CACHEW_WAIT_TRAINER ||
        waiting->since_ms < TOOL_WAITS_TELL_MS)
        return;
    if (waits->told_ns != 0 && now - waits->told_ns < AGAIN_NS &&
        says_the_same(waits->last.text, waiting->text))
        return;
    waits->last = *waiting;
    waits->told_ns = now;
    tool_line_clear();
    fprintf(stderr, "cachew: waiting for %lld s: %s\n", (long long)waiting->since_ms / 1000,
            waiting->text);
}

void tool_waits_end(struct tool_waits *waits)
{
    if (waits->told_ns == 0)
        return;
    tool_line_clear();
    fprintf(stderr, "cachew: it goes on\n");
    waits->told_ns = 0;
}

void tool_waits_on_waiting(void *waits, const struct cachew_waiting *waiting)
{
    tool_waits_tell(waits, waiting);
}
