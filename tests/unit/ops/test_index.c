/* SPDX-License-Identifier: Apache-2.0 */
/* Indices of sources: what was kept once is used, without a byte of the files; what is damaged, or of
 * another version of a file, is made anew; what is dropped from memory is loaded again. */
#include "support/cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "format/kept_index.h"
#include "format/line_index.h"
#include "format/source_file.h"
#include "ops/op.h"
#include "ops/source/file_source.h"
#include "ops/source/index_parts.h"
#include "ops/source/inflated.h"
#include "ops/source/held.h"
#include "ops/source/loaded.h"
#include "support/completed.h"

/* ---- a keeper in memory, and a count of the bytes that are read of files ---- */

struct blob {
    void *p;
    size_t n;
};
static struct {
    struct cw_mutex mutex;
    struct cw_strmap blobs;
    unsigned gets, hits, puts, too_long;
    uint64_t read_bytes;
} kept = {.mutex = CW_MUTEX_INIT};

static bool get(void *arg, uint64_t store, const char *name, size_t most, void **ret_blob,
                size_t *ret_n)
{
    (void)arg;
    (void)store;
    cw_mutex_lock(&kept.mutex);
    const struct blob *blob = cw_strmap_get(&kept.blobs, name);
    kept.gets++;
    if (blob && blob->n > most) {
        kept.too_long++;
        blob = NULL;
    }
    kept.hits += blob != NULL;
    if (blob) {
        *ret_blob = cw_mem_dup(blob->p, blob->n);
        *ret_n = blob->n;
    }
    cw_mutex_unlock(&kept.mutex);
    return blob != NULL;
}

static void blob_free(struct blob *blob)
{
    if (blob)
        cw_mem_free(blob->p);
    cw_mem_free(blob);
}

static void put(void *arg, uint64_t store, const char *name, const void *bytes, size_t n)
{
    struct blob *blob = CW_NEW(struct blob);
    (void)arg;
    (void)store;
    *blob = (struct blob){cw_mem_dup(bytes, n), n};
    cw_mutex_lock(&kept.mutex);
    kept.puts++;
    blob_free(cw_strmap_set(&kept.blobs, name, blob));
    cw_mutex_unlock(&kept.mutex);
}

static int count_read(void *arg, const struct cw_source_file *file, uint64_t offset, void *dst,
                      size_t n, struct cw_err *err)
{
    (void)arg;
    cw_mutex_lock(&kept.mutex);
    kept.read_bytes += n;
    cw_mutex_unlock(&kept.mutex);
    return cw_io_read(file->io, offset, dst, n, file->stop, err);
}

static const struct cw_index_keeper keeper = {.get = get, .put = put};
static const struct cw_source_hook hook = {.read = count_read};

static int begin(void **state)
{
    (void)state;
    cw_index_keeper_set(&keeper);
    cw_source_hook_set(&hook);
    return 0;
}

static int end(void **state)
{
    const char *name;
    void *blob;
    (void)state;
    cw_index_keeper_set(NULL);
    cw_source_hook_set(NULL);
    for (size_t i = 0; cw_strmap_next(&kept.blobs, &i, &name, &blob);)
        blob_free(blob);
    cw_strmap_fini(&kept.blobs);
    kept.blobs = (struct cw_strmap){0};
    kept.gets = kept.hits = kept.puts = kept.too_long = 0;
    kept.read_bytes = 0;
    cw_loaded_set_max(SIZE_MAX);
    return 0;
}

/* ---- sources ---- */

struct source {
    const struct cw_op *op;
    uint64_t opts[64];
    struct cw_value options;
    struct cw_spec spec;
    struct cw_value manifest;
    void *state;
    int64_t n;
};

static void open_source(struct source *s, const struct cw_value *manifest)
{
    struct cw_err err = {0};
    const struct cw_op_open how = {
        .manifest = manifest, .out = &s->spec, .op = s->op->name, .options = &s->options};
    if (s->op->open(s->opts, &how, &s->state, &err) < 0 ||
        s->op->count(s->opts, s->state, NULL, 0, &s->n, &err) < 0)
        fail_msg("%s", err.msg);
}

