/* SPDX-License-Identifier: Apache-2.0 */
/* Stamps of files of sources, with a table of checksums that were computed before in this process. */
#include "ops/source_stamp.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/thread.h"
#include "format/same_file.h"
#include "format/source_file.h"

/* the most files whose checksums are remembered; when there are more, all are forgotten */
#define KNOWN_MAX ((size_t)1 << 20)
/* A file that changed less than this time ago might change again without new times; its checksum is
 * not remembered. */
#define SETTLE_NS (INT64_C(2) * 1000000000)

static struct {
    struct cw_mutex mutex; /* guards what follows */
    struct cw_map map;     /* maps a hash of `file` to a struct known */
} sums = {.mutex = CW_MUTEX_INIT};

struct known {
    struct cw_hash file, sum;
};

static struct cw_hash key_of(enum cw_identity identity, const struct cw_io_info *info)
{
    const uint64_t words[] = {(uint64_t)identity, info->state.hi, info->state.lo};
    return cw_hash_bytes(words, sizeof(words));
}

static bool recall(struct cw_hash file, struct cw_hash *ret_sum)
{
    cw_mutex_lock(&sums.mutex);
    const struct known *known = cw_map_get(&sums.map, file.lo);
    bool found = known && cw_hash_eq(known->file, file);
    if (found)
        *ret_sum = known->sum;
    cw_mutex_unlock(&sums.mutex);
    return found;
}

static bool is_settled(const struct cw_io_info *info)
{
    if (info->is_object)
        return info->version[0] != '\0';
    return cw_clock_wall_ms() * 1000000 - CW_MAX(info->mtime_ns, info->ctime_ns) >= SETTLE_NS;
}

static void remember(enum cw_identity identity, const struct cw_io_info *info, struct cw_hash sum)
{
    struct cw_hash file = key_of(identity, info);
    if (!is_settled(info))
        return;
    cw_mutex_lock(&sums.mutex);
    if (sums.map.n >= KNOWN_MAX)
        cw_map_fini_free(&sums.map);
    if (!cw_map_get(&sums.map, file.lo)) {
        struct known *known = CW_NEW(struct known);
        *known = (struct known){file, sum};
        cw_map_set(&sums.map, file.lo, known);
    }
    cw_mutex_unlock(&sums.mutex);
}

static int read_bytes(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    const struct cw_source_file *file = arg;
    return cw_io_read(file->io, offset, dst, n, file->stop, err);
}

static struct cw_found_file found_of(const char *url, const struct cw_io_info *info,
                                     struct cw_source_file *file)
{
    return (struct cw_found_file){.bytes = {.name = url,
                                            .size = (uint64_t)info->size,
                                            .read_at = read_bytes,
                                            .arg = file,
                                            .stop = file->stop},
                                  .mtime_ns = info->mtime_ns,
                                  .etag = info->version[0] ? info->version : NULL};
}

/* Checks that a file did not change while it was read: otherwise its bytes are neither those of the
 * old file nor those of the new one. */
static int check_unchanged(const char *url, const struct cw_io_file *file, struct cw_err *err)
{
    if (cw_io_is_unchanged(file))
        return 0;
    return cw_err_set(err, CW_E_OTHER_FILE, "%s: changes while it is read", url);
}

static int stamp_by_bytes(enum cw_identity identity, const char *url, const struct cw_io_file *file,
                          const struct cw_stop *stop, struct cw_file_stamp *ret_stamp,
                          struct cw_err *err)
{
    struct cw_hash sum;
    struct cw_source_file source = {.path = url, .io = file, .stop = stop};
    bool known = recall(key_of(identity, &file->info), &sum);
    struct cw_found_file found = found_of(url, &file->info, &source);
    found.sum = known ? &sum : NULL;
    int rc = cw_same_file_stamp(identity, &found, ret_stamp, err);
    if (rc == 0 && !known)
        rc = check_unchanged(url, file, err);
    if (rc == 0 && !known)
        remember(identity, &file->info, ret_stamp->sum);
    return rc;
}

int cw_source_stamp_make(enum cw_identity identity, const char *url, const struct cw_io_info *info,
                         const struct cw_stop *stop, struct cw_file_stamp *ret_stamp,
                         struct cw_err *err)
{
    struct cw_source_file unopened = {.path = url, .stop = stop};
    struct cw_io_file file;
    if (!cw_identity_reads(identity)) {
        const struct cw_found_file found = found_of(url, info, &unopened);
        return cw_same_file_stamp(identity, &found, ret_stamp, err);
    }
    int rc = cw_io_open(url, stop, &file, err);
    if (rc < 0)
        return rc;
    rc = stamp_by_bytes(identity, url, &file, stop, ret_stamp, err);
    cw_io_close(&file);
    return rc;
}

int cw_source_stamp_compare(const struct cw_file_stamp *means, const char *url,
                            const struct cw_io_file *file, const struct cw_stop *stop,
                            struct cw_err *err)
{
    struct cw_hash sum;
    struct cw_source_file source = {.path = url, .io = file, .stop = stop};
    struct cw_found_file found = found_of(url, &file->info, &source);
    bool reads = cw_identity_reads(means->identity);
    bool known = reads && recall(key_of(means->identity, &file->info), &sum);
    found.sum = known ? &sum : NULL;
    int rc = cw_same_file(means, url, &found, err);
    if (rc == 0 && reads && !known)
        rc = check_unchanged(url, file, err);
    if (rc == 0 && reads && !known)
        remember(means->identity, &file->info, means->sum);
    return rc;
}

int cw_source_stamp_compare_bytes(const struct cw_file_stamp *means, const char *url,
                                  const struct cw_io_info *info, const void *p, size_t n,
                                  struct cw_err *err)
{
    const struct cw_readable_bytes bytes = {p, n};
    const struct cw_found_file found = {.bytes = cw_readable_mem(url, &bytes),
                                        .mtime_ns = info->mtime_ns,
                                        .etag = info->version[0] ? info->version : NULL};
    return cw_same_file(means, url, &found, err);
}

int cw_source_stamp_open(const struct cw_file_stamp *means, const char *url,
                         const struct cw_stop *stop, struct cw_io_file *ret_file,
                         struct cw_err *err)
{
    int rc = cw_io_open(url, stop, ret_file, err);
    if (rc == CW_E_NOT_FOUND)
        return cw_same_file(means, url, NULL, err);
    if (rc < 0)
        return rc;
    rc = cw_source_stamp_compare(means, url, ret_file, stop, err);
    if (rc < 0)
        cw_io_close(ret_file);
    return rc;
}
