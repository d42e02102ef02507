/* SPDX-License-Identifier: Apache-2.0 */
/* Who wrote which field of an object (metadata.managedFields), which is a third of its bytes and seldom
 * asked for. Pure functions. */
#ifndef CW_KUBE_MANAGED_FIELDS_H
#define CW_KUBE_MANAGED_FIELDS_H

#include "conf/value.h"

/* Appends a JSON text with each list that is a member "managedFields" emptied, wherever it is. What is
 * no JSON stays none, and what is JSON stays the same but for that. Returns false, and appends nothing,
 * if there is no such list. */
bool cw_kube_cut_managed_fields(const char *text, size_t n, struct cw_str *out);
/* Returns the manager that wrote a field last, by its path ("spec.replicas"), and in ret_subresource,
 * which may be NULL, by which subresource ("": none). Of several the one with the latest time counts.
 * NULL: nobody is named. Texts are the object's. */
const char *cw_kube_who_wrote(const struct cw_value *object, const char *path,
                              const char **ret_subresource);

#endif
