/* SPDX-License-Identifier: Apache-2.0 */
/* Loads footers, places of pages, dictionaries and slabs. */
#include "ops/source/parquet_files.h"

#include "base/mem.h"
#include "ops/source/loaded.h"

/* A column of a row group is read ahead as a whole while it is not known where its pages lie, unless it
 * is longer: then that is found out first. */
enum { WHOLE_BYTES = 8 << 20 };

enum { PAGES, DICTIONARY, SLAB }; /* kinds of things */
struct thing {
    struct cw_table_thing head;
    union {
        struct cw_pq_pages pages;
        struct cw_pq_column dictionary;
        struct cw_pq_slab slab;
    } u;
};

struct column {
    size_t leaf;
    struct cw_pq_want want;
    struct cw_table_fill fill;
};
/* What is loaded for a file. */
struct footer {
    struct cw_pq_footer footer;
    struct column *columns; /* as those of the fields */
};

static void unload(void *loaded)
{
    struct footer *f = loaded;
    cw_pq_footer_fini(&f->footer);
    cw_mem_free(f->columns);
    cw_mem_free(f);
}

static int load_head(void *arg, size_t i, const struct cw_readable *file, void **ret_loaded,
                     struct cw_err *err)
{
    struct cw_parquet_state *s = arg;
    struct footer *f = CW_NEW(struct footer);
    (void)i;
    f->columns = CW_NEW_ARRAY(struct column, s->fields.columns_n);
    int rc = cw_pq_footer_read(file, &f->footer, err);
    for (size_t k = 0; rc == 0 && k < s->fields.columns_n; k++)
        rc = cw_parquet_want(s->opts, &s->fields, &s->fields.columns[k], file->name, &f->footer,
                             &f->columns[k].leaf, &f->columns[k].want, &f->columns[k].fill, err);
    if (rc < 0)
        unload(f);
    else
        *ret_loaded = f;
    return rc;
}

static int64_t rows(const void *loaded)
{
    return ((const struct footer *)loaded)->footer.rows;
}

static int footer_of(struct cw_parquet_state *s, size_t i, const struct footer **ret_footer,
                     struct cw_err *err)
{
    const void *loaded = NULL;
    int rc = cw_file_source_get(&s->source, i, &loaded, err);
    *ret_footer = loaded;
    return rc;
}

/* ---- memory for decoding ---- */

/* More than that is given back. */
#define SPARE_BYTES ((size_t)8 << 20)

static struct cw_pq_scratch take_scratch(struct cw_parquet_state *s)
{
    struct cw_pq_scratch scratch = {.raw = {NULL, 0}};
    cw_mutex_lock(&s->mutex);
    if (s->spare_n > 0)
        scratch = s->spare[--s->spare_n];
    cw_mutex_unlock(&s->mutex);
    cw_loaded_hold(-(int64_t)cw_pq_scratch_bytes(&scratch));
    return scratch;
}

static void give_scratch(struct cw_parquet_state *s, struct cw_pq_scratch *scratch)
{
    const size_t bytes = cw_pq_scratch_bytes(scratch);
    cw_mutex_lock(&s->mutex);
    const bool fits = s->spare_n < CW_PARQUET_SPARE && bytes <= SPARE_BYTES;
    if (fits)
        s->spare[s->spare_n++] = *scratch;
    cw_mutex_unlock(&s->mutex);
    if (fits)
        cw_loaded_hold((int64_t)bytes);
    else
        cw_pq_scratch_fini(scratch);
}

static void drop_spare(struct cw_parquet_state *s)
{
    for (size_t i = 0; i < CW_PARQUET_SPARE; i++) {
        struct cw_pq_scratch scratch = take_scratch(s);
        cw_pq_scratch_fini(&scratch);
    }
}

static void let_go(void *arg)
{
    struct cw_parquet_state *s = arg;
    cw_table_rows_let_go(&s->rows);
    drop_spare(s);
}

