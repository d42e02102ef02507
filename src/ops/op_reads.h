/* SPDX-License-Identifier: Apache-2.0 */
/* What the order in which a source is read costs (reads, of ops/op.h). */
#ifndef CW_OPS_OP_READS_H
#define CW_OPS_OP_READS_H

/* What it costs to read an element of a source by itself, in bytes. */
struct cw_op_reads {
    double element; /* its own bytes */
    double
        together; /* what is made with it, because it lies in a block that is inflated as a whole */
    double stored;      /* what is read of the file for that */
    double block;       /* of a block of the source (ops/blocks.h), as it is made */
    double memory;      /* so much of what was made may stay in memory */
    const char *what;   /* what is done with these bytes: "inflated" */
    const char *option; /* of which `memory` is the value */
    const char *share;  /* how much of a worker's budget it has besides: "a quarter" */
};

#endif
