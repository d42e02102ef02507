/* SPDX-License-Identifier: Apache-2.0 */
/* Source `hdf5`: rows of the datasets of HDF5 files, each dataset a field. The library that reads them
 * works for one thread at a time, so a lock is held while rows are read. */
#include <string.h>

#include "base/mem.h"
#include "format/hdf5.h"
#include "io/io.h"
#include "io/source_url.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"
#include "ops/source/held.h"
#include "ops/source/table_fields.h"

enum { OPEN_MAX = 32 }; /* files of a source that are open at once */

struct hdf5_opts {
    struct cw_str_list pattern;
    struct cw_table_opts table; /* its columns are the option datasets */
    int64_t cache_bytes;
};
/* A file, which has the dataset of column k as its number k while it is open. */
struct hdf5_slot {
    struct cw_hdf5 *file; /* NULL: it is not open */
    uint64_t used_at;
    size_t bytes; /* of its chunks, at most */
};
struct hdf5_state {
    struct cw_file_source source;
    const struct hdf5_opts *opts;
    struct cw_table_fields fields; /* column k is field k */
    struct cw_held held;           /* the chunks of open files */
    struct cw_mutex mutex;         /* guards what follows */
    struct hdf5_slot *slots;       /* of each file */
    size_t open_n;
};

static const struct cw_table_kind hdf5_table = {
    .option = "datasets", .column = "dataset", .where = "The first file", .rank_max = CW_RANK_MAX};

#define OFFSET(member) offsetof(struct hdf5_opts, member)
static const struct cw_opt options[] = {
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "datasets",
     .help = "datasets to read: a list of paths in the file (group/x), and of objects {\"field\": "
             "path}; none = all",
     .type = CW_OPT_VALUE,
     .offset = OFFSET(table.columns)},
    CW_TABLE_TYPES_ROW(OFFSET(table.types)),
    {.name = "cache",
     .help = "memory for the unpacked chunks of each dataset of an open file",
     .type = CW_OPT_BYTES,
     .offset = OFFSET(cache_bytes),
     .def = "\"16MiB\"",
     .min = 0,
     .max = 0x1p40,
     .flags = CW_OPT_NO_FINGERPRINT},
    {0},
};

/* ---- what the first file says ---- */

struct sets {
    struct cw_hdf5 *file;
    char **names;
    size_t n;
};

static const char *set_name(const void *arg, size_t i)
{
    return ((const struct sets *)arg)->names[i];
}

static int set_type(const void *arg, size_t i, struct cw_field *ret_type, struct cw_err *err)
{
    const struct sets *s = arg;
    size_t set;
    int rc = cw_hdf5_use(s->file, s->names[i], &set, err);
    if (rc == 0)
        *ret_type = cw_hdf5_set(s->file, set)->type;
    return rc;
}

static bool is_complete(const void *opts)
{
    return cw_table_is_complete(&hdf5_table, &((const struct hdf5_opts *)opts)->table);
}

static int complete_from(const struct hdf5_opts *o, struct sets *sets, const char *path,
                         const struct cw_op_names *wanted, struct cw_value *said,
                         struct cw_err *err)
{
    int rc = cw_hdf5_list(sets->file, &sets->names, &sets->n, err);
    if (rc < 0)
        return rc;
    const struct cw_table_file table = {
        .name = path, .n = sets->n, .column = set_name, .type = set_type, .arg = sets};
    rc = cw_table_complete(&hdf5_table, &o->table, &table, wanted, said, err);
    for (size_t i = 0; i < sets->n; i++)
        cw_mem_free(sets->names[i]);
    cw_mem_free(sets->names);
    return rc;
}

static int complete(const void *opts, const struct cw_op_open *how, struct cw_value *said,
                    struct cw_err *err)
{
    const struct hdf5_opts *o = opts;
    cw_autofree char *path = NULL;
    struct sets sets = {0};
    int rc = cw_file_first(&o->pattern, how, &path, err);
    struct cw_io_file io = {.fd = -1};
    const bool is_local = rc == 0 && !cw_url_remote_scheme(path);
    if (is_local)
        rc = cw_io_open(path, how->stop, &io, err);
    if (rc < 0)
        return rc;
    rc = cw_hdf5_open(path, io.fd, 0, &sets.file, err);
    if (is_local)
        cw_io_close(&io);
    if (rc == 0)
        rc = complete_from(o, &sets, path, how->wanted, said, err);
    cw_hdf5_close(sets.file);
    return rc;
}

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    (void)in;
    (void)in_n;
    return cw_table_infer(&hdf5_table, &((const struct hdf5_opts *)opts)->table, ret_spec, err);
}

