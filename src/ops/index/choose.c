/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/index/choose.h"

#include <string.h>

static int other_field(size_t input, const struct cw_spec *in, const struct cw_spec *first,
                       struct cw_err *err)
{
    CW_STR_AUTO has = {0};
    CW_STR_AUTO wants = {0};
    cw_spec_print(in, &has);
    cw_spec_print(first, &wants);
    return cw_err_set(err, CW_E_INVALID, "input %zu gives other elements (%s) than input 1 (%s)",
                      input + 1, cw_str_text(&has), cw_str_text(&wants));
}

static bool merge_field(struct cw_field *field, const struct cw_field *other)
{
    if (strcmp(field->name, other->name) != 0 || field->dtype != other->dtype ||
        field->rank != other->rank)
        return false;
    for (int i = 0; i < field->rank; i++)
        if (field->dims[i] != other->dims[i])
            field->dims[i] = -1;
    return true;
}

int cw_choose_infer(const void *opts, const struct cw_spec *in, size_t in_n,
                    struct cw_spec *ret_spec, struct cw_err *err)
{
    CW_SPEC_AUTO spec = cw_spec_copy(&in[0]);
    (void)opts;
    for (size_t i = 1; i < in_n; i++) {
        bool same = in[i].n == spec.n;
        for (size_t k = 0; same && k < spec.n; k++)
            same = merge_field(&spec.fields[k], &in[i].fields[k]);
        if (!same)
            return other_field(i, &in[i], &in[0], err);
    }
    *ret_spec = cw_spec_take(&spec);
    return 0;
}
