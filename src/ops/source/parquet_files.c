/* SPDX-License-Identifier: Apache-2.0 */
/* Loads footers, places of pages, dictionaries and slabs, and gives each thread a seat. */
#include "ops/source/parquet_files.h"

#include <stdatomic.h>

#include "base/mem.h"

/* Small pages are decoded together, so that a read is not much smaller than what a disk gives in the
 * time of a request. */
enum { JOIN_BYTES = 256 << 10 };
/* A column of a row group is read ahead as a whole while it is not known where its pages lie, unless it
 * is longer: then that is found out first. */
enum { WHOLE_BYTES = 8 << 20 };

struct column {
    size_t leaf;
    struct cw_pq_want want;
    uint64_t fill;
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

static int load_thing(void *arg, struct cw_parquet_thing *thing, struct cw_err *err);

static void end(void *arg)
{
    struct cw_parquet_state *s = arg;
    for (size_t i = 0; i < CW_PARQUET_SEATS; i++) {
        for (size_t k = 0; k < s->fields.columns_n * CW_PARQUET_PINS; k++)
            cw_parquet_cache_put(s->cache, s->seats[i].pins[k].thing);
        cw_mem_free(s->seats[i].pins);
    }
    cw_parquet_cache_free(s->cache);
    cw_parquet_fields_fini(&s->fields);
}

/* Lays out the fields of fixed size, each aligned to 8 bytes. */
static void lay_out(struct cw_parquet_state *s)
{
    for (size_t i = 0; i < s->fields.spec.n; i++) {
        const struct cw_field *field = &s->fields.spec.fields[i];
        s->is_fixed[i] = cw_field_is_fixed(field);
        s->at[i] = s->fixed_bytes;
        if (s->is_fixed[i])
            s->fixed_bytes += CW_ALIGN_UP((size_t)cw_field_bytes(field), (size_t)8);
    }
}

/* Footers are small, and stay. Whether they have the columns that are asked for is found out again by
 * who prepares a job, so the columns are part of the key. */
static void key(const void *state, struct cw_str *out)
{
    const struct cw_parquet_state *s = state;
    cw_value_print(&s->opts->columns, out);
    cw_value_print(&s->opts->types, out);
    cw_value_print(&s->opts->fill, out);
}

static const struct cw_file_index index_kind = {
    .name = "parquet 1", .key = key, .records = rows, .load_head = load_head};
static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct cw_parquet_state),
                                                .end = end,
                                                .unload = unload,
                                                .index = &index_kind};

int cw_parquet_files_open(const struct cw_parquet_opts *opts, const struct cw_op_open *how,
                          struct cw_parquet_state **ret_state, struct cw_err *err)
{
    struct cw_parquet_fields fields;
    void *state = NULL;
    int rc = cw_parquet_fields_read(opts, &fields, err);
    if (rc < 0)
        return rc;
    struct cw_parquet_state *s = CW_NEW(struct cw_parquet_state);
    s->opts = opts;
    s->fields = fields; /* it is taken over */
    s->cache = cw_parquet_cache_new((size_t)opts->cache_bytes, load_thing, s);
    for (size_t i = 0; i < CW_PARQUET_SEATS; i++)
        s->seats[i].pins = CW_NEW_ARRAY(struct cw_parquet_pin, fields.columns_n * CW_PARQUET_PINS);
    lay_out(s);
    rc = cw_file_source_start(&kind, s, &opts->pattern, how, &state, err);
    if (rc == 0)
        *ret_state = state;
    return rc;
}

void cw_parquet_files_close(struct cw_parquet_state *s)
{
    cw_file_source_free(s);
}

/* ---- loading ---- */

/* What is needed to load a thing. */
struct load {
    struct cw_parquet_state *state;
    const struct footer *footer;
    const struct column *column;
    const struct cw_pq_chunk *chunk;
    struct cw_parquet_thing *pages, *dictionary;
};

static int get_pages(struct load *l, const struct cw_parquet_key *key, struct cw_err *err)
{
    struct cw_parquet_key pages = {key->file, key->group, key->column, CW_PARQUET_PAGES, 0};
    return cw_parquet_cache_get(l->state->cache, &pages, &l->pages, err);
}