/* ---- files, with the mutex held ---- */

/* Opens the datasets of all fields, in their order. */
static int use_sets(const struct hdf5_state *s, const char *path, struct cw_hdf5 *file,
                    struct cw_err *err)
{
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < s->fields.columns_n; k++) {
        const struct cw_table_column *column = &s->fields.columns[k];
        const struct cw_hdf5_set *first, *set;
        size_t number;
        rc = cw_hdf5_use(file, column->name, &number, err);
        if (rc < 0)
            return rc;
        CW_ASSERT(number == k);
        set = cw_hdf5_set(file, k);
        first = cw_hdf5_set(file, 0);
        rc = cw_table_compare(&hdf5_table, &s->fields, column, &set->type, path, err);
        if (rc == 0 && set->rows != first->rows)
            rc = cw_err_set(err, CW_E_INVALID,
                            "%s: dataset %s has %lld rows, and dataset %s has %lld: choose "
                            "`datasets` of one length",
                            path, first->name, (long long)first->rows, set->name,
                            (long long)set->rows);
    }
    return rc;
}

static void close_slot(struct hdf5_state *s, struct hdf5_slot *slot)
{
    cw_hdf5_close(slot->file);
    slot->file = NULL;
    s->open_n--;
    cw_held_add(&s->held, -(int64_t)slot->bytes);
}

/* Finds the file that was not used for longest; NULL: none is open. */
static struct hdf5_slot *oldest_slot(const struct hdf5_state *s)
{
    struct hdf5_slot *oldest = NULL;
    for (size_t i = 0; s->slots && i < s->source.files->n; i++)
        if (s->slots[i].file && (!oldest || s->slots[i].used_at < oldest->used_at))
            oldest = &s->slots[i];
    return oldest;
}

/* Closes a file if too many are open. */
static void make_room(struct hdf5_state *s)
{
    struct hdf5_slot *oldest = s->open_n < OPEN_MAX ? NULL : oldest_slot(s);
    if (oldest)
        close_slot(s, oldest);
}

static int open_file(struct hdf5_state *s, size_t i, struct cw_err *err)
{
    const char *path = s->source.files->v[i].path;
    struct cw_hdf5 *file = NULL;
    struct cw_file_use use;
    int rc = cw_file_set_use(s->source.files, i, &use, err); /* compares it with its stamp */
    if (rc < 0)
        return rc;
    make_room(s);
    rc = cw_hdf5_open(path, use.source.io->fd, (size_t)s->opts->cache_bytes, &file, err);
    cw_file_set_release(s->source.files, &use);
    if (rc == 0)
        rc = use_sets(s, path, file, err);
    if (rc < 0) {
        cw_hdf5_close(file);
        return rc;
    }
    s->slots[i] = (struct hdf5_slot){.file = file, .bytes = cw_hdf5_chunk_bytes(file)};
    s->open_n++;
    cw_held_add(&s->held, (int64_t)s->slots[i].bytes);
    return 0;
}

static int file_of(struct hdf5_state *s, size_t i, struct cw_hdf5 **ret_file, struct cw_err *err)
{
    struct hdf5_slot *slot = &s->slots[i];
    int rc = slot->file ? 0 : open_file(s, i, err);
    if (rc == 0)
        rc = cw_file_source_compare(&s->source, i, (uint64_t)cw_hdf5_set(slot->file, 0)->rows,
                                    "rows", err);
    slot->used_at = cw_held_stamp();
    *ret_file = slot->file;
    return rc;
}

/* ---- without it ---- */

