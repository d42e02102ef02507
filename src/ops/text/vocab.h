/* SPDX-License-Identifier: Apache-2.0 */
/* A vocabulary: byte strings and their ids, found by hash. It is filled while a model file is read,
 * and does not change afterwards, so any thread may look things up. Ids may have gaps, and several
 * strings may have one id; no string is there twice. */
#ifndef CW_OPS_TEXT_VOCAB_H
#define CW_OPS_TEXT_VOCAB_H

#include <stdbool.h>
#include "base/err.h"

/* Limits of a vocabulary; a file that has more is refused. */
#define CW_VOCAB_ENTRIES_MAX ((size_t)1 << 24)
#define CW_VOCAB_BYTES_MAX ((size_t)1 << 30)

struct cw_vocab_entry {
    uint32_t at, n; /* the string is the n bytes of the pool from `at` */
    int32_t id;
};
struct cw_vocab {
    struct cw_vocab_entry *entries;
    size_t n, cap;
    char *pool;
    size_t pool_n, pool_cap;
    struct cw_vocab_slot {
        uint32_t tag;    /* the upper half of the string's hash */
        uint32_t number; /* of the entry + 1; 0: empty */
    } * slots;
    size_t slots_n;
};

void cw_vocab_fini(struct cw_vocab *vocab);
/* Adds a string. Returns 1 if it is new, 0 if it is there already (and stays as it is), LIMIT, or
 * INVALID if the id is no i32 >= 0. */
int cw_vocab_add(struct cw_vocab *vocab, const void *p, size_t n, int64_t id, struct cw_err *err);
/* Returns the entry of a string, or NULL. */
const struct cw_vocab_entry *cw_vocab_entry(const struct cw_vocab *vocab, const void *p, size_t n);
/* Returns the id of a string, or -1. */
int32_t cw_vocab_find(const struct cw_vocab *vocab, const void *p, size_t n);
static inline const char *cw_vocab_bytes(const struct cw_vocab *vocab,
                                         const struct cw_vocab_entry *entry)
{
    return vocab->pool + entry->at;
}

#endif
