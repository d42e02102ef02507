/* SPDX-License-Identifier: Apache-2.0 */
/* The fast decoder: reads the segments of a scan, decodes the MCUs of a part to planes, and
 * converts these to pixels. */
#include "ops/kernels/jpeg_fast.h"

#include <string.h>
#include "base/mem.h"
#include "ops/kernels/cpu.h"
#include "ops/kernels/jpeg_huff.h"
#include "ops/kernels/jpeg_pixels.h"

#define COMPONENTS 3
#define BLOCKS_MAX 6 /* the most blocks of an MCU: 4 + 1 + 1 */
/* for larger images libjpeg's way of working in strips makes better use of the caches */
#define PLANES_BYTES_MAX ((size_t)64 << 20)

struct component {
    /* sampling factors: the numbers of blocks of this component in an MCU, horizontally and
     * vertically */
    int h, v;
    int side; /* a block becomes side x side samples: 8, 4, 2 or 1 */
    const struct cw_jpeg_huff *dc, *ac;
    int32_t last_dc;
    uint8_t *plane; /* samples of those MCUs that are decoded */
    size_t stride;
    int64_t width, height; /* size of the whole image in samples of this component */
    uint16_t quant[64] __attribute__((aligned(32)));
};
struct cw_jpeg_fast {
    struct cw_jpeg_huff dc[NUM_HUFF_TBLS], ac[NUM_HUFF_TBLS];
    struct component components[COMPONENTS];
    int n;
    bool
        is_reduced; /* the image is decoded smaller: blocks of all components cover as many pixels as
                      * the block of the largest does */
    int64_t mcu_w, mcu_h;             /* size of an MCU in pixels */
    int64_t mcus_x;                   /* MCUs in a row of the whole image */
    int64_t left, right, top, bottom; /* the MCUs that are decoded: [left, right) x [top, bottom) */
    /* The fields below are about the data that are being read. */
    const uint8_t *src, *src_end; /* src: the data behind the present segment */
    struct cw_jpeg_bits bits;
    const uint8_t *clean_end; /* end of the present segment, cleaned of byte stuffing */
    int64_t restart, restart_left;
    int next_marker;
    uint8_t *clean, *planes;
    size_t clean_cap, planes_cap;
    int16_t blocks[BLOCKS_MAX][CW_JPEG_BLOCK] __attribute__((aligned(32)));
};

struct cw_jpeg_fast *cw_jpeg_fast_new(void)
{
    struct cw_jpeg_fast *fast = cw_mem_try_aligned(64, CW_ALIGN_UP(sizeof(*fast), (size_t)64));
    CW_ASSERT(fast); /* a size that is constant: cw_mem_new never fails */
    memset(fast, 0, sizeof(*fast));
    return fast;
}

void cw_jpeg_fast_free(struct cw_jpeg_fast *fast)
{
    if (!fast)
        return;
    cw_mem_free(fast->clean);
    cw_mem_free(fast->planes);
    cw_mem_free(fast);
}

static bool has_sampling(const struct jpeg_decompress_struct *d)
{
    const jpeg_component_info *c = d->comp_info;
    for (int i = 1; i < 3; i++)
        if (c[i].h_samp_factor != 1 || c[i].v_samp_factor != 1)
            return false;
    const int h = c[0].h_samp_factor, v = c[0].v_samp_factor;
    return (h == 1 && v == 1) || (h == 2 && (v == 1 || v == 2));
}

bool cw_jpeg_fast_can(const struct jpeg_decompress_struct *d, int channels)
{
    if (cw_cpu_level() < CW_CPU_LEVEL_AVX2 || d->progressive_mode || d->arith_code ||
        d->data_precision != 8 || d->comps_in_scan != d->num_components)
        return false;
    /* libjpeg filters the chroma of very narrow images differently. */
    if (d->image_width < 16 || d->image_height < 1)
        return false;
    if (d->num_components == 1)
        return d->jpeg_color_space == JCS_GRAYSCALE;
    /* Of a smaller image chroma is not upsampled, unless it is halved in one direction only. */
    return d->num_components == COMPONENTS && d->jpeg_color_space == JCS_YCbCr && channels == 3 &&
           has_sampling(d) &&
           (d->scale_denom == 1 || d->comp_info[0].h_samp_factor == d->comp_info[0].v_samp_factor);
}

