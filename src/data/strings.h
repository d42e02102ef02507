/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of strings. The value of a str field that has dimensions, in an element as in a batch, is in
 * Arrow's layout: (count + 1) int64 offsets, which begin with 0 and count from behind themselves, and
 * then the bytes of all strings. count is the product of the dimensions. Nothing of it is aligned. */
#ifndef CW_DATA_STRINGS_H
#define CW_DATA_STRINGS_H

#include <string.h>
#include "base/str.h"
#include "data/element.h"

static inline int64_t cw_strings_offset(const void *list, int64_t i)
{
    int64_t offset;
    memcpy(&offset, (const char *)list + (size_t)i * sizeof(offset), sizeof(offset));
    return offset;
}
static inline size_t cw_strings_table_bytes(int64_t count)
{
    return ((size_t)count + 1) * sizeof(int64_t);
}
/* Returns where string i of `count` begins, and how many bytes it has. */
static inline const char *cw_strings_get(const void *list, int64_t count, int64_t i, size_t *ret_n)
{
    const int64_t begin = cw_strings_offset(list, i);
    *ret_n = (size_t)(cw_strings_offset(list, i + 1) - begin);
    return (const char *)list + cw_strings_table_bytes(count) + begin;
}
/* Returns the number of strings of a view of a str field; 1 without dimensions. */
int64_t cw_strings_count(const struct cw_view *view);

/* Checks what a peer or a file claims to be a list of `count` strings. The message does not name the
 * field. */
int cw_strings_check(const void *list, size_t bytes, int64_t count, struct cw_err *err);

/* Strings [first, first + n) of a list of `count`, as a list of their own: its bytes, and the list. */
size_t cw_strings_part_bytes(const void *list, int64_t first, int64_t n);
void cw_strings_part_copy(const void *list, int64_t count, int64_t first, int64_t n, void *dst);

/* ---- making a list: its memory is used again ---- */

struct cw_strings {
    struct cw_str text; /* what is added here becomes a part of the next string */
    int64_t *ends;
    size_t n, cap;
};
void cw_strings_fini(struct cw_strings *strings);
void cw_strings_clear(struct cw_strings *strings);
/* Ends a string. NOMEM is the only error. */
int cw_strings_end(struct cw_strings *strings, struct cw_err *err);
size_t cw_strings_bytes(const struct cw_strings *strings);
void cw_strings_put(const struct cw_strings *strings, void *dst);

#endif
