/* SPDX-License-Identifier: Apache-2.0 */
/* Finished outputs, and the queue of outputs for one consumer: a binary heap with the lowest
 * (epoch, item) first. Loop thread. */
#ifndef CW_WORKER_MODEL_OUTPUT_QUEUE_H
#define CW_WORKER_MODEL_OUTPUT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "data/batch.h"
#include "wire/wire.h"
#include "worker/model/lease.h"

/* A finished item. Either `batch` has its data, or `packed` does. */
struct cw_output {
    uint64_t epoch, item;
    struct cw_lease_id lease;
    uint64_t client_id;       /* the only client that it may be sent to; 0: any */
    struct cw_batch *batch;   /* NULL: a small output, which is packed below in its wire form */
    size_t bytes;             /* bytes that it costs of a client's credit */
    size_t held;              /* bytes of memory that it occupies, with all overhead */
    struct cw_wire_size size; /* the sizes of packed */
    unsigned copies;          /* number of queues that hold it */
    uint8_t packed[];
};
struct cw_outq {
    struct cw_output **v; /* a binary heap */
    size_t n, cap;
};

/* Whether item a comes before item b in the order in which a client delivers: by epoch, then by
 * item. */
static inline bool cw_item_before(uint64_t epoch_a, uint64_t item_a, uint64_t epoch_b,
                                  uint64_t item_b)
{
    return epoch_a != epoch_b ? epoch_a < epoch_b : item_a < item_b;
}

/* Makes an output of a finished batch, whose epoch and item are set; takes the caller's reference.
 * A small batch is copied into the output in its wire form, which costs less than keeping the
 * batch. */
struct cw_output *cw_output_new(struct cw_batch *batch, struct cw_lease_id lease) CW_MUST_CHECK;
void cw_output_free(struct cw_output *output);

/* Adds an output. The queue does not own it: `copies` counts the queues that hold it. */
void cw_outq_push(struct cw_outq *q, struct cw_output *output);
/* Returns the lowest output, or NULL when the queue is empty. */
struct cw_output *cw_outq_first(const struct cw_outq *q);
/* Removes and returns the lowest output. The queue must not be empty. */
struct cw_output *cw_outq_pop(struct cw_outq *q);
/* Removes every output for which drop returns true; drop may free it. Walks the whole queue. */
typedef bool cw_outq_drop_fn(void *arg, struct cw_output *output);
void cw_outq_filter(struct cw_outq *q, cw_outq_drop_fn *drop, void *arg);

#endif
