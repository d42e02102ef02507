/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of one's own: what a shared object for `cachew-worker --plugin FILE` needs, and all that it
 * needs (docs/user-operators.md). It is written in C11 or C++ against this header alone, links no
 * library of cachew, and reaches the engine through a table of functions that it is handed when it is
 * loaded.
 *
 *     #include <cachew/op.h>
 *     static const struct cachew_op_engine *engine;
 *     ...
 *     CACHEW_OP_LIBRARY(loader)
 *     {
 *         engine = loader;
 *         return &library;
 *     }
 *
 * An operator is a pure function. Its result may depend on its options, on what comes in and, if it is
 * random, on the random numbers that the engine gives it, but not on time, thread, worker, or what it
 * computed before. All its functions may be called by several threads at once; its state is not changed
 * once it is open, and scratch belongs to one thread. It must not let exceptions out, must not end
 * the process, and must not start threads that call the engine.
 *
 * Structs begin with their size, so that they can grow: whoever makes one sets struct_size to its sizeof.
 * Members that a shorter struct lacks count as 0. */
#ifndef CACHEW_OP_H
#define CACHEW_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A file made for another number is refused. It changes only when files must be built anew. */
#define CACHEW_OP_ABI 1
#define CACHEW_OP_RANK_MAX 8

/* Types of values; the numbers are those of enum cachew_dtype (cachew/tensor.h). A STR is one string of
 * bytes, which may lie at any address; numbers are aligned for their type. */
enum cachew_op_dtype {
    CACHEW_OP_U8,
    CACHEW_OP_I8,
    CACHEW_OP_U16,
    CACHEW_OP_I16,
    CACHEW_OP_U32,
    CACHEW_OP_I32,
    CACHEW_OP_U64,
    CACHEW_OP_I64,
    CACHEW_OP_F16,
    CACHEW_OP_F32,
    CACHEW_OP_F64,
    CACHEW_OP_BOOL,
    CACHEW_OP_STR
};

/* Codes that a function returns when it fails; it has set a message with engine->fail. */
enum cachew_op_code {
    CACHEW_OP_OK = 0,
    CACHEW_OP_INVALID = -1,     /* an option, or what comes in, is wrong */
    CACHEW_OP_NOT_FOUND = -2,   /* there is no such file */
    CACHEW_OP_NOMEM = -5,       /* no memory */
    CACHEW_OP_LIMIT = -6,       /* something is too large */
    CACHEW_OP_IO = -7,          /* reading failed */
    CACHEW_OP_CORRUPT = -8,     /* the element is damaged: with bad_elements=skip it is left out */
    CACHEW_OP_CANCELLED = -10,  /* engine->is_unwanted has said so */
    CACHEW_OP_UNSUPPORTED = -15 /* the element is of a kind that the operator does not know */
};

/* Of the engine: only pointers to them are handed on. */
struct cachew_op_error;
struct cachew_op_spec;

/* What is known of a field before there are any data. */
struct cachew_op_field {
    size_t struct_size;
    const char *name;
    int dtype; /* enum cachew_op_dtype */
    int rank;  /* number of dimensions, 0 to CACHEW_OP_RANK_MAX; of a STR 0 */
    int64_t dims[CACHEW_OP_RANK_MAX]; /* -1: it depends on the data */
};

/* The values of a field of one element, contiguous and row-major. What comes in is never written to. */
struct cachew_op_view {
    size_t struct_size;
    void *data;
    size_t bytes;
    int dtype;
    int rank;
    int64_t dims[CACHEW_OP_RANK_MAX];
};

/* An element: the views of its fields, in the order of the spec. */
struct cachew_op_element {
    size_t struct_size;
    uint64_t id; /* its position in the source; 0 in `check_row`, which has none to give */
    size_t n;
    struct cachew_op_view *const *fields;
};

/* One call of an operator that works on data. It is valid during the call, on its thread. */
struct cachew_op_call {
    size_t struct_size;
    const void *opts;
    void *state;                     /* what `open` has made */
    void *scratch;                   /* what `scratch_new` has made, one for each thread */
    const struct cachew_op_spec *in; /* NULL for a source */
    const struct cachew_op_spec *out;
    size_t field;       /* apply_field: the number of the field in the spec that comes in */
    const void *engine; /* of the engine */
};

