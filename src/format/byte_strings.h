/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded strings, in memory that grows up to a limit. */
#ifndef CW_FORMAT_BYTE_STRINGS_H
#define CW_FORMAT_BYTE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

/* Strings: each is a piece of `bytes`. */
struct cw_byte_ref {
    uint64_t at, n;
};
struct cw_byte_strings {
    struct cw_byte_ref *v; /* with room for all that are decoded */
    size_t n;
    uint8_t *bytes;
    size_t used, cap;
    size_t max; /* limit of cap */
};
void cw_byte_strings_fini(struct cw_byte_strings *strings);
/* Makes room for bytes. Returns what is wrong. */
const char *cw_byte_strings_room(struct cw_byte_strings *strings, uint64_t bytes);

#endif
