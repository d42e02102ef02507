/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator has to provide (docs/adding-an-operator.md). An operator is one file with one
 * descriptor, one line in op_list.h, one line in CMakeLists.txt, and one file of cases in
 * tests/ops.
 *
 * Kinds of operators:
 *   source   says how many elements there are, and reads element p
 *   index    maps positions: it has a count, and says which upstream position position p is
 *   element  changes one element, depending only on it and on its random stream
 *   group    makes one element of several: batch. Those that work inside an item see the rows of one
 *            item in order, and make any number of elements: pack (docs/decisions/0005-inside-items.md)
 *
 * All functions here may be called by several threads at once; state is immutable after open. Scratch
 * state (handles of decoders) belongs to one thread. An operator must give the same bytes on every CPU. */
#ifndef CW_OPS_OP_H
#define CW_OPS_OP_H

#include <stdbool.h>
#include "base/arena.h"
#include "base/rng.h"
#include "base/stop.h"
#include "conf/opt.h"
#include "data/element.h"
#include "data/pad.h"
#include "ops/loose_rows.h"
#include "ops/motion.h"
#include "ops/op_facts.h"
#include "ops/op_names.h"
#include "ops/op_reads.h"
#include "ops/strip.h"

struct cw_ahead;
struct cw_blocks;

enum cw_op_kind { CW_OP_SOURCE, CW_OP_INDEX, CW_OP_ELEMENT, CW_OP_GROUP };

enum cw_op_traits {
    /* it draws from the element's random stream, or permutes by seed and epoch (see `draws`) */
    CW_OP_RANDOM = 1u << 0,
    CW_OP_POINTWISE = 1u << 1, /* it computes each value by itself */
    CW_OP_GEOMETRIC = 1u << 2, /* it moves pixels */
    CW_OP_CROP = 1u << 3,
    CW_OP_SHRINK = 1u << 4, /* its output usually has fewer bytes than its input */
    CW_OP_GROW = 1u << 5,
    CW_OP_CAST = 1u << 6,
    CW_OP_OPAQUE = 1u << 7, /* nothing may be assumed of it: it is never reordered */
    /* the number of elements depends on data: the pipeline is sparse from here on */
    CW_OP_CHANGES_COUNT = 1u << 8,
    /* it works on one field at a time; the option `fields` chooses which */
    CW_OP_FIELDWISE = 1u << 9,
    /* it is a source that reads files: it has the option `pattern` and a manifest */
    CW_OP_FILES = 1u << 10,
    /* index operator with one input: position p is upstream position a + b * p (take, skip,
     * shard) */
    CW_OP_AFFINE = 1u << 11,
    /* index operator: an element consists of one element of every input, fields side by side
     * (zip) */
    CW_OP_MERGE = 1u << 12,
    CW_OP_CACHE = 1u << 13, /* it is never called; elements are cached here (cache) */
    CW_OP_MARK = 1u << 14,  /* it is never called; elements may be cached here (mark) */
    /* it is a source of paths; the files are compared with their stamps when they are read
     * (files) */
    CW_OP_PATHS = 1u << 15,
    /* element operator that reads files: what it waits for is the source (read_file) */
    CW_OP_READS = 1u << 16,
    /* index operator with one input that gives it in another order, every element once (shuffle):
     * behind a filter it may stand before it instead */
    CW_OP_PERMUTES = 1u << 17,
    /* index operator with one input that may give an element several times, each of them with random
     * numbers of its own: its map writes `each` (repeat_each, sample) */
    CW_OP_AGAIN = 1u << 18,
    /* index operator with one input that adds an i64 field, the last: the element's position (enumerate) */
    CW_OP_POSITION = 1u << 19,
    /* index operator that gives elements in the order in which they come in, those of several inputs one input
     * after the other, in each epoch the same (take, concatenate): blocks stay together */
    CW_OP_IN_ORDER = 1u << 20
};

struct cw_rect {
    int64_t y, x, h, w;
};

/* Fields by type (bits 1 << dtype) and rank. */
struct cw_op_takes {
    uint32_t dtypes;
    int rank_min, rank_max;
};

