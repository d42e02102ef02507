/* SPDX-License-Identifier: Apache-2.0 */
/* What an element operator says of itself, for elements of a given spec. Everything that moves
 * operators (src/rewrite) goes by these facts and by nothing else: an operator without them stays
 * where it is, and nothing passes it. A fact that is wrong changes what a pipeline computes, so
 * tests/unit/rewrite computes both orders of all pairs that are said to commute. */
#ifndef CW_OPS_OP_FACTS_H
#define CW_OPS_OP_FACTS_H

#include "data/spec.h"

/* How the values of a field are changed. */
enum cw_op_effect {
    CW_EFFECT_OTHER,  /* in a way that no other operator may change sides with */
    CW_EFFECT_EACH,   /* each value by itself, and scalars that the operator reads besides */
    CW_EFFECT_MIRROR, /* an image is mirrored along an axis, or stays as it is */
    CW_EFFECT_CROP, /* the middle of an image is taken; what lies outside of the image becomes 0 */
    CW_EFFECT_REPEAT, /* the values are repeated along the first dimension */
    CW_EFFECT_ALL     /* not at all; what the operator does depends on which values there are,
                         neither on their places nor on how often they come, and on scalars */
};

#define CW_GAP_UNKNOWN INT64_MIN
#define CW_GAP_FIELDS 16

struct cw_op_facts {
    bool known; /* false: nothing moves, and the rest is for costs only */
    /* Fields of the input. A field is written if its values, its dtype, its shape or its
     * name change. One that is added is the one behind those of the input. */
    struct cw_field_set reads, writes;
    /* Fields whose bytes its time depends on, though it does not look at them (emulate). */
    struct cw_field_set weighs;
    bool
        by_bytes; /* its time is in proportion to the bytes that it reads or weighs, as it says itself */
    bool names_field; /* it adds a field, or gives one another name */
    bool
        refuses; /* it may refuse an element that the spec allows; true unless it is shown that not */
    bool refuses_values; /* it may refuse an element for a value, not only for its shape */
    bool drops;          /* it may leave elements out */
    enum cw_op_effect effect;
    struct cw_field_set
        effect_on;    /* the fields that the effect is on; what is else read or written is OTHER */
    bool by_last_dim; /* EACH: what becomes of a value depends on its place in the last dimension */
    bool keeps_zero;  /* EACH: values whose bits are all 0 become such values */
    int axis;         /* MIRROR: 0 or 1 */
    /* CROP: by field and axis, how much larger the image is than the result; less than 0: zeros are
     * put around it; CW_GAP_UNKNOWN: not known. The effect is on none of the fields behind these. */
    int64_t gap[CW_GAP_FIELDS][2];
    /* The result for a batch is the batch of the results: it may run on all elements of a batch at
     * once. Only of operators that draw nothing and refuse nothing. */
    bool by_batch;
};

/* Facts of a fieldwise operator that reads and writes these fields and has one effect on all. */
void cw_facts_of_fields(enum cw_op_effect effect, const size_t *fields, size_t n,
                        struct cw_op_facts *ret_facts);
/* Facts of an operator that makes `added` fields of one, which come behind the others; keeps: it stays where it
 * is. It may refuse an element for what the field holds. */
void cw_facts_of_unpacking(const struct cw_spec *in, size_t field, bool keeps, size_t added,
                           struct cw_op_facts *ret_facts);
/* Facts of an operator that neither reads nor changes elements (burn, sleep). */
void cw_facts_of_nothing(struct cw_op_facts *ret_facts);
/* Whether it is known that elements of these fields are images with pixels. */
bool cw_facts_are_images(const struct cw_spec *in, const size_t *fields, size_t n);

#endif
