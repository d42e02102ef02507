/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways into JSON values: a path is names with dots between them, "metadata.name". */
#ifndef CW_TESTS_KUBERNETES_JPATH_H
#define CW_TESTS_KUBERNETES_JPATH_H

#include <stdbool.h>
#include <jansson.h>
#include "base/compiler.h"

json_t *fk_at(const json_t *json, const char *path);       /* borrowed; NULL: not there */
const char *fk_text(const json_t *json, const char *path); /* NULL: not there, or no string */
const char *fk_text_or(const json_t *json, const char *path, const char *otherwise);
json_int_t fk_int(const json_t *json, const char *path, json_int_t otherwise);
bool fk_true(const json_t *json, const char *path);
size_t fk_len(const json_t *json, const char *path); /* of the array there; 0: none */
/* Sets a value, which it takes, and makes the objects on the way; NULL removes it. */
void fk_put(json_t *json, const char *path, json_t *value);
void fk_put_text(json_t *json, const char *path, const char *text); /* NULL removes it */
void fk_put_int(json_t *json, const char *path, json_int_t number);
/* The annotation or label of that name. */
const char *fk_label(const json_t *object, const char *name);
const char *fk_annotation(const json_t *object, const char *name);

/* The condition of a type in status.conditions; NULL: none. */
json_t *fk_condition(const json_t *object, const char *type);
bool fk_has_condition(const json_t *object, const char *type, const char *status);
/* Sets a condition; lastTransitionTime moves only when the status does. False: it was so already. */
bool fk_set_condition(json_t *object, const char *type, const char *status, const char *reason,
                      const char *message, const char *now);

char *fk_dump(const json_t *json, bool sorted, size_t *ret_n); /* cw_mem; compact */

#endif
