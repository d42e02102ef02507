/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_names.h"

void cw_op_names_fini(struct cw_op_names *names)
{
    cw_strmap_fini(&names->reads);
}

void cw_op_names_add(struct cw_op_names *names, const char *name)
{
    cw_strmap_set(&names->reads, name, names); /* any pointer */
}

bool cw_op_names_wants(const struct cw_op_names *names, const char *name)
{
    return !names->ends || cw_strmap_get(&names->reads, name) != NULL;
}
