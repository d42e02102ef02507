/* SPDX-License-Identifier: Apache-2.0 */
/* Concatenates elements of any size into a batch: numbers one after another, strings in Arrow's
 * layout (data/batch.h), and rows of unequal shape as ragged tensors (data/ragged.h). */
#ifndef CW_EXEC_ROW_BATCH_H
#define CW_EXEC_ROW_BATCH_H

#include "base/arena.h"
#include "data/batch.h"

struct cw_row_batch {
    const struct cw_view *const *row; /* n rows, each an array with the views of one element */
    size_t n;
    const struct cw_spec *spec; /* of each row */
    const struct cw_spec *out;  /* names of the batch's fields */
    bool lead;                  /* rows are stacked along a new first dimension; otherwise n is 1 */
    /* rows of unequal shape make a ragged field also where `out` does not say so */
    bool loose;
    int64_t
        least; /* for pad_rows.h: a first dimension that is filled up to the largest of the rows gets at least
                    * this size */
};
/* Sets names, dtypes, dims and bytes of the tensors; the batch has as many as the rows have
 * fields. Unequal shapes of a field that is not ragged are an error; *ret_row is then the row that differs from row 0. */
int cw_row_batch_measure(const struct cw_row_batch *rows, struct cw_batch *batch, size_t *ret_row,
                         struct cw_err *err);
/* Copies the rows. The batch was laid out; base is the data of its buffer. */
void cw_row_batch_copy(const struct cw_row_batch *rows, const struct cw_batch *batch, void *base);
/* Measures and copies the rows, with memory of the arena. */
int cw_row_batch_to_element(const struct cw_row_batch *rows, struct cw_arena *arena,
                            struct cw_element *element, struct cw_err *err);
/* Makes an element of a laid-out batch: its views point into base. */
void cw_row_batch_view(const struct cw_batch *batch, void *base, struct cw_element *element);
/* Whether the view has the dtype and the shape that the spec says, as far as the spec knows
 * them. */
bool cw_row_batch_fits(const struct cw_view *view, const struct cw_field *field);
void cw_row_batch_print_shape(const struct cw_view *view, struct cw_str *out);

#endif
