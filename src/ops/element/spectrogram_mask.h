/* SPDX-License-Identifier: Apache-2.0 */
/* What `time_mask` and `freq_mask` have in common: stretches of a spectrogram are overwritten. */
#ifndef CW_OPS_ELEMENT_SPECTROGRAM_MASK_H
#define CW_OPS_ELEMENT_SPECTROGRAM_MASK_H

#include "ops/element/audio_random.h"
#include "ops/element/audio_view.h"

struct cw_mask_opts {
    int64_t count, width;
    double p, share, value;
};

#define CW_MASK_OFFSET(member) offsetof(struct cw_mask_opts, member)
/* The rows of the options; they are ordered by name. */
#define CW_MASK_ROWS(what_)                                                                        \
    {.name = "count",                                                                              \
     .help = "how many masks",                                                                     \
     .type = CW_OPT_I64,                                                                           \
     .offset = CW_MASK_OFFSET(count),                                                              \
     .def = "1",                                                                                   \
     .min = 1,                                                                                     \
     .max = 100},                                                                                  \
        CW_AUDIO_P_ROW(CW_MASK_OFFSET(p)),                                                         \
        {.name = "share",                                                                          \
         .help = "a mask is shorter than this part of all " what_,                                 \
         .type = CW_OPT_F64,                                                                       \
         .offset = CW_MASK_OFFSET(share),                                                          \
         .def = "1.0",                                                                             \
         .min = 0,                                                                                 \
         .max = 1},                                                                                \
        {.name = "value",                                                                          \
         .help = "what is written there",                                                          \
         .type = CW_OPT_F64,                                                                       \
         .offset = CW_MASK_OFFSET(value),                                                          \
         .def = "0.0"},                                                                            \
    {                                                                                              \
        .name = "width", .help = "a mask has less " what_ " than so many", .type = CW_OPT_I64,     \
        .offset = CW_MASK_OFFSET(width), .flags = CW_OPT_REQUIRED, .min = 1, .max = 1 << 30        \
    }

/* Copies a spectrogram and overwrites stretches of its columns (times), or of its rows. */
int cw_mask_apply(const struct cw_op_ctx *ctx, const struct cw_mask_opts *o, bool columns,
                  const struct cw_view *in, struct cw_view *out, struct cw_err *err);
bool cw_mask_draws(const void *opts);

#endif
