/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of a token: "CWT2", fingerprint (16 bytes), pipeline_sum, files_sum (8 each), then
 * varints: identity, seed, epoch, item, row, rows, batches, mode, consumers, to_come, number of
 * gaps, and for each run beyond `item` its distance from the last end and its length; at the end 8
 * bytes of hash over everything before. "CWT1" is the same without pipeline_sum, files_sum and
 * identity. */
#include "wire/token.h"

#include <string.h>
#include "base/str.h"

#define MAGIC "CWT2"
#define MAGIC_BEFORE "CWT1"
#define SUMS_BYTES 16
#define HEAD_BYTES 20
#define SUM_BYTES 8

static void put_u64(struct cw_str *out, uint64_t v)
{
    unsigned char b[8];
    for (int i = 0; i < 8; i++)
        b[i] = (unsigned char)(v >> (8 * i));
    cw_str_add_bytes(out, b, sizeof(b));
}

static uint64_t get_u64(const unsigned char *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

static void put_varint(struct cw_str *out, uint64_t v)
{
    while (v >= 0x80) {
        cw_str_add_char(out, (char)(unsigned char)(v | 0x80));
        v >>= 7;
    }
    cw_str_add_char(out, (char)(unsigned char)v);
}

struct reader {
    const unsigned char *p, *end;
    bool bad;
};

static uint64_t get_varint(struct reader *r)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->p >= r->end)
            break;
        unsigned char c = *r->p++;
        if (shift == 63 && c > 1)
            break;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return v;
    }
    r->bad = true;
    return 0;
}

int cw_token_encode(const struct cw_token *token, void *ret_bytes, size_t cap, size_t *ret_n,
                    struct cw_err *err)
{
    CW_STR_AUTO out = {0};
    cw_str_add_bytes(&out, MAGIC, 4);
    put_u64(&out, token->fingerprint.hi);
    put_u64(&out, token->fingerprint.lo);
    put_u64(&out, token->pipeline_sum);
    put_u64(&out, token->files_sum);
    const uint64_t numbers[] = {token->identity,  token->seed,    token->epoch,   token->item,
                                token->row,       token->rows,    token->batches, token->mode,
                                token->consumers, token->to_come, token->beyond.n};
    for (size_t i = 0; i < CW_ARRAY_LEN(numbers); i++)
        put_varint(&out, numbers[i]);
    uint64_t at = token->item;
    for (size_t i = 0; i < token->beyond.n; i++) {
        CW_ASSERT(token->beyond.v[i].lo >= at);
        put_varint(&out, token->beyond.v[i].lo - at);
        put_varint(&out, token->beyond.v[i].hi - token->beyond.v[i].lo);
        at = token->beyond.v[i].hi;
    }
    put_u64(&out, cw_hash_u64(out.s, out.len));
    *ret_n = out.len;
    if (out.len > cap)
        return cw_err_set(err, CW_E_INVALID,
                          "the token needs %zu bytes, the caller gave room for %zu", out.len, cap);
    memcpy(ret_bytes, out.s, out.len);
    return 0;
}

static int decode_runs(struct reader *r, uint64_t n, struct cw_token *token, struct cw_err *err)
{
    if (n > CW_TOKEN_GAPS_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "resume token: %llu gaps", (unsigned long long)n);
    uint64_t at = token->item;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t gap = get_varint(r), len = get_varint(r);
        if (r->bad || len == 0 || gap > UINT64_MAX - at || len > UINT64_MAX - at - gap)
            return cw_err_set(err, CW_E_CORRUPT, "resume token: run %llu is not valid",
                              (unsigned long long)i);
        cw_set_add(&token->beyond, at + gap, at + gap + len);
        at += gap + len;
    }
    return 0;
}

int cw_token_decode(const void *p, size_t n, struct cw_token *ret_token, struct cw_err *err)
{
    const unsigned char *b = p;
    size_t head = HEAD_BYTES;
    if (n >= HEAD_BYTES + SUMS_BYTES + SUM_BYTES && memcmp(b, MAGIC, 4) == 0)
        head += SUMS_BYTES;
    else if (n < HEAD_BYTES + SUM_BYTES || memcmp(b, MAGIC_BEFORE, 4) != 0)
        return cw_err_set(err, CW_E_CORRUPT,
                          "resume token: these %zu bytes are not a token of this version", n);
    if (get_u64(b + n - SUM_BYTES) != cw_hash_u64(b, n - SUM_BYTES))
        return cw_err_set(err, CW_E_CORRUPT,
                          "resume token: checksum does not match, it was cut or changed");
    struct cw_token t = {.fingerprint = {get_u64(b + 4), get_u64(b + 12)}};
    struct reader r = {b + head, b + n - SUM_BYTES, false};
    if (head > HEAD_BYTES) {
        t.pipeline_sum = get_u64(b + HEAD_BYTES);
        t.files_sum = get_u64(b + HEAD_BYTES + 8);
        uint64_t identity = get_varint(&r);
        t.identity = (uint32_t)CW_MIN(identity, (uint64_t)UINT32_MAX);
    }
    uint64_t *const numbers[] = {&t.seed, &t.epoch, &t.item, &t.row, &t.rows, &t.batches};
    for (size_t i = 0; i < CW_ARRAY_LEN(numbers); i++)
        *numbers[i] = get_varint(&r);
    uint64_t mode = get_varint(&r), consumers = get_varint(&r), to_come = get_varint(&r),
             runs = get_varint(&r);
    if (r.bad || mode > 2 || consumers > UINT32_MAX || to_come > UINT32_MAX)
        return cw_err_set(err, CW_E_CORRUPT, "resume token: its numbers are not valid");
    t.mode = (uint32_t)mode;
    t.consumers = (uint32_t)consumers;
    t.to_come = (uint32_t)to_come;
    int rc = decode_runs(&r, runs, &t, err);
    if (rc == 0 && r.p != r.end)
        rc = cw_err_set(err, CW_E_CORRUPT, "resume token: %zu bytes too many",
                        (size_t)(r.end - r.p));
    if (rc != 0)
        cw_token_fini(&t);
    else
        *ret_token = t;
    return rc;
}

void cw_token_fini(struct cw_token *token)
{
    cw_set_fini(&token->beyond);
}
