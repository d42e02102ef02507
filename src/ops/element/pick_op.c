/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of operators that choose fields by names. */
#include "ops/element/pick_op.h"

#include <string.h>

int cw_pick_one(const struct cw_spec *in, const char *option, const char *name, size_t *ret_field,
                struct cw_err *err)
{
    const char *names[CW_FIELDS_MAX + 1] = {0};
    const int found = cw_spec_find(in, name);
    if (found >= 0) {
        *ret_field = (size_t)found;
        return 0;
    }
    for (size_t i = 0; i < in->n; i++)
        names[i] = in->fields[i].name;
    const char *near = cw_str_nearest(name, names);
    CW_STR_AUTO spec = {0};
    cw_spec_print(in, &spec);
    return cw_err_set(err, CW_E_INVALID,
                      "option %s: there is no field \"%s\"%s%s%s; what comes in is %s", option,
                      name, near ? ", did you mean \"" : "", near ? near : "", near ? "\"?" : "",
                      cw_str_text(&spec));
}

int cw_pick_fields(const struct cw_spec *in, const struct cw_str_list *names, size_t *ret_fields,
                   struct cw_err *err)
{
    struct cw_field_set seen = {{0}};
    for (size_t i = 0; i < names->n; i++) {
        int rc = cw_pick_one(in, "names", names->v[i], &ret_fields[i], err);
        if (rc < 0)
            return rc;
        if (cw_field_set_has(&seen, ret_fields[i]))
            return cw_err_set(err, CW_E_INVALID, "option names: \"%s\" is named twice",
                              names->v[i]);
        cw_field_set_add(&seen, ret_fields[i]);
    }
    return 0;
}

int cw_pick_mask(const struct cw_spec *in, const struct cw_str_list *names,
                 struct cw_field_set *ret_set, struct cw_err *err)
{
    size_t fields[CW_FIELDS_MAX];
    int rc = cw_pick_fields(in, names, fields, err);
    struct cw_field_set set = {{0}};
    for (size_t i = 0; rc == 0 && i < names->n; i++)
        cw_field_set_add(&set, fields[i]);
    if (rc == 0)
        *ret_set = set;
    return rc;
}

size_t cw_pick_place(const size_t *fields, size_t n)
{
    /* fields before the first that are gone, too, move it */
    size_t place = fields[0];
    for (size_t k = 1; k < n; k++)
        place -= fields[k] < fields[0];
    return place;
}

static bool is_gone(const size_t *fields, size_t n, size_t field)
{
    for (size_t k = 1; k < n; k++)
        if (fields[k] == field)
            return true;
    return false;
}

int cw_pick_join_spec(const struct cw_spec *in, const size_t *fields, size_t n,
                      const struct cw_field *result, struct cw_spec *ret_spec, struct cw_err *err)
{
    CW_SPEC_AUTO spec = {0};
    int rc = 0;
    for (size_t i = 0; i < in->n && rc == 0; i++) {
        const struct cw_field *field = i == fields[0] ? result : &in->fields[i];
        if (!is_gone(fields, n, i))
            rc = cw_spec_add(&spec, field->name, field->dtype, field->rank, field->dims, err);
    }
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

void cw_pick_join(struct cw_element *element, const size_t *fields, size_t n,
                  const struct cw_view *result)
{
    size_t left = 0;
    for (size_t i = 0; i < element->n; i++)
        if (!is_gone(fields, n, i))
            element->fields[left++] = i == fields[0] ? *result : element->fields[i];
    element->n = left;
}

int cw_pick_check_kin(const struct cw_spec *in, const size_t *fields, size_t n, struct cw_err *err)
{
    const struct cw_field *first = &in->fields[fields[0]];
    for (size_t k = 0; k < n; k++) {
        const struct cw_field *field = &in->fields[fields[k]];
        if (field->dtype == CW_DTYPE_STR || cw_field_is_ragged(field))
            return cw_err_set(err, CW_E_INVALID, "option names: field \"%s\" is a %s", field->name,
                              field->dtype == CW_DTYPE_STR ? "str" : "ragged batch");
        if (field->dtype != first->dtype || field->rank != first->rank)
            return cw_err_set(err, CW_E_INVALID,
                              "option names: field \"%s\" is %s of rank %d, but \"%s\" is %s of "
                              "rank %d (cast or reshape it first)",
                              field->name, cw_dtype_name(field->dtype), field->rank, first->name,
                              cw_dtype_name(first->dtype), first->rank);
    }
    return 0;
}

void cw_pick_names(const struct cw_str_list *list, struct cw_op_names *names)
{
    for (size_t i = 0; i < list->n; i++)
        cw_op_names_add(names, list->v[i]);
}

void cw_pick_facts(const struct cw_field_set *reads, const struct cw_spec *in,
                   struct cw_op_facts *ret_facts)
{
    *ret_facts = (struct cw_op_facts){.known = true, .names_field = true, .refuses = true};
    ret_facts->writes = cw_field_set_of_first(in->n);
    if (reads)
        ret_facts->reads = *reads;
}
