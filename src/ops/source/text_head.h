/* SPDX-License-Identifier: Apache-2.0 */
/* The first record of a text file, which has the names of its columns: the first line with text in it, behind a byte
 * order mark. */
#ifndef CW_OPS_SOURCE_TEXT_HEAD_H
#define CW_OPS_SOURCE_TEXT_HEAD_H

#include "format/read_at.h"

struct cw_text_head {
    uint64_t begin, end; /* where it stands in the file, with its newline */
    char bytes[];        /* the same */
};
/* Looks for it in the first n bytes of a file. quote: what stands around text with newlines; 0: nothing does.
 * Returns whether it ends in them. */
bool cw_text_head_find(const char *p, size_t n, char quote, uint64_t *ret_begin, uint64_t *ret_end);
/* Reads it; without any text in the file it has no bytes. The caller frees it with cw_mem_free. */
int cw_text_head_read(const struct cw_readable *file, struct cw_text_head **ret_head,
                      struct cw_err *err);

#endif
