/* SPDX-License-Identifier: Apache-2.0 */
/* BPE as SentencePiece does it: of all pairs of neighbours that together are a piece the one of the best
 * score is merged, the leftmost of several. */
#include "ops/text/candidates.h"
#include "ops/text/sp_model.h"

#define END UINT32_MAX

struct symbol {
    uint32_t at, n; /* n = 0: it was merged into the one before */
    uint32_t prev, next;
    bool is_frozen;
};
struct merging {
    const struct cw_sp_model *model;
    struct cw_sp_thread *thread;
    const uint8_t *p;
    struct symbol *symbols;
    uint32_t symbols_n;
    /* by score, better ones first, then from the left; a is the right symbol, b the bytes of both */
    struct cw_candidates candidates;
};

/* Better scores become lesser numbers. */
static uint32_t order_of(float score)
{
    uint32_t bits;
    score = score == 0 ? 0 : score;
    memcpy(&bits, &score, 4);
    return bits >> 31 ? bits : ~bits & 0x7fffffff;
}

static void push_pair(struct merging *m, uint32_t left, uint32_t right)
{
    if (left == END || right == END || m->symbols[left].is_frozen || m->symbols[right].is_frozen)
        return;
    const uint32_t n = m->symbols[left].n + m->symbols[right].n;
    const int32_t id = cw_vocab_find(&m->model->pieces, m->p + m->symbols[left].at, n);
    if (id < 0)
        return;
    cw_candidates_push(
        &m->candidates,
        (struct cw_candidate){(uint64_t)order_of(m->model->scores[id]) << 32 | left, right, n});
    if (m->thread->left_n && m->model->types[id] == CW_SP_UNUSED)
        m->thread->left_n[id] = m->symbols[left].n;
}

static void merge(struct merging *m, struct cw_candidate candidate)
{
    const uint32_t at = (uint32_t)candidate.order;
    struct symbol *left = &m->symbols[at], *right = &m->symbols[candidate.a];
    if (left->n == 0 || right->n == 0 || left->n + right->n != candidate.b)
        return;
    left->n = candidate.b;
    left->next = right->next;
    if (right->next != END)
        m->symbols[right->next].prev = at;
    right->n = 0;
    push_pair(m, left->prev, at);
    push_pair(m, at, left->next);
}

static void split(struct merging *m, size_t n)
{
    uint32_t k = 0;
    for (size_t i = 0; i < n; k++) {
        int32_t id;
        size_t len = m->model->user_n ? cw_trie_longest(&m->model->user, m->p + i, n - i, &id) : 0;
        const bool is_frozen = len > 0;
        if (!is_frozen)
            len = cw_sp_char_len(m->p + i, n - i);
        m->symbols[k] = (struct symbol){(uint32_t)i, (uint32_t)len, k - 1, k + 1, is_frozen};
        i += len;
    }
    m->symbols[0].prev = END;
    m->symbols[k - 1].next = END;
    m->symbols_n = k;
}

/* The id of a text that became a symbol. */
static int32_t id_of(const struct cw_sp_model *model, const uint8_t *p, size_t n)
{
    int32_t id = cw_vocab_find(&model->reserved, p, n);
    if (id < 0)
        id = cw_vocab_find(&model->pieces, p, n);
    return id < 0 ? model->unk : id;
}

/* Where an unused piece is to be cut; 0: it is not. */
static size_t cut_of(const struct merging *m, int32_t id, size_t n)
{
    if (!m->thread->left_n || m->model->types[id] != CW_SP_UNUSED)
        return 0;
    return m->thread->left_n[id] < n ? m->thread->left_n[id] : 0;
}

/* Adds a symbol. An unused piece is taken apart again as it was made; one character is unknown. The ends of the parts that wait lie
 * where the heap was. */
static int add_symbol(struct merging *m, const uint8_t *p, size_t n, struct cw_err *err)
{
    uint32_t *ends = (void *)m->candidates.heap;
    size_t ends_n = 1, at = 0;
    ends[0] = (uint32_t)n;
    while (ends_n > 0) {
        const size_t len = ends[ends_n - 1] - at;
        const int32_t id = id_of(m->model, p + at, len);
        const size_t cut = cut_of(m, id, len);
        if (cut > 0) {
            ends[ends_n++] = (uint32_t)(at + cut);
            continue;
        }
        const bool is_unused = m->model->types[id] == CW_SP_UNUSED;
        int rc =
            cw_sp_add(m->model, &m->thread->word, p + at, len, is_unused ? m->model->unk : id, err);
        if (rc < 0)
            return rc;
        at += len;
        ends_n--;
    }
    return 0;
}