/* While rows are read nothing is given back, since who asks does not wait. */
static uint64_t stamp_of_oldest(void *arg)
{
    struct hdf5_state *s = arg;
    if (!cw_hdf5_is_free() || !cw_mutex_try_lock(&s->mutex))
        return UINT64_MAX;
    const struct hdf5_slot *oldest = oldest_slot(s);
    const uint64_t stamp = oldest ? oldest->used_at : UINT64_MAX;
    cw_mutex_unlock(&s->mutex);
    return stamp;
}

static bool drop_oldest(void *arg)
{
    struct hdf5_state *s = arg;
    if (!cw_hdf5_is_free() || !cw_mutex_try_lock(&s->mutex))
        return false;
    struct hdf5_slot *oldest = oldest_slot(s);
    if (oldest)
        close_slot(s, oldest);
    cw_mutex_unlock(&s->mutex);
    return oldest != NULL;
}

/* ---- opening ---- */

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct hdf5_state *s = state;
    cw_mutex_lock(&s->mutex);
    if (!s->slots)
        s->slots = CW_NEW_ARRAY(struct hdf5_slot, s->source.files->n);
    int rc =
        how->manifest ? 0 : open_file(s, i, err); /* else it is compared when it is first read */
    if (rc == 0 && !how->manifest) {
        s->source.files->v[i].records = cw_hdf5_set(s->slots[i].file, 0)->rows;
        s->slots[i].used_at = cw_held_stamp();
    }
    cw_mutex_unlock(&s->mutex);
    return rc;
}

static void end(void *state)
{
    struct hdf5_state *s = state;
    cw_held_leave(&s->held);
    for (size_t i = 0; s->slots && i < s->source.files->n; i++)
        if (s->slots[i].file)
            close_slot(s, &s->slots[i]);
    cw_mem_free(s->slots);
    cw_mutex_fini(&s->mutex);
    cw_table_fields_fini(&s->fields);
}

static const struct cw_file_source_kind kind = {
    .state_bytes = sizeof(struct hdf5_state), .end = end, .prepare = prepare};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct hdf5_opts *o = opts;
    struct cw_table_fields fields;
    int rc = cw_table_fields_read(&hdf5_table, &o->table, &fields, err);
    if (rc < 0)
        return rc;
    struct hdf5_state *s = CW_NEW(struct hdf5_state);
    s->opts = o;
    s->fields = fields; /* it is taken over */
    cw_mutex_init(&s->mutex);
    s->held = (struct cw_held){
        .arg = s, .oldest = stamp_of_oldest, .drop_oldest = drop_oldest, .is_costly = true};
    cw_held_join(&s->held);
    return cw_file_source_start(&kind, s, &o->pattern, how, ret_state, err);
}

/* ---- rows ---- */

/* A string or a list, which the library makes memory for. */
static int read_loose(const struct cw_op_ctx *ctx, struct cw_hdf5 *file, size_t k, int64_t row,
                      struct cw_view *view, struct cw_err *err)
{
    cw_autofree void *bytes = NULL;
    int rc = cw_hdf5_read_loose(file, k, row, &bytes, &view->bytes, err);
    if (rc < 0)
        return rc;
    if (view->dtype != CW_DTYPE_STR)
        view->dims[0] = (int64_t)(view->bytes / cw_dtype_bytes(view->dtype));
    rc = cw_op_output(ctx, view, err);
    if (rc == 0 && view->bytes > 0)
        memcpy(view->data, bytes, view->bytes);
    return rc;
}

static int read_field(const struct cw_op_ctx *ctx, struct cw_hdf5 *file, size_t k, int64_t row,
                      struct cw_view *ret_view, struct cw_err *err)
{
    const struct cw_hdf5_set *set = cw_hdf5_set(file, k);
    struct cw_view view = {.dtype = set->type.dtype, .rank = set->type.rank};
    memcpy(view.dims, set->type.dims, sizeof(view.dims));
    int rc = 0;
    if (set->is_loose) {
        rc = read_loose(ctx, file, k, row, &view, err);
    } else {
        rc = cw_op_output(ctx, &view, err);
        if (rc == 0)
            rc = cw_hdf5_read(file, k, row, 1, view.data, err);
    }
    *ret_view = view;
    return rc;
}

