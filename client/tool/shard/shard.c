/* SPDX-License-Identifier: Apache-2.0 */
#include "client/tool/shard/shard.h"

#include <string.h>

#include "base/mem.h"

void tool_bytes_fini(struct tool_bytes *bytes)
{
    cw_mem_free(bytes->p);
    *bytes = (struct tool_bytes){0};
}

int tool_bytes_add(struct tool_bytes *bytes, const void *p, size_t n, struct cw_err *err)
{
    if (n > bytes->cap - bytes->n) {
        size_t cap = CW_MAX(CW_MAX(2 * bytes->cap, bytes->n + n), (size_t)64 << 10);
        char *bigger = cw_mem_try(cap);
        if (!bigger)
            return cw_err_set(err, CW_E_NOMEM,
                              "no memory for a shard of %zu bytes: give a smaller --shard-bytes",
                              cap);
        if (bytes->n)
            memcpy(bigger, bytes->p, bytes->n);
        cw_mem_free(bytes->p);
        bytes->p = bigger;
        bytes->cap = cap;
    }
    if (n && p)
        memcpy(bytes->p + bytes->n, p, n);
    else if (n)
        memset(bytes->p + bytes->n, 0, n);
    bytes->n += n;
    return 0;
}
