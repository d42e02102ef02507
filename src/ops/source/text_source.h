/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of sources whose records are lines of text files (text_lines, csv, jsonl): an
 * index of each file, and of a compressed file its access points. Any thread may use a source once
 * it is made. */
#ifndef CW_OPS_SOURCE_TEXT_SOURCE_H
#define CW_OPS_SOURCE_TEXT_SOURCE_H

#include "format/line_scan.h"
#include "ops/source/file_source.h"
#include "ops/source/inflated.h"
#include "ops/source/record_max.h"
#include "ops/source/record_rows.h"

/* What is loaded of one file. */
struct cw_text_file {
    struct cw_line_index *index;
    struct cw_access_points *points; /* of a .gz or .zst, or NULL */
    void *head;                      /* what rules.read_head made of its first record, or NULL */
};

#define CW_TEXT_RECORD_MAX (INT64_C(1) << 30) /* the default of their option record_max */

struct cw_text_source;
struct cw_text_rules {
    struct cw_line_rules lines;
    int64_t inflated_max, inflate_every; /* as cw_inflated_new wants them */
    int64_t record_max;                  /* the most bytes of a record */
    /* Looks at the first record of a file, which lines.head may leave out; what it returns is freed
     * with cw_mem_free. It is not called for a file without records. May be NULL. */
    int (*read_head)(const void *arg, const char *p, size_t n, void **ret_head, struct cw_err *err);
    /* Whether a record is one of the source; it is asked when the index is made. NULL: all are. */
    bool (*is_kept)(const void *arg, const void *head, const char *p, size_t n);
    /* Looks at whole lines from the beginning of the first file before that is scanned, so that what is
     * asked for in vain is told at once. NULL: nobody looks. */
    int (*look)(const void *arg, const char *p, size_t n, struct cw_err *err);
    const void *arg; /* for these; it must stay as long as the source */
    /* Appends what the index, or the look at the head, depends on besides `lines`; NULL: nothing. opts:
     * the operator's, which stay as long as the source */
    void (*key)(const void *opts, struct cw_str *out);
    const void *opts;
};
struct cw_text_source {
    struct cw_file_source source;
    struct cw_text_rules rules;
    struct cw_inflated *inflated;
};

int cw_text_source_new(const struct cw_text_rules *rules, const struct cw_str_list *patterns,
                       const struct cw_op_open *how, void **ret_state, struct cw_err *err);

/* A record, with what messages say of it. The bytes lie in the arena, and end with its newline, if it
 * has one, or with blank lines behind it. It is given back when its head is not needed any more; its
 * bytes stay. */
struct cw_text_record {
    const char *p;
    size_t n;
    const struct cw_text_file *text;
    const char *path;
    uint64_t k, begin; /* number of the record, and where it begins in the (inflated) file */
    size_t file;
};
int cw_text_source_get(const struct cw_op_ctx *ctx, struct cw_text_source *source, int64_t pos,
                       struct cw_text_record *ret_record, struct cw_err *err);
void cw_text_source_put(struct cw_text_source *source, const struct cw_text_record *record);
/* For many records at once (record_rows.h). */
struct cw_record_rows cw_text_source_rows(struct cw_text_source *source, const int64_t *positions,
                                          size_t n);
/* For an operator's descriptor. */
bool cw_text_source_ahead(const void *opts, void *state, int64_t pos, struct cw_ahead *ahead);
/* Returns the length of the first line of a record without its end. */
size_t cw_text_line_bytes(const char *p, size_t n);
/* Puts the record's name before a message: "/data/a.csv record 17 at byte 300". */
int cw_text_record_wrap(const struct cw_text_record *record, struct cw_err *err);

#endif
