/* SPDX-License-Identifier: Apache-2.0 */
/* The changes of which rand_augment, trivial_augment and auto_augment choose, with torchvision's tables
 * of magnitudes. */
#ifndef CW_OPS_ELEMENT_AUGMENT_H
#define CW_OPS_ELEMENT_AUGMENT_H

#include "ops/element/warp_op.h"

/* In the order of torchvision's tables, which draws count in. */
enum cw_augment {
    CW_AUGMENT_IDENTITY,
    CW_AUGMENT_SHEAR_X,
    CW_AUGMENT_SHEAR_Y,
    CW_AUGMENT_TRANSLATE_X,
    CW_AUGMENT_TRANSLATE_Y,
    CW_AUGMENT_ROTATE,
    CW_AUGMENT_BRIGHTNESS,
    CW_AUGMENT_COLOR,
    CW_AUGMENT_CONTRAST,
    CW_AUGMENT_SHARPNESS,
    CW_AUGMENT_POSTERIZE,
    CW_AUGMENT_SOLARIZE,
    CW_AUGMENT_AUTO_CONTRAST,
    CW_AUGMENT_EQUALIZE,
    CW_AUGMENT_CHOICES, /* those above are drawn; those behind stand in policies only */
    CW_AUGMENT_INVERT = CW_AUGMENT_CHOICES
};

/* Which magnitudes there are: of `bins` from none to the most. */
struct cw_augment_space {
    int64_t bins;
    bool wide; /* those of TrivialAugment Wide */
};
/* The magnitude of a change for an image of h x w, and whether its sign is drawn. 0 <= bin < bins. */
double cw_augment_magnitude(const struct cw_augment_space *space, enum cw_augment change,
                            int64_t bin, size_t h, size_t w);
bool cw_augment_is_signed(enum cw_augment change);

/* An image that goes through several changes. */
struct cw_augment_run {
    const struct cw_warp_op_opts *warp;
    struct cw_u8_op_image image;
    const uint8_t *at; /* what there is of it */
    uint8_t *spare;    /* room for another */
};
/* Begins with the element; needs cw_augment_end() after success. */
int cw_augment_begin(const struct cw_op_ctx *ctx, const struct cw_warp_op_opts *warp,
                     const struct cw_view *in, struct cw_view *out, struct cw_augment_run *ret_run,
                     struct cw_err *err);
int cw_augment_apply(struct cw_augment_run *run, enum cw_augment change, double magnitude,
                     struct cw_err *err);
void cw_augment_end(struct cw_augment_run *run);

#endif