static bool set_component(struct cw_jpeg_fast *fast, const struct jpeg_decompress_struct *d, int i)
{
    const jpeg_component_info *info = &d->comp_info[i];
    struct component *c = &fast->components[i];
    if (d->cur_comp_info[i] != info) /* the components of the scan are in another order */
        return false;
    const unsigned dc = (unsigned)info->dc_tbl_no, ac = (unsigned)info->ac_tbl_no,
                   q = (unsigned)info->quant_tbl_no;
    if (dc >= NUM_HUFF_TBLS || ac >= NUM_HUFF_TBLS || q >= NUM_QUANT_TBLS ||
        !d->dc_huff_tbl_ptrs[dc] || !d->ac_huff_tbl_ptrs[ac] || !d->quant_tbl_ptrs[q])
        return false;
    if (!cw_jpeg_huff_set(&fast->dc[dc], d->dc_huff_tbl_ptrs[dc]->bits,
                          d->dc_huff_tbl_ptrs[dc]->huffval, true) ||
        !cw_jpeg_huff_set(&fast->ac[ac], d->ac_huff_tbl_ptrs[ac]->bits,
                          d->ac_huff_tbl_ptrs[ac]->huffval, false))
        return false;
    c->dc = &fast->dc[dc];
    c->ac = &fast->ac[ac];
    memcpy(c->quant, d->quant_tbl_ptrs[q]->quantval, sizeof(c->quant));
    c->h = fast->n == 1 ? 1 : info->h_samp_factor;
    c->v = fast->n == 1 ? 1 : info->v_samp_factor;
    return true;
}

/* Chooses how many samples blocks become: of chroma that is halved twice as many as of luma, as long as it
 * has more, so that nothing is left to be upsampled. */
static void set_sides(struct cw_jpeg_fast *fast, const struct jpeg_decompress_struct *d)
{
    fast->is_reduced = d->scale_denom > 1;
    for (int i = 0; i < fast->n; i++) {
        struct component *c = &fast->components[i];
        c->side = 8 / (int)d->scale_denom;
        if (fast->is_reduced && i > 0 && fast->components[0].h == 2)
            c->side *= 2;
    }
}

/* Finds the MCUs under the part, and under the chroma samples beside it. */
static void set_range(int64_t from, int64_t n, int64_t mcu, int64_t mcus, int64_t *ret_first,
                      int64_t *ret_end)
{
    const int64_t margin = 2; /* pixels that one sample of chroma covers */
    *ret_first = CW_MAX(from - margin, 0) / mcu;
    *ret_end = CW_MIN((from + n + margin + mcu - 1) / mcu, mcus);
}

static bool set_planes(struct cw_jpeg_fast *fast, const struct jpeg_decompress_struct *d)
{
    const struct component *y = &fast->components[0];
    const int64_t w = fast->right - fast->left, h = fast->bottom - fast->top;
    size_t offset[COMPONENTS], total = 0;
    for (int i = 0; i < fast->n; i++) {
        struct component *c = &fast->components[i];
        const int64_t h_down = (int64_t)y->h * 8, v_down = (int64_t)y->v * 8;
        c->stride = (size_t)(w * c->h * c->side);
        c->width = ((int64_t)d->image_width * c->h * c->side + h_down - 1) / h_down;
        c->height = ((int64_t)d->image_height * c->v * c->side + v_down - 1) / v_down;
        offset[i] = total + CW_JPEG_SLACK;
        total +=
            CW_ALIGN_UP(c->stride * (size_t)(h * c->v * c->side), (size_t)64) + 2 * CW_JPEG_SLACK;
    }
    /* Behind the planes there is room for rows of chroma as wide as the image, and for the sums of
     * which they are made. */
    total += 2 * (fast->components[0].stride + 2 * CW_JPEG_SLACK) +
             2 * (fast->components[0].stride + 4 * CW_JPEG_SLACK);
    if (total > PLANES_BYTES_MAX)
        return false;
    if (total > fast->planes_cap) {
        cw_mem_free(fast->planes);
        fast->planes_cap = 0;
        fast->planes = cw_mem_try_aligned(64, CW_ALIGN_UP(total + total / 4, (size_t)64));
        if (!fast->planes)
            return false;
        fast->planes_cap = total + total / 4;
    }
    for (int i = 0; i < fast->n; i++)
        fast->components[i].plane = fast->planes + offset[i];
    return true;
}

