/* SPDX-License-Identifier: Apache-2.0 */
/* The position of a consumer in its job: the next batch that the trainer gets. It is plain data. */
#ifndef CW_CLIENT_MODEL_POSITION_H
#define CW_CLIENT_MODEL_POSITION_H

#include <stdint.h>

/* In a dense pipeline a batch is an item, and only epoch, item and batches are used. */
struct cw_pos {
    uint64_t epoch, item;
    uint64_t row;     /* The number of the row within that item. */
    uint64_t rows;    /* The number of rows of the epoch that are before that row. */
    uint64_t batches; /* The number of the next batch in its epoch. */
    /* Several consumers: the number of the first batch of the next step. All batches below it are
     * given out, to one consumer or another. */
    uint64_t floor;
};

#endif
