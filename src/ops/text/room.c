/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/text/room.h"

#include "base/mem.h"

int cw_text_room(struct cw_str *text, size_t n, struct cw_err *err)
{
    if (text->s && text->cap - text->len > n)
        return 0;
    const size_t cap = CW_MAX(text->len + n + 1, 2 * text->cap);
    char *s = cw_mem_try_grow(text->s, cap);
    if (!s)
        return cw_err_set(err, CW_E_NOMEM, "no memory for a text of %zu bytes", cap);
    text->s = s;
    text->cap = cap;
    return 0;
}
