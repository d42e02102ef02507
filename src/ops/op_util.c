/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that several operators put into their descriptors. */
#include "ops/op_util.h"

int cw_op_infer_same(const void *opts, const struct cw_spec *in, size_t in_n,
                     struct cw_spec *ret_spec, struct cw_err *err)
{
    (void)opts;
    (void)in_n;
    (void)err;
    *ret_spec = in[0];
    return 0;
}

int64_t cw_op_map_same(const void *opts, void *state, struct cw_at *at, int64_t pos,
                       size_t *ret_input)
{
    (void)opts;
    (void)state;
    (void)at;
    (void)ret_input;
    return pos;
}

int cw_op_apply_same(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                     struct cw_element *element, struct cw_err *err)
{
    (void)ctx;
    (void)opts;
    (void)state;
    (void)scratch;
    (void)element;
    (void)err;
    return 0;
}

int cw_op_infer_one(const char *field, enum cw_dtype dtype, int rank, const int64_t *dims,
                    struct cw_spec *ret_spec, struct cw_err *err)
{
    struct cw_spec spec = {0};
    int rc = cw_spec_add(&spec, field, dtype, rank, dims, err);
    if (rc < 0)
        return rc;
    *ret_spec = spec;
    return 0;
}
