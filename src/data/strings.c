/* SPDX-License-Identifier: Apache-2.0 */
#include "data/strings.h"

#include <inttypes.h>
#include "base/mem.h"

#define BYTES_MAX ((uint64_t)1 << 40)

int64_t cw_strings_count(const struct cw_view *view)
{
    int64_t n = 1;
    for (int i = 0; i < view->rank; i++)
        n *= view->dims[i];
    return n;
}

int cw_strings_check(const void *list, size_t bytes, int64_t count, struct cw_err *err)
{
    if (count < 0 || (uint64_t)count > BYTES_MAX || !list || bytes < cw_strings_table_bytes(count))
        return cw_err_set(err, CW_E_CORRUPT, "too short for the offsets of its strings");
    int64_t size = (int64_t)(bytes - cw_strings_table_bytes(count)), last = 0;
    for (int64_t i = 0; i <= count; i++) {
        int64_t offset = cw_strings_offset(list, i);
        if (offset < last || offset > size || (i == 0 && offset != 0))
            return cw_err_set(err, CW_E_CORRUPT,
                              "offset %" PRId64 " of its strings is %" PRId64 " (behind %" PRId64
                              ", %" PRId64 " bytes in all)",
                              i, offset, last, size);
        last = offset;
    }
    return last == size ? 0 : cw_err_set(err, CW_E_CORRUPT, "bytes behind its last string");
}

size_t cw_strings_part_bytes(const void *list, int64_t first, int64_t n)
{
    return cw_strings_table_bytes(n) +
           (size_t)(cw_strings_offset(list, first + n) - cw_strings_offset(list, first));
}

void cw_strings_part_copy(const void *list, int64_t count, int64_t first, int64_t n, void *dst)
{
    const int64_t begin = cw_strings_offset(list, first);
    const size_t bytes = (size_t)(cw_strings_offset(list, first + n) - begin);
    for (int64_t i = 0; i <= n; i++) {
        const int64_t offset = cw_strings_offset(list, first + i) - begin;
        memcpy((char *)dst + (size_t)i * sizeof(offset), &offset, sizeof(offset));
    }
    if (bytes > 0)
        memcpy((char *)dst + cw_strings_table_bytes(n),
               (const char *)list + cw_strings_table_bytes(count) + begin, bytes);
}

void cw_strings_fini(struct cw_strings *strings)
{
    cw_str_fini(&strings->text);
    cw_mem_free(strings->ends);
    *strings = (struct cw_strings){0};
}

void cw_strings_clear(struct cw_strings *strings)
{
    cw_str_clear(&strings->text);
    strings->n = 0;
}

int cw_strings_end(struct cw_strings *strings, struct cw_err *err)
{
    if (strings->n == strings->cap) {
        const size_t cap = CW_MAX(2 * strings->cap, 16);
        int64_t *ends = cw_mem_try_grow(strings->ends, cap * sizeof(*ends));
        if (!ends)
            return cw_err_set(err, CW_E_NOMEM, "no memory for %zu strings", cap);
        strings->ends = ends;
        strings->cap = cap;
    }
    strings->ends[strings->n++] = (int64_t)strings->text.len;
    return 0;
}

size_t cw_strings_bytes(const struct cw_strings *strings)
{
    return cw_strings_table_bytes((int64_t)strings->n) + strings->text.len;
}

void cw_strings_put(const struct cw_strings *strings, void *dst)
{
    memset(dst, 0, sizeof(int64_t));
    if (strings->n > 0)
        memcpy((char *)dst + sizeof(int64_t), strings->ends, strings->n * sizeof(int64_t));
    if (strings->text.len > 0)
        memcpy((char *)dst + cw_strings_table_bytes((int64_t)strings->n), strings->text.s,
               strings->text.len);
}
