/* SPDX-License-Identifier: Apache-2.0 */
/* Source `arrow`: rows of Arrow's files and streams (IPC), as which Feather files of version 2 are
 * stored. Only the columns that are asked for are read, a stretch of a record batch at a time. */
#include <string.h>

#include "base/mem.h"
#include "format/arrow/arrow_slab.h"
#include "ops/op_util.h"
#include "ops/source/table_rows.h"

/* Rows of a record batch whose buffers are not compressed that are read at once. */
enum { STRETCH_ROWS = 16384 };

struct arrow_opts {
    struct cw_str_list pattern;
    struct cw_table_opts table;
    int64_t cache_bytes;
};
struct arrow_column {
    struct cw_arrow_want want;
    struct cw_table_fill fill;
    bool has_dictionary;
};
/* What is loaded for a file. */
struct arrow_file {
    struct cw_arrow_head head;
    struct arrow_column *columns; /* as those of the fields */
};
struct arrow_state {
    struct cw_file_source source; /* loads a struct arrow_file of each file */
    const struct arrow_opts *opts;
    struct cw_table_fields fields;
    struct cw_table_rows rows;
};
enum { DICTIONARY, SLAB }; /* kinds of things */
struct thing {
    struct cw_table_thing head;
    struct cw_arrow_slab slab;
};

static const struct cw_table_kind arrow_table = {.option = "columns",
                                                 .column = "column",
                                                 .where = "The schema of the file",
                                                 .rank_max = CW_RANK_MAX,
                                                 .packs = true};

#define OFFSET(member) offsetof(struct arrow_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    CW_TABLE_COLUMNS_ROW(OFFSET(table.columns)),
    CW_TABLE_TYPES_ROW(OFFSET(table.types)),
    CW_TABLE_FILL_ROW(OFFSET(table.fill)),
    {.name = "cache",
     .help = "memory for decoded rows of this source",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(cache_bytes),
     .def = "\"256MiB\"",
     .min = 1 << 20,
     .max = 0x1p50,
     .flags = CW_OPT_NO_FINGERPRINT},
    {0},
};

/* ---- columns ---- */

static const char *column_name(const void *arg, size_t i)
{
    return ((const struct cw_arrow_head *)arg)->leaves[i].name;
}

static int column_type(const void *arg, size_t i, struct cw_field *ret_type, struct cw_err *err)
{
    return cw_arrow_leaf_type(arg, i, ret_type, err);
}

static struct cw_table_file table_file(const struct cw_arrow_head *head, const char *name)
{
    return (struct cw_table_file){
        .name = name, .n = head->leaves_n, .column = column_name, .type = column_type, .arg = head};
}

/* Rows of lists may have any length, but what is in them has dimensions that are known. */
static int check_dims(const struct arrow_state *s, const struct cw_table_column *column,
                      const struct cw_field *type, const char *name, struct cw_err *err)
{
    const struct cw_field *field = &s->fields.spec.fields[column->field];
    for (int d = 1; d < type->rank; d++)
        if (field->rank == type->rank && field->dims[d] < 0)
            return cw_err_set(err, CW_E_INVALID,
                              "%s: column %s: only the first dimension of field %s may be ?", name,
                              column->name, field->name);
    return 0;
}

