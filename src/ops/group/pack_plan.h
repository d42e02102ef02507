/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of which sequence goes into which row of one length. */
#ifndef CW_OPS_GROUP_PACK_PLAN_H
#define CW_OPS_GROUP_PACK_PLAN_H

#include "ops/op.h"

enum { CW_PACK_FIRST_FIT, CW_PACK_STREAM };
enum { CW_PACK_CUT, CW_PACK_TRUNCATE, CW_PACK_FAIL };
#define CW_PACK_END UINT32_MAX

/* A part of a sequence, which is never empty. */
struct cw_pack_piece {
    uint32_t row;  /* the sequence */
    uint32_t next; /* the piece behind it in its bin; CW_PACK_END: none */
    int64_t begin, n;
};
/* A row that is made. */
struct cw_pack_bin {
    uint32_t first, last; /* pieces */
    int64_t used;
};
struct cw_pack_plan {
    int64_t length;
    int mode, longer;
    bool drop_rest; /* the last bin of a stream is left out if it is not full */
    struct cw_pack_piece *pieces;
    size_t pieces_n;
    struct cw_pack_bin *bins;
    size_t bins_n;
};
/* Plans n sequences of these lengths, with memory of ctx->arena. What is set of the plan says how. */
int cw_pack_plan(struct cw_pack_plan *plan, const struct cw_op_ctx *ctx, const int64_t *lengths,
                 size_t n, struct cw_err *err);

#endif
