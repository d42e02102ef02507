/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads blobs of kept indices:
 *
 *   char[8] "CWINDEX1"
 *   u64     records, bytes of the key, bytes of the index
 *   u64[2]  checksum (XXH3, 128 bits) of all else
 *   the key, the index
 *
 * All numbers are in little endian. */
#include "format/kept_index.h"

#include <endian.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "format/source_file.h"

#define MAGIC "CWINDEX1"
enum { MAGIC_BYTES = 8, SUM_AT = 32, HEAD_BYTES = 48 };
#define KEY_MAX ((uint64_t)64 << 10)
#define PIECE ((size_t)1 << 20)

static _Atomic(const struct cw_index_keeper *) keeper_of_process;
static atomic_size_t max_of_process = CW_KEPT_INDEX_MAX;

void cw_kept_index_fini(struct cw_kept_index *kept)
{
    cw_mem_free(kept->blob);
    *kept = (struct cw_kept_index){0};
}

static void put_u64(uint8_t *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof(v));
}

static uint64_t get_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

/* The checksum of a blob but for its place. */
static struct cw_hash sum_of(const uint8_t *blob, size_t n)
{
    struct cw_hasher *hasher = cw_hasher_new();
    cw_hasher_add(hasher, blob, SUM_AT);
    cw_hasher_add(hasher, blob + HEAD_BYTES, n - HEAD_BYTES);
    struct cw_hash sum = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return sum;
}

void cw_kept_index_write(const char *key, uint64_t records, const void *bytes, size_t n,
                         struct cw_str *out)
{
    uint8_t head[HEAD_BYTES] = MAGIC;
    const size_t key_n = strlen(key), begin = out->len;
    put_u64(head + 8, records);
    put_u64(head + 16, key_n);
    put_u64(head + 24, n);
    cw_str_add_bytes(out, head, sizeof(head));
    cw_str_add_bytes(out, key, key_n);
    cw_str_add_bytes(out, bytes, n);
    uint8_t *blob = (uint8_t *)out->s + begin;
    const struct cw_hash sum = sum_of(blob, out->len - begin);
    put_u64(blob + SUM_AT, sum.hi);
    put_u64(blob + SUM_AT + 8, sum.lo);
}

bool cw_kept_index_read(const void *blob, size_t blob_n, const char *key,
                        struct cw_kept_index *ret_kept)
{
    const uint8_t *p = blob;
    if (blob_n < HEAD_BYTES || memcmp(p, MAGIC, MAGIC_BYTES) != 0)
        return false;
    const uint64_t key_n = get_u64(p + 16), n = get_u64(p + 24), room = blob_n - HEAD_BYTES;
    if (key_n > room || n != room - key_n || get_u64(p + 8) > INT64_MAX)
        return false;
    const char *own = (const char *)p + HEAD_BYTES;
    if (key && (strlen(key) != key_n || memcmp(own, key, (size_t)key_n) != 0))
        return false;
    const struct cw_hash sum = {get_u64(p + SUM_AT), get_u64(p + SUM_AT + 8)};
    if (!cw_hash_eq(sum, sum_of(p, blob_n)))
        return false;
    *ret_kept = (struct cw_kept_index){.key = own,
                                       .key_n = (size_t)key_n,
                                       .records = get_u64(p + 8),
                                       .bytes = (const uint8_t *)own + key_n,
                                       .n = (size_t)n};
    return true;
}

/* Adds all behind the head to the checksum, of which the key is noted. */
static int scan_rest(cw_kept_read_fn *read, void *arg, uint64_t blob_n, struct cw_hasher *hasher,
                     uint64_t key_n, struct cw_str *ret_key, struct cw_err *err)
{
    cw_autofree char *piece = cw_mem_new(PIECE);
    int rc = 0;
    for (uint64_t at = HEAD_BYTES; at < blob_n && rc == 0;) {
        const bool is_key = at == HEAD_BYTES && key_n > 0;
        const size_t n = is_key ? (size_t)key_n : (size_t)CW_MIN((uint64_t)PIECE, blob_n - at);
        rc = read(arg, at, piece, n, err);
        if (rc < 0)
            break;
        cw_hasher_add(hasher, piece, n);
        if (is_key)
            cw_str_add_bytes(ret_key, piece, n);
        at += n;
    }
    return rc;
}

