/* SPDX-License-Identifier: Apache-2.0 */
/* A resume token: where a consumer of a job stands, in bytes that a trainer keeps with its own
 * checkpoint. Made by the client, read by client and dispatcher. Self-contained and checksummed;
 * it names the function (fingerprint, seed), not a job, worker or dispatcher, so it is good for
 * any of them; and parts of the fingerprint, so that a token of another function can say what is
 * other. At most 160 bytes without gaps; each gap costs at most 20 more (small numbers: 2 to 6). */
#ifndef CW_WIRE_TOKEN_H
#define CW_WIRE_TOKEN_H

#include "base/err.h"
#include "base/hash.h"
#include "base/interval.h"

#define CW_TOKEN_GAPS_MAX 1000000

struct cw_token {
    struct cw_hash fingerprint;       /* of pipeline and source: PlanInfo's, as these: */
    uint64_t pipeline_sum, files_sum; /* 0 = not known: the token is of an older version */
    uint32_t identity;
    uint64_t seed;
    uint64_t epoch;
    uint64_t item;    /* all items of the epoch below it are consumed */
    uint64_t row;     /* sparse: rows of that item given out */
    uint64_t rows;    /* sparse: rows of the epoch that came into the join before that row */
    uint64_t batches; /* given out in the epoch */
    uint32_t mode;    /* enum ConsumerMode of job.proto */
    uint32_t consumers;
    /* coordinated: all consumers see the same step; so many batches of the step belong to
     * others, who have them too */
    uint32_t to_come;
    struct cw_set beyond; /* unordered: items above `item` that are consumed too */
};
/* Bytes of the token; INVALID when cap is too small (the message says how many are needed). */
int cw_token_encode(const struct cw_token *token, void *ret_bytes, size_t cap, size_t *ret_n,
                    struct cw_err *err);
/* CORRUPT says what is wrong. Finish the token when done. */
int cw_token_decode(const void *p, size_t n, struct cw_token *ret_token, struct cw_err *err);
void cw_token_fini(struct cw_token *token);

#endif
