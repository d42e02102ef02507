/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a resume token, once as they are, and once with the checksum that makes them whole, so
 * that what is behind it is read. What is read is written, and read again as the same. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "wire/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void assert_equal(const struct cw_token *a, const struct cw_token *b)
{
    CW_ASSERT(cw_hash_eq(a->fingerprint, b->fingerprint) && a->pipeline_sum == b->pipeline_sum &&
              a->files_sum == b->files_sum && a->identity == b->identity && a->seed == b->seed);
    CW_ASSERT(a->epoch == b->epoch && a->item == b->item && a->row == b->row &&
              a->rows == b->rows && a->batches == b->batches);
    CW_ASSERT(a->mode == b->mode && a->consumers == b->consumers && a->to_come == b->to_come &&
              cw_set_eq(&a->beyond, &b->beyond));
}

static void write_again(const struct cw_token *token)
{
    size_t cap = 200 + 20 * token->beyond.n, n = 0;
    char *bytes = cw_mem_new(cap);
    struct cw_token again = {0};
    CW_ASSERT(cw_token_encode(token, bytes, cap, &n, NULL) == 0);
    CW_ASSERT(cw_token_decode(bytes, n, &again, NULL) == 0);
    assert_equal(token, &again);
    cw_token_fini(&again);
    cw_mem_free(bytes);
}

static void read_token(const unsigned char *bytes, size_t n)
{
    struct cw_token token = {0};
    struct cw_err err = {0};
    if (cw_token_decode(bytes, n, &token, &err) != 0) {
        CW_ASSERT(err.msg[0] != '\0');
        return;
    }
    write_again(&token);
    cw_token_fini(&token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned char *whole = cw_mem_new(n + 8);
    read_token(data, n);
    if (n > 0)
        memcpy(whole, data, n);
    uint64_t sum = cw_hash_u64(whole, n);
    for (int i = 0; i < 8; i++)
        whole[n + (size_t)i] = (unsigned char)(sum >> (8 * i));
    read_token(whole, n + 8);
    cw_mem_free(whole);
    return 0;
}
