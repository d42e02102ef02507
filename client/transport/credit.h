/* SPDX-License-Identifier: Apache-2.0 */
/* The credit of one worker: how many bytes of outputs it may still send to this client. Credit is
 * granted in bytes of outputs, but memory is what is limited, and small outputs need much more
 * memory than their bytes. So the object also measures what an output costs. Each output that has
 * come holds a charge. It returns the charge when its memory is free again or belongs to the
 * trainer. The charge keeps the credit object alive, even after the stream to the worker was
 * closed. Loop thread. */
#ifndef CW_CLIENT_TRANSPORT_CREDIT_H
#define CW_CLIENT_TRANSPORT_CREDIT_H

#include <stdbool.h>

#include "base/compiler.h"

struct cw_credit {
    int refs;
    uint32_t conn; /* The number of the connection. Charges of earlier connections are void. */
    /* The bytes of memory that outputs of this worker may need; before the first has come, at most
     * 64 KiB of outputs are granted. */
    uint64_t limit;
    /* The bytes that the worker may still send. The number is negative after an output that was
     * larger than the credit that was left. */
    int64_t out;
    uint64_t held; /* The bytes of memory of the outputs that have come and are charged. */
    double bytes;  /* The moving average of the bytes of one output. */
    double more;   /* The average memory that an output needs in addition to its bytes. */
};
/* What one output has cost of its worker's credit; {0} if nothing. */
struct cw_charge {
    struct cw_credit *credit; /* The credit that was charged (one reference), or NULL. */
    uint32_t conn;
    uint64_t cost; /* The cost in bytes of memory. */
};

/* Returns a new credit of `limit` bytes, with one reference. */
struct cw_credit *cw_credit_new(uint64_t limit) CW_MUST_CHECK;
void cw_credit_unref(struct cw_credit *credit); /* Drops a reference. NULL is accepted. */
/* Begins a new connection: nothing is charged any more. Returns the first credit, in bytes of
 * outputs, which need at most `room` bytes of memory; 0 if there is no room. It is small while
 * nothing is known of this worker's outputs. */
uint64_t cw_credit_begin(struct cw_credit *credit, uint64_t room);
/* The connection has ended: the worker may send nothing. */
void cw_credit_end(struct cw_credit *credit);
/* Returns the memory that outputs need which the worker may still send. */
uint64_t cw_credit_promised(const struct cw_credit *credit);
/* Charges an output of `bytes` bytes, which needs `cost` bytes of memory in all. The caller must
 * return the charge. */
struct cw_charge cw_credit_charge(struct cw_credit *credit, uint64_t bytes,
                                  uint64_t cost) CW_MUST_CHECK;
/* Gives the memory of an output back, drops the reference, and clears the charge. */
void cw_charge_return(struct cw_charge *charge);
/* Returns how many bytes of outputs to grant now; 0 if none. `room` bytes of memory are left for the
 * outputs of all workers together. Less than a quarter of the limit is not granted, except with
 * `all`. */
uint64_t cw_credit_grant(struct cw_credit *credit, uint64_t room, bool all);
/* Lets a worker that may send nothing, and of which nothing is charged, send one output, whether or
 * not there is room for it. Returns the bytes to grant for it; 0 if there is no need. */
uint64_t cw_credit_grant_one(struct cw_credit *credit);
/* Grants a quarter of the limit beyond it. Returns that in bytes of outputs. */
uint64_t cw_credit_overdraw(struct cw_credit *credit);

#endif