static void close_source(struct source *s)
{
    s->op->close(s->state);
    s->state = NULL;
}

/* json: all options, of which %s is replaced by the folder of the test data */
static void source_init(struct source *s, const char *op, const char *json)
{
    struct cw_err err = {0};
    CW_STR_AUTO text = {0};
    const char *rest = strstr(json, "%s");
    cw_str_add_bytes(&text, json, rest ? (size_t)(rest - json) : strlen(json));
    if (rest)
        cw_str_addf(&text, "%s/tests/ops/data%s", CW_TEST_SOURCE_DIR, rest + 2);
    *s = (struct source){.op = cw_op_find(op)};
    assert_true(s->op->options_bytes <= sizeof(s->opts));
    assert_int_equal(cw_value_parse(text.s, text.len, "options", &s->options, &err), 0);
    if (cw_test_parse_completed(s->op, &s->options, s->opts, &err) < 0 ||
        s->op->infer(s->opts, NULL, 0, &s->spec, &err) < 0)
        fail_msg("%s", err.msg);
}

static void source_fini(struct source *s)
{
    if (s->state)
        close_source(s);
    cw_value_fini(&s->manifest);
    cw_value_fini(&s->options);
    cw_spec_fini(&s->spec);
    cw_opt_fini(s->op->options, s->opts);
    cw_spec_fini(&s->spec);
}

/* A hash of all elements. */
static uint64_t read_all(struct source *s)
{
    struct cw_arena *arena = cw_arena_new(1 << 16);
    const struct cw_op_ctx ctx = {.arena = arena, .out = &s->spec};
    struct cw_hasher *hasher = cw_hasher_new();
    for (int64_t pos = 0; pos < s->n; pos++) {
        struct cw_element e = {0};
        struct cw_err err = {0};
        if (s->op->read(&ctx, s->opts, s->state, pos, &e, &err) < 0)
            fail_msg("%s", err.msg);
        for (size_t f = 0; f < e.n; f++)
            cw_hasher_add(hasher, e.fields[f].data, e.fields[f].bytes);
        cw_arena_reset(arena);
    }
    uint64_t sum = cw_hasher_get_u64(hasher);
    cw_hasher_free(hasher);
    cw_arena_free(arena);
    return sum;
}

static const char *const sources[][2] = {
    {"tfrecord", "{\"pattern\":\"%s/records_*.tfrecord\"}"},
    {"tfrecord", "{\"pattern\":\"%s/packed_*.tfrecord.gz\"}"},
    {"fixed_records", "{\"pattern\":\"%s/fixed_packed.bin.*\",\"dtype\":\"u16\",\"dims\":1}"},
    {"text_lines", "{\"pattern\":\"%s/csv_a.csv\"}"},
    {"csv", "{\"pattern\":\"%s/csv_[ab].csv\"}"},
    {"csv", "{\"pattern\":\"%s/csv_all.csv.gz\"}"},
    {"jsonl", "{\"pattern\":\"%s/json_a.jsonl\"}"},
    {"webdataset", "{\"pattern\":\"%s/wds_plain.tar\"}"},
    {"webdataset", "{\"pattern\":\"%s/wds_packed.tar.gz\",\"key\":\"key\"}"},
    {"parquet", "{\"pattern\":\"%s/parquet_plain.parquet\",\"columns\":[\"i32\"]}"},
    {"npy", "{\"pattern\":\"%s/npy_rows_a.npy\"}"},
    {"idx", "{\"pattern\":\"%s/idx_u8.i*\"}"},
    {"chunks", "{\"pattern\":\"%s/chunks_*.chunk\"}"}};

static void second_job_reads_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(sources); i++) {
        struct source s;
        source_init(&s, sources[i][0], sources[i][1]);
        open_source(&s, NULL);
        const uint64_t sum = read_all(&s);
        const int64_t n = s.n;
        close_source(&s);
        kept.read_bytes = 0;
        const unsigned puts = kept.puts;
        open_source(&s, NULL);
        assert_int_equal(kept.read_bytes, 0);
        assert_int_equal(s.n, n);
        assert_true(read_all(&s) == sum && n > 0);
        assert_int_equal(kept.puts, puts);
        source_fini(&s);
    }
}

