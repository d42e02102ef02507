/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/op_facts.h"

void cw_facts_of_fields(enum cw_op_effect effect, const size_t *fields, size_t n,
                        struct cw_op_facts *ret_facts)
{
    *ret_facts = (struct cw_op_facts){.known = true, .effect = effect};
    for (size_t i = 0; i < n; i++)
        cw_field_set_add(&ret_facts->effect_on, fields[i]);
    ret_facts->reads = ret_facts->writes = ret_facts->effect_on;
}

void cw_facts_of_unpacking(const struct cw_spec *in, size_t field, bool keeps, size_t added,
                           struct cw_op_facts *ret_facts)
{
    const size_t first =
        keeps ? in->n : field; /* those behind a field that goes get other places */
    *ret_facts = (struct cw_op_facts){
        .known = true, .names_field = true, .refuses = true, .refuses_values = true};
    cw_field_set_add(&ret_facts->reads, field);
    for (size_t i = first; i < in->n + added; i++)
        cw_field_set_add(&ret_facts->writes, i);
}

void cw_facts_of_nothing(struct cw_op_facts *ret_facts)
{
    *ret_facts = (struct cw_op_facts){.known = true};
}

bool cw_facts_are_images(const struct cw_spec *in, const size_t *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct cw_field *field = &in->fields[fields[i]];
        if (field->dtype == CW_DTYPE_STR || (field->rank != 2 && field->rank != 3))
            return false;
        for (int d = 0; d < field->rank; d++)
            if (field->dims[d] < 1)
                return false;
        /* limits of cw_image_get() */
        if (field->dims[0] > 1 << 24 || field->dims[1] > 1 << 24 ||
            (field->rank == 3 && field->dims[2] > 1024))
            return false;
    }
    return true;
}