/* What an element operator or a source sees of the engine. Each thread has one for each node; it is
 * valid during the call. */
struct cw_op_ctx {
    struct cw_arena *arena; /* memory that is valid until the element is done */
    /* Set when nobody needs the element any more (NULL: never). An operator that takes long checks
     * it now and then, and fails with CANCELLED. */
    const struct cw_stop *stop;
    void *scratch; /* what scratch_new has made, for functions that are not handed it; or NULL */
    /* CPU time that other processes have used for the call, in ns, which an operator adds here. */
    int64_t *elsewhere_ns;
    struct cw_rng rng;        /* the random stream of this operator for this element */
    const struct cw_spec *in; /* spec of the elements that come in; NULL for a source */
    const struct cw_spec *out;
    /* Indices of the fields that `fields` (or the default) chose, in ascending order. */
    const size_t *fields;
    size_t fields_n;
    size_t field; /* the index of the field that apply_field works on */
    /* Where the finished field of this element is to be written; NULL: anywhere. */
    void *slot;
    size_t slot_bytes;
    /* Set for an operator with makes_parts if only a part of the image that it makes is needed: says
     * which, of an image of h x w (see `want` and `region` below). */
    int (*next_want)(const struct cw_op_ctx *ctx, int64_t h, int64_t w, struct cw_rect *ret_rect,
                     struct cw_err *err);
    const void *next_want_arg;
    /* Used with next_want: a cache would keep the whole image. The operator makes the whole image
     * if it has the whole input, and all of it is sound. If only the input of the part is sound, it makes the part, and
     * sets full_h even if the part is as large as the whole: no cache keeps such an image. So the
     * same elements are bad with a cache and without one. */
    bool prefers_whole;
    /* For an operator with makes_planes: the image that it makes is wanted with channels first. */
    bool planes;
    /* Of an operator with `moves`: how places of this element move (NULL: they stay), and whether the
     * field is a mask, whose values must not be mixed; what lies outside of it is 0. */
    const struct cw_motion *motion;
    bool is_mask;
};
/* Returns memory that is valid until the element is done, or NULL with NOMEM set in err. */
void *cw_op_scratch(const struct cw_op_ctx *ctx, size_t bytes, struct cw_err *err);
/* For fieldwise operators. The caller has set dtype, rank and dims of *out; this sets bytes and
 * data (in the batch's slot if this is the last operator of the field and the size is right,
 * otherwise in the arena). */
int cw_op_output(const struct cw_op_ctx *ctx, struct cw_view *out, struct cw_err *err);
/* Whether `at` lies in the batch's slot: nobody reads it before the batch is sent. */
bool cw_op_is_delivered(const struct cw_op_ctx *ctx, const void *at);

/* A position that an index operator is asked for, and what the answer depends on besides its
 * options. */
struct cw_at {
    uint64_t seed, epoch, tag;
    uint64_t rep; /* operators that repeat write it */
    /* Which of several times an element is given; 0: the first, or only one. Operators with AGAIN write it.
     * It is part of the element's random streams like rep, but of no order that shuffles before the
     * operator give. */
    uint64_t each;
    const int64_t *in_n; /* numbers of elements of the inputs */
    int64_t n;           /* number of elements of this operator */
};

struct cw_index_parts;
struct cw_op_survey;
struct cw_op_open {
    /* What `manifest` returned on the worker that prepared the job; NULL: the source finds it out
     * itself. */
    const struct cw_value *manifest;
    struct cw_spec *out;
    /* Set when nobody needs the source any more, also later, while it is in use; NULL: never. */
    const struct cw_stop *stop;
    enum cw_identity identity; /* for sources of files: how the job tells one file from another */
    /* For complete: the fields that something behind the source may read; NULL: all. A source whose
     * options do not say which fields it gives may leave the others out. */
    const struct cw_op_names *wanted;
    /* Who makes parts of the index together with this process (ops/source/index_parts.h), and what they
     * must know: the operator's name and options; NULL: nobody. */
    struct cw_index_parts *index_parts;
    const char *op;
    const struct cw_value *options;
    /* The source is opened only to make the indices of the manifest's files, and to be asked for its
     * manifest then. The numbers of records there are not known yet. */
    bool only_index;
    /* For an operator with surveyed_field: what the survey has found out (ops/index/fates.h). */
    const struct cw_op_survey *survey;
    /* For an operator with by_blocks, without a manifest: the blocks of what comes in, which it may take. */
    struct cw_blocks *blocks;
};

