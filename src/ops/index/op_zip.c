/* SPDX-License-Identifier: Apache-2.0 */
/* Index operator `zip`: element p has the fields of element p of each input. The engine reads all
 * inputs of this operator; its map says that the position is the same in each. */
#include "ops/op_util.h"

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    CW_SPEC_AUTO spec = {0};
    (void)opts;
    for (size_t i = 0; i < in_n; i++) {
        for (size_t k = 0; k < in[i].n; k++) {
            const struct cw_field *f = &in[i].fields[k];
            if (cw_spec_find(&spec, f->name) >= 0)
                return cw_err_set(err, CW_E_INVALID,
                                  "input %zu has a field \"%s\", and so has an input before it: "
                                  "give one of them another name (option `field` of its source)",
                                  i + 1, f->name);
            int rc = cw_spec_add(&spec, f->name, f->dtype, f->rank, f->dims, err);
            if (rc < 0)
                return cw_err_wrap(err, "input %zu", i + 1);
        }
    }
    *ret_spec = cw_spec_take(&spec);
    return 0;
}

static int count(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err)
{
    (void)opts;
    (void)state;
    (void)err;
    int64_t n = in_n[0];
    for (size_t i = 1; i < inputs_n; i++)
        n = CW_MIN(n, in_n[i]);
    *ret_n = n;
    return 0;
}

const struct cw_op cw_op_zip = {
    .name = "zip",
    .version = 1,
    .summary = "several inputs side by side",
    .doc = "Element p has the fields of element p of every input. It ends with the shortest input. "
           "A field\n"
           "name may occur once only.",
    .kind = CW_OP_INDEX,
    .traits = CW_OP_MERGE,
    .inputs_min = 2,
    .inputs_max = CW_FIELDS_MAX,
    .infer = infer,
    .count = count,
    .map = cw_op_map_same,
};
