/* SPDX-License-Identifier: Apache-2.0 */
#include "client/model/waits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "client/model/public.h"

void cw_waits_set(struct cw_waits *waits, int kind, int64_t since_ns, const char *fmt, ...)
{
    va_list args;
    waits->kind = kind;
    waits->since_ns = since_ns;
    waits->worker_id = 0;
    va_start(args, fmt);
    vsnprintf(waits->text, sizeof(waits->text), fmt, args);
    va_end(args);
}

void cw_waits_clear(struct cw_waits *waits)
{
    waits->kind = CACHEW_WAIT_NOTHING;
    waits->since_ns = 0;
    waits->worker_id = 0;
    waits->text[0] = '\0';
}

bool cw_waits_eq(const struct cw_waits *a, const struct cw_waits *b)
{
    return a->kind == b->kind && a->since_ns == b->since_ns && strcmp(a->text, b->text) == 0;
}

static int64_t waited_ns(const struct cw_waits *waits, int64_t now_ns)
{
    return waits->kind == CACHEW_WAIT_NOTHING ? 0 : CW_MAX(now_ns - waits->since_ns, 0);
}

void cw_waits_tell(const struct cw_waits *waits, int64_t now_ns, struct cachew_waiting *ret_waiting)
{
    struct cachew_waiting told = {.struct_size = ret_waiting->struct_size,
                                  .kind = waits->kind,
                                  .since_ms = waited_ns(waits, now_ns) / 1000000};
    snprintf(told.text, sizeof(told.text), "%s", waits->text);
    memcpy(ret_waiting, &told, CW_MIN(told.struct_size, sizeof(told)));
}

void cw_waits_print(const struct cw_waits *waits, int64_t now_ns, char *text)
{
    text[0] = '\0';
    if (waits->kind != CACHEW_WAIT_NOTHING)
        snprintf(text, CW_WAITS_TEXT_BYTES + 40, ": %s (for %.1f s)", waits->text,
                 (double)waited_ns(waits, now_ns) / 1e9);
}
