/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/group/within.h"

#include <string.h>

const char *const cw_within_words[] = {"epoch", "item", NULL};

int cw_within_check(const struct cw_within *within, struct cw_err *err)
{
    if (within->span == 0 || within->within == CW_WITHIN_ITEM)
        return 0;
    return cw_err_set(err, CW_E_INVALID, "option span: is only for within: \"item\"");
}

int cw_group_add_dimension(struct cw_field *field, int64_t n, bool ragged, struct cw_err *err)
{
    if (field->rank >= CW_RANK_MAX)
        return cw_err_set(err, CW_E_INVALID,
                          "field \"%s\" has %d dimensions already, one more is too many",
                          field->name, field->rank);
    for (int i = 0; ragged && i < field->rank; i++)
        field->dims[i] = field->dims[i] < 0 ? CW_DIM_RAGGED : field->dims[i];
    memmove(&field->dims[1], &field->dims[0], (size_t)field->rank * sizeof(field->dims[0]));
    field->dims[0] = n;
    field->rank++;
    return 0;
}
