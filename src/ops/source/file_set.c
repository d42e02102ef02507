/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of a source, reads and writes manifests, and keeps a bounded number of files
 * open. */
#include "ops/source/file_set.h"

#include "base/mem.h"
#include "io/source_root.h"
#include "io/source_url.h"
#include "ops/source/no_files.h"
#include "ops/source_stamp.h"

#include <stdatomic.h>

#define AT_ONCE 4        /* number of files that are read at the same time for their checksums */
#define ASKED_AT_ONCE 32 /* number of objects of which a server is asked at the same time */

/* The work of several threads that handle one file after another: reading files means waiting for
 * disks and networks. */
struct each {
    uint32_t reader; /* as in cw_source_root_read_as */
    struct cw_file_set *set;
    int (*fn)(const struct cw_file_set *set, size_t i, struct cw_file_stamp *ret_stamp,
              struct cw_err *err);
    _Atomic size_t next;
    _Atomic bool failed;
    struct cw_mutex mutex; /* guards what follows */
    size_t failed_at;      /* the lowest index of the files that failed */
    struct cw_err err;
};

static void keep_error(struct each *each, size_t i, const struct cw_err *err)
{
    cw_mutex_lock(&each->mutex);
    if (!atomic_load(&each->failed) || i < each->failed_at) {
        each->failed_at = i;
        each->err = *err;
    }
    atomic_store(&each->failed, true);
    cw_mutex_unlock(&each->mutex);
}

static void do_some(void *arg)
{
    struct each *each = arg;
    cw_source_root_read_as(each->reader);
    for (size_t i;
         !atomic_load(&each->failed) && (i = atomic_fetch_add(&each->next, 1)) < each->set->n;) {
        struct cw_err err = {0};
        int rc = cw_stop_check_at(each->set->stop, each->set->v[i].path, &err);
        if (rc == 0)
            rc = each->fn(each->set, i, &each->set->v[i].stamp, &err);
        if (rc < 0) {
            err.code = rc;
            keep_error(each, i, &err);
        }
    }
}

static size_t at_once(const struct cw_file_set *set)
{
    if (set->n > 0 && cw_url_remote_scheme(set->v[0].path))
        return ASKED_AT_ONCE;
    return cw_identity_reads(set->identity) ? AT_ONCE : 1;
}

static int do_all(struct each *each, struct cw_err *err)
{
    each->reader = cw_source_root_reads_as();
    struct cw_thread threads[ASKED_AT_ONCE];
    size_t n = CW_MIN(at_once(each->set), each->set->n);
    cw_mutex_init(&each->mutex);
    for (size_t i = 1; i < n; i++)
        cw_thread_start(&threads[i], "cachew-sum", do_some, each);
    do_some(each);
    for (size_t i = 1; i < n; i++)
        cw_thread_join(&threads[i]);
    cw_mutex_fini(&each->mutex);
    if (!atomic_load(&each->failed))
        return 0;
    if (err)
        *err = each->err;
    return each->err.code;
}

static int stamp_one(const struct cw_file_set *set, size_t i, struct cw_file_stamp *ret_stamp,
                     struct cw_err *err)
{
    const struct cw_file *file = &set->v[i];
    /* as the list told it, or nothing */
    struct cw_io_info info = {.size = file->stamp.size, .mtime_ns = file->stamp.mtime_ns};
    int rc = info.size < 0 ? cw_io_stat(file->path, set->stop, &info, err) : 0;
    if (rc < 0)
        return rc;
    return cw_source_stamp_make(set->identity, file->path, &info, set->stop, ret_stamp, err);
}

static int find_names(const struct cw_str_list *patterns, cw_file_glob_fn *glob,
                      const struct cw_stop *stop, struct cw_io_list *ret_list, struct cw_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < patterns->n && rc == 0; i++)
        rc = glob(patterns->v[i], 0, stop, ret_list, err);
    if (rc == 0 && ret_list->n == 0)
        rc = cw_no_files(patterns, err);
    if (rc == 0)
        cw_io_list_sort(ret_list);
    return rc;
}

