/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source/text_head.h"

#include <string.h>

#include "base/mem.h"

#define LOOK_BYTES ((size_t)4 << 10)
#define HEAD_BYTES_MAX ((size_t)16 << 20)

bool cw_text_head_find(const char *p, size_t n, char quote, uint64_t *ret_begin, uint64_t *ret_end)
{
    size_t at = n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    bool is_open = false;
    while (at < n && (p[at] == '\n' || p[at] == '\r'))
        at++;
    *ret_begin = at;
    for (; at < n; at++) {
        if (p[at] == '\n' && !is_open) {
            *ret_end = at + 1;
            return true;
        }
        is_open ^= quote && p[at] == quote;
    }
    *ret_end = n;
    return false;
}

int cw_text_head_read(const struct cw_readable *file, struct cw_text_head **ret_head,
                      struct cw_err *err)
{
    struct cw_text_head *head = NULL;
    for (size_t look = LOOK_BYTES; look <= HEAD_BYTES_MAX; look *= 2) {
        const size_t n = (size_t)CW_MIN((uint64_t)look, file->size);
        cw_mem_free(head);
        head = cw_mem_try(sizeof(*head) + n);
        int rc = head ? cw_readable_get(file, 0, head->bytes, n, err)
                      : cw_err_set(err, CW_E_NOMEM, "%s: no memory", file->name);
        if (rc < 0) {
            cw_mem_free(head);
            return rc;
        }
        if (cw_text_head_find(head->bytes, n, 0, &head->begin, &head->end) || n == file->size) {
            memmove(head->bytes, head->bytes + head->begin, (size_t)(head->end - head->begin));
            *ret_head = head;
            return 0;
        }
    }
    cw_mem_free(head);
    return cw_err_set(err, CW_E_LIMIT, "%s: its first record has more than %zu bytes", file->name,
                      HEAD_BYTES_MAX);
}