/* The first elements that come to an operator, at least one, where a job is prepared. */
struct cw_op_probe {
    const struct cw_spec *in;
    const struct cw_element *elements;
    size_t n;
    const struct cw_stop *stop; /* set when nobody needs the job any more */
};

/* The rows of an item, in order, for a group operator that works inside items. What it makes may have
 * views of the rows' memory, and of memory of ctx->arena: both are valid until the item is done. */
struct cw_op_rows {
    size_t n;
    const struct cw_view *const *row; /* n rows, each with the fields of the spec that comes in */
    const uint64_t *id;               /* their ids */
    void *state;                      /* what `open` of the operator has made; or NULL */
    /* Makes an element with the fields of the operator's output, which are copied. Its id is that of the
     * row `first`, and how many elements this row has begun before. */
    int (*make)(const struct cw_op_rows *rows, size_t first, const struct cw_view *fields,
                struct cw_err *err);
    /* Makes an element of n rows with the spec that comes in, stacked along a new first dimension and
     * filled up as group_pad says. length: what is filled up to the largest of the rows gets at least
     * this size. */
    int (*join)(const struct cw_op_rows *rows, size_t first, const struct cw_view *const *row,
                size_t n, int64_t length, struct cw_err *err);
    void *arg; /* of the engine */
};

/* Where a field of many elements is written: that of element i at data + i * bytes. */
struct cw_column {
    void *data;
    size_t bytes;
};

/* Adds a node that stands in the place of another one; returns its options, an empty object. */
#define CW_STANDS_FOR_MAX 4
typedef struct cw_value *cw_op_part_fn(void *arg, const char *op);

struct cw_op {
    const char *name;
    uint32_t version;    /* increased when the output for equal input changes */
    const char *summary; /* one line of help */
    const char *doc;     /* paragraphs for docs/operators.md */
    enum cw_op_kind kind;
    unsigned traits;
    /* numbers of inputs; 0, 0 for a source, 1, 1 for most operators */
    size_t inputs_min, inputs_max;
    const struct cw_opt *options; /* ends with a NULL name; NULL: no options */
    size_t options_bytes;
    bool foreign; /* it is not part of cachew (ops/foreign.h) */

    /* Checks options against each other. May be NULL. */
    int (*check)(const void *opts, struct cw_err *err);
    /* For sources whose spec may stand in their files only, and for operators with numbers that may
     * stand in a file. Whether the options say all that infer needs; NULL: they always do. */
    bool (*is_complete)(const void *opts);
    /* With is_complete: looks into the (first) file (cw_file_first in ops/source/file_set.h), and adds to
     * `said`, the node's options as they are written, what it says. It is called where a job is
     * prepared, or where a pipeline is checked beside its files; from then on the job has these
     * options (graph/complete.h). Of `how` only manifest, stop, identity and wanted are set. */
    int (*complete)(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err);
    const char
        *completed; /* with is_complete: the options that complete it, as a message names them */
    /* With is_complete, for an element operator instead of `complete`: it is shown the first elements that
     * come in, where a job is prepared, and adds to `said` what is missing; it may also refuse what it
     * finds out. It is called too if nothing is missing. */
    int (*probe)(const void *opts, const struct cw_op_probe *probe, struct cw_value *said,
                 struct cw_err *err);
    /* Derives the spec of the output from the specs of the inputs, without touching data. Fieldwise
     * operators provide infer_field instead, and `accepts` for the default choice of fields. */
    int (*infer)(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err);
    bool (*accepts)(const struct cw_field *field);
    const struct cw_op_takes *takes; /* instead of accepts; both NULL: all fields */
    int (*infer_field)(const void *opts, const struct cw_field *in, struct cw_field *ret_field,
                       struct cw_err *err);
    /* For fieldwise operators: the new name of the field if one field was chosen and no other has
     * that name; NULL: the name is kept. */
    const char *out_name;