static int find(struct cw_file_set *set, const struct cw_str_list *patterns, cw_file_glob_fn *glob,
                struct cw_err *err)
{
    struct cw_io_list found = {0};
    int rc = find_names(patterns, glob, set->stop, &found, err);
    if (rc == 0) {
        set->v = CW_NEW_ARRAY(struct cw_file, found.n);
        for (size_t i = 0; i < found.n; i++)
            set->v[set->n++] =
                (struct cw_file){.path = cw_steal(&found.v[i].url),
                                 .stamp = {.size = found.v[i].size, .mtime_ns = found.v[i].mark},
                                 .slot = -1};
        struct each each = {.set = set, .fn = stamp_one};
        rc = do_all(&each, err);
    }
    cw_io_list_fini(&found);
    return rc;
}

/* ---- manifests ---- */

int cw_file_manifest_identity(const struct cw_value *manifest, enum cw_identity *ret_identity,
                              struct cw_err *err)
{
    const struct cw_value *word =
        manifest->type == CW_VALUE_OBJECT ? cw_value_get(manifest, "identity") : NULL;
    *ret_identity = CW_IDENTITY_MTIME;
    if (!word)
        return 0;
    if (word->type != CW_VALUE_STR ||
        cw_identity_parse(word->s, "manifest", ret_identity, NULL) < 0)
        return cw_err_set(err, CW_E_CORRUPT,
                          "manifest: its identity is none that this version knows");
    return 0;
}

static bool take_mark(const struct cw_value *mark, struct cw_file_stamp *stamp)
{
    if (cw_identity_reads(stamp->identity))
        return mark->type == CW_VALUE_STR && cw_hash_parse(mark->s, &stamp->sum);
    stamp->mtime_ns = mark->i;
    return mark->type == CW_VALUE_I64 && (stamp->identity == CW_IDENTITY_MTIME || mark->i == 0);
}

int cw_file_row_read(const struct cw_value *row, enum cw_identity identity, const char **ret_path,
                     struct cw_file_stamp *ret_stamp, int64_t *ret_records, struct cw_err *err)
{
    struct cw_file_stamp stamp = {.identity = identity};
    bool ok = row->type == CW_VALUE_LIST && row->n == 4 && row->items[0].type == CW_VALUE_STR &&
              row->items[1].type == CW_VALUE_I64 && row->items[1].i >= 0 &&
              take_mark(&row->items[2], &stamp) && row->items[3].type == CW_VALUE_I64 &&
              row->items[3].i >= 0;
    if (!ok)
        return cw_err_set(err, CW_E_CORRUPT,
                          "manifest: a file is not [path, size, what tells it from others by "
                          "identity %s, records]",
                          cw_identity_name(identity));
    stamp.size = row->items[1].i;
    *ret_path = row->items[0].s;
    *ret_stamp = stamp;
    if (ret_records)
        *ret_records = row->items[3].i;
    return 0;
}

static int take_manifest(struct cw_file_set *set, const struct cw_value *manifest,
                         struct cw_err *err)
{
    enum cw_identity identity;
    const struct cw_value *rows =
        manifest->type == CW_VALUE_OBJECT ? cw_value_get(manifest, "files") : NULL;
    if (!rows || rows->type != CW_VALUE_LIST || rows->n == 0)
        return cw_err_set(err, CW_E_CORRUPT, "manifest: has no list \"files\"");
    int rc = cw_file_manifest_identity(manifest, &identity, err);
    if (rc == 0 && identity != set->identity)
        rc = cw_err_set(err, CW_E_CORRUPT,
                        "manifest: was made by identity %s, the job asks for %s: a worker of an "
                        "older version may have prepared it",
                        cw_identity_name(identity), cw_identity_name(set->identity));
    set->v = CW_NEW_ARRAY(struct cw_file, rows->n);
    for (size_t i = 0; i < rows->n && rc == 0; i++) {
        const char *path;
        struct cw_file file = {.slot = -1};
        rc = cw_file_row_read(&rows->items[i], identity, &path, &file.stamp, &file.records, err);
        if (rc < 0)
            return rc;
        file.path = cw_mem_strdup(path);
        set->v[set->n++] = file;
    }
    return rc;
}