static void end(void *arg)
{
    struct cw_parquet_state *s = arg;
    cw_table_rows_fini(&s->rows);
    drop_spare(s);
    cw_mutex_fini(&s->mutex);
    cw_table_fields_fini(&s->fields);
}

/* Footers are small, and stay. Whether they have the columns that are asked for is found out again by
 * who prepares a job, so the columns are part of the key. */
static void key(const void *state, struct cw_str *out)
{
    const struct cw_parquet_state *s = state;
    cw_value_print(&s->opts->table.columns, out);
    cw_value_print(&s->opts->table.types, out);
    cw_value_print(&s->opts->table.fill, out);
}

static void add_blocks(void *state, size_t i, const void *loaded, int64_t first,
                       struct cw_blocks *blocks)
{
    const struct cw_pq_footer *footer = &((const struct footer *)loaded)->footer;
    (void)state;
    (void)i;
    for (size_t g = 0; g < footer->groups_n; g++)
        if (footer->groups[g].rows > 0)
            cw_blocks_add(blocks, first + footer->groups[g].first);
}

static const struct cw_file_index index_kind = {
    .name = "parquet 1", .key = key, .records = rows, .load_head = load_head};
static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct cw_parquet_state),
                                                .end = end,
                                                .unload = unload,
                                                .index = &index_kind,
                                                .blocks = add_blocks};

/* ---- loading ---- */

/* What is needed to load a thing. */
struct load {
    struct cw_parquet_state *state;
    const struct footer *footer;
    const struct column *column;
    const struct cw_pq_chunk *chunk;
    struct cw_table_thing *pages, *dictionary; /* NULL until they are there */
};

static const struct cw_pq_pages *pages_of(const struct load *l)
{
    return &((struct thing *)l->pages)->u.pages;
}

static int get_pages(struct load *l, const struct cw_table_key *key, struct cw_err *err)
{
    const struct cw_table_key pages = {key->file, key->group, key->column, PAGES, 0};
    return cw_table_cache_get(l->state->rows.cache, &pages, &l->pages, err);
}

static int load_slab(struct load *l, struct cw_file_use *use, struct thing *thing,
                     struct cw_err *err)
{
    struct cw_table_key key = thing->head.key;
    key.kind = DICTIONARY;
    key.stretch = 0;
    int rc = get_pages(l, &key, err);
    if (rc == 0 && pages_of(l)->dict_end > pages_of(l)->dict_begin)
        rc = cw_table_cache_get(l->state->rows.cache, &key, &l->dictionary, err);
    if (rc < 0)
        return rc;
    struct cw_pq_scratch scratch = take_scratch(l->state);
    rc = cw_pq_slab_read(&use->readable, &l->column->want, l->chunk, pages_of(l),
                         thing->head.key.stretch,
                         l->dictionary ? &((struct thing *)l->dictionary)->u.dictionary : NULL,
                         &scratch, &thing->u.slab, err);
    give_scratch(l->state, &scratch);
    thing->head.bytes = thing->u.slab.bytes;
    return rc;
}

static int load_kind(struct load *l, struct cw_file_use *use, struct thing *thing,
                     struct cw_err *err)
{
    int rc;
    if (thing->head.key.kind == SLAB)
        return load_slab(l, use, thing, err);
    if (thing->head.key.kind == PAGES) {
        rc = cw_pq_pages_find(&use->readable, &l->footer->footer, thing->head.key.group,
                              l->column->leaf, CW_PARQUET_JOIN_BYTES, &thing->u.pages, err);
        thing->head.bytes = sizeof(*thing) + thing->u.pages.cap * sizeof(*thing->u.pages.v);
        return rc;
    }
    rc = get_pages(l, &thing->head.key, err);
    if (rc < 0)
        return rc;
    struct cw_pq_scratch scratch = take_scratch(l->state);
    rc = cw_pq_dictionary_read(&use->readable, &l->column->want, l->chunk, pages_of(l), &scratch,
                               &thing->u.dictionary, err);
    give_scratch(l->state, &scratch);
    thing->head.bytes = sizeof(*thing) + cw_pq_column_cost(&thing->u.dictionary);
    return rc;
}

