/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a survey: computed, kept, leased, and put together. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "format/kept_index.h"
#include "graph/cacheable.h"
#include "graph/surveyable.h"
#include "plan/survey_int.h"

/* A survey has about so many parts, each of at least and at most so many elements. */
/* A survey of sources with more files is made by the preparing worker alone. */
#define LEASED_FILES_MAX 20000
#define PARTS 1024
#define PART_ROWS_MIN 256
#define PART_ROWS_MAX (UINT64_C(1) << 20)
#define PART_VALUES_MAX (UINT64_C(1) << 14)

static cw_survey_fn *_Atomic computes;

void cw_survey_set_compute(cw_survey_fn *fn)
{
    atomic_store(&computes, fn);
}

static size_t top_of(const struct cw_survey *s)
{
    return s->plan->survey_top;
}

/* ---- keys ---- */

static void add_hash(struct cw_hasher *hasher, struct cw_hash hash)
{
    cw_hasher_add_u64(hasher, hash.hi);
    cw_hasher_add_u64(hasher, hash.lo);
}

/* The node whose positions it goes over. */
static size_t positions_of(const struct cw_survey *s)
{
    return cw_survey_has_values(s) ? top_of(s) : cw_survey_base(s->plan->checked, top_of(s));
}

/* Of all that decides the fates: the filter with all before it, the files, the positions, and the seed if a
 * random operator is frozen before it. */
