/* SPDX-License-Identifier: Apache-2.0 */
/* Loads heads, places of buffers, dictionaries and slabs. */
#include "ops/source/arrow_files.h"

#include <string.h>

#include "base/mem.h"

/* Rows of a record batch whose buffers are not compressed that are read at once. */
enum { STRETCH_ROWS = 16384 };

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
enum { PLACES, DICTIONARY, SLAB }; /* kinds of things: of a record batch; of one of its columns */
struct thing {
    struct cw_table_thing head;
    union {
        struct cw_arrow_places places;
        struct cw_arrow_slab slab;
    } u;
};

const struct cw_table_kind cw_arrow_table = {.option = "columns",
                                             .column = "column",
                                             .where = "The schema of the file",
                                             .rank_max = CW_RANK_MAX,
                                             .packs = true};

/* ---- columns ---- */

static const char *column_name(const void *arg, size_t i)
{
    return ((const struct cw_arrow_head *)arg)->leaves[i].name;
}

static int column_type(const void *arg, size_t i, struct cw_field *ret_type, struct cw_err *err)
{
    return cw_arrow_leaf_type(arg, i, ret_type, err);
}

struct cw_table_file cw_arrow_table_file(const struct cw_arrow_head *head, const char *name)
{
    return (struct cw_table_file){
        .name = name, .n = head->leaves_n, .column = column_name, .type = column_type, .arg = head};
}

/* Rows of lists may have any length, but what is in them has dimensions that are known. */
static int check_dims(const struct cw_arrow_state *s, const struct cw_table_column *column,
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
static int set_column(const struct cw_arrow_state *s, const struct cw_arrow_head *head, size_t k,
                      const char *name, struct arrow_column *ret_column, struct cw_err *err)
{
    const struct cw_table_file file = cw_arrow_table_file(head, name);
    const struct cw_table_column *column = &s->fields.columns[k];
    struct cw_arrow_want want = {.bytes_max = CW_ARROW_BYTES_MAX};
    struct cw_field type = {0};
    int rc = cw_table_find(&cw_arrow_table, &file, column->name, &want.leaf, err);
    if (rc < 0)
        return rc;
    rc = cw_arrow_leaf_type(head, want.leaf, &type, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", name);
    const struct cw_arrow_node *node = &head->nodes[head->leaves[want.leaf].node];
    rc = cw_table_compare(&cw_arrow_table, &s->fields, column, &type, name, err);
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
    const struct cw_arrow_state *s = state;
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
    const struct cw_arrow_state *s = state;
    cw_value_print(&s->opts->table.columns, out);
    cw_value_print(&s->opts->table.types, out);
    cw_value_print(&s->opts->table.fill, out);
}

static void end(void *state)
{
    struct cw_arrow_state *s = state;
    cw_table_rows_fini(&s->rows);
    cw_table_fields_fini(&s->fields);
}

static void add_blocks(void *state, size_t i, const void *loaded, int64_t first,
                       struct cw_blocks *blocks)
{
    const struct cw_arrow_head *head = &((const struct arrow_file *)loaded)->head;
    (void)state;
    (void)i;
    for (size_t b = 0; b < head->batches_n; b++) {
        const struct cw_arrow_batch *batch = &head->batches[b];
        for (int64_t row = 0; row < batch->rows; row += STRETCH_ROWS)
            if (row == 0 || !batch->is_packed)
                cw_blocks_add(blocks, first + batch->first + row);
    }
}

static const struct cw_file_index index_kind = {
    .name = "arrow 1", .key = key, .records = rows, .load_head = load_head};
static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct cw_arrow_state),
                                                .end = end,
                                                .unload = unload,
                                                .index = &index_kind,
                                                .blocks = add_blocks};

