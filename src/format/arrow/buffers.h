/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers of a record batch, as they are or unpacked. */
#ifndef CW_FORMAT_ARROW_BUFFERS_H
#define CW_FORMAT_ARROW_BUFFERS_H

#include "format/arrow/head.h"

/* A record batch whose head was read. */
struct cw_arrow_buffers {
    const struct cw_readable *file;
    const struct cw_arrow_batch *batch;
    const char *column; /* for messages; set by who opens it */
    uint8_t *meta;
    struct cw_flat flat;
    struct cw_flat_vector nodes, buffers, views;
    int64_t rows;
    int codec;        /* of the format; -1: buffers are not compressed */
    size_t bytes_max; /* limit of what a buffer unpacks to; set by who opens it */
};
/* Reads the head of a batch, or of a dictionary. */
int cw_arrow_buffers_open(const struct cw_readable *file, const struct cw_arrow_batch *batch,
                          bool is_dictionary, struct cw_arrow_buffers *ret_buffers,
                          struct cw_err *err);
void cw_arrow_buffers_close(struct cw_arrow_buffers *buffers);

/* Bytes of a buffer: memory that is freed with cw_mem_free. */
struct cw_arrow_bytes {
    uint8_t *p;
    size_t n;
};
/* The number of buffer `which` (0: validity) of a node. */
size_t cw_arrow_buffer_of(const struct cw_arrow_buffers *buffers, const struct cw_arrow_node *node,
                          unsigned which);
/* Whether a buffer has no bytes, as the validity of a column without nulls. */
bool cw_arrow_buffer_is_empty(const struct cw_arrow_buffers *buffers, size_t number);
/* Reads n bytes of a buffer from `first` on, which it must have. */
int cw_arrow_buffer_get(struct cw_arrow_buffers *buffers, size_t number, uint64_t first, uint64_t n,
                        struct cw_arrow_bytes *ret_bytes, struct cw_err *err);
/* An error at the beginning of the batch. */
int cw_arrow_buffers_fail(const struct cw_arrow_buffers *buffers, const char *why,
                          struct cw_err *err);

#endif
