/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source/file_set.h"

#include "ops/op_util.h"

#include "base/mem.h"
#include "format/glob.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Patterns for messages: the first, and how many more. */
static int no_match(const struct cw_str_list *patterns, struct cw_err *err)
{
    if (patterns->n > 1)
        return cw_err_set(err, CW_E_NOT_FOUND, "pattern \"%s\" and %zu more: no files match", patterns->v[0],
                          patterns->n - 1);
    return cw_err_set(err, CW_E_NOT_FOUND, "pattern \"%s\": no files match", patterns->v[0]);
}

static int find(struct cw_file_set *set, const struct cw_str_list *patterns, struct cw_err *err)
{
    struct cw_paths paths = {0};
    int rc = 0;
    for (size_t i = 0; i < patterns->n && rc == 0; i++)
        rc = cw_glob(patterns->v[i], 0, set->stop, &paths, err);
    if (rc == 0 && paths.n == 0)
        rc = no_match(patterns, err);
    if (rc == 0) {
        cw_paths_sort(&paths);
        set->v = CW_NEW_ARRAY(struct cw_file, paths.n);
    }
    for (size_t i = 0; i < paths.n && rc == 0; i++) {
        struct stat st;
        rc = cw_stop_check(set->stop, err);
        if (rc < 0)
            break;
        if (stat(paths.v[i], &st) < 0)
            rc = cw_err_errno(err, errno, "%s", paths.v[i]);
        else
            set->v[set->n++] = (struct cw_file){cw_steal(&paths.v[i]), cw_file_stamp_of(&st), 0, 0, -1};
    }
    cw_paths_fini(&paths);
    return rc;
}

static bool is_file_row(const struct cw_value *row)
{
    return row->type == CW_VALUE_LIST && row->n == 4 && row->items[0].type == CW_VALUE_STR &&
           row->items[1].type == CW_VALUE_I64 && row->items[1].i >= 0 && row->items[2].type == CW_VALUE_I64 &&
           row->items[3].type == CW_VALUE_I64 && row->items[3].i >= 0;
}

static int take_manifest(struct cw_file_set *set, const struct cw_value *manifest, struct cw_err *err)
{
    const struct cw_value *rows =
        manifest->type == CW_VALUE_OBJECT ? cw_value_get(manifest, "files") : NULL;
    if (!rows || rows->type != CW_VALUE_LIST || rows->n == 0)
        return cw_err_set(err, CW_E_CORRUPT, "manifest: has no list \"files\"");
    set->v = CW_NEW_ARRAY(struct cw_file, rows->n);
    for (size_t i = 0; i < rows->n; i++) {
        const struct cw_value *row = &rows->items[i];
        if (!is_file_row(row))
            return cw_err_set(err, CW_E_CORRUPT, "manifest: file %zu is not [path, size, mtime_ns, records]", i);
        set->v[set->n++] = (struct cw_file){cw_mem_strdup(row->items[0].s), {row->items[1].i, row->items[2].i},
                                            row->items[3].i, 0, -1};
    }
    return 0;
}

int cw_file_set_new(const struct cw_str_list *patterns, const struct cw_op_open *how, struct cw_file_set **ret_set, struct cw_err *err)
{
    struct cw_file_set *set = CW_NEW(struct cw_file_set);
    cw_mutex_init(&set->mutex);
    set->stop = how->stop;
    int rc = how->manifest ? take_manifest(set, how->manifest, err) : find(set, patterns, err);
    if (rc < 0)
        cw_file_set_free(set);
    else
        *ret_set = set;
    return rc;
}

void cw_file_set_free(struct cw_file_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->slots_n; i++)
        close(set->slots[i].fd);
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

void cw_file_set_manifest(const struct cw_file_set *set, struct cw_value *ret_value)
{
    cw_value_set_object(ret_value);
    struct cw_value *rows = cw_value_set_list(cw_value_member(ret_value, "files"), set->n);
    for (size_t i = 0; i < set->n; i++) {
        struct cw_value *row = cw_value_set_list(&rows[i], 4);
        cw_value_set_str(&row[0], set->v[i].path);
        cw_value_set_i64(&row[1], set->v[i].stamp.size);
        cw_value_set_i64(&row[2], set->v[i].stamp.mtime_ns);
        cw_value_set_i64(&row[3], set->v[i].records);
    }
}