/* Says what is wanted of a column of a file, and compares it with the field. */
static int set_column(const struct arrow_state *s, const struct cw_arrow_head *head, size_t k,
                      const char *name, struct arrow_column *ret_column, struct cw_err *err)
{
    const struct cw_table_file file = table_file(head, name);
    const struct cw_table_column *column = &s->fields.columns[k];
    struct cw_arrow_want want = {.bytes_max = CW_ARROW_BYTES_MAX};
    struct cw_field type = {0};
    int rc = cw_table_find(&arrow_table, &file, column->name, &want.leaf, err);
    if (rc < 0)
        return rc;
    rc = cw_arrow_leaf_type(head, want.leaf, &type, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", name);
    const struct cw_arrow_node *node = &head->nodes[head->leaves[want.leaf].node];
    rc = cw_table_compare(&arrow_table, &s->fields, column, &type, name, err);
    if (rc == 0)
        rc = check_dims(s, column, &type, name, err);
    if (rc == 0 && !node->is_bytes)
        rc = cw_table_fill_of(&s->opts->table, column->name, type.dtype, &ret_column->fill, err);
    if (rc == 0 && ret_column->fill.is_set) {
        const char *text = ret_column->fill.text;
        want.fill = text ? (const void *)text : &ret_column->fill.number;
        want.fill_bytes = text ? strlen(text) : cw_dtype_bytes(type.dtype);
    }
    ret_column->want = want;
    ret_column->has_dictionary = node->has_dictionary;
    return rc;
}

/* ---- what the first file says ---- */

static bool is_complete(const void *opts)
{
    return cw_table_is_complete(&arrow_table, &((const struct arrow_opts *)opts)->table);
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct arrow_opts *o = opts;
    cw_autofree char *path = NULL;
    struct cw_arrow_head head;
    struct cw_readable file;
    struct cw_io_file opened;
    int rc = cw_file_first(&o->pattern, how, &path, err);
    if (rc == 0)
        rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    rc = cw_arrow_head_read(&file, &head, err);
    if (rc == 0) {
        const struct cw_table_file table = table_file(&head, path);
        rc = cw_table_complete(&arrow_table, &o->table, &table, how->wanted, said, err);
        cw_arrow_head_fini(&head);
    }
    cw_io_close(&opened);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct arrow_opts *o = opts;
    struct cw_table_fields fields = {0};
    (void)in;
    (void)in_n;
    int rc = cw_table_fields_read(&arrow_table, &o->table, &fields, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&fields.spec);
    cw_table_fields_fini(&fields);
    return rc;
}

/* ---- files ---- */

static void unload(void *loaded)
{
    struct arrow_file *f = loaded;
    cw_arrow_head_fini(&f->head);
    cw_mem_free(f->columns);
    cw_mem_free(f);
}

static int load_head(void *state, size_t i, const struct cw_readable *file, void **ret_loaded,
                     struct cw_err *err)
{
    const struct arrow_state *s = state;
    struct arrow_file *f = CW_NEW(struct arrow_file);
    (void)i;
    f->columns = CW_NEW_ARRAY(struct arrow_column, s->fields.columns_n);
    int rc = cw_arrow_head_read(file, &f->head, err);
    for (size_t k = 0; rc == 0 && k < s->fields.columns_n; k++)
        rc = set_column(s, &f->head, k, file->name, &f->columns[k], err);
    if (rc < 0)
        unload(f);
    else
        *ret_loaded = f;
    return rc;
}

static int64_t rows(const void *loaded)
{
    return ((const struct arrow_file *)loaded)->head.rows;
}

/* Whether a file has the columns that are asked for is found out again by who prepares a job, so they
 * are part of the key. */
static void key(const void *state, struct cw_str *out)
{
    const struct arrow_state *s = state;
    cw_value_print(&s->opts->table.columns, out);
    cw_value_print(&s->opts->table.types, out);
    cw_value_print(&s->opts->table.fill, out);
}

static void end(void *state)
{
    struct arrow_state *s = state;
    cw_table_rows_fini(&s->rows);
    cw_table_fields_fini(&s->fields);
}

static const struct cw_file_index index_kind = {
    .name = "arrow 1", .key = key, .records = rows, .load_head = load_head};
static const struct cw_file_source_kind kind = {
    .state_bytes = sizeof(struct arrow_state), .end = end, .unload = unload, .index = &index_kind};

static int file_of(struct arrow_state *s, size_t i, const struct arrow_file **ret_file,
                   struct cw_err *err)
{
    const void *loaded = NULL;
    int rc = cw_file_source_get(&s->source, i, &loaded, err);
    if (rc == 0)
        rc = cw_file_source_compare(&s->source, i, (uint64_t)rows(loaded), "rows", err);
    *ret_file = loaded;
    return rc;
}

/* ---- slabs ---- */

/* The key of the dictionary that holds for a record batch. */
static struct cw_table_key dictionary_key(const struct cw_table_key *slab,
                                          const struct cw_arrow_batch *batch)
{
    return (struct cw_table_key){.file = slab->file,
                                 .group = batch->dictionaries,
                                 .column = slab->column,
                                 .kind = DICTIONARY};
}

static int read_slab(struct arrow_state *s, struct cw_file_use *use, const struct arrow_file *f,
                     struct thing *thing, struct cw_err *err)
{
    const struct cw_table_key *k = &thing->head.key;
    const struct arrow_column *column = &f->columns[k->column];
    const struct cw_arrow_batch *batch = &f->head.batches[k->group];
    const struct cw_table_key dictionary = dictionary_key(k, batch);
    const int64_t first = (int64_t)k->stretch * STRETCH_ROWS;
    struct cw_table_thing *values = NULL;
    int rc =
        column->has_dictionary ? cw_table_cache_get(s->rows.cache, &dictionary, &values, err) : 0;
    if (rc == 0)
        rc = cw_arrow_slab_read(
            &use->readable, &f->head, &column->want, batch, first,
            batch->is_packed ? batch->rows : CW_MIN(batch->rows - first, (int64_t)STRETCH_ROWS),
            values ? &((struct thing *)values)->slab : NULL, &thing->slab, err);
    cw_table_cache_put(s->rows.cache, values);
    return rc;
}

/* A batch for which the dictionary of a key holds. */
static int read_dictionary(struct cw_file_use *use, const struct arrow_file *f, struct thing *thing,
                           struct cw_err *err)
{
    const struct cw_arrow_batch any = {.dictionaries = thing->head.key.group};
    return cw_arrow_dictionary_read(&use->readable, &f->head,
                                    &f->columns[thing->head.key.column].want, &any, &thing->slab,
                                    err);
}

static int load_thing(void *arg, struct cw_table_thing *head, struct cw_err *err)
{
    struct arrow_state *s = arg;
    struct thing *thing = (struct thing *)head;
    const struct arrow_file *f = NULL;
    struct cw_file_use use;
    int rc = file_of(s, head->key.file, &f, err);
    if (rc == 0)
        rc = cw_file_set_use(s->source.files, head->key.file, &use, err);
    if (rc < 0)
        return rc;
    rc = head->key.kind == DICTIONARY ? read_dictionary(&use, f, thing, err)
                                      : read_slab(s, &use, f, thing, err);
    cw_file_set_release(s->source.files, &use);
    head->bytes = sizeof(*thing) + thing->slab.bytes;
    return rc;
}

static void fini_thing(struct cw_table_thing *head)
{
    cw_arrow_slab_fini(&((struct thing *)head)->slab);
}

static const struct cw_table_cache_kind cache_kind = {
    .thing_bytes = sizeof(struct thing), .load = load_thing, .fini = fini_thing};

static int find_slab(void *arg, size_t column, int64_t pos, struct cw_table_slab *ret_slab,
                     struct cw_table_thing **ret_thing, struct cw_err *err)
{
    struct arrow_state *s = arg;
    const size_t i = cw_file_set_locate(s->source.files, pos);
    const struct arrow_file *f = NULL;
    struct cw_table_key k = {.file = (uint32_t)i, .column = (uint32_t)column, .kind = SLAB};
    int rc = file_of(s, i, &f, err);
    if (rc < 0)
        return rc;
    int64_t first = s->source.files->v[i].first;
    k.group = (uint32_t)cw_arrow_head_batch_of(&f->head, pos - first);
    const struct cw_arrow_batch *batch = &f->head.batches[k.group];
    first += batch->first;
    k.stretch = batch->is_packed ? 0 : (uint32_t)((pos - first) / STRETCH_ROWS);
    rc = cw_table_cache_get(s->rows.cache, &k, ret_thing, err);
    if (rc < 0)
        return rc;
    const struct cw_arrow_slab *slab = &((struct thing *)*ret_thing)->slab;
    first += (int64_t)k.stretch * STRETCH_ROWS;
    *ret_slab = (struct cw_table_slab){.begin = first,
                                       .end = first + (int64_t)slab->rows,
                                       .fixed = slab->fixed,
                                       .refs = slab->strings.v,
                                       .bytes = slab->strings.bytes,
                                       .entry = slab->entry,
                                       .null = slab->null};
    return 0;
}

/* ---- the operator ---- */

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct arrow_opts *o = opts;
    struct cw_table_fields fields;
    int rc = cw_table_fields_read(&arrow_table, &o->table, &fields, err);
    if (rc < 0)
        return rc;
    struct arrow_state *s = CW_NEW(struct arrow_state);
    s->opts = o;
    s->fields = fields; /* it is taken over */
    cw_table_rows_init(&s->rows, &s->source, &s->fields,
                       cw_table_cache_new((size_t)o->cache_bytes, &cache_kind, s), find_slab, s);
    return cw_file_source_start(&kind, s, &o->pattern, how, ret_state, err);
}

