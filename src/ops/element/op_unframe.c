/* SPDX-License-Identifier: Apache-2.0 */
/* Element operator `unframe`: the data of a record of a TFRecord file. */
#include "format/tfrecord.h"
#include "ops/op_util.h"

static bool accepts(const struct cw_field *field)
{
    return field->dtype == CW_DTYPE_STR && field->rank == 0;
}

static int infer_field(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err)
{
    (void)opts;
    if (!accepts(in))
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is no str", in->name);
    *ret_field = *in;
    return 0;
}

static int apply_field(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err)
{
    const void *data = NULL;
    (void)ctx;
    (void)opts;
    (void)state;
    (void)scratch;
    int rc = cw_tfrecord_unframe(in->data, in->bytes, &data, &out->bytes, err);
    if (rc == 0)
        out->data = (void *)(uintptr_t)data;
    return rc;
}

const struct cw_op cw_op_unframe = {
    .name = "unframe",
    .version = 1,
    .summary = "the data of a record as it stands in a TFRecord file",
    .doc = "Takes away the length and the checksums that stand around the data of a record, and "
           "verifies them. Behind\n"
           "`tfrecord_ranges` and `unbatch` this gives the records of files without an index of "
           "them. A record with a wrong\n"
           "checksum is an error of the element.",
    .kind = CW_OP_ELEMENT,
    .traits = CW_OP_FIELDWISE | CW_OP_SHRINK,
    .inputs_min = 1,
    .inputs_max = 1,
    .accepts = accepts,
    .infer_field = infer_field,
    .apply_field = apply_field,
};
