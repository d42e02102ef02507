/* SPDX-License-Identifier: Apache-2.0 */
/* The operator contract (docs/adding-an-operator.md). One file an operator, with one descriptor;
 * one line in op_list.h; one in CMakeLists.txt; one case file under tests/ops.
 *
 * Kinds:
 *   source   how many elements there are, and element p of them
 *   index    a pure map on positions: count, and which upstream position position p is
 *   element  a pure function of one element and of its random stream
 *   group    several elements to one: batch
 *
 * Everything here may be called by several threads at once; state is immutable after open.
 * Scratch state (decoder handles) is per thread. An operator must give the same bytes on every
 * CPU. */
#ifndef CW_OPS_OP_H
#define CW_OPS_OP_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/rng.h"
#include "base/stop.h"
#include "conf/opt.h"
#include "data/element.h"

enum cw_op_kind { CW_OP_SOURCE, CW_OP_INDEX, CW_OP_ELEMENT, CW_OP_GROUP };

enum cw_op_traits {
    /* draws from the element's stream, or permutes by seed and epoch */
    CW_OP_RANDOM = 1u << 0,
    CW_OP_POINTWISE = 1u << 1, /* each value by itself */
    CW_OP_GEOMETRIC = 1u << 2, /* moves pixels */
    CW_OP_CROP = 1u << 3,
    CW_OP_SHRINK = 1u << 4, /* usually fewer bytes out than in */
    CW_OP_GROW = 1u << 5,
    CW_OP_CAST = 1u << 6,
    CW_OP_OPAQUE = 1u << 7,        /* nothing may be assumed: no reordering */
    CW_OP_CHANGES_COUNT = 1u << 8, /* depending on data: the pipeline is sparse from here on */
    CW_OP_FIELDWISE = 1u << 9,     /* works on one field at a time: `fields` picks which */
    CW_OP_FILES = 1u << 10,        /* a source that reads files: has `pattern` and a manifest */
    /* index, one input: position p is upstream position a + b * p (take, skip, shard) */
    CW_OP_AFFINE = 1u << 11,
    /* index: one element of every input, fields side by side (zip) */
    CW_OP_MERGE = 1u << 12,
    CW_OP_CACHE = 1u << 13, /* never called; elements are cached here (cache) */
    CW_OP_MARK = 1u << 14,  /* never called; elements may be cached here (mark) */
    /* a source of paths whose files are compared when they are read (files) */
    CW_OP_PATHS = 1u << 15
};

struct cw_rect {
    int64_t y, x, h, w;
};

/* What an element operator or a source sees of the engine: one per thread and node, valid for
 * the call. */
struct cw_op_ctx {
    struct cw_arena *arena; /* memory until the element is done */
    /* set when nobody wants the element any more (NULL = never): an operator that takes long checks
     * it now and then, and fails with CANCELLED */
    const struct cw_stop *stop;
    struct cw_rng rng;        /* this element's stream of this operator */
    const struct cw_spec *in; /* spec of the elements that come in (NULL for a source) */
    const struct cw_spec *out;
    /* indices that `fields` (or the default) picked, in ascending order */
    const size_t *fields;
    size_t fields_n;
    /* where the finished field of this element belongs, NULL = anywhere */
    void *slot;
    size_t slot_bytes;
    /* Set for an operator whose only consumer needs just a part of the image it makes (op.h
     * `want`). */
    int (*next_want)(const struct cw_op_ctx *ctx, int64_t h, int64_t w, struct cw_rect *ret_rect,
                     struct cw_err *err);
    const void *next_want_arg;
    /* Beside next_want: a cache would keep the whole image. The operator makes it if all of its
     * input is sound. If only what the part needs is sound, it makes the part, with full_h set
     * even if that is as large as the whole: nobody keeps such an image. So the same elements
     * are bad with a cache and without one. */
    bool prefers_whole;
};
/* Memory until the element is done; sets NOMEM in err. */
void *cw_op_scratch(const struct cw_op_ctx *ctx, size_t bytes, struct cw_err *err);
/* For a fieldwise operator: dtype, rank, dims of *out are set by the caller; gives data (the
 * batch's slot when this is the last operator on the field and the size is right, else arena)
 * and bytes. */