static void fini_thing(struct cw_table_thing *head)
{
    struct thing *thing = (struct thing *)head;
    if (head->key.kind == PAGES)
        cw_pq_pages_fini(&thing->u.pages);
    else if (head->key.kind == DICTIONARY)
        cw_pq_column_fini(&thing->u.dictionary);
    else
        cw_pq_slab_fini(&thing->u.slab);
}

static int load_thing(void *arg, struct cw_table_thing *head, struct cw_err *err)
{
    struct load l = {.state = arg};
    const struct cw_table_key *key = &head->key;
    struct cw_file_use use;
    int rc = footer_of(l.state, key->file, &l.footer, err);
    if (rc < 0)
        return rc;
    l.column = &l.footer->columns[key->column];
    l.chunk = &l.footer->footer.chunks[key->group * l.footer->footer.leaves_n + l.column->leaf];
    rc = cw_file_set_use(l.state->source.files, key->file, &use, err);
    if (rc < 0)
        return rc;
    rc = load_kind(&l, &use, (struct thing *)head, err);
    cw_file_set_release(l.state->source.files, &use);
    cw_table_cache_put(l.state->rows.cache, l.pages);
    cw_table_cache_put(l.state->rows.cache, l.dictionary);
    return rc;
}

static const struct cw_table_cache_kind cache_kind = {
    .thing_bytes = sizeof(struct thing), .load = load_thing, .fini = fini_thing};

/* Finds the slab of a position. */
static int find_slab(void *arg, size_t column, int64_t pos, struct cw_table_slab *ret_slab,
                     struct cw_table_thing **ret_thing, struct cw_err *err)
{
    struct cw_parquet_state *s = arg;
    size_t i = cw_file_set_locate(s->source.files, pos);
    int64_t first = s->source.files->v[i].first;
    struct cw_table_key key = {.file = (uint32_t)i, .column = (uint32_t)column};
    struct load l = {.state = s};
    int rc = footer_of(s, i, &l.footer, err);
    if (rc == 0)
        rc = cw_file_source_compare(&s->source, i, (uint64_t)l.footer->footer.rows, "rows", err);
    if (rc < 0)
        return rc;
    key.group = (uint32_t)cw_pq_footer_group_of(&l.footer->footer, pos - first);
    first += l.footer->footer.groups[key.group].first;
    rc = get_pages(&l, &key, err);
    if (rc < 0)
        return rc;
    key.kind = SLAB;
    key.stretch = (uint32_t)cw_pq_pages_locate(pages_of(&l), pos - first);
    rc = cw_table_cache_get(s->rows.cache, &key, ret_thing, err);
    cw_table_cache_put(s->rows.cache, l.pages);
    if (rc < 0)
        return rc;
    const struct cw_pq_slab *slab = &((struct thing *)*ret_thing)->u.slab;
    *ret_slab = (struct cw_table_slab){.begin = first + slab->first,
                                       .end = first + slab->first + (int64_t)slab->rows,
                                       .fixed = slab->values.fixed,
                                       .refs = slab->values.strings.v,
                                       .bytes = slab->values.strings.bytes,
                                       .readable = cw_pq_slab_readable(slab),
                                       .entry = slab->entry,
                                       .null = slab->null};
    return 0;
}

/* ---- reading ahead ---- */

struct place {
    struct cw_parquet_state *state;
    struct cw_ahead *ahead;
    struct cw_table_key key; /* of a column's pages */
    const struct cw_pq_chunk *chunk;
    int64_t row; /* in the row group */
};

static void add_range(const struct place *p, uint64_t begin, uint64_t end)
{
    const uint64_t words[] = {p->key.file, begin, end};
    if (end > begin && cw_ahead_note(p->ahead, cw_hash_u64(words, sizeof(words))))
        cw_file_set_ahead(p->state->source.files, p->key.file, begin, end - begin, p->ahead);
}