/* The rows of an item, in order, for a group operator. */
struct cachew_op_rows {
    size_t struct_size;
    size_t n;
    const struct cachew_op_element *const *row;
    const void *engine; /* of the engine */
};

/* The functions of the engine. A loaded file may use those that struct_size covers. */
struct cachew_op_engine {
    size_t struct_size;
    uint32_t abi; /* CACHEW_OP_ABI */
    /* Sets the message of an error, as printf does, and returns the code. It says what is wrong with
     * what; the engine adds node, operator, element and file. */
    int (*fail)(struct cachew_op_error *error, int code, const char *format, ...);

    /* What is known of elements: the number of fields; field i (false: there is none); the number of the
     * field of a name, or -1; adds a field to a spec that is being made. */
    size_t (*spec_fields)(const struct cachew_op_spec *spec);
    int (*spec_field)(const struct cachew_op_spec *spec, size_t i,
                      struct cachew_op_field *ret_field);
    int (*spec_find)(const struct cachew_op_spec *spec, const char *name);
    int (*spec_add)(struct cachew_op_spec *spec, const struct cachew_op_field *field,
                    struct cachew_op_error *error);

    /* Memory that is valid until the element is done, aligned to 64 bytes and not zeroed. NULL: there is
     * none, and the error is set; the operator returns CACHEW_OP_NOMEM. */
    void *(*memory)(const struct cachew_op_call *call, size_t bytes, struct cachew_op_error *error);
    /* The place of a result. The caller has set dtype, rank and dims (of a STR: bytes); this sets bytes and
     * data. It is the place in the batch where that is known, so the result is not copied again. */
    int (*output)(const struct cachew_op_call *call, struct cachew_op_view *view,
                  struct cachew_op_error *error);

    /* Random numbers of this operator for this element (CACHEW_OP_RANDOM). They are a function of seed, epoch,
     * element, operator and the number of the draw, which the operator chooses: 0, 1, 2, ... */
    uint64_t (*random_u64)(const struct cachew_op_call *call, uint32_t draw);
    double (*random_unit)(const struct cachew_op_call *call, uint32_t draw); /* in [0, 1) */
    /* in [0, n), n > 0 */
    uint64_t (*random_below)(const struct cachew_op_call *call, uint32_t draw, uint64_t n);

    /* Whether nobody wants the result any more. What takes longer than a second for an element asks now
     * and then, and returns CACHEW_OP_CANCELLED. */
    int (*is_unwanted)(const struct cachew_op_call *call);

    /* For group operators. Makes an element with the fields of the operator's output; its views may be those of
     * rows. `first` is the row by which it is called: it gets its id. */
    int (*make)(const struct cachew_op_call *call, const struct cachew_op_rows *rows, size_t first,
                const struct cachew_op_element *element, struct cachew_op_error *error);
};

/* ---- options ---- */

enum cachew_op_option_type {
    CACHEW_OP_OPT_BOOL,     /* bool (C++: bool) */
    CACHEW_OP_OPT_I64,      /* int64_t */
    CACHEW_OP_OPT_F64,      /* double */
    CACHEW_OP_OPT_STR,      /* const char *; NULL if it is absent */
    CACHEW_OP_OPT_ENUM,     /* int: index into `words` */
    CACHEW_OP_OPT_I64_LIST, /* struct cachew_op_i64_list */
    CACHEW_OP_OPT_F64_LIST, /* struct cachew_op_f64_list */
    CACHEW_OP_OPT_STR_LIST, /* struct cachew_op_str_list */
    CACHEW_OP_OPT_BYTES     /* int64_t; written as a number or as "64MiB" */
};
enum cachew_op_option_flags {
    CACHEW_OP_OPT_REQUIRED = 1,
    CACHEW_OP_OPT_NO_FINGERPRINT = 2 /* it changes speed alone, and no data */
};
struct cachew_op_i64_list {
    const int64_t *v;
    size_t n;
};
struct cachew_op_f64_list {
    const double *v;
    size_t n;
};
struct cachew_op_str_list {
    const char *const *v;
    size_t n;
};
/* A row of the table of options: where in the struct of options a value is put, and what it may be. */
struct cachew_op_option {
    size_t struct_size;
    const char *name;
    const char *help;
    int type; /* enum cachew_op_option_type */
    size_t offset;
    const char *def;          /* default as JSON text; NULL: zero, empty or absent */
    double min, max;          /* range of each number; both 0: any */
    unsigned flags;           /* enum cachew_op_option_flags */
    const char *const *words; /* of an ENUM; ends with NULL */
    size_t len_min, len_max;  /* number of items of a list; both 0: any */
};