/* Every byte of what is kept is damaged once, and all of it is cut off once: the index is made anew, and
 * kept again. */
static void damaged_is_made_anew(void **state)
{
    struct source s;
    void *value;
    const char *name;
    size_t at = 0;
    (void)state;
    source_init(&s, "tfrecord", "{\"pattern\":\"%s/records_a.tfrecord\"}");
    open_source(&s, NULL);
    const uint64_t sum = read_all(&s);
    close_source(&s);
    assert_true(cw_strmap_next(&kept.blobs, &at, &name, &value));
    const size_t n = ((struct blob *)value)->n;
    for (size_t i = 0; i < 2 * n; i++) {
        struct blob *blob = cw_strmap_get(&kept.blobs, name);
        if (i < n)
            ((uint8_t *)blob->p)[i] ^= 0x20;
        else
            blob->n = i - n;
        const unsigned puts = kept.puts;
        open_source(&s, NULL);
        assert_true(read_all(&s) == sum);
        assert_int_equal(kept.puts, puts + 1);
        close_source(&s);
        at = 0;
        assert_true(cw_strmap_next(&kept.blobs, &at, &name, &value));
    }
    source_fini(&s);
}

/* ---- files that change ---- */

static void set_age(const char *path, int64_t age_s)
{
    const struct timespec t = {.tv_sec = cw_clock_wall_ms() / 1000 - age_s};
    const struct timespec times[2] = {t, t};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void write_lines(const char *path, int lines, int64_t age_s)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < lines; i++)
        fprintf(f, "line %d of %d\n", i, lines);
    fclose(f);
    set_age(path, age_s);
}

static void other_file_is_made_anew(void **state)
{
    char path[] = "/tmp/cachew-index-XXXXXX";
    struct source s;
    (void)state;
    close(mkstemp(path));
    cw_autofree char *json = cw_mem_printf("{\"pattern\":\"%s\"}", path);
    write_lines(path, 100, 1000);
    source_init(&s, "text_lines", json);
    open_source(&s, NULL);
    close_source(&s);
    write_lines(path, 101, 900);
    open_source(&s, NULL);
    assert_int_equal(s.n, 101);
    assert_int_equal(kept.puts, 2);
    close_source(&s);
    /* one that may still change is not kept */
    write_lines(path, 102, 0);
    open_source(&s, NULL);
    assert_int_equal(s.n, 102);
    assert_int_equal(kept.puts, 2);
    source_fini(&s);
    (void)unlink(path);
}

