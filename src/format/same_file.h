/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a file is the one that the job was prepared with, for anything that has a size
 * and can be read: a file, or an object of a store. */
#ifndef CW_FORMAT_SAME_FILE_H
#define CW_FORMAT_SAME_FILE_H

#include "data/identity.h"
#include "format/read_at.h"

/* What the identity `sample` reads: both ends, and blocks in between at offsets that depend on the
 * size. A file that is not larger than all of these together is read completely. */
#define CW_SAMPLE_END_BYTES ((uint64_t)64 << 10)
#define CW_SAMPLE_BLOCK_BYTES ((uint64_t)4 << 10)
#define CW_SAMPLE_BLOCKS 16

/* A file as it was found. Its bytes are read only if the identity needs them and `sum` is not
 * known. */
struct cw_found_file {
    struct cw_readable bytes; /* its name and size are set as well */
    int64_t mtime_ns;
    /* Version of an object of a store, instead of an mtime; NULL: it has an mtime. */
    const char *etag;
    /* The checksum for the identity if it was computed before; otherwise NULL. */
    const struct cw_hash *sum;
};

int cw_same_file_stamp(enum cw_identity identity, const struct cw_found_file *found,
                       struct cw_file_stamp *ret_stamp, struct cw_err *err);
/* Returns 0; or OTHER_FILE, with a message that says what differs; or an error of reading. found
 * NULL: the file does not exist. */
int cw_same_file(const struct cw_file_stamp *means, const char *name,
                 const struct cw_found_file *found, struct cw_err *err);
/* Compares two stamps without reading a file. */
bool cw_same_stamp(const struct cw_file_stamp *a, const struct cw_file_stamp *b);
/* Returns 0 if two stamps are equal, otherwise OTHER_FILE. */
int cw_same_stamp_check(const struct cw_file_stamp *means, const struct cw_file_stamp *is,
                        const char *name, struct cw_err *err);

#endif
