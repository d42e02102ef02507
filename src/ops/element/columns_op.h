/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of operators on the values of tables (clip, fill_missing, standardize, bucketize):
 * their numbers are one for all values, or one for each place in the last dimension (a column), and
 * may differ from field to field if a file says them (`cachew analyze`). */
#ifndef CW_OPS_ELEMENT_COLUMNS_OP_H
#define CW_OPS_ELEMENT_COLUMNS_OP_H

#include "ops/op.h"

#define CW_COLUMNS_MAX 65536

/* Whether a field is chosen by default: it has floats. */
bool cw_columns_accepts(const struct cw_field *field);
/* INVALID if the field has strings or u64, or another number of columns than `columns`, which is not 1. */
int cw_columns_infer(size_t columns, const struct cw_field *in, struct cw_err *err);
/* The same when the data are there. */
int cw_columns_check(size_t columns, const struct cw_view *in, struct cw_err *err);
/* Facts of an operator that computes each value by itself. */
void cw_columns_facts(size_t columns, const struct cw_spec *in, const size_t *fields,
                      size_t fields_n, struct cw_op_facts *ret_facts);
/* Of two lists that are one number or one for each column: how many columns there are. INVALID if
 * they do not go together; names are those of the options. */
int cw_columns_of_lists(const char *a_name, const struct cw_f64_list *a, const char *b_name,
                        const struct cw_f64_list *b, size_t *ret_columns, struct cw_err *err);

/* The length of the period of the kernels (kernels/columns.h). */
size_t cw_columns_period(size_t columns);
/* Returns `n` numbers, one or one for each column, as those of a period; the caller frees them. */
double *cw_columns_spread(const double *v, size_t n, size_t period);
/* Returns the same as f32. */
float *cw_columns_narrow(const double *v, size_t n);

/* ---- what a file of `cachew analyze` says ---- */

/* Reads the file; *ret_fields, what it says of fields, belongs to *ret_value. */
int cw_columns_load(const char *file, struct cw_value *ret_value,
                    const struct cw_value **ret_fields, struct cw_err *err);
/* What a value that was parsed from such a file says of fields; NULL with INVALID if it was not written by
 * `cachew analyze`. */
const struct cw_value *cw_columns_fields(const char *file, const struct cw_value *value,
                                         struct cw_err *err);
/* complete() of an operator with the options `file` and `stats`: adds to `said` as "stats" what the file
 * says under `keys` (ends with NULL) of each field that has all of them. */
int cw_columns_complete(const char *file, const char *const *keys, struct cw_value *said,
                        struct cw_err *err);
/* The numbers of a field under a key of "stats". NULL with INVALID if there are none. */
const struct cw_value *cw_columns_stats(const struct cw_value *stats, const char *field,
                                        const char *key, struct cw_err *err);
/* INVALID unless `stats` is an object of objects of lists of numbers, or of lists of these. */
int cw_columns_check_stats(const struct cw_value *stats, struct cw_err *err);
/* A number of a JSON value, which is one. */
double cw_columns_number(const struct cw_value *value);
/* Reads a list of numbers; the caller frees ret_list->v. */
int cw_columns_numbers(const struct cw_value *value, struct cw_f64_list *ret_list,
                       struct cw_err *err);

#endif
