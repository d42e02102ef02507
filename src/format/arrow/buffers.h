/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers of a record batch, as they are or unpacked. */
#ifndef CW_FORMAT_ARROW_BUFFERS_H
#define CW_FORMAT_ARROW_BUFFERS_H

#include "format/arrow/head.h"

/* What the head of a record batch says of its buffers. It is not changed once it is read. */
struct cw_arrow_places {
    int64_t rows;
    int codec; /* of the format; -1: buffers are not compressed */
    size_t buffers_n, views_n;
    /* Of each buffer where it begins in the body, and its bytes; then how many buffers each view has. */
    int64_t *numbers;
};
/* Reads the head of a batch, or of a dictionary. */
int cw_arrow_places_read(const struct cw_readable *file, const struct cw_arrow_batch *batch,
                         bool is_dictionary, struct cw_arrow_places *ret_places,
                         struct cw_err *err);
void cw_arrow_places_fini(struct cw_arrow_places *places);
/* Memory that they take. */
size_t cw_arrow_places_bytes(const struct cw_arrow_places *places);
/* The number of buffer `which` (0: validity) of a node. */
size_t cw_arrow_buffer_of(const struct cw_arrow_places *places, const struct cw_arrow_node *node,
                          unsigned which);

/* Who reads the buffers of a batch. */
struct cw_arrow_buffers {
    const struct cw_readable *file;
    const struct cw_arrow_batch *batch;
    const struct cw_arrow_places *places;
    const char *column; /* for messages */
    size_t bytes_max;   /* limit of what a buffer unpacks to */
};

/* Bytes of a buffer: memory that is freed with cw_mem_free. */
struct cw_arrow_bytes {
    uint8_t *p;
    size_t n;
};
/* Whether a buffer has no bytes, as the validity of a column without nulls. */
bool cw_arrow_buffer_is_empty(const struct cw_arrow_buffers *buffers, size_t number);
/* Reads n bytes of a buffer from `first` on, which it must have. */
int cw_arrow_buffer_get(struct cw_arrow_buffers *buffers, size_t number, uint64_t first, uint64_t n,
                        struct cw_arrow_bytes *ret_bytes, struct cw_err *err);
/* An error at the beginning of the batch. */
int cw_arrow_buffers_fail(const struct cw_arrow_buffers *buffers, const char *why,
                          struct cw_err *err);

#endif