/* Keeps an index of 3 records that end there, as if a source had made it of this compressed file. */
static void keep_index(const char *name, const char *path, uint64_t end)
{
    struct stat st;
    CW_STR_AUTO bytes = {0};
    struct cw_io_file opened;
    struct cw_readable file;
    struct cw_access_points *points = NULL;
    struct cw_line_index *index = cw_line_index_new();
    assert_int_equal(stat(path, &st), 0);
    cw_autofree char *key = cw_mem_printf(
        "%s\n%s\n%lld %lld -\npoints 1 every 4194304\n", name, path, (long long)st.st_size,
        (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    assert_int_equal(cw_readable_open(path, &opened, &file, NULL), 0);
    assert_int_equal(cw_access_points_make(&file, 4194304, NULL, &points, NULL), 0);
    cw_io_close(&opened);
    for (uint64_t k = 0; k < 3; k++)
        assert_int_equal(cw_line_index_add(index, k), 0);
    assert_int_equal(cw_line_index_end(index, end), 0);
    cw_inflated_pack(points, &bytes);
    cw_line_index_pack(index, &bytes);
    cw_index_keeper_put(key, 3, bytes.s, bytes.len);
    cw_line_index_free(index);
    cw_access_points_free(points);
}

/* What is kept is none of the 353 bytes that are in the file, though it has its access points: it is made
 * anew. */
static void other_inflated_is_made_anew(void **state)
{
    struct source s;
    (void)state;
    source_init(&s, "tfrecord", "{\"pattern\":\"%s/packed_a.tfrecord.gz\",\"inflated_max\":353}");
    cw_index_keeper_set(NULL);
    open_source(&s, NULL);
    const uint64_t sum = read_all(&s);
    close_source(&s);
    cw_index_keeper_set(&keeper);
    keep_index("tfrecord 1", CW_TEST_SOURCE_DIR "/tests/ops/data/packed_a.tfrecord.gz", 354);
    open_source(&s, NULL);
    assert_int_equal(kept.hits, 1);
    assert_int_equal(kept.puts, 1);
    assert_true(s.n == 3 && read_all(&s) == sum);
    assert_int_equal(kept.puts, 2);
    source_fini(&s);
}

/* What somebody has put under the name of an index, longer than any of the file can be, or than the
 * process allows, is not even read; the index is made anew. */
static void what_is_too_long_is_not_read(void **state)
{
    struct source s;
    (void)state;
    source_init(&s, "tfrecord", "{\"pattern\":\"%s/records_a.tfrecord\"}");
    open_source(&s, NULL);
    const uint64_t sum = read_all(&s);
    close_source(&s);
    assert_int_equal(kept.puts, 1);
    const char *name = NULL;
    void *value = NULL;
    size_t i = 0;
    assert_true(cw_strmap_next(&kept.blobs, &i, &name, &value));
    struct blob *blob = value;
    const struct blob honest = *blob;
    blob->n = 2 * CW_KEPT_INDEX_SMALL;
    blob->p = cw_mem_new(blob->n);
    open_source(&s, NULL);
    assert_true(kept.too_long > 0);
    assert_int_equal(kept.puts, 2);
    assert_true(read_all(&s) == sum);
    close_source(&s);
    cw_mem_free(honest.p);
    cw_index_keeper_set_max(1);
    const unsigned hits = kept.hits;
    open_source(&s, NULL);
    assert_int_equal(kept.hits, hits);
    assert_true(read_all(&s) == sum);
    cw_index_keeper_set_max(SIZE_MAX);
    source_fini(&s);
}

/* ---- memory ---- */

/* Stretches of compressed files count, stay while there is room, and are inflated again when they were
 * dropped; with an index that was kept, too. */
static void inflated_is_dropped(void **state)
{
    static const struct {
        const char *op, *options;
        size_t bytes;
    } packed[] = {
        {"tfrecord", "{\"pattern\":\"%s/packed_a.tfrecord.gz\",\"inflated_max\":353}", 353},
        {"text_lines", "{\"pattern\":\"%s/text_a.txt.zst\"}", 40},
        {"fixed_records", "{\"pattern\":\"%s/fixed_packed.bin.gz\",\"dtype\":\"u16\",\"dims\":1}",
         46},
        {"webdataset", "{\"pattern\":\"%s/wds_packed.tar.gz\",\"inflated_max\":82944}", 82944}};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(packed); i++) {
        struct source s;
        uint64_t sums[2];
        source_init(&s, packed[i].op, packed[i].options);
        for (size_t k = 0; k < 2; k++) {
            open_source(&s, NULL);
            sums[k] = read_all(&s);
            const uint64_t read_bytes = kept.read_bytes;
            cw_loaded_trim(0);
            assert_int_equal(cw_loaded_bytes(), packed[i].bytes);
            assert_true(read_all(&s) == sums[k] && s.n > 0);
            assert_int_equal(kept.read_bytes, read_bytes);
            cw_held_drop_all();
            cw_loaded_trim(0);
            assert_int_equal(cw_loaded_bytes(), 0);
            assert_true(read_all(&s) == sums[k]);
            assert_true(kept.read_bytes > read_bytes);
            close_source(&s);
            assert_int_equal(cw_loaded_bytes(), 0);
        }
        assert_true(sums[0] == sums[1]);
        assert_int_equal(kept.puts, i + 1);
        source_fini(&s);
    }
}

static void dropped_is_loaded_again(void **state)
{
    struct source s;
    (void)state;
    source_init(&s, "tfrecord", "{\"pattern\":\"%s/records_*.tfrecord\"}");
    open_source(&s, NULL);
    const uint64_t sum = read_all(&s);
    assert_true(cw_loaded_bytes() > 0);
    cw_loaded_trim(0);
    assert_int_equal(cw_loaded_bytes(), 0);
    const unsigned hits = kept.hits;
    cw_loaded_set_max(1); /* each index is dropped as soon as it is not in use */
    assert_true(read_all(&s) == sum);
    assert_true(kept.hits > hits);
    source_fini(&s);
    assert_int_equal(cw_loaded_bytes(), 0);
}

enum { THREADS = 4, FILES = 40, ROUNDS = 3000 };

struct things {
    struct cw_loaded *loaded;
    struct cw_thread thread;
    unsigned seed;
};

static int load_thing(void *arg, size_t i, void **ret_thing, struct cw_err *err)
{
    (void)arg;
    (void)err;
    size_t *thing = CW_NEW(size_t);
    *thing = i;
    *ret_thing = thing;
    return 0;
}

static size_t thing_bytes(const void *thing)
{
    (void)thing;
    return 10;
}

static void use_things(void *arg)
{
    struct things *t = arg;
    for (unsigned k = 0; k < ROUNDS; k++) {
        const size_t i = cw_mix64(k + t->seed) % FILES;
        const void *thing = NULL;
        CW_ASSERT(cw_loaded_get(t->loaded, i, load_thing, NULL, &thing, NULL) == 0);
        CW_ASSERT(*(const size_t *)thing == i);
        cw_loaded_put(t->loaded, i);
    }
}

static void threads_load_and_drop(void **state)
{
    struct things t[THREADS];
    struct cw_loaded *loaded = cw_loaded_new(FILES, cw_mem_free, thing_bytes);
    (void)state;
    cw_loaded_set_max(100); /* a quarter of all */
    for (unsigned i = 0; i < THREADS; i++) {
        t[i] = (struct things){.loaded = loaded, .seed = i * 1000};
        cw_thread_start(&t[i].thread, "things", use_things, &t[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        cw_thread_join(&t[i].thread);
    cw_loaded_trim(100);
    assert_true(cw_loaded_bytes() <= 100);
    cw_loaded_free(loaded);
    assert_int_equal(cw_loaded_bytes(), 0);
}

/* ---- leases ---- */

/* Others make parts while this process waits at its first file, and then the rest. */
struct lending {
    struct cw_index_parts *parts;
    struct cw_mutex mutex;
    struct cw_cond cond;
    bool is_ready, was_lent;
    unsigned made;
};

static void on_ready(void *arg)
{
    struct lending *l = arg;
    cw_mutex_lock(&l->mutex);
    l->is_ready = true;
    cw_cond_broadcast(&l->cond);
    cw_mutex_unlock(&l->mutex);
}

static int make_one(void *arg, size_t i, int64_t *ret_records, struct cw_err *err)
{
    struct lending *l = arg;
    (void)err;
    cw_mutex_lock(&l->mutex);
    while (!l->was_lent)
        cw_cond_wait(&l->cond, &l->mutex);
    l->made++;
    cw_mutex_unlock(&l->mutex);
    *ret_records = (int64_t)i + 1000;
    return 0;
}

struct making {
    struct lending *lending;
    struct cw_file_set *files;
    const struct cw_op_open *how;
    int rc;
};

static void make_all(void *arg)
{
    struct making *m = arg;
    m->rc = cw_index_parts_make(m->lending->parts, m->files, m->how, make_one, m->lending, NULL);
}

static void parts_are_leased(void **state)
{
    enum { N = 64 };
    struct lending l = {.parts = NULL};
    struct cw_thread thread;
    struct cw_value options = {0};
    struct cw_file *v = CW_NEW_ARRAY(struct cw_file, N);
    struct cw_file_set *files = CW_NEW(struct cw_file_set);
    const struct cw_op_open how = {.op = "tfrecord", .options = &options};
    (void)state;
    for (size_t i = 0; i < N; i++)
        v[i].path = cw_mem_printf("/f%zu", i);
    files->v = v;
    files->n = N;
    cw_mutex_init(&l.mutex);
    cw_cond_init(&l.cond);
    l.parts = cw_index_parts_new(on_ready, &l);
    cw_index_parts_set_at_once(2);
    struct making m = {.lending = &l, .files = files, .how = &how};
    cw_thread_start(&thread, "make", make_all, &m);
    cw_mutex_lock(&l.mutex);
    while (!l.is_ready)
        cw_cond_wait(&l.cond, &l.mutex);
    cw_mutex_unlock(&l.mutex);
    struct cw_index_lease leases[3];
    for (size_t k = 0; k < 3; k++)
        assert_true(cw_index_parts_lease(l.parts, k + 1, 3, &leases[k]));
    /* The first is done; the second is lost; the third comes back with files that do not fit. */
    struct cw_value *rows = &leases[0].files.items[0];
    const size_t done = rows->n;
    for (size_t i = 0; i < rows->n; i++)
        rows->items[i].items[3].i = 7;
    cw_index_parts_leased(l.parts, 1, &leases[0].files);
    cw_index_parts_leased(l.parts, 2, NULL);
    cw_index_parts_leased(l.parts, 3, &leases[0].files);
    cw_index_parts_leased(l.parts, 99, &leases[0].files); /* of nobody */
    cw_mutex_lock(&l.mutex);
    l.was_lent = true;
    cw_cond_broadcast(&l.cond);
    cw_mutex_unlock(&l.mutex);
    cw_thread_join(&thread);
    assert_int_equal(m.rc, 0);
    assert_true(done > 0);
    assert_int_equal(l.made, N - done);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(v[i].records, i < N - done ? (int64_t)i + 1000 : 7);
        cw_mem_free(v[i].path);
    }
    for (size_t k = 0; k < 3; k++)
        cw_index_lease_fini(&leases[k]);
    cw_index_parts_set_at_once(16);
    cw_index_parts_free(l.parts);
    cw_cond_fini(&l.cond);
    cw_mutex_fini(&l.mutex);
    cw_mem_free(v);
    cw_mem_free(files);
}

/* What is leased is made elsewhere: only options and a manifest are needed. */
static void helper_finds_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(sources); i++) {
        struct source s;
        struct cw_value files = {0};
        struct cw_err err = {0};
        CW_STR_AUTO found = {0};
        CW_STR_AUTO told = {0};
        if (cw_op_find(sources[i][0])->is_complete)
            continue; /* of a job all options are known before */
        source_init(&s, sources[i][0], sources[i][1]);
        open_source(&s, NULL);
        s.op->manifest(s.opts, s.state, &s.manifest);
        cw_value_print(&s.manifest, &found);
        cw_value_copy(&files, &s.manifest);
        for (size_t k = 0; k < files.items[0].n; k++)
            files.items[0].items[k].items[3].i = 0;
        if (cw_index_parts_help(s.op, &s.options, &files, NULL, &err) < 0)
            fail_msg("%s", err.msg);
        cw_value_print(&files, &told);
        assert_string_equal(cw_str_text(&told), cw_str_text(&found));
        cw_value_fini(&files);
        source_fini(&s);
    }
}

/* What a lease of somebody who lies says of the file of a source: a row of a manifest. */
static void hostile_manifest(size_t how, const struct cw_value *good, struct cw_value *ret_files)
{
    static const char *const texts[] = {
        "{}",
        "{\"files\":[]}",
        "{\"files\":7}",
        "{\"files\":[7]}",
        "{\"files\":[[]]}",
        "{\"files\":[[\"/nothing/there\",10,20,0]]}",
        "{\"files\":[[\"\",10,20,0]]}",
        "{\"files\":[[\"/\",10,20,0]]}",
        "{\"files\":[[\"/proc/self/mem\",10,20,0]]}",
        "{\"files\":[[\"/dev/zero\",10,20,0]]}",
        "{\"identity\":\"content\",\"files\":[[\"/etc/passwd\",10,\"x\",0]]}",
        "{\"identity\":\"size\",\"files\":[[\"/nothing/there\",10,0,0]]}"};
    if (how < CW_ARRAY_LEN(texts)) {
        assert_int_equal(cw_value_parse(texts[how], strlen(texts[how]), "files", ret_files, NULL),
                         0);
        return;
    }
    cw_value_copy(ret_files, good);
    struct cw_value *row = &ret_files->items[0].items[0];
    switch (how - CW_ARRAY_LEN(texts)) {
    case 0:
        row->items[1].i = INT64_MAX;
        break;
    case 1:
        row->items[1].i = 0;
        break;
    case 2:
        row->items[3].i = INT64_MAX;
        break;
    case 3:
        row->items[2].i++;
        break;
    default:
        break; /* as it is */
    }
}
enum { HOSTILE_N = 17 };

/* A worker checks what it is leased: whatever it says, it makes an error or parts. */
static void leases_of_liars(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(sources); i++) {
        struct source s;
        struct cw_value pattern = {0};
        source_init(&s, sources[i][0], sources[i][1]);
        open_source(&s, NULL);
        s.op->manifest(s.opts, s.state, &s.manifest);
        cw_value_set_object(&pattern);
        cw_value_copy(cw_value_member(&pattern, "pattern"), cw_value_get(&s.options, "pattern"));
        const struct cw_value *const options[] = {&s.options, &pattern};
        for (size_t how = 0; how < 2 * HOSTILE_N; how++) {
            struct cw_value files = {0};
            struct cw_err err = {0};
            hostile_manifest(how / 2, &s.manifest, &files);
            if (cw_index_parts_help(s.op, options[how % 2], &files, NULL, &err) < 0)
                assert_true(err.msg[0] != '\0');
            cw_value_fini(&files);
        }
        cw_value_fini(&pattern);
        source_fini(&s);
    }
}

