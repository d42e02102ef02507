/* SPDX-License-Identifier: Apache-2.0 */
/* What the library logs goes to a function of the program. */
#include <stdatomic.h>
#include "base/log.h"
#include "base/mem.h"
#include "client/model/public.h"

_Static_assert((int)CACHEW_LOG_ERROR == (int)CW_LOG_ERROR &&
                   (int)CACHEW_LOG_WARN == (int)CW_LOG_WARN &&
                   (int)CACHEW_LOG_INFO == (int)CW_LOG_INFO &&
                   (int)CACHEW_LOG_DEBUG == (int)CW_LOG_DEBUG,
               "the levels of log.h are those of base/log.h");

/* A function that cachew_set_log was given. It is never freed, since another thread may be about to
 * call it; and there is no lock, which a forked child could find taken. */
struct sink {
    void (*fn)(void *arg, enum cachew_log_level level, const char *module, const char *message);
    void *arg;
    const struct sink *before; /* keeps it reachable */
};
static _Atomic(const struct sink *) latest;

static void on_message(enum cw_log_level level, const char *module, const char *text)
{
    const struct sink *sink = atomic_load_explicit(&latest, memory_order_acquire);
    sink->fn(sink->arg, (enum cachew_log_level)level, module, text);
}

void cachew_set_log(enum cachew_log_level level,
                    void (*fn)(void *arg, enum cachew_log_level level, const char *module,
                               const char *message),
                    void *arg)
{
    cw_log_set_level((enum cw_log_level)level);
    if (!fn) {
        cw_log_set_sink(NULL);
        return;
    }
    struct sink *sink = CW_NEW(struct sink);
    *sink = (struct sink){fn, arg, atomic_load_explicit(&latest, memory_order_acquire)};
    while (!atomic_compare_exchange_weak_explicit(&latest, &sink->before, sink,
                                                  memory_order_acq_rel, memory_order_acquire))
        ;
    cw_log_set_sink(on_message);
}