/* Cleans the next run of bits, which ends at a marker. Returns false if there is none. */
static bool next_segment(struct cw_jpeg_fast *fast)
{
    const size_t n = (size_t)(fast->src_end - fast->src);
    size_t clean_n, used;
    if (!cw_jpeg_unstuff(fast->clean, fast->src, n, &clean_n, &used))
        return false;
    fast->bits = (struct cw_jpeg_bits){.at = fast->clean};
    fast->clean_end = fast->clean + clean_n;
    fast->src += used;
    fast->restart_left = fast->restart;
    for (int i = 0; i < fast->n; i++)
        fast->components[i].last_dc = 0;
    return true;
}

static bool set_source(struct cw_jpeg_fast *fast, const struct jpeg_decompress_struct *d)
{
    const size_t n = d->src->bytes_in_buffer, need = n + CW_JPEG_PAD;
    if (need > fast->clean_cap) {
        cw_mem_free(fast->clean);
        fast->clean_cap = 0;
        fast->clean = cw_mem_try(need + need / 4);
        if (!fast->clean)
            return false;
        fast->clean_cap = need + need / 4;
    }
    fast->src = d->src->next_input_byte;
    fast->src_end = fast->src + n;
    fast->restart = d->restart_interval;
    fast->next_marker = 0;
    return next_segment(fast);
}

static bool has_overrun(const struct cw_jpeg_fast *fast)
{
    return fast->bits.at - fast->bits.n / 8 > fast->clean_end;
}

static bool begin_mcu(struct cw_jpeg_fast *fast)
{
    if (has_overrun(fast))
        return false;
    if (fast->restart == 0 || fast->restart_left-- > 0)
        return true;
    /* next_segment left src at a marker, so two bytes can be read */
    if (fast->src[1] != 0xd0 + fast->next_marker)
        return false;
    fast->src += 2;
    fast->next_marker = (fast->next_marker + 1) & 7;
    if (!next_segment(fast))
        return false;
    fast->restart_left--;
    return true;
}

static bool skip_mcu(struct cw_jpeg_fast *fast)
{
    if (!begin_mcu(fast))
        return false;
    for (int i = 0; i < fast->n; i++) {
        struct component *c = &fast->components[i];
        for (int k = 0; k < c->h * c->v; k++)
            if (!cw_jpeg_huff_skip(&fast->bits, c->dc, c->ac, &c->last_dc))
                return false;
    }
    return true;
}

/* Decodes a block to side x side samples. One of 8 x 8 waits for the next of them, to be transformed
 * together with it. Returns false if the data are damaged, or unusual. */
static bool reduce_block(struct cw_jpeg_fast *fast, struct component *c, int16_t *coef,
                         uint8_t *dst, struct cw_jpeg_block *wait)
{
    const struct cw_jpeg_block block = {coef, c->quant, dst, c->stride};
    if (c->side == 1)
        return cw_jpeg_huff_skip(&fast->bits, c->dc, c->ac, &c->last_dc) &&
               cw_jpeg_idct_one(c->last_dc, &block, 1);
    memset(coef, 0, 64 * sizeof(int16_t));
    const int more = cw_jpeg_huff_block(&fast->bits, c->dc, c->ac, &c->last_dc, coef);
    if (more <= 0)
        return more == 0 && cw_jpeg_idct_one(c->last_dc, &block, (size_t)c->side);
    if (c->side < 8)
        return c->side == 4 ? cw_jpeg_idct_four(&block) : cw_jpeg_idct_two(&block);
    if (!wait->coef) {
        *wait = block;
        return true;
    }
    const bool is_done = cw_jpeg_idct_pair(wait, &block);
    wait->coef = NULL;
    return is_done;
}

