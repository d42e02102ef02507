/* SPDX-License-Identifier: Apache-2.0 */
/* The engines that there are. Each is one file and one line of engine_list.h; all of them, and those of
 * plug-ins, are described by struct cachew_engine (include/cachew/engine.h). */
#ifndef CW_CONTROLLER_ENGINE_H
#define CW_CONTROLLER_ENGINE_H

#include "base/err.h"
#include "cachew/engine.h"
#include "conf/value.h"
#include "controller/plugins.h"

#define CW_ENGINE(name) extern const struct cachew_engine cw_engine_##name;
#include "controller/engine_list.h"
#undef CW_ENGINE

struct cw_engine_settings {
    const char *root;           /* --localfs-root; NULL: none */
    struct cw_plugins *plugins; /* of --plugin-dir; NULL: none */
    const char *const *allowed; /* --allow-store */
    size_t allowed_n;
};
/* Finds the engine that a member of spec.cacheEngine names; a plug-in is loaded when it is first asked
 * for, and stays. AGAIN: it is being loaded. NOT_FOUND: there is none; the message says which there are. UNSUPPORTED: the plug-in's
 * ABI is another one. *ret_options is what the engine is given, borrowed; NULL: nothing. */
int cw_engine_find(const struct cw_engine_settings *settings, const char *name,
                   const struct cw_value *options, const struct cachew_engine **ret_engine,
                   const struct cw_value **ret_options, struct cw_err *err);
/* Asks where a cache lies, and whether it may. READY, or REFUSED. */
int cw_engine_place(const struct cw_engine_settings *settings, const struct cachew_engine *engine,
                    const struct cachew_engine_request *request,
                    struct cachew_engine_answer *ret_answer);

#endif
