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

/* Number `bin` of so many from one number to another: torch.linspace in single precision, which counts from the nearer
 * end. */
float cw_augment_spread(float from, float to, int64_t bins, int64_t bin);

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
int cw_augment_apply(struct cw_augment_run *run, enum cw_augment change, double magnitude,
                     struct cw_err *err);
/* The magnitude, negative if the change has signs and the draw, of 0 and 1, is `negative`. */
double cw_augment_with_sign(const struct cw_op_ctx *ctx, uint32_t draw, uint64_t negative,
                            enum cw_augment change, double magnitude);

/* The options that all three have; the options of each begin with it. */
struct cw_augment_opts {
    struct cw_warp_op_opts warp;
    double p;
};
#define CW_AUGMENT_FILL_ROW CW_WARP_OP_FILL_ROW(offsetof(struct cw_augment_opts, warp))
#define CW_AUGMENT_INTERPOLATION_ROW                                                               \
    CW_WARP_OP_INTERPOLATION_ROW(offsetof(struct cw_augment_opts, warp), "\"nearest\"")
#define CW_AUGMENT_P_ROW CW_U8_P_ROW(offsetof(struct cw_augment_opts, p), "1.0")

/* Functions of their descriptors. */
int cw_augment_check(const void *opts, struct cw_err *err);
int cw_augment_infer(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                     struct cw_err *err);
bool cw_augment_draws(const void *opts);
/* Their apply_field; `change` makes what is drawn with cw_augment_apply(). */
typedef int cw_augment_fn(const struct cw_op_ctx *ctx, const void *opts, struct cw_augment_run *run,
                          struct cw_err *err);
int cw_augment_element(const struct cw_op_ctx *ctx, const void *opts, cw_augment_fn *change,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err);

#endif
