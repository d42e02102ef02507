/* SPDX-License-Identifier: Apache-2.0 */
/* Reads many records of a source of files with indices of lines (format/line_index.h), for `read_rows` and
 * `read_loose`: what is looked up and opened for one record is still there for the next, also if a few files take
 * turns. One thread. */
#ifndef CW_OPS_SOURCE_RECORD_ROWS_H
#define CW_OPS_SOURCE_RECORD_ROWS_H

#include "format/line_index.h"
#include "ops/source/file_source.h"
#include "ops/source/inflated.h"

/* What a source has loaded of one file. */
struct cw_record_file {
    const struct cw_line_index *index;
    const struct cw_access_points *points; /* of a .gz or .zst, or NULL */
};
/* A file that is in use. */
struct cw_record_seat {
    const void *loaded; /* NULL: no file */
    size_t file;
    struct cw_record_file parts;
    struct cw_file_use use;
    struct cw_inflated_view view;
    struct cw_readable readable;
};
enum { CW_RECORD_SEATS = 8 };
struct cw_record_rows {
    struct cw_file_source *source;
    struct cw_inflated *inflated;
    struct cw_record_file (*parts)(const void *loaded);
    const int64_t *positions;
    size_t n;
    uint64_t
        record_max; /* the most bytes of a record, with its frame; `read` says what is wrong with others */
    struct cw_record_seat seats[CW_RECORD_SEATS];
};
/* Where a record lies. */
struct cw_record_place {
    struct cw_record_seat *seat; /* until the next place is looked for */
    uint64_t begin, bytes;
};

/* Zeroed but for the first members, which are set. Calls of _find and _read fail with an error without a message:
 * the records are then read one by one. */
int cw_record_rows_find(struct cw_record_rows *rows, size_t i, struct cw_record_place *ret_place);
int cw_record_rows_read(const struct cw_record_place *place, void *dst);
/* Adds up the bytes of all records; each has at least `least`. */
int cw_record_rows_bytes(struct cw_record_rows *rows, uint64_t least, uint64_t *ret_bytes);
/* Returns how many records from the i-th on lie one behind another in one file, with `most` bytes at most together (at
 * least one, whose place was found), and sets place->bytes to those of all. Of files that are read ahead, which
 * is done record by record, it is one. */
size_t cw_record_rows_run(const struct cw_record_rows *rows, size_t i, uint64_t most,
                          struct cw_record_place *place);
void cw_record_rows_end(struct cw_record_rows *rows);

#endif
