/* SPDX-License-Identifier: Apache-2.0 */
/* The boxes of an element. */
#include "ops/element/boxes_op.h"

int cw_boxes_op_check(const struct cw_motion_opts *o, struct cw_err *err)
{
    return o->boxes ? 0 : cw_err_set(err, CW_E_INVALID, "option boxes: it is required here");
}

void cw_boxes_op_facts(const struct cw_motion_opts *o, const struct cw_spec *in,
                       struct cw_op_facts *ret_facts)
{
    struct cw_motion_fields fields;
    *ret_facts = (struct cw_op_facts){.refuses = true, .refuses_values = true};
    if (cw_motion_find_named(o, NULL, in, &fields, NULL) < 0)
        return;
    ret_facts->known = true;
    ret_facts->reads = ret_facts->writes = fields.all;
}

int cw_boxes_op_get(const struct cw_op_ctx *ctx, const struct cw_motion_opts *o,
                    const struct cw_element *element, struct cw_boxes_op *ret_boxes,
                    struct cw_err *err)
{
    int rc = cw_motion_find_named(o, NULL, ctx->in, &ret_boxes->fields, err);
    if (rc < 0)
        return rc;
    ret_boxes->at = cw_field_set_first(&ret_boxes->fields.boxes);
    const struct cw_view *view = &element->fields[ret_boxes->at];
    if (view->rank != 2 || view->dims[1] != 4)
        return cw_err_set(err, CW_E_INVALID, "field \"%s\" is no list of boxes of 4 numbers",
                          o->boxes);
    ret_boxes->boxes = (struct cw_motion_boxes){
        .v = view->data, .n = (size_t)view->dims[0], .format = o->box_format, .h = 1, .w = 1};
    return cw_motion_check_labels(ctx, &ret_boxes->fields, element, ret_boxes->boxes.n, err);
}
