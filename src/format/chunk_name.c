/* SPDX-License-Identifier: Apache-2.0 */
/* Names of chunks: TENANT/KEY/FIRST-COUNT-HASH.chunk. A chunk has exactly one name: hex digits in
 * lower case, no leading zeros. */
#include <string.h>

#include "format/chunk_int.h"

/* Reads digits up to the character `end`; *p is behind it afterwards. */
static bool take_number(const char **p, char end, uint64_t *ret)
{
    char text[24] = {0};
    const char *stop = strchr(*p, end);

    if (!stop || stop == *p || (size_t)(stop - *p) >= sizeof(text) || (**p == '0' && stop - *p > 1))
        return false;
    memcpy(text, *p, (size_t)(stop - *p));
    if (strspn(text, "0123456789") != (size_t)(stop - *p) || !cw_str_to_u64(text, ret))
        return false;
    *p = stop + 1;
    return true;
}

/* Reads 16 hex digits. */
static bool take_hex(const char **p, uint64_t *ret)
{
    uint64_t v = 0;

    for (int i = 0; i < 16; i++) {
        char c = (*p)[i];
        if (c >= '0' && c <= '9')
            v = v << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            v = v << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    *p += 16;
    *ret = v;
    return true;
}

bool cw_chunk_name_parse(const char *name, struct cw_chunk_name *ret_name)
{
    struct cw_chunk_name found = {0};
    const char *p = strchr(name, '/');

    if (!p || !cw_name_is_tenant(name, (size_t)(p - name)))
        return false;
    memcpy(found.tenant, name, (size_t)(p - name));
    p++;
    if (!take_hex(&p, &found.key.hi) || !take_hex(&p, &found.key.lo) || *p++ != '/')
        return false;
    if (!take_number(&p, '-', &found.first) || !take_number(&p, '-', &found.count) ||
        !take_hex(&p, &found.ids_sum) || strcmp(p, ".chunk") != 0)
        return false;
    if (found.count == 0 || found.count > CW_CHUNK_RECORDS_MAX)
        return false;
    *ret_name = found;
    return true;
}

bool cw_chunk_name_fits(const struct cw_chunk_name *name, const struct cw_chunk_index *index)
{
    return cw_hash_eq(name->key, index->head.key) && name->first == index->records[0].id &&
           name->count == index->records_n &&
           name->ids_sum == cw_chunk_ids_sum(index->records, index->records_n);
}