static bool is_loaded(const struct place *p, int what, size_t stretch)
{
    struct cw_table_key key = p->key;
    key.kind = what;
    key.stretch = (uint32_t)stretch;
    struct cw_table_thing *thing = cw_table_cache_peek(p->state->rows.cache, &key);
    cw_table_cache_put(p->state->rows.cache, thing);
    return thing != NULL;
}

/* Adds the pages that have the row, and the dictionary, unless they are decoded already. */
static void add_pages(const struct place *p, const struct cw_pq_pages *pages)
{
    const size_t k = cw_pq_pages_locate(pages, p->row);
    if (is_loaded(p, SLAB, k))
        return;
    if (!is_loaded(p, DICTIONARY, 0))
        add_range(p, pages->dict_begin, pages->dict_end);
    add_range(p, pages->v[k].begin, pages->v[k].end);
}

/* Adds what is needed of a column. */
static void add_column(const struct place *p)
{
    const struct cw_pq_chunk *chunk = p->chunk;
    struct cw_table_cache *cache = p->state->rows.cache;
    struct cw_table_thing *pages = cw_table_cache_peek(cache, &p->key);
    if (!pages && chunk->end - chunk->begin <= WHOLE_BYTES) {
        add_range(p, chunk->begin, chunk->end);
        if (chunk->index > 0)
            add_range(p, chunk->index, chunk->index + chunk->index_bytes);
        return;
    }
    if (!pages && cw_table_cache_get(cache, &p->key, &pages, NULL) < 0)
        return;
    add_pages(p, &((struct thing *)pages)->u.pages);
    cw_table_cache_put(cache, pages);
}

bool cw_parquet_ahead(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct cw_parquet_state *s = state;
    const struct cw_file_set *files = s->source.files;
    const struct footer *f = NULL;
    (void)opts;
    if (!ahead || !cw_file_set_can_ahead(files))
        return cw_file_set_can_ahead(files);
    const size_t i = cw_file_set_locate(files, pos);
    const int64_t row = pos - files->v[i].first;
    if (!cw_ahead_is_for(files->v[i].path))
        return true;
    if (footer_of(s, i, &f, NULL) < 0 || row >= f->footer.rows)
        return false;
    const size_t group = cw_pq_footer_group_of(&f->footer, row);
    struct place p = {.state = s, .ahead = ahead, .row = row - f->footer.groups[group].first};
    for (size_t k = 0; k < s->fields.columns_n; k++) {
        p.key = (struct cw_table_key){(uint32_t)i, (uint32_t)group, (uint32_t)k, PAGES, 0};
        p.chunk = &f->footer.chunks[group * f->footer.leaves_n + f->columns[k].leaf];
        add_column(&p);
    }
    return true;
}

/* ---- opening ---- */

int cw_parquet_files_open(const struct cw_parquet_opts *opts, const struct cw_op_open *how,
                          struct cw_parquet_state **ret_state, struct cw_err *err)
{
    struct cw_table_fields fields;
    void *state = NULL;
    int rc = cw_table_fields_read(&cw_parquet_table, &opts->table, &fields, err);
    if (rc < 0)
        return rc;
    struct cw_parquet_state *s = CW_NEW(struct cw_parquet_state);
    s->opts = opts;
    s->fields = fields; /* it is taken over */
    cw_mutex_init(&s->mutex);
    cw_table_rows_init(&s->rows, &s->source, &s->fields,
                       cw_table_cache_new((size_t)opts->cache_bytes, &cache_kind, s), find_slab, s);
    cw_table_cache_lend(s->rows.cache, let_go, s);
    rc = cw_file_source_start(&kind, s, &opts->pattern, how, &state, err);
    if (rc == 0)
        *ret_state = state;
    return rc;
}

void cw_parquet_files_close(struct cw_parquet_state *s)
{
    cw_file_source_free(s);
}
