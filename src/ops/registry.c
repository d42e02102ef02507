/* SPDX-License-Identifier: Apache-2.0 */
/* Finds operators by name, in the list of op_list.h. */
#include "ops/op.h"

#include "base/str.h"
#include "ops/foreign.h"
#include "ops/op_lookup.h"

#include <string.h>

#define CW_OP(name) extern const struct cw_op cw_op_##name;
#include "ops/op_list.h"
#undef CW_OP

static const struct cw_op *const all[] = {
#define CW_OP(name) &cw_op_##name,
#include "ops/op_list.h"
#undef CW_OP
};

static const char *const names[] = {
#define CW_OP(name) #name,
#include "ops/op_list.h"
#undef CW_OP
    NULL};

const struct cw_op *cw_op_find(const char *name)
{
    size_t lo = 0, hi = CW_ARRAY_LEN(all);
    cw_op_lookup_set(cw_op_find); /* for operators whose options name operators */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int order = strcmp(name, all[mid]->name);
        if (order == 0)
            return all[mid];
        if (order < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return strchr(name, '.') ? cw_foreign_find(name) : NULL;
}

const struct cw_op *cw_op_find_for(const char *name, const struct cw_value *options)
{
    const struct cw_value *plugin = NULL, *its_name = NULL;
    const struct cw_foreign *found = NULL;
    if (strchr(name, '.') && options->type == CW_VALUE_OBJECT)
        plugin = cw_value_get(options, "plugin");
    if (!plugin)
        return cw_op_find(name);
    its_name = plugin->type == CW_VALUE_OBJECT ? cw_value_get(plugin, "name") : NULL;
    const struct cw_foreign_new how = {.definition = plugin};
    if (!its_name || its_name->type != CW_VALUE_STR || strcmp(its_name->s, name) != 0 ||
        cw_foreign_add(&how, &found, NULL) < 0)
        return NULL;
    return &found->op;
}

const struct cw_op *const *cw_op_all(size_t *ret_n)
{
    *ret_n = CW_ARRAY_LEN(all);
    return all;
}

const char *cw_op_nearest(const char *name)
{
    const char *near = cw_str_nearest(name, names);
    return near ? near : cw_foreign_nearest(name);
}
