/* SPDX-License-Identifier: Apache-2.0 */
/* How engines read what stands in spec.cacheEngine, and how they answer. */
#ifndef CW_CONTROLLER_ENGINE_OPTIONS_H
#define CW_CONTROLLER_ENGINE_OPTIONS_H

#include "base/compiler.h"
#include "cachew/engine.h"
#include "conf/value.h"

/* What may stand in a name that becomes a part of a URL. */
#define CW_ENGINE_WORD "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

/* Sets an answer, and returns the verdict. */
int cw_engine_say(struct cachew_engine_answer *answer, int verdict, const char *reason,
                  const char *fmt, ...) CW_PRINTF(4, 5);

/* Parses the options. READY or REFUSED, as the others here. */
int cw_engine_options(const struct cachew_engine_request *request, struct cw_value *ret_options,
                      struct cachew_engine_answer *answer);
/* Returns a path of the options without its leading '/', "" if there is none, borrowed; or NULL if a
 * part of it is no plain name, such as "..": the answer names the field. */
const char *cw_engine_path(const struct cw_value *options, const char *key,
                           struct cachew_engine_answer *answer);
/* Checks the URL that was written into the answer, of n bytes. REFUSED also if a file system has no room
 * for the name of one of its folders. */
int cw_engine_check_url(struct cachew_engine_answer *answer, int n);

#endif
