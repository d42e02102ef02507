/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of objects that nobody reads: who wrote which field (metadata.managedFields), which is a third of
 * an object's bytes, or what a Pod's containers are. They are emptied before a text is parsed, since
 * parsing takes most of the time that an event costs. Pure functions. */
#ifndef CW_KUBE_CUT_LISTS_H
#define CW_KUBE_CUT_LISTS_H

#include <stdbool.h>

#include "base/str.h"

#define CW_KUBE_CUT_MAX 8 /* names at a time */
/* Names for cw_kube_cut_lists are written with what surrounds them. */
#define CW_KUBE_LIST(name) "\"" name "\":["

/* Appends a JSON text with each list that is a member of one of these names (CW_KUBE_LIST, at most
 * CW_KUBE_CUT_MAX, NULL at the end) emptied, wherever it is. What is JSON stays the same but for that, and
 * what is none stays none, unless it is within such a list that it is none. Returns false, and appends
 * nothing, if there is no such list. */
bool cw_kube_cut_lists(const char *text, size_t n, const char *const *members, struct cw_str *out);

#endif
