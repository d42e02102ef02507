/* SPDX-License-Identifier: Apache-2.0 */
/* Resizes interleaved 8-bit images with the results of Pillow's Image.resize, bit for bit. A
 * horizontal pass over the rows that are needed, rounded to 8 bits, is followed by a vertical
 * pass. */
#ifndef CW_OPS_KERNELS_RESAMPLE_H
#define CW_OPS_KERNELS_RESAMPLE_H

#include "ops/kernels/resample_filter.h"

/* A rectangle of an image. */
struct cw_resample_part {
    int32_t y, x, h, w;
};
struct cw_resample_job {
    const uint8_t *src; /* the pixels of src_part */
    size_t src_stride;  /* bytes from one row to the next */
    int32_t src_h, src_w, channels;
    struct cw_resample_part src_part; /* what there is of the src_h x src_w image */
    uint8_t *dst;                     /* the pixels of dst_part, without gaps */
    int32_t dst_h, dst_w;
    struct cw_resample_part dst_part; /* what is computed of the dst_h x dst_w image */
    enum cw_filter filter;
};
/* Memory that is kept from image to image, for one thread. Zero-initialise it. */
struct cw_resample {
    struct cw_filter_axis x, y;
    uint8_t *rows; /* the rows between the two passes */
    size_t rows_bytes;
    /* Of the image that is being made: the axes of the part, which rows there are between the passes, and
     * which of them are made already. */
    struct cw_resample_job job;
    struct cw_filter_axis part_x, part_y;
    int32_t first_row, rows_n, made_from, made_to;
};
/* Resizes an image, or makes a part of the resized image out of a part that is large enough
 * (cw_resample_needs). Sizes must be > 0. The only error is NOMEM. */
int cw_resample(struct cw_resample *resample, const struct cw_resample_job *job,
                struct cw_err *err);
/* Begins to do the same by strips: job->dst is not used, and src is read until the last strip is made. */
int cw_resample_begin(struct cw_resample *resample, const struct cw_resample_job *job,
                      struct cw_err *err);
/* Makes n rows from row y of the part on, without gaps. Strips that follow each other, upwards or downwards,
 * share the rows that they read. */
void cw_resample_strip(struct cw_resample *resample, int32_t y, int32_t n, uint8_t *dst);
/* Says which part of the image is read for job->dst_part; reads sizes and filter of the job, too. */
int cw_resample_needs(struct cw_resample *resample, const struct cw_resample_job *job,
                      struct cw_resample_part *ret_part, struct cw_err *err);
void cw_resample_fini(struct cw_resample *resample);

/* The two passes, declared for cw_resample and for the test that compares them. */
struct cw_resample_x {
    const uint8_t *src;           /* column 0 here is column `first_col` of the filter's input */
    size_t src_stride, src_bytes; /* bytes of a row that may be read */
    int32_t first_col;
    uint8_t *dst;
    size_t dst_stride;
    int32_t rows, channels;
    const struct cw_filter_axis *axis;
};
struct cw_resample_y {
    const uint8_t *src; /* row 0 here is row `first_row` of the filter's input */
    size_t src_stride;
    int32_t first_row;
    uint8_t *dst;
    size_t row_bytes; /* bytes of a row of src and of dst; dst has no gaps */
    const struct cw_filter_axis *axis;
};
void cw_resample_x_plain(const struct cw_resample_x *pass);
void cw_resample_y_plain(const struct cw_resample_y *pass);
void cw_resample_x_avx2(const struct cw_resample_x *pass);
void cw_resample_y_avx2(const struct cw_resample_y *pass);
void cw_resample_x_avx512(const struct cw_resample_x *pass);
void cw_resample_y_avx512(const struct cw_resample_y *pass);
/* Returns for how many output pixels of three channels loads of 16 bytes, `blocks` times 12 apart, and stores
 * of 4 bytes stay inside of the row. */
int32_t cw_resample_x_safe(const struct cw_resample_x *pass, int32_t blocks);
/* Computes what is left at the end of a row: the output samples [from, out) of row `row`, or the
 * bytes [from, row_bytes) of output row `row`. */
void cw_resample_x_tail(const struct cw_resample_x *pass, int32_t row, int32_t from);
void cw_resample_y_tail(const struct cw_resample_y *pass, int32_t row, size_t from);

#endif