/* ---- short parts ---- */

/* Most parts have few characters. For these the best pair is found by going over all of them, which costs less than the
 * candidates of a heap; merges are the same, and in the same order. */
#define SHORT 24
#define NO_PAIR UINT64_MAX

struct word {
    const struct cw_sp_model *model;
    const uint8_t *p;
    uint32_t n, at[SHORT + 1]; /* symbols, and where each begins; at[n] is the end */
    uint64_t order[SHORT];     /* of the pair that begins at a symbol */
};

static bool word_split(struct word *word, size_t n)
{
    for (size_t i = 0; i < n; i += cw_sp_char_len(word->p + i, n - i)) {
        if (word->n == SHORT)
            return false;
        word->at[word->n++] = (uint32_t)i;
    }
    word->at[word->n] = (uint32_t)n;
    return true;
}

/* Looks up the pair of symbol i and the one behind it. */
static void word_look(struct word *word, uint32_t i)
{
    if (i + 1 >= word->n)
        return;
    const uint8_t *p = word->p + word->at[i];
    const uint32_t n = word->at[i + 2] - word->at[i];
    const int32_t id = n == 2 && (p[0] | p[1]) < 128 ? word->model->ascii_pairs[128 * p[0] + p[1]]
                                                     : cw_vocab_find(&word->model->pieces, p, n);
    word->order[i] = id < 0 ? NO_PAIR : order_of(word->model->scores[id]);
}

static bool word_merge(struct word *word)
{
    uint32_t best = 0;
    uint64_t least = NO_PAIR;
    for (uint32_t i = 0; i + 1 < word->n; i++)
        if (word->order[i] < least) {
            least = word->order[i];
            best = i;
        }
    if (least == NO_PAIR)
        return false;
    word->n--;
    for (uint32_t i = best + 1; i <= word->n; i++)
        word->at[i] = word->at[i + 1];
    for (uint32_t i = best + 1; i + 1 < word->n; i++)
        word->order[i] = word->order[i + 1];
    if (best > 0)
        word_look(word, best - 1);
    word_look(word, best);
    return true;
}

/* Returns 1 if the part is too long for it, or the model has what it does not do. */
static int encode_short(const struct cw_sp_model *model, struct cw_sp_thread *thread,
                        const uint8_t *p, size_t n, struct cw_err *err)
{
    struct word word = {.model = model, .p = p};
    if (thread->left_n || model->user_n || !word_split(&word, n))
        return 1;
    for (uint32_t i = 0; i < word.n; i++)
        word_look(&word, i);
    while (word_merge(&word))
        continue;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < word.n; i++) {
        const uint8_t *from = p + word.at[i];
        const size_t bytes = word.at[i + 1] - word.at[i];
        rc = cw_sp_add(model, &thread->word, from, bytes, id_of(model, from, bytes), err);
    }
    return rc;
}

int cw_sp_bpe(const struct cw_sp_model *model, struct cw_sp_thread *thread, const uint8_t *p,
              size_t n, struct cw_err *err)
{
    const int done = encode_short(model, thread, p, n, err);
    if (done <= 0)
        return done;
    struct merging m = {.model = model, .thread = thread, .p = p};
    if (n >= END / 2)
        return cw_err_set(err, CW_E_LIMIT, "a text of %zu bytes is too long", n);
    m.candidates.heap =
        cw_sp_memory(thread, n * (3 * sizeof(struct cw_candidate) + sizeof(m.symbols[0])), err);
    if (!m.candidates.heap)
        return CW_E_NOMEM;
    m.symbols = (void *)(m.candidates.heap + 3 * n);
    split(&m, n);
    for (uint32_t i = 1; i < m.symbols_n; i++)
        push_pair(&m, i - 1, i);
    while (m.candidates.n > 0)
        merge(&m, cw_candidates_pop(&m.candidates));
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i != END; i = m.symbols[i].next)
        rc = add_symbol(&m, p + m.symbols[i].at, m.symbols[i].n, err);
    return rc;
}
