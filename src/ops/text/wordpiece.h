/* SPDX-License-Identifier: Apache-2.0 */
/* WordPiece as BERT uses it: texts are cleaned, cut at spaces, signs and Chinese characters, and each word
 * is the longest token that begins it, then the longest "##" token that goes on, and so on. */
#ifndef CW_OPS_TEXT_WORDPIECE_H
#define CW_OPS_TEXT_WORDPIECE_H

#include "ops/text/added.h"
#include "ops/text/ids.h"
#include "ops/text/vocab.h"

struct cw_wordpiece {
    struct cw_vocab tokens;
    struct cw_trie first, rest; /* tokens that begin a word; those with the prefix, without it */
    struct cw_added special;
    int32_t unk;
    int64_t word_chars_max;
    bool lower, strip_accents, chinese_chars, clean;
};

void cw_wordpiece_init(struct cw_wordpiece *model);
void cw_wordpiece_fini(struct cw_wordpiece *model);
/* Reads a vocab.txt, whose line k is token k, counted from 0. */
int cw_wordpiece_read(struct cw_wordpiece *model, const char *text, size_t n, const char *prefix,
                      const char *unk, struct cw_err *err);

struct cw_wordpiece_thread {
    struct cw_str clean, normal, word;
    struct cw_ids ids; /* the result */
};
struct cw_wordpiece_thread *cw_wordpiece_thread_new(void);
void cw_wordpiece_thread_free(struct cw_wordpiece_thread *thread);
int cw_wordpiece_encode(const struct cw_wordpiece *model, struct cw_wordpiece_thread *thread,
                        const uint8_t *p, size_t n, struct cw_err *err);

/* Normalises a text into thread->normal (wordpiece_clean.c). */
int cw_wordpiece_clean(const struct cw_wordpiece *model, struct cw_wordpiece_thread *thread,
                       const uint8_t *p, size_t n, struct cw_err *err);

#endif
