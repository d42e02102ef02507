/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG files for tests, and what libjpeg makes of them. */
#ifndef CW_TESTS_JPEGS_H
#define CW_TESTS_JPEGS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <jpeglib.h>
#include "base/rng.h"

struct cw_test_jpeg {
    unsigned char *bytes;
    unsigned long n;
};
struct cw_test_jpeg_shape {
    int w, h, components, h_samp, v_samp;
    bool progressive;
    int restart;   /* MCUs from marker to marker */
    int quality;   /* 0 = 88 */
    bool optimize; /* Huffman codes of its own */
    int chroma[2]; /* horizontal sampling of the two; 0 = 1 */
};

/* Edges and noise: what upsampling and clipping must get right. */
static inline void cw_test_jpeg_row(uint8_t *row, int y, int w, int components,
                                    const struct cw_rng *rng)
{
    for (int x = 0; x < w; x++)
        for (int c = 0; c < components; c++) {
            const int wave = (x * (3 + c) + y * (5 - c)) % 256,
                      block = ((x / 9) ^ (y / 7)) % 2 ? 200 : 0;
            const uint64_t noise = cw_rng_u64(rng, (uint32_t)(y * 70000 + x * 4 + c)) % 64;
            row[x * components + c] = (uint8_t)(((unsigned)(wave + block) / 2 + noise) % 256);
        }
}

static inline struct cw_test_jpeg cw_test_jpeg_encode(const struct cw_test_jpeg_shape *shape)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct cw_test_jpeg file = {0};
    struct cw_rng rng;
    cw_rng_init(&rng, 1, 2, 3, 4, 5);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &file.bytes, &file.n);
    c.image_width = (JDIMENSION)shape->w;
    c.image_height = (JDIMENSION)shape->h;
    c.input_components = shape->components;
    c.in_color_space = shape->components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, shape->quality ? shape->quality : 88, TRUE);
    c.optimize_coding = shape->optimize;
    c.comp_info[0].h_samp_factor = shape->h_samp;
    c.comp_info[0].v_samp_factor = shape->v_samp;
    for (int i = 1; i < shape->components; i++)
        c.comp_info[i].h_samp_factor = CW_MAX(shape->chroma[i - 1], 1);
    c.restart_interval = (unsigned)shape->restart;
    if (shape->progressive)
        jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    uint8_t *row = malloc((size_t)shape->w * 3);
    assert_non_null(row);
    while (c.next_scanline < c.image_height) {
        cw_test_jpeg_row(row, (int)c.next_scanline, shape->w, shape->components, &rng);
        jpeg_write_scanlines(&c, &row, 1);
    }
    free(row);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return file;
}

/* libjpeg's own way, without anything of ours, by 1 or a denominator of the size: the oracle. */
static inline uint8_t *cw_test_jpeg_decode(const struct cw_test_jpeg *file, int channels,
                                           unsigned denominator)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, file->bytes, file->n);
    jpeg_read_header(&d, TRUE);
    d.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    d.scale_denom = denominator;
    jpeg_start_decompress(&d);
    const size_t stride = (size_t)d.output_width * (size_t)channels;
    uint8_t *pixels = malloc(stride * d.output_height);
    assert_non_null(pixels);
    while (d.output_scanline < d.output_height) {
        JSAMPROW row = pixels + d.output_scanline * stride;
        jpeg_read_scanlines(&d, &row, 1);
    }
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
    return pixels;
}

#endif