size_t cw_file_set_locate(const struct cw_file_set *set, int64_t pos)
{
    size_t lo = 0, hi = set->n;
    /* The last file whose first record is at or before pos; empty files before it share its `first`. */
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        if (set->v[mid].first <= pos)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

void cw_file_set_describe(const struct cw_file_set *set, int64_t pos, struct cw_str *out)
{
    const struct cw_file *file = &set->v[cw_file_set_locate(set, pos)];
    cw_str_addf(out, "%s record %lld", file->path, (long long)(pos - file->first));
}

static int open_checked(const struct cw_file *file, int *ret_fd, struct cw_err *err)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cw_err_errno(err, errno, "%s", file->path);
    struct stat st;
    int rc = fstat(fd, &st) < 0 ? cw_err_errno(err, errno, "%s", file->path)
                                : cw_file_stamp_check(&file->stamp, &st, file->path, err);
    if (rc < 0)
        close(fd);
    else
        *ret_fd = fd;
    return rc;
}

/* A slot that may be filled: a new one, or the least recently used of those that nobody uses; -1 = none. */
static int pick_slot(struct cw_file_set *set)
{
    int best = -1;
    if (set->slots_n < CW_FILE_SET_OPEN_MAX)
        return (int)set->slots_n++;
    for (int i = 0; i < CW_FILE_SET_OPEN_MAX; i++) {
        if (set->slots[i].users == 0 && (best < 0 || set->slots[i].used_at < set->slots[best].used_at))
            best = i;
    }
    if (best >= 0) {
        set->v[set->slots[best].file].slot = -1;
        close(set->slots[best].fd);
    }
    return best;
}

static void take_slot(struct cw_file_set *set, int slot, struct cw_file_use *use)
{
    set->slots[slot].users++;
    set->slots[slot].used_at = ++set->clock;
    use->source.fd = set->slots[slot].fd;
    use->slot = slot;
}

/* Keeps fd open for others, if there is room; another thread may have been faster. */
static void keep_open(struct cw_file_set *set, size_t file, int fd, struct cw_file_use *use)
{
    cw_mutex_lock(&set->mutex);
    int slot = set->v[file].slot;
    if (slot >= 0) {
        close(fd);
        take_slot(set, slot, use);
    } else if ((slot = pick_slot(set)) >= 0) {
        set->slots[slot] = (struct cw_file_slot){.fd = fd, .file = file};
        set->v[file].slot = slot;
        take_slot(set, slot, use);
    } else {
        use->source.fd = fd;
        use->slot = -1;
    }
    cw_mutex_unlock(&set->mutex);
}

int cw_file_set_use(struct cw_file_set *set, size_t file, struct cw_file_use *ret_use, struct cw_err *err)
{
    cw_mutex_lock(&set->mutex);
    int slot = set->v[file].slot;
    if (slot >= 0)
        take_slot(set, slot, ret_use);
    cw_mutex_unlock(&set->mutex);
    if (slot < 0) {
        int fd = -1;
        int rc = open_checked(&set->v[file], &fd, err);
        if (rc < 0)
            return rc;
        keep_open(set, file, fd, ret_use);
    }
    ret_use->source.path = set->v[file].path;
    ret_use->source.stamp = set->v[file].stamp;
    ret_use->readable = cw_source_readable(&ret_use->source);
    ret_use->readable.stop = set->stop;
    return 0;
}

void cw_file_set_release(struct cw_file_set *set, struct cw_file_use *use)
{
    if (use->slot < 0) {
        close(use->source.fd);
        return;
    }
    cw_mutex_lock(&set->mutex);
    set->slots[use->slot].users--;
    cw_mutex_unlock(&set->mutex);
}