    /* Make and free the shared state. open may be NULL. In sources open finds and checks the files,
     * and errors name them. */
    int (*open)(const void *opts, const struct cw_op_open *how, void **ret_state,
                struct cw_err *err);
    void (*close)(void *state);

    /* For sources and index operators: returns the number of elements. */
    int (*count)(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cw_err *err);
    /* For index operators: returns the upstream position in input 0 (an operator with several
     * inputs that is not MERGE sets *ret_input). */
    int64_t (*map)(const void *opts, void *state, struct cw_at *at, int64_t pos, size_t *ret_input);
    /* For index operators with one input, optional: maps n positions in place. Only for operators
     * that do not change rep. */
    void (*map_run)(const void *opts, void *state, const struct cw_at *at, int64_t *pos, size_t n);
    /* For sources: reads one element. */
    int (*read)(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                struct cw_element *ret_element, struct cw_err *err);
    /* For sources, optional: reads many elements at once, each field into its column. Only if all fields
     * have fixed sizes. If it returns < 0, for any reason, they are read one by one, and `read` says what
     * is wrong. */
    int (*read_rows)(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns);
    /* For sources, optional: the same where fields are strings, or numbers of which the first dimension, and no
     * other, is unknown; other fields have fixed sizes. */
    int (*read_loose)(const void *opts, void *state, const struct cw_loose_rows *rows);
    /* For sources of files: returns paths, sizes, what else identifies the files, and numbers of
     * records. For element operators that read a file of their own when they are opened (a model): the
     * same of that file, for which all workers then look (ops/text/model_file.h). */
    void (*manifest)(const void *opts, void *state, struct cw_value *ret_value);
    /* Names an element for messages: "/data/a.tfrecord record 17". */
    void (*describe)(const void *opts, void *state, int64_t pos, struct cw_str *out);
    /* For sources of files, optional: the file of an element, whose path belongs to the state, and
     * its number in the file, -1 if the file is one element. */
    const char *(*locate)(const void *opts, void *state, int64_t pos, int64_t *ret_record);
    /* For sources that number names which they find, optional: calls fn with each number and its name, which is
     * not terminated. */
    void (*labels)(const void *opts, void *state,
                   void (*fn)(void *arg, int64_t number, const char *name, size_t n), void *arg);
    /* For sources of files, optional: says where the bytes of an element lie, by cw_source_ahead
     * (format/source_file.h), so that they are read before `read` needs them; a source of paths says it of
     * the files that the paths name. It is called by a thread that may wait, for an index for example; what
     * is wrong is left for `read` to tell. ahead NULL: only tells whether any of the files can be read
     * ahead now. */
    bool (*ahead)(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead);
    /* For sources of files, optional: estimates by the first file, which need not be there, what reading elements out
     * of order costs; UNSUPPORTED: no more than reading them. It is for `cachew check`: nothing is decided by it. */
    int (*reads)(const void *opts, struct cw_op_reads *ret_reads, struct cw_err *err);
    /* For sources, optional: appends what its options do not show, a sentence for `cachew check`; or nothing. */
    void (*remark)(const void *opts, struct cw_str *out);
    /* For sources, optional: adds the nodes for which a node with these options stands, each of which reads the one
     * before it; none: it stands for itself. They take its place where a pipeline comes in (graph/expand.h). */
    int (*stands_for)(const void *opts, cw_op_part_fn *add, void *arg, struct cw_err *err);

