/* SPDX-License-Identifier: Apache-2.0 */
/* Work of an operator on an image by rows, so that a run of operators goes over the image in strips that
 * stay in the first-level cache (docs/adding-an-operator.md). */
#ifndef CW_OPS_STRIP_H
#define CW_OPS_STRIP_H

#include "ops/motion.h"

struct cw_field;
struct cw_op;
struct cw_op_ctx;
struct cw_spec;

/* Some rows of an image. */
struct cw_strip {
    uint8_t *data;
    int64_t y, n;  /* its rows are y to y + n of the image */
    size_t stride; /* bytes from one row to the next; strips that are made have no gaps */
    size_t plane;  /* channels come first: bytes from one channel to the next; 0: they come last */
    void *spare;   /* with plane: memory for as many bytes as the rows that come in have */
};

/* What cw_op_strips.begin returns. */
enum cw_strip_begin {
    CW_STRIP_MAKE = 0,
    CW_STRIP_SAME = 1, /* the image stays as it is */
    CW_STRIP_APART = 2 /* this element cannot be done by rows: apply_field is called */
};

/* An operator with `strips` gives by them what its apply_field gives. For an element `begin` is called
 * once, and then `make` for all rows of the result, each once; strips follow each other upwards or
 * downwards. Both see the same context and scratch memory. */
struct cw_op_strips {
    /* It needs the whole image that comes in, so it can only be the first of a run. */
    bool from_whole;
    /* Whether it works by rows for such a field of images; NULL: always. */
    bool (*usable)(const void *opts, const struct cw_field *in);
    /* Checks what apply_field checks, in the same order. *out equals *in on entry, and gets dtype, dims
     * and part of the result. Only the first operator of a run finds the image's data in *in. Returns
     * enum cw_strip_begin, or < 0 for an error. */
    int (*begin)(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, struct cw_view *out, struct cw_err *err);
    /* *y is the first of n rows of the result, and becomes the first of the n rows that they are made
     * of. NULL: the same. */
    void (*rows)(const struct cw_op_ctx *ctx, const void *opts, const struct cw_view *in,
                 int64_t *y, int64_t n);
    /* Makes the rows of *to out of *from, which has the rows that they need, or all. It may write past
     * the caches, and leaves it to the caller to fence that. */
    void (*make)(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 const struct cw_view *in, const struct cw_strip *from, const struct cw_strip *to);
};

/* Whether an operator with these options, on these fields of a spec, works by rows: on one field, an image,
 * with which nothing else moves. */
bool cw_strips_work(const struct cw_op *op, const void *opts, const struct cw_spec *in,
                    const size_t *fields, size_t fields_n);
/* Of two such operators on the same field: whether the second one can go on in the same run. between: the
 * image that the first one makes. If its size is known and small, it stays in the second-level cache
 * anyway, so that nothing is gained. */
bool cw_strips_follow(const struct cw_op *op, const void *opts, const struct cw_op *next,
                      const struct cw_field *between);
/* What an image between two operators of a run has at least, in bytes. */
#define CW_STRIPS_IMAGE_BYTES ((size_t)256 << 10)

#endif