int cw_kept_index_scan(cw_kept_read_fn *read, void *arg, uint64_t blob_n, struct cw_str *ret_key,
                       uint64_t *ret_records, bool *ret_is_good, struct cw_err *err)
{
    uint8_t head[HEAD_BYTES];
    *ret_is_good = false;
    if (blob_n < HEAD_BYTES)
        return 0;
    int rc = read(arg, 0, head, HEAD_BYTES, err);
    if (rc < 0 || memcmp(head, MAGIC, MAGIC_BYTES) != 0)
        return rc;
    const uint64_t key_n = get_u64(head + 16), room = blob_n - HEAD_BYTES;
    if (key_n > CW_MIN(KEY_MAX, room) || get_u64(head + 24) != room - key_n ||
        get_u64(head + 8) > INT64_MAX)
        return 0;
    struct cw_hasher *hasher = cw_hasher_new();
    cw_hasher_add(hasher, head, SUM_AT);
    rc = scan_rest(read, arg, blob_n, hasher, key_n, ret_key, err);
    const struct cw_hash sum = {get_u64(head + SUM_AT), get_u64(head + SUM_AT + 8)};
    *ret_is_good = rc == 0 && cw_hash_eq(sum, cw_hasher_get(hasher));
    *ret_records = get_u64(head + 8);
    cw_hasher_free(hasher);
    return rc;
}

void cw_kept_index_name(const char *key, char ret_name[CW_KEPT_INDEX_NAME_BYTES])
{
    char text[CW_HASH_TEXT_BYTES];
    cw_hash_text(cw_hash_bytes(key, strlen(key)), text);
    snprintf(ret_name, CW_KEPT_INDEX_NAME_BYTES, CW_KEPT_INDEX_PREFIX "%s" CW_KEPT_INDEX_SUFFIX,
             text);
}

/* ---- the keeper of the process ---- */

void cw_index_keeper_set(const struct cw_index_keeper *keeper)
{
    atomic_store_explicit(&keeper_of_process, keeper, memory_order_release);
}

static const struct cw_index_keeper *keeper_now(void)
{
    return atomic_load_explicit(&keeper_of_process, memory_order_acquire);
}

bool cw_index_keeper_is_set(void)
{
    return keeper_now() != NULL;
}

void cw_index_keeper_set_max(size_t bytes)
{
    atomic_store(&max_of_process, CW_MIN(bytes, CW_KEPT_INDEX_MAX));
}

bool cw_index_keeper_find(const char *key, uint64_t most, struct cw_kept_index *ret_kept)
{
    const size_t room = HEAD_BYTES + strlen(key); /* of a blob, besides the index */
    most = CW_MIN(most, (uint64_t)atomic_load(&max_of_process)) + room;
    const struct cw_index_keeper *keeper = keeper_now();
    char name[CW_KEPT_INDEX_NAME_BYTES];
    void *blob = NULL;
    size_t n = 0;
    cw_kept_index_name(key, name);
    if (!keeper || !keeper->get(keeper->arg, cw_source_store_used(), name, (size_t)most, &blob, &n))
        return false;
    if (!cw_kept_index_read(blob, n, key, ret_kept)) {
        cw_mem_free(blob);
        return false;
    }
    ret_kept->blob = blob;
    ret_kept->blob_n = n;
    return true;
}

void cw_index_keeper_put(const char *key, uint64_t records, const void *bytes, size_t n)
{
    const struct cw_index_keeper *keeper = keeper_now();
    char name[CW_KEPT_INDEX_NAME_BYTES];
    CW_STR_AUTO blob = {0};
    if (!keeper || n > CW_KEPT_INDEX_MAX - (1u << 20))
        return;
    cw_kept_index_name(key, name);
    cw_kept_index_write(key, records, bytes, n, &blob);
    keeper->put(keeper->arg, cw_source_store_used(), name, blob.s, blob.len);
}
