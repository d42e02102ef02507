/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of operators that choose fields by an option `names` (select, drop, stack,
 * concat_fields). */
#ifndef CW_OPS_ELEMENT_PICK_OP_H
#define CW_OPS_ELEMENT_PICK_OP_H

#include "ops/op.h"

/* The row of the option `names`. */
#define CW_PICK_ROW(offset_, help_)                                                                \
    {                                                                                              \
        .name = "names", .help = (help_), .type = CW_OPT_STR_LIST, .offset = (offset_),            \
        .flags = CW_OPT_REQUIRED, .len_min = 1, .len_max = CW_FIELDS_MAX                           \
    }

/* Finds a field. INVALID with a suggestion if there is none. */
int cw_pick_one(const struct cw_spec *in, const char *option, const char *name, size_t *ret_field,
                struct cw_err *err);
/* Finds the fields in the order of the names; ret_fields has room for CW_FIELDS_MAX. INVALID if one is
 * not there, or is named twice. */
int cw_pick_fields(const struct cw_spec *in, const struct cw_str_list *names, size_t *ret_fields,
                   struct cw_err *err);
/* The same as bits. */
int cw_pick_mask(const struct cw_spec *in, const struct cw_str_list *names,
                 struct cw_field_set *ret_set, struct cw_err *err);

/* Operators that make one field of several: the result stands where the first of these stood, and
 * the others are gone. place: that of the result in the output. */
size_t cw_pick_place(const size_t *fields, size_t n);
/* Makes the spec of the output of such an operator. */
int cw_pick_join_spec(const struct cw_spec *in, const size_t *fields, size_t n,
                      const struct cw_field *result, struct cw_spec *ret_spec, struct cw_err *err);
void cw_pick_join(struct cw_element *element, const size_t *fields, size_t n,
                  const struct cw_view *result);
/* INVALID unless the fields are numbers of one dtype and rank. */
int cw_pick_check_kin(const struct cw_spec *in, const size_t *fields, size_t n, struct cw_err *err);

/* Adds the names of an option (ops/op_names.h). */
void cw_pick_names(const struct cw_str_list *list, struct cw_op_names *names);
/* Facts of an operator that takes fields away, or makes one of several: it is known what it reads and
 * writes, but nothing passes it, since places of fields change. */
void cw_pick_facts(const struct cw_field_set *reads, const struct cw_spec *in,
                   struct cw_op_facts *ret_facts);

#endif
