/* SPDX-License-Identifier: Apache-2.0 */
/* A resume token: the position of a consumer of a job, as bytes that a trainer stores with its own
 * checkpoint. The client makes it; client and dispatcher read it. It is self-contained and has a
 * checksum. It names the function (fingerprint, seed), not a job, worker or dispatcher, so it is
 * valid with any of them; and it contains parts of the fingerprint, so that an error can say what
 * differs if a token belongs to another function. It has at most 160 bytes without gaps; each gap
 * costs at most 20 more (2 to 6 for small numbers). */
#ifndef CW_WIRE_TOKEN_H
#define CW_WIRE_TOKEN_H

#include "base/err.h"
#include "base/hash.h"
#include "base/interval.h"

#define CW_TOKEN_GAPS_MAX 1000000

struct cw_token {
    struct cw_hash fingerprint;       /* from PlanInfo: fingerprint of pipeline and source */
    uint64_t pipeline_sum, files_sum; /* from PlanInfo; 0: the token is from an older version */
    uint32_t identity;
    uint64_t seed;
    uint64_t epoch;
    uint64_t item;    /* all items of the epoch below this one are consumed */
    uint64_t row;     /* sparse: number of rows of that item that were delivered */
    uint64_t rows;    /* sparse: number of rows of the epoch that were rebatched before that row */
    uint64_t batches; /* number of batches delivered in the epoch */
    uint32_t mode;    /* enum ConsumerMode of job.proto */
    uint32_t consumers;
    /* Coordinated: number of batches of the current step that belong to other consumers, which have
     * received them too. */
    uint32_t to_come;
    struct cw_set beyond; /* unordered: items above `item` that are consumed as well */
};
/* Writes the token. INVALID if cap is too small (the message says how many bytes are needed). */
int cw_token_encode(const struct cw_token *token, void *ret_bytes, size_t cap, size_t *ret_n,
                    struct cw_err *err);
/* Reads a token. The message of CORRUPT says what is wrong. The caller calls cw_token_fini. */
int cw_token_decode(const void *p, size_t n, struct cw_token *ret_token, struct cw_err *err);
void cw_token_fini(struct cw_token *token);

#endif
