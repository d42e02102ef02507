/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker may send: its credit is in bytes of outputs, but the limit is of memory, of
 * which small outputs take much more. */
#ifndef CW_CLIENT_CREDIT_H
#define CW_CLIENT_CREDIT_H

#include <stdbool.h>

#include "base/compiler.h"

struct cw_credit {
    uint64_t limit; /* memory */
    /* bytes that the worker may still send; less than 0 when an output was larger than what it
     * had */
    int64_t out;
    uint64_t held;      /* memory of what has come and is buffered */
    double bytes, more; /* of an output, lately: its bytes, and the memory that it takes besides */
};
/* A new connection. Returns the first credit: little, since nothing is known of its outputs,
 * unless something came before. */
uint64_t cw_credit_begin(struct cw_credit *credit);
void cw_credit_came(struct cw_credit *credit, uint64_t bytes,
                    uint64_t cost /* memory, the bytes among it */);
void cw_credit_back(struct cw_credit *credit, uint64_t cost);
/* What to grant now; `elsewhere`: how much of the limit is in use otherwise. Small change is
 * kept back unless `all`: 0. */
uint64_t cw_credit_grant(struct cw_credit *credit, uint64_t elsewhere, bool all);
/* A quarter of the limit, beyond it. */
uint64_t cw_credit_overdraw(struct cw_credit *credit);

#endif