/* Of any operator, with no option but a pattern. */
static void leases_of_other_operators(void **state)
{
    static const char text[] = "{\"pattern\":\"/etc/passwd\"}",
                      good[] = "{\"files\":[[\"/etc/passwd\",100,0,0]]}";
    struct cw_value options = {0}, row = {0};
    size_t n;
    const struct cw_op *const *all = cw_op_all(&n);
    (void)state;
    assert_int_equal(cw_value_parse(text, strlen(text), "options", &options, NULL), 0);
    assert_int_equal(cw_value_parse(good, strlen(good), "files", &row, NULL), 0);
    for (size_t i = 0; i < n * HOSTILE_N; i++) {
        struct cw_value files = {0};
        hostile_manifest(i % HOSTILE_N, &row, &files);
        (void)cw_index_parts_help(all[i / HOSTILE_N], &options, &files, NULL, NULL);
        cw_value_fini(&files);
    }
    cw_value_fini(&options);
    cw_value_fini(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(leases_of_liars, begin, end),
        cmocka_unit_test_setup_teardown(leases_of_other_operators, begin, end),
        cmocka_unit_test_setup_teardown(second_job_reads_nothing, begin, end),
        cmocka_unit_test_setup_teardown(damaged_is_made_anew, begin, end),
        cmocka_unit_test_setup_teardown(other_file_is_made_anew, begin, end),
        cmocka_unit_test_setup_teardown(other_inflated_is_made_anew, begin, end),
        cmocka_unit_test_setup_teardown(what_is_too_long_is_not_read, begin, end),
        cmocka_unit_test_setup_teardown(inflated_is_dropped, begin, end),
        cmocka_unit_test_setup_teardown(dropped_is_loaded_again, begin, end),
        cmocka_unit_test_setup_teardown(threads_load_and_drop, begin, end),
        cmocka_unit_test_setup_teardown(parts_are_leased, begin, end),
        cmocka_unit_test_setup_teardown(helper_finds_the_same, begin, end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
