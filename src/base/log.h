/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one logfmt line to stderr for each call:
 *
 *   time=2026-01-31T23:59:59.999Z level=info mod=worker msg="..."
 *
 * The time is UTC; it is left out where stderr is the journal of systemd. A call site
 * writes at most 20 lines a second of warnings and below; its next line contains the number of
 * those left out. Any thread may log. */
#ifndef CW_BASE_LOG_H
#define CW_BASE_LOG_H

#include <stdbool.h>
#include "base/compiler.h"
#include "base/err.h"

enum cw_log_level { CW_LOG_ERROR, CW_LOG_WARN, CW_LOG_INFO, CW_LOG_DEBUG };

struct cw_log_site {
    int64_t window_ms;
    int count, dropped;
};
/* the default is INFO; the environment variable CACHEW_LOG=error|warn|info|debug changes it; another
 * value is warned of */
void cw_log_set_level(enum cw_log_level level);
/* Has lines given to a function, level, module and text, instead of writing them to stderr; NULL: to
 * stderr again. Any thread. */
typedef void cw_log_sink_fn(enum cw_log_level level, const char *module, const char *text);
void cw_log_set_sink(cw_log_sink_fn *fn);
/* Must be called in a forked child of a process with threads before it logs, since another thread
 * may have held the lock. */
void cw_log_forked(void);
bool cw_log_parse_level(const char *text, enum cw_log_level *ret_level);
/* Sets the level that the option --log-level of a daemon names; NULL: it was not given. INVALID: there is no such
 * level. */
int cw_log_choose_level(const char *option, struct cw_err *err);
void cw_log_at(struct cw_log_site *site, enum cw_log_level level, const char *module,
               const char *fmt, ...) CW_PRINTF(4, 5);
bool cw_log_wants(enum cw_log_level level);

#define cw_log(level, module, ...)                                                                 \
    do {                                                                                           \
        static struct cw_log_site cw_log_site_;                                                    \
        if (cw_log_wants(level))                                                                   \
            cw_log_at(&cw_log_site_, (level), (module), __VA_ARGS__);                              \
    } while (0)
#define cw_log_error(module, ...) cw_log(CW_LOG_ERROR, module, __VA_ARGS__)
#define cw_log_warn(module, ...) cw_log(CW_LOG_WARN, module, __VA_ARGS__)
#define cw_log_info(module, ...) cw_log(CW_LOG_INFO, module, __VA_ARGS__)
#define cw_log_debug(module, ...) cw_log(CW_LOG_DEBUG, module, __VA_ARGS__)

#endif