static struct cw_hash hash_of(const struct cw_survey *s)
{
    const struct cw_checked *checked = s->plan->checked;
    const struct cw_plan_node *node = &s->plan->nodes[top_of(s)];
    struct cw_hasher *hasher = cw_hasher_new();
    cw_hasher_add_str(hasher, "survey 1");
    add_hash(hasher, checked->nodes[top_of(s)].element);
    add_hash(hasher, checked->nodes[positions_of(s)].fingerprint);
    cw_hasher_add_u64(hasher, s->plan->survey_field);
    add_hash(hasher, node->files);
    cw_hasher_add_u64(hasher, node->drawn);
    cw_hasher_add_u64(hasher, node->drawn ? s->plan->seed : 0);
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

/* The first two lines are what `cachew index ls` shows. */
static void add_key(struct cw_survey *s)
{
    const struct cw_checked_node *node = &s->plan->checked->nodes[top_of(s)];
    char text[CW_HASH_TEXT_BYTES];
    CW_STR_AUTO canon = {0};
    cw_canon_options(node->op, node->opts, &canon);
    cw_hash_text(hash_of(s), text);
    cw_str_addf(&s->key, "survey\n%s%s %s\n%s %" PRIu64 " %" PRIu64 "\n",
                cw_survey_has_values(s) ? "values behind " : "", node->op->name,
                cw_str_text(&canon), text, s->n, s->part_rows);
}

int cw_survey_begin(struct cw_survey *s, struct cw_plan *plan, const char *name, struct cw_err *err)
{
    *s = (struct cw_survey){.plan = plan, .name = name, .began_ns = cw_clock_ns()};
    s->n = (uint64_t)plan->nodes[plan->survey_top].n;
    const uint64_t most = cw_survey_kind(s) == CW_FATES_ALONE ? PART_ROWS_MAX : PART_VALUES_MAX;
    s->part_rows = CW_MIN(CW_MAX(s->n / PARTS, PART_ROWS_MIN), most) / 64 * 64;
    s->parts_n = (size_t)((s->n + s->part_rows - 1) / s->part_rows);
    add_key(s);
    if (!cw_fates_init(&s->fates, s->n, cw_survey_kind(s)))
        return cw_err_set(err, CW_E_NOMEM, "no memory for a survey of %" PRIu64 " elements", s->n);
    return 0;
}

void cw_survey_end(struct cw_survey *s)
{
    cw_str_fini(&s->key);
    cw_fates_fini(&s->fates);
}

/* ---- a part ---- */

static uint64_t rows_of(const struct cw_survey *s, size_t i)
{
    return CW_MIN(s->part_rows, s->n - i * s->part_rows);
}

/* Where the bits of a part lie. */
static size_t byte_of(const struct cw_survey *s, size_t i)
{
    return (size_t)(i * s->part_rows / 8);
}

static void part_key(const struct cw_survey *s, size_t i, struct cw_str *out)
{
    cw_str_addf(out, "%spart %zu", cw_str_text(&s->key), i);
}

static uint64_t put_fates(struct cw_survey *s, size_t i, const struct cw_fates *fates)
{
    const size_t n = cw_fates_bytes(fates->n);
    memcpy(s->fates.kept + byte_of(s, i), fates->kept, n);
    memcpy(s->fates.bad + byte_of(s, i), fates->bad, n);
    if (fates->values)
        memcpy(s->fates.values + i * s->part_rows, fates->values,
               (size_t)fates->n * sizeof(*fates->values));
    return cw_fates_count(fates->kept, fates->n);
}

/* The most that what is kept of n elements can have. */
static uint64_t fates_max(const struct cw_survey *s, uint64_t n)
{
    const uint64_t values = cw_survey_kind(s) == CW_FATES_ALONE ? 0 : n * sizeof(uint64_t);
    return CW_KEPT_INDEX_SMALL + 2 * (uint64_t)cw_fates_bytes(n) + values;
}

static bool find_part(struct cw_survey *s, size_t i, int64_t *ret_records)
{
    struct cw_kept_index kept;
    struct cw_fates fates;
    CW_STR_AUTO key = {0};
    part_key(s, i, &key);
    if (!cw_index_keeper_find(cw_str_text(&key), fates_max(s, rows_of(s, i)), &kept))
        return false;
    const bool fits = cw_fates_read(kept.bytes, kept.n, rows_of(s, i), cw_survey_kind(s), &fates);
    cw_kept_index_fini(&kept);
    if (!fits)
        return false;
    *ret_records = (int64_t)put_fates(s, i, &fates);
    cw_fates_fini(&fates);
    return true;
}

static void set_bits(const uint8_t *each, size_t n, struct cw_fates *fates)
{
    for (size_t i = 0; i < n; i++) {
        fates->kept[i / 8] |= (uint8_t)((each[i] == CW_FATE_KEPT) << i % 8);
        fates->bad[i / 8] |= (uint8_t)((each[i] == CW_FATE_BAD) << i % 8);
    }
}

static int compute(const struct cw_survey *s, size_t i, struct cw_fates *fates, struct cw_err *err)
{
    cw_survey_fn *fn = atomic_load(&computes);
    const size_t n = (size_t)rows_of(s, i);
    cw_autofree uint8_t *each = cw_mem_try(n);
    if (!fn)
        return cw_err_set(err, CW_E_UNSUPPORTED, "nothing is computed here, so no survey is made");
    if (!each)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a survey of %zu elements", n);
    int rc = fn(s->plan, top_of(s), (int64_t)(i * s->part_rows), n, each, fates->values, err);
    if (rc == 0)
        set_bits(each, n, fates);
    return rc;
}

int cw_survey_compute_one(const struct cw_survey *s, uint64_t i, struct cw_err *err)
{
    cw_survey_fn *fn = atomic_load(&computes);
    uint8_t fate;
    uint64_t value;
    return fn ? fn(s->plan, top_of(s), (int64_t)i, 1, &fate, &value, err)
              : cw_err_set(err, CW_E_UNSUPPORTED, "nothing is computed here");
}

int cw_survey_make_part(void *arg, size_t i, int64_t *ret_records, struct cw_err *err)
{
    struct cw_survey *s = arg;
    struct cw_fates fates;
    CW_STR_AUTO key = {0};
    CW_STR_AUTO bytes = {0};
    if (find_part(s, i, ret_records))
        return 0;
    if (!cw_fates_init(&fates, rows_of(s, i), cw_survey_kind(s)))
        return cw_err_set(err, CW_E_NOMEM, "no memory for a part of a survey");
    int rc = compute(s, i, &fates, err);
    if (rc == 0) {
        *ret_records = (int64_t)put_fates(s, i, &fates);
        part_key(s, i, &key);
        cw_fates_write(&fates, &bytes);
        cw_index_keeper_put(cw_str_text(&key), (uint64_t)*ret_records, cw_str_text(&bytes),
                            bytes.len);
    }
    cw_fates_fini(&fates);
    return rc;
}

/* ---- the whole ---- */

bool cw_survey_find_kept(struct cw_survey *s)
{
    struct cw_kept_index kept;
    struct cw_fates fates;
    CW_STR_AUTO key = {0};
    cw_str_addf(&key, "%swhole", cw_str_text(&s->key));
    if (!cw_index_keeper_find(cw_str_text(&key), fates_max(s, s->n), &kept))
        return false;
    const bool fits = cw_fates_read(kept.bytes, kept.n, s->n, cw_survey_kind(s), &fates);
    cw_kept_index_fini(&kept);
    if (fits) {
        cw_fates_fini(&s->fates);
        s->fates = fates;
    }
    return fits;
}

void cw_survey_keep(const struct cw_survey *s)
{
    CW_STR_AUTO key = {0};
    CW_STR_AUTO bytes = {0};
    cw_str_addf(&key, "%swhole", cw_str_text(&s->key));
    cw_fates_write(&s->fates, &bytes);
    cw_index_keeper_put(cw_str_text(&key), cw_fates_count(s->fates.kept, s->n), cw_str_text(&bytes),
                        bytes.len);
}

/* ---- leases ---- */

struct lending {
    struct cw_survey *survey;
    const struct cw_value *sources;
};

static void say_where(void *arg, size_t i, size_t made, char ret_at[CW_STOP_AT_BYTES])
{
    const struct lending *l = arg;
    const struct cw_survey *s = l->survey;
    const double seconds = (double)(cw_clock_ns() - s->began_ns) / 1e9;
    const double rate = seconds > 0 ? (double)made * (double)s->part_rows / seconds : 0;
    int n = snprintf(ret_at, CW_STOP_AT_BYTES, "node \"%.100s\" (survey: %zu of %zu parts", s->name,
                     made, s->parts_n);
    (void)i;
    if (made > 0 && rate > 0)
        n += snprintf(ret_at + n, CW_STOP_AT_BYTES - (size_t)n, ", %.0f elements/s, %.0f s left",
                      rate, ((double)s->n - (double)made * (double)s->part_rows) / rate);
    snprintf(ret_at + n, CW_STOP_AT_BYTES - (size_t)n, ")");
}

static void write_lease(void *arg, size_t first, size_t n, struct cw_value *ret_rows)
{
    const struct lending *l = arg;
    cw_value_set_object(ret_rows);
    struct cw_value *rows = cw_value_set_list(cw_value_member(ret_rows, "files"), n);
    for (size_t i = 0; i < n; i++)
        cw_value_set_i64(&rows[i], (int64_t)(first + i));
    cw_value_copy(cw_value_member(ret_rows, "sources"), l->sources);
}

/* The fates of part i alone; the pointers are into those of all. */
static struct cw_fates part_of(const struct cw_survey *s, size_t i)
{
    return (struct cw_fates){.n = rows_of(s, i),
                             .kind = s->fates.kind,
                             .kept = s->fates.kept + byte_of(s, i),
                             .bad = s->fates.bad + byte_of(s, i),
                             .values = s->fates.values ? s->fates.values + i * s->part_rows : NULL};
}

void cw_survey_write_row(const struct cw_survey *s, size_t i, struct cw_value *ret_row)
{
    const struct cw_fates part = part_of(s, i);
    struct cw_value *row = cw_value_set_list(ret_row, 2);
    CW_STR_AUTO bytes = {0};
    CW_STR_AUTO text = {0};
    cw_fates_write(&part, &bytes);
    cw_hex_add((const uint8_t *)cw_str_text(&bytes), bytes.len, &text);
    cw_value_set_i64(&row[0], (int64_t)i);
    cw_value_set_str(&row[1], cw_str_text(&text));
}

static bool read_row(const struct cw_survey *s, size_t i, const struct cw_value *row,
                     struct cw_fates *ret_fates)
{
    if (row->type != CW_VALUE_LIST || row->n != 2 || row->items[0].type != CW_VALUE_I64 ||
        row->items[0].i != (int64_t)i || row->items[1].type != CW_VALUE_STR)
        return false;
    const size_t n = strlen(row->items[1].s) / 2;
    cw_autofree uint8_t *bytes = cw_mem_try(n + 1);
    return bytes && cw_hex_read(row->items[1].s, bytes, n) &&
           cw_fates_read(bytes, n, rows_of(s, i), cw_survey_kind(s), ret_fates);
}

static bool take_row(void *arg, size_t i, const struct cw_value *row, int64_t *ret_records)
{
    const struct lending *l = arg;
    struct cw_fates fates;
    if (!read_row(l->survey, i, row, &fates))
        return false;
    *ret_records = (int64_t)put_fates(l->survey, i, &fates);
    cw_fates_fini(&fates);
    return true;
}

static void ignore_records(void *arg, size_t i, int64_t records)
{
    (void)arg;
    (void)i;
    (void)records;
}

/* What a helper must know besides the parts and the sources. */
static void write_options(const struct cw_survey *s, struct cw_value *ret_options)
{
    char seed[24];
    CW_STR_AUTO graph = {0};
    cw_graph_print(s->plan->checked->graph, &graph);
    snprintf(seed, sizeof(seed), "%" PRIu64, s->plan->seed);
    cw_value_set_object(ret_options);
    cw_value_set_str(cw_value_member(ret_options, "graph"), cw_str_text(&graph));
    cw_value_set_str(cw_value_member(ret_options, "node"), s->name);
    cw_value_set_str(cw_value_member(ret_options, "seed"), seed);
}

/* Whether the list of the sources' files, which each lease carries, would take longer than the work of a part. */
static bool are_many(const struct cw_value *sources)
{
    size_t n = 0;
    for (size_t i = 0; i < sources->n; i++) {
        const struct cw_value *source = &sources->items[i];
        const struct cw_value *files =
            source->type == CW_VALUE_OBJECT ? cw_value_get(source, "files") : NULL;
        n += files ? files->n : 0;
    }
    return n > LEASED_FILES_MAX;
}

int cw_survey_make(struct cw_survey *s, struct cw_index_parts *parts,
                   const struct cw_value *sources, struct cw_err *err)
{
    struct lending l = {.survey = s, .sources = sources};
    struct cw_value options = {0};
    write_options(s, &options);
    const struct cw_index_whole whole = {.what = "parts",
                                         .n = s->parts_n,
                                         .op = are_many(sources) ? NULL : CW_SURVEY_OP,
                                         .options = &options,
                                         .stop = s->plan->stop,
                                         .arg = &l,
                                         .at = say_where,
                                         .rows = write_lease,
                                         .take = take_row,
                                         .made = ignore_records};
    int rc = cw_index_parts_make_all(parts, &whole, cw_survey_make_part, s, err);
    cw_value_fini(&options);
    return rc;
}