    /* ---- for element operators ---- */
    /* scratch memory of one thread; may be NULL */
    void *(*scratch_new)(const void *opts, void *state);
    void (*scratch_free)(void *scratch);
    /* For fieldwise operators. *out equals *in on entry; the function gives it new dims and data
     * (cw_op_output), or leaves it. */
    int (*apply_field)(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                       const struct cw_view *in, struct cw_view *out, struct cw_err *err);
    /* Changes the whole element in place. Returns 0 to keep it, 1 to leave it out (CHANGES_COUNT
     * only), < 0 for an error. */
    int (*apply)(const struct cw_op_ctx *ctx, const void *opts, void *state, void *scratch,
                 struct cw_element *element, struct cw_err *err);
    /* Optional: says what the operator does to elements of this spec (op_facts.h). `fields` are those
     * that a fieldwise operator works on. */
    void (*facts)(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                  struct cw_op_facts *ret_facts);
    /* Optional, for element and group operators that are not fieldwise: adds to `names` which fields
     * these options read, and whether others are left. Returns false if it may read any. */
    bool (*names)(const void *opts, struct cw_op_names *names);
    /* Optional, for RANDOM operators of which not all draw: whether one with these options does.
     * cw_op_draws() asks it. */
    bool (*draws)(const void *opts);
    /* Optional, for an element operator with CHANGES_COUNT, or one that takes_apart: whether these options ask
     * for a survey (graph/surveyable.h), also if nothing needs it. */
    bool (*asks_survey)(const void *opts);
    /* Optional, for an index operator with one input: the field whose values it must know of all elements that
     * come in before it is opened, by a survey; NULL: none. Its manifest has the survey's note. */
    const char *(*surveyed_field)(const void *opts);
    /* Optional, for an index operator with one input: whether it must know in which blocks (ops/blocks.h) lies what
     * comes in. Without it nothing is opened, and it has no manifest. */
    bool (*by_blocks)(const void *opts);
    /* Optional, with `manifest`: whether these options name a file; if not, there is no manifest. */
    bool (*names_file)(const void *opts);
    /* For sources, optional: adds where blocks begin, of elements that are read together. */
    int (*blocks)(const void *opts, void *state, struct cw_blocks *blocks, struct cw_err *err);
    /* Optional: whether an operator with these options may give another result for the same element, so that
     * nothing behind it is cached. */
    bool (*varies)(const void *opts);
    /* For an operator that takes something from the spec that comes in and is not told it (a default
     * that depends on a dtype, a field that has no name): writes it down in `pinned`, its options, so that it
     * does the same to these fields wherever it stands. Returns false if that cannot be said. */
    bool (*pin)(const void *opts, const struct cw_spec *in, const size_t *fields, size_t fields_n,
                struct cw_value *pinned);
    /* For a crop: says which part of an h x w image it will use of this element (it draws the same
     * random numbers as apply_field). */
    int (*want)(const struct cw_op_ctx *ctx, const void *opts, int64_t h, int64_t w,
                struct cw_rect *ret_rect, struct cw_err *err);
    /* For an operator that may stand between a decoder and a crop, and changes places of values:
     * *rect is a part of its result for an h x w image, and becomes the part of the image that this
     * needs. It works on parts (data/element.h): its result is a part of what the whole would give.
     * Operators that change each value by itself need none (CW_EFFECT_EACH in op_facts.h). */
    int (*region)(const struct cw_op_ctx *ctx, const void *opts, void *scratch, int64_t h,
                  int64_t w, struct cw_rect *rect, struct cw_err *err);
    /* With region: *h and *w, the size of an image, become that of the result. Returns false if the
     * operator refuses such an image. NULL: it stays. */
    bool (*region_size)(const void *opts, int64_t *h, int64_t *w);
    /* For a fieldwise operator on strings: it works on lists of them, too, string by string. */
    bool takes_lists;
    /* For a fieldwise operator: its arithmetic may make NaN of f32, as of infinities. NaNs of what it makes get
     * one pattern of bits (kernels/one_nan.h). */
    bool makes_nan;
    bool makes_parts; /* it makes only what cw_op_ctx.next_want says */
    /* For a fieldwise operator, optional: whether its result for such a field is an image [height, width,
     * channels] that it can write as [channels, height, width]. It does so where cw_op_ctx.planes is
     * set; the operator that would have put channels first is not called then. */
    bool (*makes_planes)(const void *opts, const struct cw_field *in);
    /* For a fieldwise operator, optional: whether it does nothing but to put channels first. */
    bool (*puts_channels_first)(const void *opts);
    /* Optional, for fieldwise operators (graph/fold.h): whether it leaves such a field as it is, bit for bit. */
    bool (*has_no_effect)(const void *opts, const struct cw_field *in);
    /* Optional, for fieldwise operators (graph/fold.h): whether its result for what another operator, `before`,
     * makes of a field `from` is its result for that field itself. `in` is what the other makes of it. It is then
     * called with the field itself, and finds what it was to get in cw_op_ctx.in. */
    bool (*takes_over)(const void *opts, const struct cw_field *in, const struct cw_op *before,
                       const void *before_opts, const struct cw_field *from);
    /* Optional, for fieldwise operators that move the pixels of images: what moves with them. */
    const struct cw_op_moves *moves;
    /* Optional, for fieldwise operators on images: the same work by rows. */
    const struct cw_op_strips *strips;