static int load_slab(struct load *l, struct cw_file_use *use, struct cw_parquet_thing *thing,
                     struct cw_err *err)
{
    struct cw_parquet_key key = thing->key;
    key.kind = CW_PARQUET_DICTIONARY;
    key.stretch = 0;
    int rc = get_pages(l, &key, err);
    if (rc == 0 && l->pages->u.pages.dict_end > l->pages->u.pages.dict_begin)
        rc = cw_parquet_cache_get(l->state->cache, &key, &l->dictionary, err);
    if (rc == 0)
        rc = cw_pq_slab_read(
            &use->readable, &l->column->want, l->chunk, &l->pages->u.pages, thing->key.stretch,
            l->dictionary ? &l->dictionary->u.dictionary : NULL, &thing->u.slab, err);
    thing->bytes = thing->u.slab.bytes;
    return rc;
}

static int load_kind(struct load *l, struct cw_file_use *use, struct cw_parquet_thing *thing,
                     struct cw_err *err)
{
    int rc;
    if (thing->key.kind == CW_PARQUET_SLAB)
        return load_slab(l, use, thing, err);
    if (thing->key.kind == CW_PARQUET_PAGES) {
        rc = cw_pq_pages_find(&use->readable, &l->footer->footer, thing->key.group, l->column->leaf,
                              JOIN_BYTES, &thing->u.pages, err);
        thing->bytes = sizeof(*thing) + thing->u.pages.cap * sizeof(*thing->u.pages.v);
        return rc;
    }
    rc = get_pages(l, &thing->key, err);
    if (rc == 0)
        rc = cw_pq_dictionary_read(&use->readable, &l->column->want, l->chunk, &l->pages->u.pages,
                                   &thing->u.dictionary, err);
    thing->bytes = sizeof(*thing) + cw_pq_column_cost(&thing->u.dictionary);
    return rc;
}

static int load_thing(void *arg, struct cw_parquet_thing *thing, struct cw_err *err)
{
    struct load l = {.state = arg};
    const struct cw_parquet_key *key = &thing->key;
    struct cw_file_use use;
    int rc = footer_of(l.state, key->file, &l.footer, err);
    if (rc < 0)
        return rc;
    l.column = &l.footer->columns[key->column];
    l.chunk = &l.footer->footer.chunks[key->group * l.footer->footer.leaves_n + l.column->leaf];
    rc = cw_file_set_use(l.state->source.files, key->file, &use, err);
    if (rc < 0)
        return rc;
    rc = load_kind(&l, &use, thing, err);
    cw_file_set_release(l.state->source.files, &use);
    cw_parquet_cache_put(l.state->cache, l.pages);
    cw_parquet_cache_put(l.state->cache, l.dictionary);
    return rc;
}

/* ---- seats ---- */

struct cw_parquet_seat *cw_parquet_seat_take(struct cw_parquet_state *s)
{
    static _Atomic(unsigned) threads;
    static _Thread_local unsigned mine; /* number of this thread, from 1 */
    if (mine == 0)
        mine = atomic_fetch_add(&threads, 1) + 1;
    for (unsigned i = mine;; i++) {
        struct cw_parquet_seat *seat = &s->seats[i % CW_PARQUET_SEATS];
        if (!atomic_exchange_explicit(&seat->is_taken, true, memory_order_acquire))
            return seat;
    }
}

void cw_parquet_seat_leave(struct cw_parquet_seat *seat)
{
    atomic_store_explicit(&seat->is_taken, false, memory_order_release);
}

/* Finds the slab of a position, and puts it into a pin. */
static int fill_pin(struct cw_parquet_state *s, struct cw_parquet_pin *pin, size_t column,
                    int64_t pos, struct cw_err *err)
{
    size_t i = cw_file_set_locate(s->source.files, pos);
    int64_t first = s->source.files->v[i].first;
    struct cw_parquet_key key = {.file = (uint32_t)i, .column = (uint32_t)column};
    struct cw_parquet_thing *thing = NULL;
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
    key.kind = CW_PARQUET_SLAB;
    key.stretch = (uint32_t)cw_pq_pages_locate(&l.pages->u.pages, pos - first);
    rc = cw_parquet_cache_get(s->cache, &key, &thing, err);
    cw_parquet_cache_put(s->cache, l.pages);
    if (rc < 0)
        return rc;
    first += thing->u.slab.first;
    cw_parquet_cache_put(s->cache, pin->thing);
    pin->thing = thing;
    pin->begin = first;
    pin->end = first + (int64_t)thing->u.slab.rows;
    return 0;
}