static int read_row(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                    struct cw_element *ret_element, struct cw_err *err)
{
    struct arrow_state *s = state;
    (void)opts;
    return cw_table_rows_read(&s->rows, ctx, pos, ret_element, err);
}

static int read_rows(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns)
{
    struct arrow_state *s = state;
    (void)opts;
    return cw_table_rows_read_many(&s->rows, positions, n, columns);
}

const struct cw_op cw_op_arrow = {
    .name = "arrow",
    .version = 1,
    .summary = "rows of Arrow files and streams (IPC), Feather files too",
    .doc =
        "Gives each row, files in bytewise order of their paths. `columns` chooses what is read, "
        "as for `parquet`: a\n"
        "column of a struct is `a.b`, an object gives a field another name or packs columns, and "
        "what `columns` and\n"
        "`types` do not say is as in the first file. Lists have an unknown dimension, lists of one "
        "length a known one, and\n"
        "what is in a list may be lists of one length again: `f32[?,4]`. Strings are str, bytes of "
        "one length u8[n]; dates,\n"
        "times and durations are integers as in the file; values of dictionaries are looked up.\n"
        "\n"
        "Files of pyarrow, Polars, DuckDB and others: files and streams of IPC, Feather of version "
        "2; buffers as they are,\n"
        "or compressed with LZ4 or zstd; dictionaries that grow or are replaced. Rows of a record "
        "batch that is compressed\n"
        "are decoded together, others 16,384 at a time; `shuffle` with a `window` reads neighbours "
        "together. Not\n"
        "supported: big endian files, lists of lists of any length, maps, unions, decimals, "
        "intervals, views, run-end\n"
        "encoded columns, dictionaries of lists, Feather of version 1. Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct arrow_opts),
    .is_complete = is_complete,
    .complete = complete,
    .completed = "columns and types",
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_row,
    .read_rows = read_rows,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
};