/* ---- operators ---- */

enum cachew_op_kind {
    CACHEW_OP_SOURCE,  /* where elements come from: count, read */
    CACHEW_OP_INDEX,   /* a map on positions: count, map */
    CACHEW_OP_ELEMENT, /* a function of one element: apply_field, or apply */
    CACHEW_OP_GROUP    /* the rows of an item to any number of elements: inside */
};

/* What the engine may rely on. Claim only what is true. */
enum cachew_op_traits {
    CACHEW_OP_RANDOM = 1u << 0,  /* it draws random numbers, or map depends on seed or epoch */
    CACHEW_OP_SHRINKS = 1u << 1, /* its output usually has fewer bytes than its input */
    CACHEW_OP_GROWS = 1u << 2,   /* and more */
    CACHEW_OP_DROPS = 1u << 3,   /* apply may leave elements out */
    /* A result may be another one for the same element and random numbers: nothing behind it is cached. */
    CACHEW_OP_VARIES = 1u << 4,
    /* INDEX, with one input: position p is position a + b * p; or each position once, in another order */
    CACHEW_OP_AFFINE = 1u << 5,
    CACHEW_OP_PERMUTES = 1u << 6
};
/* What a fieldwise operator does to the values of a field, by which operators are moved (EACH_VALUE is
 * needed for the others). */
enum cachew_op_facts {
    CACHEW_OP_EACH_VALUE = 1u << 0,    /* each value by itself, whatever its place */
    CACHEW_OP_NEVER_REFUSES = 1u << 1, /* it fails for no element that the spec allows */
    CACHEW_OP_KEEPS_ZERO = 1u << 2,    /* values whose bits are all 0 become such values */
    /* the result for a batch is the batch of the results (not of a RANDOM operator) */
    CACHEW_OP_BY_BATCH = 1u << 3
};

/* What open is told. */
struct cachew_op_open {
    size_t struct_size;
    const void *opts;
    const struct cachew_op_spec *out;
    /* What `manifest` has said on the worker that prepared the job; NULL: this one prepares it, or there is
     * no manifest. */
    const char *manifest;
};
/* A position that an index operator is asked for. */
struct cachew_op_at {
    size_t struct_size;
    uint64_t seed, epoch;
    uint64_t tag; /* the name of the node as a number: operators of one pipeline differ in it */
    uint64_t rep; /* the repetition, where an operator `repeat` stands behind */
    const int64_t *in_n; /* numbers of elements of the inputs */
    size_t inputs_n;
    int64_t n; /* number of elements of this operator */
};

struct cachew_op {
    size_t struct_size;
    const char *name;    /* as pipelines name it: "mylab.whiten", with a dot */
    uint32_t version;    /* increased when the output for equal input changes */
    const char *summary; /* one line of help */
    const char *doc;     /* paragraphs for `cachew ops`; may be NULL */
    int kind;            /* enum cachew_op_kind */
    unsigned traits;     /* enum cachew_op_traits */
    unsigned facts;      /* enum cachew_op_facts */
    /* The table of options, and the size of the struct that it fills. opts_bytes 0: no options */
    const struct cachew_op_option *options;
    size_t options_n;
    size_t opts_bytes;

    /* Checks options against each other. May be NULL. */
    int (*check)(const void *opts, struct cachew_op_error *error);

    /* ELEMENT, fieldwise: which fields are taken where the pipeline names none: those of these types (bits
     * 1 << dtype; 0: all numbers) and ranks (both 0: any). */
    uint32_t takes_dtypes;
    int takes_rank_min, takes_rank_max;
    /* *ret_field equals *in on entry, and its name is kept. NULL: the field stays as it is. */
    int (*infer_field)(const void *opts, const struct cachew_op_field *in,
                       struct cachew_op_field *ret_field, struct cachew_op_error *error);
    /* *out equals *in on entry. */
    int (*apply_field)(const struct cachew_op_call *call, const struct cachew_op_view *in,
                       struct cachew_op_view *out, struct cachew_op_error *error);