    /* For group operators that make one element of n consecutive ones: returns n (batch); drop_remainder
     * says what happens to the last ones. */
    int64_t (*group_size)(const void *opts);
    bool (*group_drops)(const void *opts);
    /* Optional, with group_size: how far behind one group's first element that of the next is; NULL:
     * group_size (window). */
    int64_t (*group_shift)(const void *opts);
    /* Optional, with group_size: whether behind an operator that changes the count the groups are made
     * inside items; NULL: never, so the client cuts them there. Before one they are positions. */
    bool (*group_within)(const void *opts);
    /* For group operators that always work inside items, which have CHANGES_COUNT: makes elements of an
     * item's rows. Whatever is wrong with a row, check_row has to find. */
    int (*inside)(const struct cw_op_ctx *ctx, const void *opts, const struct cw_op_rows *rows,
                  struct cw_err *err);
    int (*check_row)(const void *opts, const struct cw_spec *in, const struct cw_view *row,
                     struct cw_err *err); /* optional: a row that is refused is bad */
    /* For operators inside items, optional: how many rows an item has at least; 0: any number. It shows
     * in the data, so it is an option that is part of the fingerprint. */
    int64_t (*span)(const void *opts);
    bool joins;         /* with `inside`: what it makes are batches of rows */
    bool takes_batches; /* it works on batches of strings, and of rows of different shapes */
    bool takes_apart;   /* with `inside`: what it makes of a row is a function of that row alone */
    /* Optional, for group operators whose rows are filled up: says how field f is; false: it is not.
     * Fields keep their places in the output; those of lengths and masks stand behind them. */
    bool (*group_pad)(const void *opts, const struct cw_spec *in, size_t f, struct cw_pad *ret_pad);
};

/* ---- the registry (op_list.h) ---- */
const struct cw_op *cw_op_find(const char *name); /* NULL: there is no such operator */
/* The operator of a node with these options, which say exactly which one it is if the pipeline was prepared
 * and the operator is not part of cachew (ops/foreign.h). */
const struct cw_op *cw_op_find_for(const char *name, const struct cw_value *options);
const struct cw_op *const *cw_op_all(size_t *ret_n); /* those of cachew, sorted by name */
/* Whether a fieldwise operator works on such a field where a pipeline does not name any. */
bool cw_op_accepts(const struct cw_op *op, const struct cw_field *field);
/* Returns what another library's name stands for, else the most similar name, for "did you mean", or
 * NULL. */
const char *cw_op_nearest(const char *name);
/* Whether an operator with these options is random. */
bool cw_op_draws(const struct cw_op *op, const void *opts);
/* Whether a group operator with these options works inside items; sparse: the number of elements that
 * come in depends on data. */
bool cw_op_is_inside(const struct cw_op *op, const void *opts, bool sparse);
/* Whether an operator with these options says something in the manifest of a job. */
bool cw_op_has_manifest(const struct cw_op *op, const void *opts);
/* How far apart the groups of a group operator with group_size begin. */
int64_t cw_op_group_shift(const struct cw_op *op, const void *opts);
const char *cw_op_kind_name(enum cw_op_kind kind);

#endif
