/* SPDX-License-Identifier: Apache-2.0 */
/* The position of a consumer in its job: what the trainer gets next. Plain data. */
#ifndef CW_CLIENT_MODEL_POSITION_H
#define CW_CLIENT_MODEL_POSITION_H

#include <stdint.h>

/* Dense pipelines, where a batch is an item, use epoch, item and batches alone. */
struct cw_pos {
    uint64_t epoch, item;
    uint64_t row;     /* of that item */
    uint64_t rows;    /* rows of the epoch before that row */
    uint64_t batches; /* number of the next batch in its epoch */
    /* Several consumers: number of the first batch of the next step. All below it are given out,
     * to one consumer or another. */
    uint64_t floor;
};

#endif