int cw_file_set_new(const struct cw_str_list *patterns, cw_file_glob_fn *glob,
                    const struct cw_op_open *how, struct cw_file_set **ret_set, struct cw_err *err)
{
    struct cw_file_set *set = CW_NEW(struct cw_file_set);
    cw_mutex_init(&set->mutex);
    set->stop = how->stop;
    set->identity = how->identity;
    int rc =
        how->manifest ? take_manifest(set, how->manifest, err) : find(set, patterns, glob, err);
    for (size_t i = 0; i < set->n && rc == 0; i++)
        cw_file_set_note_scheme(set, set->v[i].path);
    if (rc < 0)
        cw_file_set_free(set);
    else
        *ret_set = set;
    return rc;
}

static int first_of_manifest(const struct cw_value *manifest, char **ret_path, struct cw_err *err)
{
    const struct cw_value *rows =
        manifest->type == CW_VALUE_OBJECT ? cw_value_get(manifest, "files") : NULL;
    if (!rows || rows->type != CW_VALUE_LIST || rows->n == 0 || rows->items[0].n == 0 ||
        rows->items[0].items[0].type != CW_VALUE_STR)
        return cw_err_set(err, CW_E_CORRUPT, "manifest: has no list \"files\"");
    *ret_path = cw_mem_strdup(rows->items[0].items[0].s);
    return 0;
}

int cw_file_first(const struct cw_str_list *patterns, const struct cw_op_open *how, char **ret_path,
                  struct cw_err *err)
{
    struct cw_io_list found = {0};
    if (how->manifest)
        return first_of_manifest(how->manifest, ret_path, err);
    int rc = find_names(patterns, cw_io_glob, how->stop, &found, err);
    if (rc == 0)
        *ret_path = cw_steal(&found.v[0].url);
    cw_io_list_fini(&found);
    return rc;
}

void cw_file_set_free(struct cw_file_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->slots_n; i++)
        cw_io_close(&set->slots[i].io);
    for (size_t i = 0; i < set->n; i++)
        cw_mem_free(set->v[i].path);
    cw_mem_free(set->v);
    cw_mutex_fini(&set->mutex);
    cw_mem_free(set);
}

int cw_file_set_sum(struct cw_file_set *set, struct cw_err *err)
{
    int64_t sum = 0;
    for (size_t i = 0; i < set->n; i++) {
        set->v[i].first = sum;
        if (__builtin_add_overflow(sum, set->v[i].records, &sum))
            return cw_err_set(err, CW_E_LIMIT, "more than 2^63 - 1 records");
    }
    set->records = sum;
    return 0;
}

static void set_mark(struct cw_value *value, const struct cw_file_stamp *stamp)
{
    char text[CW_HASH_TEXT_BYTES];
    if (!cw_identity_reads(stamp->identity)) {
        cw_value_set_i64(value, stamp->mtime_ns);
        return;
    }
    cw_hash_text(stamp->sum, text);
    cw_value_set_str(value, text);
}

void cw_file_set_manifest_of(const struct cw_file_set *set, size_t first, size_t n,
                             struct cw_value *ret_value)
{
    cw_value_set_object(ret_value);
    struct cw_value *rows = cw_value_set_list(cw_value_member(ret_value, "files"), n);
    for (size_t i = 0; i < n; i++) {
        const struct cw_file *file = &set->v[first + i];
        struct cw_value *row = cw_value_set_list(&rows[i], 4);
        cw_value_set_str(&row[0], file->path);
        cw_value_set_i64(&row[1], file->stamp.size);
        set_mark(&row[2], &file->stamp);
        cw_value_set_i64(&row[3], file->records);
    }
    if (set->identity != CW_IDENTITY_MTIME)
        cw_value_set_str(cw_value_member(ret_value, "identity"), cw_identity_name(set->identity));
}

void cw_file_set_manifest(const struct cw_file_set *set, struct cw_value *ret_value)
{
    cw_file_set_manifest_of(set, 0, set->n, ret_value);
}

