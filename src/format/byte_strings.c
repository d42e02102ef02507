/* SPDX-License-Identifier: Apache-2.0 */
/* Room for decoded strings. */
#include "format/byte_strings.h"

#include "base/mem.h"

void cw_byte_strings_fini(struct cw_byte_strings *strings)
{
    cw_mem_free(strings->v);
    cw_mem_free(strings->bytes);
    *strings = (struct cw_byte_strings){0};
}

const char *cw_byte_strings_room(struct cw_byte_strings *s, uint64_t bytes)
{
    if (bytes <= s->cap - s->used)
        return NULL;
    if (bytes > s->max - s->used)
        return "its strings have more bytes than the limit";
    size_t cap = CW_MAX(s->used + (size_t)bytes, s->cap < s->max / 2 ? 2 * s->cap : s->max);
    uint8_t *grown = cw_mem_try_grow(s->bytes, CW_MAX(cap, 64));
    if (!grown)
        return "no memory for its strings";
    s->bytes = grown;
    s->cap = cap;
    return NULL;
}