    /* All that are not fieldwise: adds the fields of the output to `out`, which has none. in: NULL for a source; of
     * an index operator the spec of all its inputs. NULL (not for a source): fields stay as they are. */
    int (*infer)(const void *opts, const struct cachew_op_spec *in, struct cachew_op_spec *out,
                 struct cachew_op_error *error);
    /* ELEMENT, whole: writes the fields of *out. Those with the name of one that comes in are equal to it on
     * entry; others are empty. Returns 0, or 1 to leave the element out (CACHEW_OP_DROPS). */
    int (*apply)(const struct cachew_op_call *call, const struct cachew_op_element *in,
                 struct cachew_op_element *out, struct cachew_op_error *error);

    /* Make and free the state; may be NULL. Of a source: finds and checks what is there. */
    int (*open)(const struct cachew_op_open *open, void **ret_state, struct cachew_op_error *error);
    void (*close)(void *state);
    /* Make and free what one thread needs; may be NULL. */
    void *(*scratch_new)(const void *opts, void *state);
    void (*scratch_free)(void *scratch);

    /* SOURCE, INDEX: the number of elements. */
    int (*count)(const void *opts, void *state, const int64_t *in_n, size_t inputs_n,
                 int64_t *ret_n, struct cachew_op_error *error);
    /* SOURCE: reads element pos into *out, whose views are empty. Any thread asks for any position in any
     * order. */
    int (*read)(const struct cachew_op_call *call, int64_t pos, struct cachew_op_element *out,
                struct cachew_op_error *error);
    /* SOURCE, optional: a text that says which data there are (files, sizes). All workers get it to open
     * with, and fail if they see others. It belongs to the state. */
    const char *(*manifest)(const void *opts, void *state);
    /* SOURCE, optional: names an element for messages, as snprintf does: "a.bin record 17". */
    void (*describe)(const void *opts, void *state, int64_t pos, char *text, size_t bytes);

    /* INDEX: numbers of inputs (both 0: one), and the upstream position of position pos; of an
     * operator with several inputs *ret_input says in which. */
    size_t inputs_min, inputs_max;
    int64_t (*map)(const struct cachew_op_at *at, const void *opts, void *state, int64_t pos,
                   size_t *ret_input);

    /* GROUP: makes elements of an item's rows with engine->make. Whatever is wrong with a row, check_row has
     * to find (optional: a row that is refused is bad). */
    int (*inside)(const struct cachew_op_call *call, const struct cachew_op_rows *rows,
                  struct cachew_op_error *error);
    int (*check_row)(const void *opts, const struct cachew_op_spec *in,
                     const struct cachew_op_element *row, struct cachew_op_error *error);
    /* GROUP, optional: the I64 option that says how many rows an item has at least. */
    const char *span_option;
};

/* What a file has. */
struct cachew_op_library {
    size_t struct_size;
    uint32_t abi;        /* CACHEW_OP_ABI */
    const char *name;    /* of the whole, for people: "mylab" */
    const char *version; /* for people */
    const struct cachew_op *const *ops;
    size_t ops_n;
};

/* The one function that a file exports, cachew_op_load, which CACHEW_OP_LIBRARY declares. It returns what the file has, or NULL if this engine is not one that it
 * can work with. */
typedef const struct cachew_op_library *cachew_op_load_fn(const struct cachew_op_engine *engine);

#ifdef __cplusplus
}
#define CACHEW_OP_EXTERN extern "C"
#else
#define CACHEW_OP_EXTERN
#endif
#define CACHEW_OP_LIBRARY(engine)                                                                  \
    CACHEW_OP_EXTERN __attribute__((visibility("default"))) const struct cachew_op_library *       \
    cachew_op_load(const struct cachew_op_engine *engine);                                         \
    CACHEW_OP_EXTERN const struct cachew_op_library *cachew_op_load(                               \
        const struct cachew_op_engine *engine)

#endif
