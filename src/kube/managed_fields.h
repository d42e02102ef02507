/* SPDX-License-Identifier: Apache-2.0 */
/* Who wrote which field of an object (metadata.managedFields). Pure functions. */
#ifndef CW_KUBE_MANAGED_FIELDS_H
#define CW_KUBE_MANAGED_FIELDS_H

#include "conf/value.h"

/* Returns the manager that wrote a field last, by its path ("spec.replicas"), and in ret_subresource,
 * which may be NULL, by which subresource ("": none). Of several the one with the latest time counts.
 * NULL: nobody is named. Texts are the object's. */
const char *cw_kube_who_wrote(const struct cw_value *object, const char *path,
                              const char **ret_subresource);

#endif