static int file_of(struct cw_arrow_state *s, size_t i, const struct arrow_file **ret_file,
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

static const struct cw_arrow_places *places_of(const struct cw_table_thing *thing)
{
    return &((const struct thing *)thing)->u.places;
}

static struct cw_table_key places_key(const struct cw_table_key *slab)
{
    return (struct cw_table_key){.file = slab->file, .group = slab->group, .kind = PLACES};
}

/* What is needed to load a slab; NULL until it is there. */
struct needs {
    struct cw_table_thing *places, *dictionary;
};

static int get_needs(struct cw_arrow_state *s, const struct arrow_column *column,
                     const struct cw_arrow_batch *batch, const struct cw_table_key *slab,
                     struct needs *needs, struct cw_err *err)
{
    const struct cw_table_key dictionary = dictionary_key(slab, batch), places = places_key(slab);
    int rc = cw_table_cache_get(s->rows.cache, &places, &needs->places, err);
    if (rc == 0 && column->has_dictionary)
        rc = cw_table_cache_get(s->rows.cache, &dictionary, &needs->dictionary, err);
    return rc;
}

/* The rows of a stretch of a batch. */
static int64_t stretch_rows(const struct cw_arrow_batch *batch, uint32_t stretch)
{
    const int64_t first = (int64_t)stretch * STRETCH_ROWS;
    return batch->is_packed ? batch->rows : CW_MIN(batch->rows - first, (int64_t)STRETCH_ROWS);
}

static int read_slab(struct cw_arrow_state *s, struct cw_file_use *use, const struct arrow_file *f,
                     struct thing *thing, struct cw_err *err)
{
    const struct cw_table_key *k = &thing->head.key;
    const struct arrow_column *column = &f->columns[k->column];
    const struct cw_arrow_batch *batch = &f->head.batches[k->group];
    struct needs needs = {NULL, NULL};
    int rc = get_needs(s, column, batch, k, &needs, err);
    if (rc == 0)
        rc = cw_arrow_slab_read(
            &use->readable, &f->head, &column->want, batch, places_of(needs.places),
            (int64_t)k->stretch * STRETCH_ROWS, stretch_rows(batch, k->stretch),
            needs.dictionary ? &((struct thing *)needs.dictionary)->u.slab : NULL, &thing->u.slab,
            err);
    cw_table_cache_put(s->rows.cache, needs.places);
    cw_table_cache_put(s->rows.cache, needs.dictionary);
    return rc;
}

/* A batch for which the dictionary of a key holds. */
static struct cw_arrow_batch any_batch(const struct cw_table_key *dictionary)
{
    return (struct cw_arrow_batch){.dictionaries = dictionary->group};
}

static int load_kind(struct cw_arrow_state *s, struct cw_file_use *use, const struct arrow_file *f,
                     struct thing *thing, struct cw_err *err)
{
    const struct cw_table_key *k = &thing->head.key;
    const struct cw_arrow_batch any = any_batch(k);
    if (k->kind == PLACES)
        return cw_arrow_places_read(&use->readable, &f->head.batches[k->group], false,
                                    &thing->u.places, err);
    if (k->kind == DICTIONARY)
        return cw_arrow_dictionary_read(&use->readable, &f->head, &f->columns[k->column].want, &any,
                                        &thing->u.slab, err);
    return read_slab(s, use, f, thing, err);
}

static int load_thing(void *arg, struct cw_table_thing *head, struct cw_err *err)
{
    struct cw_arrow_state *s = arg;
    struct thing *thing = (struct thing *)head;
    const struct arrow_file *f = NULL;
    struct cw_file_use use;
    int rc = file_of(s, head->key.file, &f, err);
    if (rc == 0)
        rc = cw_file_set_use(s->source.files, head->key.file, &use, err);
    if (rc < 0)
        return rc;
    rc = load_kind(s, &use, f, thing, err);
    cw_file_set_release(s->source.files, &use);
    head->bytes =
        sizeof(*thing) +
        (head->key.kind == PLACES ? cw_arrow_places_bytes(&thing->u.places) : thing->u.slab.bytes);
    return rc;
}

static void fini_thing(struct cw_table_thing *head)
{
    struct thing *thing = (struct thing *)head;
    if (head->key.kind == PLACES)
        cw_arrow_places_fini(&thing->u.places);
    else
        cw_arrow_slab_fini(&thing->u.slab);
}

static const struct cw_table_cache_kind cache_kind = {
    .thing_bytes = sizeof(struct thing), .load = load_thing, .fini = fini_thing};

/* Says which slab of a column has a row of a file, and at which row of the file it begins. */
static int64_t set_key(const struct arrow_file *f, int64_t row, struct cw_table_key *key)
{
    key->kind = SLAB;
    key->group = (uint32_t)cw_arrow_head_batch_of(&f->head, row);
    const struct cw_arrow_batch *batch = &f->head.batches[key->group];
    key->stretch = batch->is_packed ? 0 : (uint32_t)((row - batch->first) / STRETCH_ROWS);
    return batch->first + (int64_t)key->stretch * STRETCH_ROWS;
}

static int find_slab(void *arg, size_t column, int64_t pos, struct cw_table_slab *ret_slab,
                     struct cw_table_thing **ret_thing, struct cw_err *err)
{
    struct cw_arrow_state *s = arg;
    const size_t i = cw_file_set_locate(s->source.files, pos);
    const struct arrow_file *f = NULL;
    struct cw_table_key k = {.file = (uint32_t)i, .column = (uint32_t)column};
    int rc = file_of(s, i, &f, err);
    if (rc < 0)
        return rc;
    const int64_t begin = s->source.files->v[i].first, first = begin + set_key(f, pos - begin, &k);
    rc = cw_table_cache_get(s->rows.cache, &k, ret_thing, err);
    if (rc < 0)
        return rc;
    const struct cw_arrow_slab *slab = &((struct thing *)*ret_thing)->u.slab;
    *ret_slab = (struct cw_table_slab){.begin = first,
                                       .end = first + (int64_t)slab->rows,
                                       .fixed = slab->fixed,
                                       .refs = slab->strings.v,
                                       .bytes = slab->strings.bytes,
                                       .readable = cw_arrow_slab_readable(slab),
                                       .entry = slab->entry,
                                       .null = slab->null};
    return 0;
}

/* ---- reading ahead ---- */

struct place {
    struct cw_arrow_state *state;
    struct cw_ahead *ahead;
    uint32_t file;
};

static void add_range(void *arg, uint64_t begin, uint64_t end)
{
    const struct place *p = arg;
    const uint64_t words[] = {p->file, begin, end};
    if (end > begin && cw_ahead_note(p->ahead, cw_hash_u64(words, sizeof(words))))
        cw_file_set_ahead(p->state->source.files, p->file, begin, end - begin, p->ahead);
}

static bool is_loaded(const struct place *p, const struct cw_table_key *key)
{
    struct cw_table_cache *cache = p->state->rows.cache;
    struct cw_table_thing *thing = cw_table_cache_peek(cache, key);
    cw_table_cache_put(cache, thing);
    return thing != NULL;
}

/* Adds what the slab of a column is decoded of. */
static void add_slab(struct place *p, const struct arrow_file *f, const struct cw_table_key *slab,
                     const struct cw_arrow_places *places)
{
    const struct arrow_column *column = &f->columns[slab->column];
    const struct cw_arrow_batch *batch = &f->head.batches[slab->group];
    const struct cw_table_key dictionary = dictionary_key(slab, batch);
    if (is_loaded(p, slab))
        return;
    if (column->has_dictionary && !is_loaded(p, &dictionary))
        cw_arrow_dictionary_ranges(&f->head, column->want.leaf, batch, add_range, p);
    cw_arrow_slab_ranges(&f->head, column->want.leaf, batch, places,
                         (int64_t)slab->stretch * STRETCH_ROWS, stretch_rows(batch, slab->stretch),
                         add_range, p);
}

/* The head of the record batch is read here, since where the columns lie stands there. */
bool cw_arrow_ahead(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct cw_arrow_state *s = state;
    const struct cw_file_set *files = s->source.files;
    struct cw_table_thing *places = NULL;
    const struct arrow_file *f = NULL;
    (void)opts;
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    const int64_t row = pos - files->v[i].first;
    if (!cw_ahead_is_for(files->v[i].path))
        return true;
    if (file_of(s, i, &f, NULL) < 0)
        return false;
    struct place p = {.state = s, .ahead = ahead, .file = (uint32_t)i};
    struct cw_table_key key = {.file = (uint32_t)i};
    (void)set_key(f, row, &key);
    const struct cw_table_key head = places_key(&key);
    if (cw_table_cache_get(s->rows.cache, &head, &places, NULL) < 0)
        return false;
    for (size_t k = 0; k < s->fields.columns_n; k++) {
        key.column = (uint32_t)k;
        add_slab(&p, f, &key, places_of(places));
    }
    cw_table_cache_put(s->rows.cache, places);
    return true;
}

/* ---- opening ---- */

int cw_arrow_files_open(const struct cw_arrow_opts *o, const struct cw_op_open *how,
                        void **ret_state, struct cw_err *err)
{
    struct cw_table_fields fields;
    int rc = cw_table_fields_read(&cw_arrow_table, &o->table, &fields, err);
    if (rc < 0)
        return rc;
    struct cw_arrow_state *s = CW_NEW(struct cw_arrow_state);
    s->opts = o;
    s->fields = fields; /* it is taken over */
    cw_table_rows_init(&s->rows, &s->source, &s->fields,
                       cw_table_cache_new((size_t)o->cache_bytes, &cache_kind, s), find_slab, s);
    return cw_file_source_start(&kind, s, &o->pattern, how, ret_state, err);
}
