/* SPDX-License-Identifier: Apache-2.0 */
/* Many elements of a source of which some fields have no fixed size (`read_loose` in op.h), field by field. */
#ifndef CW_OPS_LOOSE_ROWS_H
#define CW_OPS_LOOSE_ROWS_H

#include <stddef.h>
#include <stdint.h>

enum { CW_LOOSE_ROWS_MAX = 4096 };
struct cw_loose_column {
    /* Of a field without a fixed size: where the value of element i ends, in bytes; the first begins at 0,
     * and they lie one behind another. NULL: the field has a fixed size. */
    int64_t *ends;
    void *data; /* of a fixed size: where it is written; else memory that the source got by `get` */
    size_t bytes; /* of a fixed size: of each value; else of all, which the source sets */
};
/* Bytes of all n values of a column. */
static inline size_t cw_loose_bytes(const struct cw_loose_column *column, size_t n)
{
    return column->ends ? column->bytes : n * column->bytes;
}
struct cw_loose_rows {
    const int64_t *positions;
    size_t n; /* at most CW_LOOSE_ROWS_MAX */
    struct cw_loose_column *columns;
    void *(*get)(void *arg, size_t bytes); /* memory for values; NULL: there is none */
    void *arg;
};

#endif
