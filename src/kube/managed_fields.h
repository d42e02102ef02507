/* SPDX-License-Identifier: Apache-2.0 */
/* Who wrote which field of an object (metadata.managedFields) is a third of its bytes, and seldom
 * asked for. A pure function. */
#ifndef CW_KUBE_MANAGED_FIELDS_H
#define CW_KUBE_MANAGED_FIELDS_H

#include "base/str.h"

/* Appends a JSON text with each list that is a member "managedFields" emptied, wherever it is. What is
 * no JSON stays none, and what is JSON stays the same but for that. Returns false, and appends nothing,
 * if there is no such list. */
bool cw_kube_cut_managed_fields(const char *text, size_t n, struct cw_str *out);

#endif
