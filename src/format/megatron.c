/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Megatron's indices in pieces: of lengths, places and documents. */
#include "format/megatron.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"

enum { HEAD_BYTES = 34, MAGIC_BYTES = 9, PIECE_BYTES = 64 << 10 };
static const char MAGIC[MAGIC_BYTES + 1] = "MMIDIDX\0\0";

static uint64_t u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

static int damaged(const struct cw_readable *idx, uint64_t byte, const char *why,
                   struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: byte %llu: %s", idx->name, (unsigned long long)byte,
                      why);
}

/* Floats have other codes in some versions than in others. */
static int set_dtype(const struct cw_readable *idx, uint8_t code, enum cw_dtype *ret_dtype,
                     struct cw_err *err)
{
    static const enum cw_dtype dtypes[] = {
        [1] = CW_DTYPE_U8,  [2] = CW_DTYPE_I8,  [3] = CW_DTYPE_I16,
        [4] = CW_DTYPE_I32, [5] = CW_DTYPE_I64, [8] = CW_DTYPE_U16};
    if (code < 1 || code > 8 || code == 6 || code == 7)
        return cw_err_set(err, code == 6 || code == 7 ? CW_E_UNSUPPORTED : CW_E_CORRUPT,
                          "%s: its values have the code %u: %s", idx->name, code,
                          code == 6 || code == 7 ? "floats are not supported, only integers"
                                                 : "it is not known");
    *ret_dtype = dtypes[code];
    return 0;
}

/* The counts must fit the file, which may have a byte for each sequence behind: of what kind it is. */
static int check_size(const struct cw_readable *idx, const struct cw_megatron_head *h,
                      uint64_t entries, struct cw_err *err)
{
    uint64_t lists, documents, bytes;
    if (__builtin_mul_overflow(h->sequences, (uint64_t)12, &lists) ||
        __builtin_mul_overflow(entries, (uint64_t)8, &documents) ||
        __builtin_add_overflow(lists, documents, &bytes) ||
        __builtin_add_overflow(bytes, (uint64_t)HEAD_BYTES, &bytes) || bytes > idx->size)
        return damaged(idx, idx->size, "truncated: it has less sequences than its head says", err);
    if (bytes != idx->size && idx->size - bytes != h->sequences)
        return damaged(idx, bytes, "it has more than its head says", err);
    return 0;
}

int cw_megatron_head_read(const struct cw_readable *idx, struct cw_megatron_head *ret_head,
                          struct cw_err *err)
{
    uint8_t head[HEAD_BYTES];
    if (idx->size < HEAD_BYTES)
        return damaged(idx, idx->size, "not an index of Megatron-LM, or truncated", err);
    int rc = cw_readable_get(idx, 0, head, HEAD_BYTES, err);
    if (rc < 0)
        return rc;
    if (memcmp(head, MAGIC, MAGIC_BYTES) != 0)
        return damaged(idx, 0,
                       memcmp(head, "TNTIDX", 6) == 0
                           ? "an index of the older kind (not mmap), which is not supported"
                           : "not an index of Megatron-LM",
                       err);
    if (u64(head + MAGIC_BYTES) != 1)
        return damaged(idx, MAGIC_BYTES, "its version is not known", err);
    struct cw_megatron_head h = {.sequences = u64(head + 18)};
    const uint64_t entries = u64(head + 26);
    rc = set_dtype(idx, head[17], &h.dtype, err);
    if (rc == 0)
        rc = check_size(idx, &h, entries, err);
    if (rc == 0 && entries == 0)
        rc = damaged(idx, 26, "it has no list of documents", err);
    if (rc < 0)
        return rc;
    h.documents = entries - 1;
    *ret_head = h;
    return 0;
}

/* ---- the lists ---- */

/* Numbers of one size, read in pieces. */
struct numbers {
    const struct cw_readable *idx;
    uint64_t at, left; /* of what is not read yet; how many numbers */
    size_t width, i, n;
    uint8_t piece[PIECE_BYTES];
};

/* Takes the next number, which there is. */
static int take(struct numbers *s, int64_t *ret, struct cw_err *err)
{
    if (s->i == s->n) {
        const size_t n = (size_t)CW_MIN(s->left, (uint64_t)(PIECE_BYTES / s->width));
        int rc = cw_readable_get(s->idx, s->at, s->piece, n * s->width, err);
        if (rc < 0)
            return rc;
        s->at += n * s->width;
        s->left -= n;
        s->i = 0;
        s->n = n;
    }
    const uint8_t *p = s->piece + s->i++ * s->width;
    if (s->width == 8) {
        *ret = (int64_t)u64(p);
    } else {
        uint32_t v;
        memcpy(&v, p, sizeof(v));
        *ret = (int32_t)le32toh(v);
    }
    return 0;
}

