/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of different shapes that are filled up to one: what is common to those who do it, a worker that
 * makes a batch of elements (exec/pad_rows.h), and the client, which cuts the batches of sparse
 * pipelines (client/delivery/fill_pads.h). */
#ifndef CW_DATA_PAD_H
#define CW_DATA_PAD_H

#include "data/spec.h"

/* A dimension that is filled up becomes no longer than this. */
#define CW_PAD_LENGTH_MAX (INT64_C(1) << 40)
/* How the rows of a field are filled up to one shape. */
struct cw_pad {
    bool on[CW_RANK_MAX];    /* the dims that are filled up */
    int64_t to[CW_RANK_MAX]; /* what they become; -1: the largest of the rows */
    int64_t multiple;        /* the largest is rounded up to a multiple of this */
    unsigned char value[8];  /* what is filled in, one value of the field's dtype */
    bool left;               /* it is filled in before the row's own values */
    /* the fields of the output that tell how long rows were, and which values are their own; -1:
     * none */
    int length, mask;
};

/* The one shape of all rows. */
struct cw_pad_shape {
    int64_t dims[CW_RANK_MAX];
    size_t bytes;  /* of a row */
    int mask_rank; /* of a row's mask */
    size_t mask_bytes;
};
/* Finds it, from the largest size that rows have in each of `rank` dims. LIMIT: it cannot be in memory. */
int cw_pad_measure(const struct cw_pad *pad, enum cw_dtype dtype, int rank, const int64_t *most,
                   struct cw_pad_shape *ret_shape, struct cw_err *err);
/* Writes a row with these dims, none of which is larger than those of the shape: its own values, of `from`,
 * and what is filled in. */
void cw_pad_row(const struct cw_pad *pad, const struct cw_pad_shape *shape, enum cw_dtype dtype,
                int rank, const int64_t *dims, const void *from, void *to);
/* Writes the mask of such a row. */
void cw_pad_mask(const struct cw_pad *pad, const struct cw_pad_shape *shape, const int64_t *dims,
                 void *to);
/* Writes how long such a row is in each dim that is filled up, and returns how many these are. */
size_t cw_pad_lengths(const struct cw_pad *pad, int rank, const int64_t *dims, int64_t *to);

/* How the fields of a batch are filled up. Immutable, counted. */
struct cw_pads {
    _Atomic int refs;
    size_t n;     /* fields of a row; those of lengths and masks stand behind them */
    size_t extra; /* how many of these there are */
    struct cw_pads_field {
        bool is; /* whether it is filled up */
        struct cw_pad how;
    } field[];
};
/* Makes one that fills up no field. */
struct cw_pads *cw_pads_new(size_t n) CW_MUST_CHECK;
struct cw_pads *cw_pads_ref(struct cw_pads *pads);
/* NULL is accepted. Returns NULL. */
struct cw_pads *cw_pads_unref(struct cw_pads *pads);
bool cw_pads_eq(const struct cw_pads *a, const struct cw_pads *b); /* each may be NULL */
/* Counts lengths and masks, and checks what a peer says of a batch with the spec `out`. */
int cw_pads_check(struct cw_pads *pads, const struct cw_spec *out, struct cw_err *err);

#endif
