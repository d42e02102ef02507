/* SPDX-License-Identifier: Apache-2.0 */
#include "policies/optimizer.h"

#include <string.h>

#define CW_OPTIMIZER(name) extern const struct cw_optimizer cw_optimizer_##name;
#include "policies/optimizer_list.h"
#undef CW_OPTIMIZER

static const struct cw_optimizer *const ALL[] = {
#define CW_OPTIMIZER(name) &cw_optimizer_##name,
#include "policies/optimizer_list.h"
#undef CW_OPTIMIZER
};

const struct cw_optimizer *cw_optimizer_find(const char *name)
{
    for (size_t i = 0; i < CW_ARRAY_LEN(ALL); i++)
        if (strcmp(ALL[i]->name, name) == 0)
            return ALL[i];
    return NULL;
}

const char *cw_optimizer_names(void)
{
#define CW_OPTIMIZER(name) ", " #name
    static const char names[] =
#include "policies/optimizer_list.h"
        ;
#undef CW_OPTIMIZER
    return &names[2];
}
