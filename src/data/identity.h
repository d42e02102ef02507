/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of source files: what a job remembers of each file, so that a worker that finds
 * another file under the same path reports it. The job chooses how much is remembered.
 * format/same_file.h makes identities and compares them. */
#ifndef CW_DATA_IDENTITY_H
#define CW_DATA_IDENTITY_H

#include "base/err.h"
#include "base/hash.h"

enum cw_identity { /* the numbers are part of the protocol */
                   /* size and modification time (for an object of a store: its etag) */
                   CW_IDENTITY_MTIME,
                   CW_IDENTITY_SIZE,
                   /* size, and the bytes at both ends and at some places in between */
                   CW_IDENTITY_SAMPLE,
                   CW_IDENTITY_CONTENT, /* all bytes */
                   CW_IDENTITY_N
};

/* the identity of one file when the job was prepared */
struct cw_file_stamp {
    int64_t size;
    /* for mtime: the file's modification time, or a number derived from the object's etag */
    int64_t mtime_ns;
    enum cw_identity identity;
    struct cw_hash sum; /* for sample and content: checksum of those bytes */
};

static inline bool cw_identity_reads(enum cw_identity identity)
{
    return identity == CW_IDENTITY_SAMPLE || identity == CW_IDENTITY_CONTENT;
}
const char *cw_identity_name(enum cw_identity identity);
/* Parses "mtime" and the other words. what: names the place of the word, for the message. */
int cw_identity_parse(const char *word, const char *what, enum cw_identity *ret_identity,
                      struct cw_err *err);
/* Returns a line that says which changes this identity cannot notice; NULL: none that occur in
 * practice. */
const char *cw_identity_blind(enum cw_identity identity);

#endif
