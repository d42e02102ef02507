/* SPDX-License-Identifier: Apache-2.0 */
/* Finds engines. A plug-in is one word, and its file lies in one folder; nothing of a CacheBackend
 * becomes a path. */
#include "controller/engine.h"
#include "controller/engine_options.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "controller/store_allow.h"
#include "kube/field.h"

static const struct cachew_engine *const engines[] = {
#define CW_ENGINE(name) &cw_engine_##name,
#include "controller/engine_list.h"
#undef CW_ENGINE
};

/* ---- plug-ins ---- */

static bool is_word(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= 63 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

static int find_plugin(const struct cw_engine_settings *settings, const struct cw_value *options,
                       const struct cachew_engine **ret_engine, const struct cw_value **ret_options,
                       struct cw_err *err)
{
    const char *name = cw_kube_text(options, "name");
    if (!name || !is_word(name))
        return cw_err_set(err, CW_E_NOT_FOUND,
                          "spec.cacheEngine.plugin.name: it is no name of a plug-in");
    if (!settings->plugins)
        return cw_err_set(err, CW_E_NOT_FOUND,
                          "spec.cacheEngine.plugin: this controller has no --plugin-dir");
    *ret_options = cw_kube_field(options, "options");
    return cw_plugin_find(settings->plugins, name, ret_engine, err);
}

/* ---- all ---- */

int cw_engine_find(const struct cw_engine_settings *settings, const char *name,
                   const struct cw_value *options, const struct cachew_engine **ret_engine,
                   const struct cw_value **ret_options, struct cw_err *err)
{
    CW_STR_AUTO known = {0};
    *ret_options = options;
    for (size_t i = 0; i < CW_ARRAY_LEN(engines); i++) {
        cw_str_addf(&known, "%s, ", engines[i]->name);
        if (strcmp(engines[i]->name, name) != 0)
            continue;
        *ret_engine = engines[i];
        return 0;
    }
    if (strcmp(name, "plugin") == 0)
        return find_plugin(settings, options, ret_engine, ret_options, err);
    return cw_err_set(err, CW_E_NOT_FOUND,
                      "spec.cacheEngine.%.63s: this controller has no such engine; it has %splugin",
                      name, cw_str_text(&known));
}

int cw_engine_place(const struct cw_engine_settings *settings, const struct cachew_engine *engine,
                    const struct cachew_engine_request *request,
                    struct cachew_engine_answer *ret_answer)
{
    *ret_answer = (struct cachew_engine_answer){.struct_size = sizeof(*ret_answer)};
    int verdict = engine->place(request, ret_answer);
    ret_answer->url[sizeof(ret_answer->url) - 1] = '\0';
    bool is_own = engine == &cw_engine_localfs || ret_answer->url[0] == '\0';
    if (verdict != CACHEW_ENGINE_READY || is_own ||
        cw_store_is_allowed(ret_answer->url, settings->allowed, settings->allowed_n))
        return verdict;
    return cw_engine_say(ret_answer, CACHEW_ENGINE_REFUSED, "NotAllowed",
                         "spec.cacheEngine.%s: no --allow-store of the controller names the store "
                         "%.300s, with each of its servers",
                         engine->name, ret_answer->url);
}