static bool reduce_mcu(struct cw_jpeg_fast *fast, int64_t mx, int64_t my)
{
    struct cw_jpeg_block wait = {0};
    int at = 0;
    if (!begin_mcu(fast))
        return false;
    for (int i = 0; i < fast->n; i++) {
        struct component *c = &fast->components[i];
        for (int k = 0; k < c->h * c->v; k++, at++) {
            const size_t row = (size_t)((my * c->v + k / c->h) * c->side),
                         column = (size_t)((mx * c->h + k % c->h) * c->side);
            if (!reduce_block(fast, c, fast->blocks[at], c->plane + row * c->stride + column,
                              &wait))
                return false;
        }
    }
    return !wait.coef || cw_jpeg_idct_pair(&wait, &wait);
}

/* Decodes one MCU; mx and my are counted from the first one that is decoded. */
static bool decode_mcu(struct cw_jpeg_fast *fast, int64_t mx, int64_t my)
{
    struct cw_jpeg_block wait = {0};
    int at = 0;
    if (!begin_mcu(fast))
        return false;
    for (int i = 0; i < fast->n; i++) {
        struct component *c = &fast->components[i];
        for (int k = 0; k < c->h * c->v; k++, at++) {
            memset(fast->blocks[at], 0, 64 * sizeof(int16_t));
            const int more =
                cw_jpeg_huff_block(&fast->bits, c->dc, c->ac, &c->last_dc, fast->blocks[at]);
            if (more < 0)
                return false;
            const size_t row = (size_t)(my * c->v + k / c->h) * 8,
                         column = (size_t)(mx * c->h + k % c->h) * 8;
            const struct cw_jpeg_block block = {fast->blocks[at], c->quant,
                                                c->plane + row * c->stride + column, c->stride};
            if (more == 0) {
                cw_jpeg_idct_flat(&block);
            } else if (wait.coef) {
                if (!cw_jpeg_idct_pair(&wait, &block))
                    return false;
                wait.coef = NULL;
            } else {
                wait = block;
            }
        }
    }
    return !wait.coef || cw_jpeg_idct_pair(&wait, &wait);
}

static bool reduce_planes(struct cw_jpeg_fast *fast)
{
    for (int64_t my = 0; my < fast->bottom; my++)
        for (int64_t mx = 0; mx < fast->mcus_x; mx++)
            if (!reduce_mcu(fast, mx, my))
                return false;
    return !has_overrun(fast);
}

static bool is_wanted(const struct cw_jpeg_fast *fast, int64_t mx, int64_t my)
{
    return my >= fast->top && my < fast->bottom && mx >= fast->left && mx < fast->right;
}

/* Decodes rows_n rows of MCUs to their ends: damage must be found exactly where libjpeg would find
 * it. */
static bool decode_planes(struct cw_jpeg_fast *fast, int64_t rows_n)
{
    for (int64_t my = 0; my < rows_n; my++)
        for (int64_t mx = 0; mx < fast->mcus_x; mx++) {
            const bool wanted = is_wanted(fast, mx, my);
            if (!(wanted ? decode_mcu(fast, mx - fast->left, my - fast->top) : skip_mcu(fast)))
                return false;
        }
    return !has_overrun(fast);
}

/* Returns a row of samples of a component, from the first decoded MCU on. y is counted in the whole
 * image, and clamped to it. */
static const uint8_t *sample_row(const struct cw_jpeg_fast *fast, const struct component *c,
                                 int64_t y)
{
    y = CW_MAX(CW_MIN(y, c->height - 1), 0);
    return c->plane + (size_t)(y - fast->top * c->v * c->side) * c->stride;
}

static void upsample_row(const struct cw_jpeg_fast *fast, const struct component *c,
                         const struct cw_rect *part, int64_t y, uint8_t *dst, uint16_t *sums)
{
    const int vertical = fast->components[0].v;
    const int64_t first = part->x / 2, last = (part->x + part->w - 1) / 2,
                  x = first - fast->left * 8;
    const int64_t row = y / vertical, far = vertical == 1 ? row : y % 2 ? row + 1 : row - 1;
    cw_jpeg_upsample(dst,
                     &(struct cw_jpeg_chroma){.near = sample_row(fast, c, row) + x,
                                              .far = sample_row(fast, c, far) + x,
                                              .n = (size_t)(last - first + 1),
                                              .vertical = vertical == 2,
                                              .at_left = first == 0,
                                              .at_right = last == c->width - 1},
                     sums);
}