struct walk {
    const struct cw_readable *idx;
    const struct cw_megatron_head *head;
    bool documents;
    struct numbers lengths, places, borders;
    uint64_t border, borders_left; /* the sequence with which the next document begins */
    uint64_t end;                  /* where the sequences so far end */
    struct cw_line_index *index;
};

static int add(struct walk *w, struct cw_err *err)
{
    return cw_line_index_add(w->index, w->end) < 0
               ? cw_err_set(err, CW_E_NOMEM, "%s: no memory for its index", w->idx->name)
               : 0;
}

/* Takes the border of the next document; the last border is the number of sequences. */
static int next_border(struct walk *w, struct cw_err *err)
{
    int64_t border = 0;
    if (w->borders_left == 0)
        return damaged(w->idx, w->idx->size, "its documents are not all of its sequences", err);
    int rc = take(&w->borders, &border, err);
    if (rc == 0 && (border < (int64_t)w->border || (uint64_t)border > w->head->sequences))
        rc = damaged(w->idx, w->borders.at, "its documents are not in order", err);
    w->border = (uint64_t)border;
    w->borders_left--;
    return rc;
}

/* Adds the documents that begin with sequence k: several if some are empty. */
static int add_documents(struct walk *w, uint64_t k, struct cw_err *err)
{
    int rc = 0;
    while (rc == 0 && w->border == k && w->borders_left > 0) {
        rc = add(w, err);
        if (rc == 0)
            rc = next_border(w, err);
    }
    return rc;
}

static int add_sequence(struct walk *w, uint64_t k, struct cw_err *err)
{
    int64_t length = 0, place = 0;
    int rc = w->documents ? add_documents(w, k, err) : add(w, err);
    if (rc == 0)
        rc = take(&w->lengths, &length, err);
    if (rc == 0)
        rc = take(&w->places, &place, err);
    if (rc < 0)
        return rc;
    if (length < 0 || (uint64_t)place != w->end)
        return cw_err_set(
            err, CW_E_CORRUPT,
            "%s: sequence %llu has %lld tokens and begins at byte %lld, where %llu is "
            "the end of the one before",
            w->idx->name, (unsigned long long)k, (long long)length, (long long)place,
            (unsigned long long)w->end);
    w->end += (uint64_t)length * cw_dtype_bytes(w->head->dtype);
    return 0;
}

static int walk(struct walk *w, uint64_t data_bytes, struct cw_err *err)
{
    int rc = w->documents ? next_border(w, err) : 0;
    if (rc == 0 && w->documents && w->border != 0)
        rc = damaged(w->idx, w->idx->size, "its documents do not begin with sequence 0", err);
    for (uint64_t k = 0; rc == 0 && k < w->head->sequences; k++) {
        rc = k % 65536 == 0 ? cw_stop_check_at(w->idx->stop, w->idx->name, err) : 0;
        if (rc == 0)
            rc = add_sequence(w, k, err);
    }
    if (rc == 0 && w->documents)
        rc = add_documents(w, w->head->sequences, err);
    if (rc == 0 && w->documents && w->border != w->head->sequences)
        rc = damaged(w->idx, w->idx->size, "its documents are not all of its sequences", err);
    if (rc == 0 && w->end != data_bytes)
        rc = cw_err_set(err, CW_E_CORRUPT,
                        "%s: its sequences have %llu bytes, and the .bin has %llu", w->idx->name,
                        (unsigned long long)w->end, (unsigned long long)data_bytes);
    if (rc == 0 && cw_line_index_end(w->index, w->end) < 0)
        rc = cw_err_set(err, CW_E_NOMEM, "%s: no memory for its index", w->idx->name);
    return rc;
}

static void begin(struct numbers *s, const struct cw_readable *idx, uint64_t at, uint64_t n,
                  size_t width)
{
    s->idx = idx;
    s->at = at;
    s->left = n;
    s->width = width;
}

int cw_megatron_index(const struct cw_readable *idx, const struct cw_megatron_head *h,
                      bool documents, uint64_t data_bytes, struct cw_line_index **ret_index,
                      struct cw_err *err)
{
    const uint64_t places = HEAD_BYTES + 4 * h->sequences;
    struct walk *w = CW_NEW(struct walk);
    w->idx = idx;
    w->head = h;
    w->documents = documents;
    w->borders_left = h->documents + 1;
    begin(&w->lengths, idx, HEAD_BYTES, h->sequences, 4);
    begin(&w->places, idx, places, h->sequences, 8);
    begin(&w->borders, idx, places + 8 * h->sequences, h->documents + 1, 8);
    w->index = cw_line_index_new();
    int rc = walk(w, data_bytes, err);
    if (rc < 0)
        cw_line_index_free(w->index);
    else
        *ret_index = w->index;
    cw_mem_free(w);
    return rc;
}
