/* SPDX-License-Identifier: Apache-2.0 */
/* The one answer to "is this the file that the job means?", for whatever has a size and can be
 * read: a file, or an object of a store. */
#ifndef CW_FORMAT_SAME_FILE_H
#define CW_FORMAT_SAME_FILE_H

#include "data/identity.h"
#include "format/read_at.h"

/* What is sampled: both ends, and blocks between at places that follow from the size. A file
 * that is no larger than all of these is read whole. */
#define CW_SAMPLE_END_BYTES ((uint64_t)64 << 10)
#define CW_SAMPLE_BLOCK_BYTES ((uint64_t)4 << 10)
#define CW_SAMPLE_BLOCKS 16

/* As it is found. Its bytes are read only if the identity asks for them and `sum` is not known. */
struct cw_found_file {
    struct cw_readable bytes; /* its name and size, too */
    int64_t mtime_ns;
    /* of an object, in place of the time of change; NULL = it has a time */
    const char *etag;
    /* of the identity that is asked for, if it was computed before; NULL = it was not */
    const struct cw_hash *sum;
};

int cw_same_file_stamp(enum cw_identity identity, const struct cw_found_file *found,
                       struct cw_file_stamp *ret_stamp, struct cw_err *err);
/* 0, or OTHER_FILE, which says what differs; other errors are those of reading. found NULL:
 * there is no such file. */
int cw_same_file(const struct cw_file_stamp *means, const char *name,
                 const struct cw_found_file *found, struct cw_err *err);
/* Whether a is what b is: the same, without looking at a file. */
bool cw_same_stamp(const struct cw_file_stamp *a, const struct cw_file_stamp *b);
/* OTHER_FILE, or 0 if they are the same. */
int cw_same_stamp_check(const struct cw_file_stamp *means, const struct cw_file_stamp *is,
                        const char *name, struct cw_err *err);

#endif
