/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields operators read and leave, by the names in their options, before it is known what fields
 * there are. So a source that is completed from its files (complete in op.h) need not give columns
 * that nobody reads. */
#ifndef CW_OPS_OP_NAMES_H
#define CW_OPS_OP_NAMES_H

#include <stdbool.h>
#include "base/map.h"

struct cw_op_names {
    /* A set, whose values mean nothing: fields that are read, or that have to be there. */
    struct cw_strmap reads;
    bool ends; /* no others are left */
};

void cw_op_names_fini(struct cw_op_names *names);
/* Adds a name that is read. */
void cw_op_names_add(struct cw_op_names *names, const char *name);
/* Whether a field of this name may be read. */
bool cw_op_names_wants(const struct cw_op_names *names, const char *name);

#endif
