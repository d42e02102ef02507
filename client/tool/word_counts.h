/* SPDX-License-Identifier: Apache-2.0 */
/* How often each string of a field comes. */
#ifndef CW_CLIENT_TOOL_WORD_COUNTS_H
#define CW_CLIENT_TOOL_WORD_COUNTS_H

#include "base/map.h"
#include "conf/value.h"

/* So many different strings are counted. Of more, those that come first are. */
#define TOOL_WORDS_MAX ((size_t)4 << 20)

struct tool_word_counts {
    struct cw_strmap map; /* of strings to uint64_t */
    uint64_t n;           /* strings that were counted */
    uint64_t others;      /* strings that were not: too many different ones, or a byte 0 in them */
    struct cw_str text;   /* for keys */
};

void tool_word_counts_fini(struct tool_word_counts *counts);
void tool_word_counts_add(struct tool_word_counts *counts, const void *word, size_t n);
/* Adds to an object: count, others, distinct, and the `most` strings that come most often, with their
 * counts; equally frequent ones in bytewise order. */
void tool_word_counts_print(const struct tool_word_counts *counts, size_t most,
                            struct cw_value *object);

#endif
