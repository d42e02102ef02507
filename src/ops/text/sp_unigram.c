/* SPDX-License-Identifier: Apache-2.0 */
/* The best way through a text by a unigram model (Viterbi). The library sums scores as floats from the
 * beginning of the text and takes the first of equal sums, so equal ids need equal roundings: a part is
 * computed with the sum before it. */
#include <float.h>
#include <math.h>

#include "ops/text/sp_model.h"

/* The best way to a place: its last piece, and by how much it is better than the next. */
struct node {
    float score;
    int32_t id;
    uint32_t begin; /* of the last piece; NOWHERE: no way leads here */
    float second;
};
#define NOWHERE UINT32_MAX

static void offer(struct node *node, float score, uint32_t begin, int32_t id)
{
    if (node->begin == NOWHERE || score > node->score) {
        node->second = node->begin == NOWHERE ? -FLT_MAX : node->score;
        *node = (struct node){score, id, begin, node->second};
    } else {
        node->second = fmaxf(node->second, score);
    }
}

/* Offers all pieces that begin at a place. Returns whether one of them is one character. */
static bool offer_pieces(const struct cw_sp_model *model, struct node *nodes, const uint8_t *p,
                         size_t n, uint32_t begin, size_t char_len, bool *has_user)
{
    bool has_single = false;
    uint32_t at = CW_TRIE_ROOT;
    const float before = nodes[begin].score;
    for (size_t end = begin; end < n;) {
        at = cw_trie_step(&model->trie, at, p[end++]);
        if (at == CW_TRIE_NONE)
            break;
        const int32_t id = model->trie.values[at];
        if (id < 0 || model->types[id] == CW_SP_UNUSED)
            continue;
        const size_t len = end - begin;
        const bool is_user = model->types[id] == CW_SP_USER_DEFINED;
        const double score =
            is_user ? (double)((float)len * model->max_score) - 0.1 : (double)model->scores[id];
        *has_user = *has_user || is_user;
        offer(&nodes[end], (float)(score + (double)before), begin, id);
        has_single = has_single || len == char_len;
    }
    return has_single;
}

/* Adds the tokens of the best way, whose pieces are found from its end. */
static int add_path(const struct cw_sp_model *model, struct cw_sp_thread *thread,
                    struct node *nodes, const uint8_t *p, size_t n, float *margin,
                    struct cw_err *err)
{
    uint32_t end = (uint32_t)n, next = (uint32_t)n;
    while (end > 0) { /* the way is turned around: each begin then has its end */
        const uint32_t begin = nodes[end].begin;
        *margin = fminf(*margin, nodes[end].score - nodes[end].second);
        nodes[end].begin = next;
        next = end;
        end = begin;
    }
    for (uint32_t at = 0; at < n; next = nodes[next].begin) {
        const int32_t id = nodes[next].id;
        if (id == model->unk && model->byte_fallback)
            *margin = -1;
        int rc = cw_sp_add(model, &thread->word, p + at, next - at, id, err);
        if (rc < 0)
            return rc;
        at = next;
    }
    return 0;
}

int cw_sp_unigram(const struct cw_sp_model *model, struct cw_sp_thread *thread, const uint8_t *p,
                  size_t n, float *score, float *ret_margin, struct cw_err *err)
{
    struct node *nodes = cw_sp_memory(thread, (n + 1) * sizeof(*nodes), err);
    bool has_user = false;
    float largest = 0;
    if (!nodes)
        return CW_E_NOMEM;
    if (n >= NOWHERE)
        return cw_err_set(err, CW_E_LIMIT, "a text of %zu bytes is too long", n);
    for (size_t i = 0; i <= n; i++)
        nodes[i].begin = NOWHERE;
    nodes[0] = (struct node){.score = *score};
    for (size_t at = 0; at < n;) {
        const size_t len = cw_sp_char_len(p + at, n - at);
        if (!offer_pieces(model, nodes, p, n, (uint32_t)at, len, &has_user))
            offer(&nodes[at + len], model->scores[model->unk] + nodes[at].score, (uint32_t)at,
                  model->unk);
        at += len;
        largest = fmaxf(largest, fmaxf(fabsf(nodes[at].score), fabsf(nodes[at].score - *score)));
    }
    *score = nodes[n].score;
    *ret_margin = FLT_MAX;
    int rc = add_path(model, thread, nodes, p, n, ret_margin, err);
    *ret_margin = has_user ? -1 : *ret_margin - cw_sp_rounding(n, largest);
    return rc;
}
