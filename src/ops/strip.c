/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators can go over an image together, by strips. */
#include "ops/strip.h"

#include "ops/op.h"

bool cw_strips_work(const struct cw_op *op, const void *opts, const struct cw_spec *in,
                    const size_t *fields, size_t fields_n)
{
    struct cw_motion_fields moved = {0};
    if (!op->strips || fields_n != 1 || cw_motion_find(op, opts, in, &moved, NULL) < 0 ||
        !cw_field_set_is_empty(&moved.all))
        return false;
    const struct cw_field *field = &in->fields[fields[0]];
    return field->dtype != CW_DTYPE_STR && (field->rank == 2 || field->rank == 3) &&
           (!op->strips->usable || op->strips->usable(opts, field));
}

bool cw_strips_follow(const struct cw_op *op, const void *opts, const struct cw_op *next,
                      const struct cw_field *between)
{
    const bool turned = op->puts_channels_first && op->puts_channels_first(opts);
    const int64_t bytes = cw_field_bytes(between);
    return !turned && !next->strips->from_whole &&
           (bytes < 0 || (size_t)bytes >= CW_STRIPS_IMAGE_BYTES);
}
