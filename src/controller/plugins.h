/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of others, in shared objects. A file is first loaded by a child process, so that one that crashes
 * or hangs when it is loaded takes nothing with it, and on a thread, so that nothing waits for it. */
#ifndef CW_CONTROLLER_PLUGINS_H
#define CW_CONTROLLER_PLUGINS_H

#include "base/err.h"
#include "cachew/engine.h"
#include "loop/loop.h"

struct cw_plugins;
/* loaded is called when one was loaded, or cannot be. */
struct cw_plugins *cw_plugins_new(struct cw_loop *loop, const char *dir, cw_loop_fn *loaded,
                                  void *arg) CW_MUST_CHECK;
/* Returns whether nothing is being loaded any more and it was freed; what was loaded stays in the process.
 * If not, what hangs ends with the process, and the loop must stay. Accepts NULL. */
bool cw_plugins_free(struct cw_plugins *plugins);
/* Finds the engine NAME, which is one word. AGAIN: it is being loaded. NOT_FOUND, UNSUPPORTED: it cannot
 * be, as the message says; it is tried again when it is asked for a while later. */
int cw_plugin_find(struct cw_plugins *plugins, const char *name,
                   const struct cachew_engine **ret_engine, struct cw_err *err);

/* Loads a file in this process, now. A library that was loaded once stays, as its threads may be in it. */
int cw_plugin_load(const char *path, const struct cachew_engine **ret_engine, struct cw_err *err);

#endif