static void put_colour(struct cw_jpeg_fast *fast, const struct cw_rect *part, uint8_t *dst)
{
    const struct component *c = fast->components;
    const bool is_half = c[0].h == 2 && !fast->is_reduced;
    const size_t row_bytes = c[0].stride + 2 * CW_JPEG_SLACK;
    uint8_t *cb_row =
        c[2].plane +
        CW_ALIGN_UP(c[2].stride * (size_t)((fast->bottom - fast->top) * 8), (size_t)64) +
        CW_JPEG_SLACK;
    uint8_t *cr_row = cb_row + row_bytes;
    uint16_t *sums = (uint16_t *)(void *)(cr_row + row_bytes) + CW_JPEG_SLACK;
    const size_t x = (size_t)(part->x - fast->left * fast->mcu_w), skip = (size_t)(part->x % 2);
    for (int64_t y = part->y; y < part->y + part->h; y++, dst += 3 * (size_t)part->w) {
        const uint8_t *luma = sample_row(fast, &c[0], y) + x;
        if (is_half) {
            upsample_row(fast, &c[1], part, y, cb_row, sums);
            upsample_row(fast, &c[2], part, y, cr_row, sums);
            cw_jpeg_rgb(dst, luma, cb_row + skip, cr_row + skip, (size_t)part->w);
        } else {
            cw_jpeg_rgb(dst, luma, sample_row(fast, &c[1], y) + x, sample_row(fast, &c[2], y) + x,
                        (size_t)part->w);
        }
    }
}

static void put_grey(const struct cw_jpeg_fast *fast, int channels, const struct cw_rect *part,
                     uint8_t *dst)
{
    const size_t x = (size_t)(part->x - fast->left * fast->mcu_w), w = (size_t)part->w;
    for (int64_t y = part->y; y < part->y + part->h; y++, dst += w * (size_t)channels) {
        const uint8_t *row = sample_row(fast, &fast->components[0], y) + x;
        if (channels == 1)
            memcpy(dst, row, w);
        else
            for (size_t i = 0; i < w; i++)
                dst[3 * i] = dst[3 * i + 1] = dst[3 * i + 2] = row[i];
    }
}

bool cw_jpeg_fast_decode(struct cw_jpeg_fast *fast, const struct jpeg_decompress_struct *d,
                         int channels, const struct cw_rect *part, int64_t rows, uint8_t *dst)
{
    fast->n = d->num_components;
    for (int i = 0; i < fast->n; i++)
        if (!set_component(fast, d, i))
            return false;
    fast->mcu_w = 8 * fast->components[0].h;
    fast->mcu_h = 8 * fast->components[0].v;
    fast->mcus_x = ((int64_t)d->image_width + fast->mcu_w - 1) / fast->mcu_w;
    const int64_t mcus_y = ((int64_t)d->image_height + fast->mcu_h - 1) / fast->mcu_h;
    set_sides(fast, d);
    set_range(part->x, part->w, fast->mcu_w, fast->mcus_x, &fast->left, &fast->right);
    set_range(part->y, part->h, fast->mcu_h, mcus_y, &fast->top, &fast->bottom);
    if (fast->is_reduced) {
        fast->left = fast->top = 0;
        fast->right = fast->mcus_x;
        fast->bottom = mcus_y;
    }
    const int64_t rows_n = CW_MAX((rows + fast->mcu_h - 1) / fast->mcu_h, fast->bottom);
    if (!set_planes(fast, d) || !set_source(fast, d) ||
        !(fast->is_reduced ? reduce_planes(fast) : decode_planes(fast, rows_n)))
        return false;
    if (fast->n == 1)
        put_grey(fast, channels, part, dst);
    else
        put_colour(fast, part, dst);
    return true;
}
