/* SPDX-License-Identifier: Apache-2.0 */
/* Reads options of engines, and fills their answers. A server older than 1.25 checks less than the schema says, so what becomes
 * a part of a path is looked at here again. */
#include "controller/engine_options.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cache/store/store.h"
#include "controller/engine.h"
#include "kube/field.h"

int cw_engine_say(struct cachew_engine_answer *answer, int verdict, const char *reason,
                  const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    snprintf(answer->reason, sizeof(answer->reason), "%s", reason);
    vsnprintf(answer->message, sizeof(answer->message), fmt, args);
    va_end(args);
    return verdict;
}

int cw_engine_options(const struct cachew_engine_request *request, struct cw_value *ret_options,
                      struct cachew_engine_answer *answer)
{
    struct cw_err err = {0};
    if (cw_value_parse(request->options, strlen(request->options), "spec.cacheEngine", ret_options,
                       &err) == 0)
        return CACHEW_ENGINE_READY;
    return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "OptionsInvalid", "%.500s", err.msg);
}

const char *cw_engine_path(const struct cw_value *options, const char *key,
                           struct cachew_engine_answer *answer)
{
    const char *path = cw_kube_text(options, key);
    if (!path)
        return "";
    path += path[0] == '/';
    for (const char *p = path; *p;) {
        size_t n = strcspn(p, "/");
        if (n == 0 || p[0] == '.' || strspn(p, CW_ENGINE_WORD) < n) {
            (void)cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "PathInvalid",
                                "spec.cacheEngine: %s \"%.200s\" has a part that is no plain name",
                                key, path);
            return NULL;
        }
        p += n + (p[n] == '/');
    }
    return path;
}

static bool has_long_part(const char *url)
{
    while (*url) {
        size_t n = strcspn(url, "/");
        if (n > NAME_MAX)
            return true;
        url += n + (url[n] == '/');
    }
    return false;
}

int cw_engine_check_url(struct cachew_engine_answer *answer, int n)
{
    struct cw_err err = {0};
    if (n >= 0 && (size_t)n < sizeof(answer->url) && has_long_part(answer->url))
        return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "NameInvalid",
                             "metadata.name: the cache would lie in a folder NAME-UID, whose name "
                             "may have at most %d bytes (and each part of a path in "
                             "spec.cacheEngine as well): make a CacheBackend with a shorter name",
                             NAME_MAX);
    if (n >= 0 && (size_t)n < sizeof(answer->url) && cw_store_url_check(answer->url, &err) == 0)
        return CACHEW_ENGINE_READY;
    return cw_engine_say(answer, CACHEW_ENGINE_REFUSED, "StoreInvalid", "spec.cacheEngine: %.400s",
                         err.code ? err.msg : "the store's URL is longer than 1,023 bytes");
}
