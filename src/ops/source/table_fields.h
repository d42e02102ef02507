/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of sources of tables (parquet, arrow, npz, hdf5): of which columns each is made, as the
 * options say, or as a file says where they do not. */
#ifndef CW_OPS_SOURCE_TABLE_FIELDS_H
#define CW_OPS_SOURCE_TABLE_FIELDS_H

#include "conf/opt.h"
#include "data/spec.h"
#include "ops/op_names.h"

#define CW_TABLE_COLUMNS_MAX 4096 /* of one source */

/* How a source speaks of its columns, and what it can make of them. */
struct cw_table_kind {
    const char *option; /* which columns there are: "columns" */
    const char *column; /* one of them: "column" */
    const char *where;  /* what of a file has the types: "The footer of the file" */
    int rank_max;       /* most dimensions of a row of a column */
    bool packs;         /* several columns may become one field */
};
/* Options of such a source. */
struct cw_table_opts {
    struct cw_value columns, types;
    struct cw_value fill; /* what nulls become; null where a source has none */
};
/* The rows that their tables of options have. */
#define CW_TABLE_COLUMNS_ROW(offset_)                                                              \
    {                                                                                              \
        .name = "columns",                                                                         \
        .help = "columns to read: a list of names (a.b in a struct), of objects {\"field\": "      \
                "column}, and of objects {\"field\": [columns]}, which pack several of one type "  \
                "into one field",                                                                  \
        .type = CW_OPT_VALUE, .offset = (offset_)                                                  \
    }
#define CW_TABLE_TYPES_ROW(offset_)                                                                \
    {                                                                                              \
        .name = "types",                                                                           \
        .help = "type of each field: {\"label\": \"i64\", \"embedding\": \"f32[768]\", \"ids\": "  \
                "\"i32[?]\"}",                                                                     \
        .type = CW_OPT_VALUE, .offset = (offset_)                                                  \
    }
#define CW_TABLE_FILL_ROW(offset_)                                                                 \
    {                                                                                              \
        .name = "fill",                                                                            \
        .help = "what nulls become: a value for all columns, or {column: value}; \"nan\" is a "    \
                "number, too. A row with any other null is an error",                              \
        .type = CW_OPT_VALUE, .offset = (offset_)                                                  \
    }

struct cw_table_column {
    const char *name; /* belongs to the options */
    size_t field;     /* index of its field */
    size_t at;        /* its place in a packed field */
};
struct cw_table_fields {
    struct cw_spec spec;
    bool is_packed[CW_FIELDS_MAX]; /* made of several columns */
    struct cw_table_column *columns;
    size_t columns_n, columns_cap;
};
/* Reads the options of columns and types. The result borrows from them. */
int cw_table_fields_read(const struct cw_table_kind *kind, const struct cw_table_opts *opts,
                         struct cw_table_fields *ret_fields, struct cw_err *err);
void cw_table_fields_fini(struct cw_table_fields *fields);
/* For `infer` of an operator: the spec alone. */
int cw_table_infer(const struct cw_table_kind *kind, const struct cw_table_opts *opts,
                   struct cw_spec *ret_spec, struct cw_err *err);
/* Whether the options state fields and types. */
bool cw_table_is_complete(const struct cw_table_kind *kind, const struct cw_table_opts *opts);

/* The columns of a file. */
struct cw_table_file {
    const char *name;
    size_t n;
    const char *(*column)(const void *arg, size_t i); /* the name of one */
    /* The type of its rows: dtype, rank and dims. Errors: what cannot be read, without the file's name. */
    int (*type)(const void *arg, size_t i, struct cw_field *ret_type, struct cw_err *err);
    const void *arg;
};
/* Returns the index of a column, or an error that says that there is none. */
int cw_table_find(const struct cw_table_kind *kind, const struct cw_table_file *file,
                  const char *column, size_t *ret_i, struct cw_err *err);
/* Writes into `said`, the node's options, what a file says: all columns that are wanted (NULL: all) if
 * none were chosen, and the types that are missing. */
int cw_table_complete(const struct cw_table_kind *kind, const struct cw_table_opts *opts,
                      const struct cw_table_file *file, const struct cw_op_names *wanted,
                      struct cw_value *said, struct cw_err *err);
/* Compares the type of a file's column with that of its field. file: its name. */
int cw_table_compare(const struct cw_table_kind *kind, const struct cw_table_fields *fields,
                     const struct cw_table_column *column, const struct cw_field *type,
                     const char *file, struct cw_err *err);

/* What a column's nulls become: room for a number, and where it or a string lies. */
struct cw_table_fill {
    uint64_t number;
    const char *text; /* of a str; belongs to the options */
    bool is_set;
};
/* Finds it, for a column whose values have this dtype. */
int cw_table_fill_of(const struct cw_table_opts *opts, const char *column, enum cw_dtype dtype,
                     struct cw_table_fill *ret_fill, struct cw_err *err);

#endif
