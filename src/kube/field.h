/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of an object by a path, whatever a server put there. Pure functions. */
#ifndef CW_KUBE_FIELD_H
#define CW_KUBE_FIELD_H

#include "conf/value.h"

/* Returns what is at a path such as "metadata.name", or NULL. The path's names are parted by points,
 * so names with points in them cannot be reached: cw_value_get does. object may be NULL. */
const struct cw_value *cw_kube_field(const struct cw_value *object, const char *path);
/* Returns the text there; NULL: there is none, or something else. */
const char *cw_kube_text(const struct cw_value *object, const char *path);
/* Returns whether there is a whole number. A number as a string is none. */
bool cw_kube_i64(const struct cw_value *object, const char *path, int64_t *ret);
/* Returns the items of a list; NULL and n 0: there is none. */
const struct cw_value *cw_kube_list(const struct cw_value *object, const char *path, size_t *ret_n);

#endif
