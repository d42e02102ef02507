/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the stamp of a file and compares it with the one that the job remembers. */
#include "format/same_file.h"

#include <string.h>

#include "base/mem.h"

#define READ_BYTES ((uint64_t)1 << 20)
#define SAMPLE_BYTES (2 * CW_SAMPLE_END_BYTES + CW_SAMPLE_BLOCKS * CW_SAMPLE_BLOCK_BYTES)

struct sum {
    struct cw_hasher *hasher;
    void *buf; /* a buffer of READ_BYTES bytes */
};

static int add(const struct sum *sum, const struct cw_readable *bytes, uint64_t offset, uint64_t n,
               struct cw_err *err)
{
    for (uint64_t end = offset + n; offset < end;) {
        size_t part = (size_t)CW_MIN(end - offset, READ_BYTES);
        int rc = cw_readable_get(bytes, offset, sum->buf, part, err);
        if (rc < 0)
            return rc;
        cw_hasher_add(sum->hasher, sum->buf, part);
        offset += part;
    }
    return 0;
}

/* Adds the blocks between both ends to the checksum. They divide what lies there into equal parts;
 * this rule is part of the meaning of a checksum. */
static int add_sample(const struct sum *sum, const struct cw_readable *bytes, struct cw_err *err)
{
    if (bytes->size <= SAMPLE_BYTES)
        return add(sum, bytes, 0, bytes->size, err);
    uint64_t between = bytes->size - 2 * CW_SAMPLE_END_BYTES - CW_SAMPLE_BLOCK_BYTES;
    int rc = add(sum, bytes, 0, CW_SAMPLE_END_BYTES, err);
    for (uint64_t k = 0; k < CW_SAMPLE_BLOCKS && rc == 0; k++)
        rc = add(sum, bytes, CW_SAMPLE_END_BYTES + between / (CW_SAMPLE_BLOCKS - 1) * k,
                 CW_SAMPLE_BLOCK_BYTES, err);
    return rc < 0 ? rc
                  : add(sum, bytes, bytes->size - CW_SAMPLE_END_BYTES, CW_SAMPLE_END_BYTES, err);
}

static int compute(enum cw_identity identity, const struct cw_readable *bytes,
                   struct cw_hash *ret_sum, struct cw_err *err)
{
    struct sum sum = {.buf = cw_mem_try((size_t)CW_MIN(CW_MAX(bytes->size, 1), READ_BYTES))};
    if (!sum.buf)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory to read it", bytes->name);
    sum.hasher = cw_hasher_new();
    int rc = identity == CW_IDENTITY_SAMPLE ? add_sample(&sum, bytes, err)
                                            : add(&sum, bytes, 0, bytes->size, err);
    if (rc == 0)
        *ret_sum = cw_hasher_get(sum.hasher);
    cw_hasher_free(sum.hasher);
    cw_mem_free(sum.buf);
    return rc;
}

/* Makes a stamp of what is known without reading the file; the checksum is left out. */
static struct cw_file_stamp outside(enum cw_identity identity, const struct cw_found_file *found)
{
    struct cw_file_stamp stamp = {.size = (int64_t)found->bytes.size, .identity = identity};
    if (identity == CW_IDENTITY_MTIME)
        stamp.mtime_ns =
            found->etag ? (int64_t)cw_hash_u64(found->etag, strlen(found->etag)) : found->mtime_ns;
    return stamp;
}

static int find_sum(const struct cw_found_file *found, struct cw_file_stamp *stamp,
                    struct cw_err *err)
{
    if (!cw_identity_reads(stamp->identity))
        return 0;
    if (!found->sum)
        return compute(stamp->identity, &found->bytes, &stamp->sum, err);
    stamp->sum = *found->sum;
    return 0;
}

int cw_same_file_stamp(enum cw_identity identity, const struct cw_found_file *found,
                       struct cw_file_stamp *ret_stamp, struct cw_err *err)
{
    struct cw_file_stamp stamp = outside(identity, found);
    int rc = find_sum(found, &stamp, err);
    if (rc == 0)
        *ret_stamp = stamp;
    return rc;
}

bool cw_same_stamp(const struct cw_file_stamp *a, const struct cw_file_stamp *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->identity == b->identity &&
           cw_hash_eq(a->sum, b->sum);
}

static int other(const char *name, struct cw_err *err, const char *what)
{
    return cw_err_set(err, CW_E_OTHER_FILE, "%s: not the file that the job was prepared with: %s",
                      name, what);
}

static int other_time(const struct cw_file_stamp *means, const struct cw_file_stamp *is,
                      const char *name, struct cw_err *err)
{
    double seconds = (double)(is->mtime_ns - means->mtime_ns) / 1e9;
    cw_autofree char *what =
        cw_mem_printf("its time of change is another one (by %+.9g s), its size is the same; if "
                      "copies with other times are "
                      "the same files, prepare the job with identity size, sample or content",
                      seconds);
    return other(name, err, what);
}

int cw_same_stamp_check(const struct cw_file_stamp *means, const struct cw_file_stamp *is,
                        const char *name, struct cw_err *err)
{
    if (means->size != is->size) {
        cw_autofree char *what = cw_mem_printf("it had %lld bytes then, here and now it has %lld",
                                               (long long)means->size, (long long)is->size);
        return other(name, err, what);
    }
    if (means->identity == CW_IDENTITY_MTIME && means->mtime_ns != is->mtime_ns)
        return other_time(means, is, name, err);
    if (!cw_same_stamp(means, is))
        return other(name, err,
                     means->identity == CW_IDENTITY_SAMPLE
                         ? "its size is the same, its bytes are others (at its ends, or where "
                           "samples are taken)"
                         : "its size is the same, its bytes are others");
    return 0;
}

int cw_same_file(const struct cw_file_stamp *means, const char *name,
                 const struct cw_found_file *found, struct cw_err *err)
{
    if (!found)
        return other(name, err, "it does not exist here");
    struct cw_file_stamp is = outside(means->identity, found);
    if (is.size == means->size) { /* with another size it is another file, whatever it contains */
        int rc = find_sum(found, &is, err);
        if (rc < 0)
            return rc;
    }
    if (found->etag && means->identity == CW_IDENTITY_MTIME && is.size == means->size &&
        is.mtime_ns != means->mtime_ns)
        return other(name, err, "its etag is another one, its size is the same");
    return cw_same_stamp_check(means, &is, name, err);
}