int cw_parquet_slab_find(struct cw_parquet_state *s, struct cw_parquet_seat *seat, size_t column,
                         int64_t pos, const struct cw_pq_slab **ret_slab, size_t *ret_row,
                         size_t *ret_rows, struct cw_err *err)
{
    struct cw_parquet_pin *pins = &seat->pins[CW_PARQUET_PINS * column], *pin = pins;
    while (pin < pins + CW_PARQUET_PINS && (pos < pin->begin || pos >= pin->end))
        pin++;
    if (pin == pins + CW_PARQUET_PINS) {
        pin = pins + pins->next++ % CW_PARQUET_PINS;
        int rc = fill_pin(s, pin, column, pos, err);
        if (rc < 0)
            return rc;
    }
    *ret_slab = &pin->thing->u.slab;
    *ret_row = (size_t)(pos - pin->begin);
    *ret_rows = (size_t)(pin->end - pos);
    return 0;
}

/* ---- reading ahead ---- */

struct place {
    struct cw_parquet_state *state;
    struct cw_ahead *ahead;
    struct cw_parquet_key key; /* of a column's pages */
    const struct cw_pq_chunk *chunk;
    int64_t row; /* in the row group */
};

static void add_range(const struct place *p, uint64_t begin, uint64_t end)
{
    const uint64_t words[] = {p->key.file, begin, end};
    if (end > begin && cw_ahead_note(p->ahead, cw_hash_u64(words, sizeof(words))))
        cw_file_set_ahead(p->state->source.files, p->key.file, begin, end - begin, p->ahead);
}

static bool is_loaded(const struct place *p, enum cw_parquet_kind what, size_t stretch)
{
    struct cw_parquet_key key = p->key;
    key.kind = what;
    key.stretch = (uint32_t)stretch;
    struct cw_parquet_thing *thing = cw_parquet_cache_peek(p->state->cache, &key);
    cw_parquet_cache_put(p->state->cache, thing);
    return thing != NULL;
}

/* Adds the pages that have the row, and the dictionary, unless they are decoded already. */
static void add_pages(const struct place *p, const struct cw_pq_pages *pages)
{
    const size_t k = cw_pq_pages_locate(pages, p->row);
    if (is_loaded(p, CW_PARQUET_SLAB, k))
        return;
    if (!is_loaded(p, CW_PARQUET_DICTIONARY, 0))
        add_range(p, pages->dict_begin, pages->dict_end);
    add_range(p, pages->v[k].begin, pages->v[k].end);
}

/* Adds what is needed of a column. */
static void add_column(const struct place *p)
{
    const struct cw_pq_chunk *chunk = p->chunk;
    struct cw_parquet_thing *pages = cw_parquet_cache_peek(p->state->cache, &p->key);
    if (!pages && chunk->end - chunk->begin <= WHOLE_BYTES) {
        add_range(p, chunk->begin, chunk->end);
        if (chunk->index > 0)
            add_range(p, chunk->index, chunk->index + chunk->index_bytes);
        return;
    }
    if (!pages && cw_parquet_cache_get(p->state->cache, &p->key, &pages, NULL) < 0)
        return;
    add_pages(p, &pages->u.pages);
    cw_parquet_cache_put(p->state->cache, pages);
}

bool cw_parquet_ahead(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead)
{
    struct cw_parquet_state *s = state;
    const struct cw_file_set *files = s->source.files;
    const struct footer *f = NULL;
    (void)opts;
    if (!ahead || !files->can_ahead)
        return files->can_ahead;
    const size_t i = cw_file_set_locate(files, pos);
    const int64_t row = pos - files->v[i].first;
    if (!cw_ahead_is_for(files->v[i].path))
        return true;
    if (footer_of(s, i, &f, NULL) < 0 || row >= f->footer.rows)
        return false;
    const size_t group = cw_pq_footer_group_of(&f->footer, row);
    struct place p = {.state = s, .ahead = ahead, .row = row - f->footer.groups[group].first};
    for (size_t k = 0; k < s->fields.columns_n; k++) {
        p.key =
            (struct cw_parquet_key){(uint32_t)i, (uint32_t)group, (uint32_t)k, CW_PARQUET_PAGES, 0};
        p.chunk = &f->footer.chunks[group * f->footer.leaves_n + f->columns[k].leaf];
        add_column(&p);
    }
    return true;
}

int cw_parquet_refuse(const struct cw_parquet_state *s, size_t column, int64_t pos, const char *why,
                      struct cw_err *err)
{
    const struct cw_file *file = &s->source.files->v[cw_file_set_locate(s->source.files, pos)];
    return cw_err_set(err, CW_E_INVALID, "%s: row %lld: column %s %s", file->path,
                      (long long)(pos - file->first), s->fields.columns[column].name, why);
}
