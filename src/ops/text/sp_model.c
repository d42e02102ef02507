/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/sp_model.h"

#include <float.h>

#define UNK_PENALTY 10.0f
static const uint8_t space[3] = {0xe2, 0x96, 0x81}; /* U+2581, which stands for a space */

void cw_sp_init(struct cw_sp_model *model)
{
    *model = (struct cw_sp_model){.kind = CW_SP_UNIGRAM,
                                  .unk = -1,
                                  .add_dummy_prefix = true,
                                  .remove_extra_whitespaces = true,
                                  .escape_whitespaces = true};
    memset(model->of_byte, 0xff, sizeof(model->of_byte));
    cw_trie_init(&model->trie);
    cw_trie_init(&model->user);
}

void cw_sp_fini(struct cw_sp_model *model)
{
    cw_vocab_fini(&model->pieces);
    cw_vocab_fini(&model->reserved);
    cw_trie_fini(&model->trie);
    cw_trie_fini(&model->user);
    cw_mem_free(model->ascii_pairs);
    cw_mem_free(model->scores);
    cw_mem_free(model->types);
    cw_mem_free(model->darts);
    cw_mem_free(model->replacements);
}

static bool is_space(const uint8_t *p, size_t n)
{
    return n >= 3 && memcmp(p, space, 3) == 0;
}

/* Looks for a space behind something else, and for something else behind a space. */
static void find_borders(const uint8_t *p, size_t n, bool *before, bool *behind)
{
    size_t len;
    bool was_space = is_space(p, n);
    for (size_t i = was_space ? 3 : cw_sp_char_len(p, n); i < n; i += len) {
        const bool is = is_space(p + i, n - i);
        len = is ? 3 : cw_sp_char_len(p + i, n - i);
        *before = *before || (is && !was_space);
        *behind = *behind || (!is && was_space);
        was_space = is;
    }
}

/* A text may be cut where no piece goes across. How unused pieces are taken apart depends on all of the
 * text. */
static void find_cut(struct cw_sp_model *model)
{
    bool before = false, behind = false;
    for (size_t i = 0; i < model->pieces.n; i++) {
        const struct cw_vocab_entry *entry = &model->pieces.entries[i];
        find_borders((const uint8_t *)cw_vocab_bytes(&model->pieces, entry), entry->n, &before,
                     &behind);
    }
    if (model->has_unused && model->kind == CW_SP_BPE)
        return;
    model->cut = !before   ? CW_SP_CUT_BEFORE_SPACE
                 : !behind ? CW_SP_CUT_BEHIND_SPACE
                           : CW_SP_CUT_NEVER;
}

static void set_scores(struct cw_sp_model *model)
{
    float least = FLT_MAX;
    model->max_score = FLT_MIN;
    for (size_t i = 0; i < model->n; i++) {
        if (model->types[i] == CW_SP_NORMAL) {
            least = CW_MIN(least, model->scores[i]);
            model->max_score = CW_MAX(model->max_score, model->scores[i]);
        }
    }
    model->scores[model->unk] = least - UNK_PENALTY;
}

static int check_bytes(const struct cw_sp_model *model, struct cw_err *err)
{
    for (int i = 0; i < 256; i++) {
        if (!model->byte_fallback && model->of_byte[i] >= 0)
            return cw_err_set(err, CW_E_CORRUPT,
                              "piece %d is a byte, but it does not use byte_fallback",
                              model->of_byte[i]);
        if (model->byte_fallback && model->of_byte[i] < 0)
            return cw_err_set(err, CW_E_CORRUPT,
                              "it uses byte_fallback, but no piece is the byte 0x%02X",
                              (unsigned)i);
    }
    return 0;
}

/* Most pairs that are looked up are two letters next to each other. */
static void find_ascii_pairs(struct cw_sp_model *model)
{
    model->ascii_pairs = CW_NEW_ARRAY(int32_t, 128 * 128);
    memset(model->ascii_pairs, 0xff, 128 * 128 * sizeof(int32_t));
    for (size_t i = 0; i < model->pieces.n; i++) {
        const struct cw_vocab_entry *entry = &model->pieces.entries[i];
        const uint8_t *p = (const uint8_t *)cw_vocab_bytes(&model->pieces, entry);
        if (entry->n == 2 && p[0] < 128 && p[1] < 128)
            model->ascii_pairs[128 * p[0] + p[1]] = entry->id;
    }
}

int cw_sp_finish(struct cw_sp_model *model, struct cw_err *err)
{
    if (model->unk < 0)
        return cw_err_set(err, CW_E_CORRUPT, "none of its %zu pieces is the unknown one", model->n);
    int rc = check_bytes(model, err);
    for (size_t i = 0; rc == 0 && model->kind == CW_SP_UNIGRAM && i < model->pieces.n; i++) {
        const struct cw_vocab_entry *entry = &model->pieces.entries[i];
        rc = cw_trie_add(&model->trie, cw_vocab_bytes(&model->pieces, entry), entry->n, entry->id,
                         err);
    }
    if (rc < 0)
        return rc;
    set_scores(model);
    find_cut(model);
    if (model->kind == CW_SP_BPE)
        find_ascii_pairs(model);
    cw_sp_find_plain(model);
    return 0;
}