static int read_row(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                    struct cw_element *ret_element, struct cw_err *err)
{
    struct hdf5_state *s = state;
    struct cw_op_ctx anywhere = *ctx;
    struct cw_hdf5 *file = NULL;
    const size_t i = cw_file_set_locate(s->source.files, pos);
    const int64_t row = pos - s->source.files->v[i].first;
    (void)opts;
    if (s->fields.spec.n > 1)
        anywhere.slot = NULL; /* it would be the same one for all fields */
    cw_mutex_lock(&s->mutex);
    int rc = file_of(s, i, &file, err);
    for (size_t k = 0; rc == 0 && k < s->fields.spec.n; k++)
        rc = read_field(&anywhere, file, k, row, &ret_element->fields[k], err);
    cw_mutex_unlock(&s->mutex);
    ret_element->n = s->fields.spec.n;
    return rc;
}

/* Chunks of the dataset with the largest ones: those of the others end there too, or it costs little. */
static int find_blocks(const void *opts, void *state, struct cw_blocks *blocks, struct cw_err *err)
{
    struct hdf5_state *s = state;
    int rc = 0;
    (void)opts;
    cw_mutex_lock(&s->mutex);
    for (size_t i = 0; i < s->source.files->n && rc == 0; i++) {
        const struct cw_file *from = &s->source.files->v[i];
        struct cw_hdf5 *file = NULL;
        int64_t rows = 0;
        rc = file_of(s, i, &file, err);
        for (size_t k = 0; rc == 0 && k < s->fields.columns_n; k++)
            rows = CW_MAX(rows, cw_hdf5_set(file, k)->chunk_rows);
        for (int64_t row = 0; rc == 0 && row<from->records; row += rows> 0 ? rows : from->records)
            cw_blocks_add(blocks, from->first + row);
    }
    cw_mutex_unlock(&s->mutex);
    return rc;
}

static int read_rows(const void *opts, void *state, const int64_t *positions, size_t n,
                     const struct cw_column *columns)
{
    struct hdf5_state *s = state;
    int rc = 0;
    (void)opts;
    cw_mutex_lock(&s->mutex);
    for (size_t at = 0, run, i; rc == 0 && at < n; at += run) {
        struct cw_hdf5 *file = NULL;
        uint64_t row;
        run = cw_file_set_run(s->source.files, positions + at, n - at, &i, &row);
        rc = file_of(s, i, &file, NULL);
        for (size_t k = 0; rc == 0 && k < s->fields.spec.n; k++)
            rc = cw_hdf5_set(file, k)->is_loose
                     ? CW_E_INVALID
                     : cw_hdf5_read(file, k, (int64_t)row, run,
                                    (uint8_t *)columns[k].data + at * columns[k].bytes, NULL);
    }
    cw_mutex_unlock(&s->mutex);
    return rc;
}

const struct cw_op cw_op_hdf5 = {
    .name = "hdf5",
    .version = 1,
    .summary = "rows of the datasets of HDF5 files",
    .doc =
        "Gives rows of several datasets side by side: each dataset is a field, and its first "
        "dimension counts rows, so all\n"
        "that are read must have one length. `datasets` chooses them by their paths (`group/x`), "
        "an object gives one\n"
        "another name; what `datasets` and `types` do not say is as in the first file. Files "
        "follow each other in bytewise\n"
        "order of their paths. Strings are str, lists of numbers (vlen) `f32[?]`, bools of h5py "
        "bool, enumerations their\n"
        "numbers.\n"
        "\n"
        "Files of h5py, PyTables, MATLAB 7.3 and others, read by libhdf5 (Debian's "
        "libhdf5-103-1), which workers load when\n"
        "the first such file comes: any layout, chunks that are shuffled and compressed with gzip "
        "or szip. The library works\n"
        "for one thread at a time, and unpacks whole chunks: `shuffle` with a `window` of less "
        "rows than `cache` holds. Not\n"
        "supported: files of servers, records, references, external and virtual datasets, other "
        "filters (LZF, Blosc).\n"
        "The library is not hardened against hostile files: read those of people you trust. "
        "Patterns as for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct hdf5_opts),
    .is_complete = is_complete,
    .complete = complete,
    .completed = "datasets and types",
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_row,
    .read_rows = read_rows,
    .blocks = find_blocks,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
};
