/* SPDX-License-Identifier: Apache-2.0 */
/* Which file is it: what a job remembers of each of its source files, so that a worker that
 * finds another one under the same path says so. How much is remembered is the job's choice.
 * format/same_file.h makes and compares it. */
#ifndef CW_DATA_IDENTITY_H
#define CW_DATA_IDENTITY_H

#include "base/err.h"
#include "base/hash.h"

enum cw_identity {                    /* the numbers are part of the protocol */
                   CW_IDENTITY_MTIME, /* size and time of change (of an object: its etag) */
                   CW_IDENTITY_SIZE,
                   /* size, and the bytes at both ends and at some places between */
                   CW_IDENTITY_SAMPLE,
                   CW_IDENTITY_CONTENT, /* all bytes */
                   CW_IDENTITY_N
};

/* What a file was when the job was prepared. */
struct cw_file_stamp {
    int64_t size;
    int64_t mtime_ns; /* mtime: of the file, or a number made of the object's etag */
    enum cw_identity identity;
    struct cw_hash sum; /* sample, content: of these bytes */
};

static inline bool cw_identity_reads(enum cw_identity identity)
{
    return identity == CW_IDENTITY_SAMPLE || identity == CW_IDENTITY_CONTENT;
}
const char *cw_identity_name(enum cw_identity identity);
/* "mtime", ...; what: where the word stands, for the message. */
int cw_identity_parse(const char *word, const char *what, enum cw_identity *ret_identity,
                      struct cw_err *err);
/* What it cannot notice, one line; NULL: nothing that people meet. */
const char *cw_identity_blind(enum cw_identity identity);

#endif
