/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the records of text files in one pass: lines, or, with quotes, records in which a line may
 * end inside of quotes (CSV). */
#ifndef CW_FORMAT_LINE_SCAN_H
#define CW_FORMAT_LINE_SCAN_H

#include "format/line_index.h"
#include "format/read_at.h"

enum cw_blank {
    CW_BLANK_KEPT,  /* a line without text is a record */
    CW_BLANK_EMPTY, /* a line of no byte but \r is none */
    CW_BLANK_SPACES /* a line of spaces and control characters is none */
};
struct cw_line_rules {
    char quote; /* what stands around text with newlines; 0: there is no such thing */
    enum cw_blank blank;
    bool skips_mark; /* a byte order mark (UTF-8) at the beginning is no part of the first record */
    uint64_t head;   /* number of records at the beginning that are left out */
};
/* A record ends where the next begins, and takes blank lines with it: whoever reads it ends at its
 * first newline. */
int cw_line_scan(const struct cw_readable *file, const struct cw_line_rules *rules,
                 struct cw_line_index **ret_index, struct cw_err *err);
/* The same of bytes that come in pieces, for files whose size is known only at their end. */
struct cw_line_scanner;
struct cw_line_scanner *cw_line_scanner_new(const char *name, const struct cw_line_rules *rules);
void cw_line_scanner_free(struct cw_line_scanner *scanner);
/* Looks at the next n bytes. All pieces but the last have a multiple of CW_LINE_PIECE bytes. Behind the
 * bytes there are CW_LINE_SLACK more that are overwritten. */
#define CW_LINE_PIECE ((size_t)64)
#define CW_LINE_SLACK ((size_t)64)
int cw_line_scanner_add(struct cw_line_scanner *scanner, char *p, size_t n, struct cw_err *err);
/* Is called once, behind the last piece. */
int cw_line_scanner_end(struct cw_line_scanner *scanner, struct cw_line_index **ret_index,
                        struct cw_err *err);
/* The same, by several threads, each of which looks at pieces of so many bytes: for files of servers and
 * network mounts, where looking is mostly waiting. A record is of the piece that it begins in. With quotes,
 * where nothing tells from the middle of a file what is inside of them, one thread does it all. */
#define CW_LINE_THREADS_MAX 256
int cw_line_scan_pieces(const struct cw_readable *file, const struct cw_line_rules *rules,
                        uint64_t piece_bytes, unsigned threads, struct cw_line_index **ret_index,
                        struct cw_err *err);

#endif
