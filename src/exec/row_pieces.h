/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of unknown size that a source has given many at once (`read_loose` in ops/op.h): a piece of an item, field by
 * field. The batch is put together of pieces, so a row is copied by itself only once, by the source. */
#ifndef CW_EXEC_ROW_PIECES_H
#define CW_EXEC_ROW_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cw_exec_task;
struct cw_row_piece;
struct cw_thread_context;

/* Of an item. Zeroed: none. */
struct cw_row_pieces {
    struct cw_row_piece
        *last;    /* a list, the one with the last rows first; they lie in the item's row memory */
    int64_t rows; /* of all */
};

/* Whether a batch of the item's rows can be put together of pieces. */
bool cw_row_pieces_fit(const struct cw_exec_task *task);
/* Reads n rows from a row on, whose positions in the way's source are given, as a piece of the item. Returns
 * false if they have to be read one by one. Several threads may call it at once. */
bool cw_row_pieces_read(struct cw_exec_task *task, struct cw_thread_context *work, int64_t row,
                        const int64_t *positions, size_t n, size_t *ret_bytes);
/* Makes the batch of the item, of which all rows are in pieces. */
int cw_row_pieces_join(struct cw_exec_task *task, struct cw_err *err);
/* Makes rows of their own of the pieces, for an item of which some are not in any. */
int cw_row_pieces_keep(struct cw_exec_task *task, struct cw_thread_context *work,
                       struct cw_err *err);

#endif
