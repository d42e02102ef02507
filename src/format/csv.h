/* SPDX-License-Identifier: Apache-2.0 */
/* Reads typed fields out of records of CSV. Any thread may use a reader and a head. */
#ifndef CW_FORMAT_CSV_H
#define CW_FORMAT_CSV_H

#include "base/arena.h"
#include "data/element.h"
#include "format/csv_split.h"
#include "format/text_schema.h"

struct cw_csv_options {
    struct cw_csv_rules rules;
    bool has_header;    /* keys are names in the first record; else numbers of columns, from 0 on */
    char *const *empty; /* what counts as an empty cell besides an empty cell */
    size_t empty_n;
};
struct cw_csv_reader;
/* Takes the schema, also when it fails. What options->empty points to must stay. */
int cw_csv_reader_new(struct cw_text_schema *schema, const struct cw_csv_options *options,
                      struct cw_csv_reader **ret_reader, struct cw_err *err);
void cw_csv_reader_free(struct cw_csv_reader *reader);
const struct cw_text_schema *cw_csv_reader_schema(const struct cw_csv_reader *reader);
/* Bytes of the first record of p, with its newline; 0: it does not end there. */
size_t cw_csv_first_record(const struct cw_csv_reader *reader, const char *p, size_t n);

/* Where the fields are in the records of one file: found in its first record. The caller frees it
 * with cw_mem_free. */
struct cw_csv_head {
    size_t columns;
    int32_t slots[]; /* for each column, which field of the schema it is; -1: none */
};
int cw_csv_head_new(const struct cw_csv_reader *reader, const char *p, size_t n,
                    struct cw_csv_head **ret_head, struct cw_err *err);

/* Reads the fields of a record to views. Returns 1 if it is to be left out. Messages name the key. */
int cw_csv_read(const struct cw_csv_reader *reader, const struct cw_csv_head *head, const char *p,
                size_t n, struct cw_arena *arena, struct cw_view *ret_views, struct cw_err *err);
/* Reads the fields of a record, of which none is a str, each to its place in `values`. Returns < 0 without a message
 * if cw_csv_read would fail, or would leave it out. */
int cw_csv_read_numbers(const struct cw_csv_reader *reader, const struct cw_csv_head *head,
                        const char *p, size_t n, void *const *values);
/* Whether the record is to be left out, which no wrong record is. */
bool cw_csv_is_skipped(const struct cw_csv_reader *reader, const struct cw_csv_head *head,
                       const char *p, size_t n);

#endif
