/* SPDX-License-Identifier: Apache-2.0 */
/* The credit of one worker: how many bytes of outputs it may still send to this client. Credit is
 * granted in bytes of outputs, but what is limited is memory, of which small outputs take much
 * more than their bytes. So the object also measures what an output costs. Each output that has
 * come holds a charge, which it returns when its memory is free again or belongs to the trainer;
 * the charge keeps the credit object alive, also after the stream to the worker was closed.
 * Loop thread. */
#ifndef CW_CLIENT_TRANSPORT_CREDIT_H
#define CW_CLIENT_TRANSPORT_CREDIT_H

#include <stdbool.h>

#include "base/compiler.h"

struct cw_credit {
    int refs;
    uint32_t conn;  /* number of the connection: charges of earlier ones are void */
    uint64_t limit; /* bytes of memory that outputs of this worker may take */
    int64_t out;    /* bytes that the worker may still send; negative after an output that was
                     * larger than the credit that was left */
    uint64_t held;  /* bytes of memory of the outputs that have come and are charged */
    double bytes;   /* moving average of an output: its bytes */
    double more;    /* and the memory that it takes besides */
};
/* What one output has cost. {0}: nothing. */
struct cw_charge {
    struct cw_credit *credit; /* one ref, or NULL */
    uint32_t conn;
    uint64_t cost; /* bytes of memory */
};

struct cw_credit *cw_credit_new(uint64_t limit) CW_MUST_CHECK; /* one ref */
void cw_credit_unref(struct cw_credit *credit);                /* accepts NULL */
/* A new connection: nothing is charged any more. Returns the first credit, in bytes of outputs:
 * little while nothing is known of this worker's outputs. */
uint64_t cw_credit_begin(struct cw_credit *credit);
/* An output of so many bytes has come, which takes `cost` bytes of memory in all. The charge is
 * the caller's, to be returned. */
struct cw_charge cw_credit_charge(struct cw_credit *credit, uint64_t bytes,
                                  uint64_t cost) CW_MUST_CHECK;
/* Gives the memory of an output back, drops the reference, and clears the charge. */
void cw_charge_return(struct cw_charge *charge);
/* Bytes of outputs to grant now. `elsewhere`: how much of the limit is in use otherwise. Less
 * than a quarter of the limit is kept back unless `all`; 0 = nothing to grant. */
uint64_t cw_credit_grant(struct cw_credit *credit, uint64_t elsewhere, bool all);
/* Grants a quarter of the limit beyond it; returns its bytes of outputs. */
uint64_t cw_credit_overdraw(struct cw_credit *credit);

#endif