int cw_op_output(const struct cw_op_ctx *ctx, struct cw_view *out, struct cw_err *err);

/* The position asked of an index operator and what it depends on besides its options. */
struct cw_at {
    uint64_t seed, epoch, tag;
    uint64_t rep;        /* an operator that repeats writes it */
    const int64_t *in_n; /* element counts of the inputs */
    int64_t n;           /* own count */
};

struct cw_op_open {
    /* what `manifest` gave on the machine that prepared the job; NULL = find out yourself */
    const struct cw_value *manifest;
    struct cw_spec *out;
    /* set when nobody wants the source any more, also while it is in use later; NULL = never */
    const struct cw_stop *stop;
    enum cw_identity identity; /* sources of files: how the job tells one file from another */
};

struct cw_op {
    const char *name;
    uint32_t version;    /* raised when the output for equal input changes */
    const char *summary; /* one line */
    const char *doc;     /* paragraphs for docs/operators.md */
    enum cw_op_kind kind;
    unsigned traits;
    size_t inputs_min, inputs_max; /* source: 0, 0; most: 1, 1 */
    const struct cw_opt *options;  /* ended by a NULL name; NULL = none */
    size_t options_bytes;

    /* Checks options among each other. May be NULL. */
    int (*check)(const void *opts, struct cw_err *err);
    /* Spec of the output from the specs of the inputs; no data are touched. Fieldwise operators
     * give infer_field instead, and `accepts` for the default choice of fields. */
    int (*infer)(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err);
    bool (*accepts)(const struct cw_field *field);
    int (*infer_field)(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err);
    /* fieldwise: the field's new name when one field was picked and nobody has that name; NULL =
     * kept */
    const char *out_name;

    /* Shared state. open may be NULL. For sources it finds and checks the files (errors name
     * them). */
    int (*open)(const void *opts, const struct cw_op_open *how, void **ret_state,
                struct cw_err *err);
    void (*close)(void *state);

    /* source and index */
    int (*count)(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err);
    /* index: upstream position in input 0 (or, for an operator with several inputs that is not
     * MERGE, sets *ret_input). */
    int64_t (*map)(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input);
    /* index with one input, optional: the same for n positions at once, in place. Only for
     * operators that leave rep alone. */
    void (*map_run)(const void *opts, void *state, const struct cw_at *at, int64_t *pos, size_t n);
    /* source */
    int (*read)(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                struct cw_element *ret_element, struct cw_err *err);
    /* source, optional: n consecutive elements of one fixed-size field straight into dst (fast
     * path of numbers) */
    int (*read_run)(const void *opts, void *state, int64_t pos, int64_t step, int64_t n, void *dst);
    /* files: paths, sizes, what else tells them, record counts */
    void (*manifest)(const void *opts, void *state, struct cw_value *ret_value);
    /* "/data/a.tfrecord record 17" */
    void (*describe)(const void *opts, void *state, int64_t pos, struct cw_str *out);

    /* element */
    void *(*scratch_new)(const void *opts, void *state); /* per thread; may be NULL */
    void (*scratch_free)(void *scratch);
    /* fieldwise: *out is *in on entry; give it new dims and data (cw_op_output), or leave it. */
    int (*apply_field)(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err);
    /* whole element, changed in place. Returns 0 = keep, 1 = leave out (CHANGES_COUNT only), < 0
     * error. */
    int (*apply)(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err);
    /* A crop: which part of an h x w image it will use of this element (same draws as
     * apply_field). */
    int (*want)(const struct cw_op_ctx *ctx, const void *opts, int64_t h, int64_t w,
                struct cw_rect *ret_rect, struct cw_err *err);

    /* group: how many elements make one (batch); drop_remainder says what happens to the last
     * few. */
    int64_t (*group_size)(const void *opts);
    bool (*group_drops)(const void *opts);
};

/* Registry (op_list.h). */
const struct cw_op *cw_op_find(const char *name);    /* NULL if none */
const struct cw_op *const *cw_op_all(size_t *ret_n); /* sorted by name */
const char *cw_op_nearest(const char *name);         /* for "did you mean"; NULL */
const char *cw_op_kind_name(enum cw_op_kind kind);

#endif