size_t cw_file_set_locate(const struct cw_file_set *set, int64_t pos)
{
    size_t lo = 0, hi = set->n;
    /* The last file whose first record is at or before pos is looked for; empty files before it
     * have the same `first`. */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (set->v[mid].first <= pos)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

size_t cw_file_set_run(const struct cw_file_set *set, const int64_t *positions, size_t n,
                       size_t *ret_file, uint64_t *ret_record)
{
    const size_t i = cw_file_set_locate(set, positions[0]);
    const int64_t record = positions[0] - set->v[i].first, rest = set->v[i].records - record;
    size_t run = 1;
    while (run < n && (int64_t)run < rest && positions[run] == positions[0] + (int64_t)run)
        run++;
    *ret_file = i;
    *ret_record = (uint64_t)record;
    return run;
}

void cw_file_set_describe(const struct cw_file_set *set, int64_t pos, struct cw_str *out)
{
    const struct cw_file *file = &set->v[cw_file_set_locate(set, pos)];
    cw_str_addf(out, "%s record %lld", file->path, (long long)(pos - file->first));
}

static int compare_one(const struct cw_file_set *set, size_t i, struct cw_file_stamp *ret_stamp,
                       struct cw_err *err)
{
    const struct cw_file *file = &set->v[i];
    struct cw_io_file io;
    (void)ret_stamp;
    int rc = cw_source_stamp_open(&file->stamp, file->path, set->stop, &io, err);
    if (rc == 0)
        cw_io_close(&io);
    return rc;
}

int cw_file_set_compare(struct cw_file_set *set, struct cw_err *err)
{
    struct each each = {.set = set, .fn = compare_one};
    return do_all(&each, err);
}

/* Returns a slot that may be filled: a new one, or the least recently used of those that nobody
 * uses; -1: there is none. */
static int pick_slot(struct cw_file_set *set)
{
    int best = -1;
    if (set->slots_n < CW_FILE_SET_OPEN_MAX)
        return (int)set->slots_n++;
    for (int i = 0; i < CW_FILE_SET_OPEN_MAX; i++) {
        if (set->slots[i].users == 0 &&
            (best < 0 || set->slots[i].used_at < set->slots[best].used_at))
            best = i;
    }
    if (best >= 0) {
        set->v[set->slots[best].file].slot = -1;
        cw_io_close(&set->slots[best].io);
    }
    return best;
}

static void take_slot(struct cw_file_set *set, int slot, struct cw_file_use *use)
{
    set->slots[slot].users++;
    set->slots[slot].used_at = ++set->clock;
    use->source.io = &set->slots[slot].io;
    use->source.stamp.mtime_ns = cw_io_mark(&set->slots[slot].io.info);
    use->slot = slot;
}

/* Keeps the file of a use open for other reads if there is room. Another thread may have opened it
 * meanwhile. */
static void keep_open(struct cw_file_set *set, size_t file, struct cw_file_use *use)
{
    bool was_open = false;
    cw_mutex_lock(&set->mutex);
    int slot = set->v[file].slot;
    if (slot >= 0) {
        was_open = true;
        take_slot(set, slot, use);
    } else if ((slot = pick_slot(set)) >= 0) {
        set->slots[slot] = (struct cw_file_slot){.io = use->own, .file = file};
        set->v[file].slot = slot;
        take_slot(set, slot, use);
    } else {
        use->source.io = &use->own;
        use->source.stamp.mtime_ns = cw_io_mark(&use->own.info);
        use->slot = -1;
    }
    cw_mutex_unlock(&set->mutex);
    if (was_open)
        cw_io_close(&use->own);
}

int cw_file_set_use(struct cw_file_set *set, size_t file, struct cw_file_use *ret_use,
                    struct cw_err *err)
{
    ret_use->source.stamp = set->v[file].stamp;
    cw_mutex_lock(&set->mutex);
    int slot = set->v[file].slot;
    if (slot >= 0)
        take_slot(set, slot, ret_use);
    cw_mutex_unlock(&set->mutex);
    if (slot < 0) {
        int rc = cw_source_stamp_open(&set->v[file].stamp, set->v[file].path, set->stop,
                                      &ret_use->own, err);
        if (rc < 0)
            return rc;
        keep_open(set, file, ret_use);
    }
    ret_use->source.path = set->v[file].path;
    ret_use->source.stop = set->stop;
    ret_use->readable = cw_source_readable(&ret_use->source);
    ret_use->readable.stop = set->stop;
    return 0;
}

void cw_file_set_release(struct cw_file_set *set, struct cw_file_use *use)
{
    if (use->slot < 0) {
        cw_io_close(&use->own);
        return;
    }
    cw_mutex_lock(&set->mutex);
    set->slots[use->slot].users--;
    cw_mutex_unlock(&set->mutex);
}
