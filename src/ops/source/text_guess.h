/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the option `schema` of sources of text (jsonl, csv) from the first records of a file. */
#ifndef CW_OPS_SOURCE_TEXT_GUESS_H
#define CW_OPS_SOURCE_TEXT_GUESS_H

#include "format/csv_split.h"
#include "ops/op.h"

/* A schema is made of so many records, as far as they lie in the first 4 MiB, or the first 64 MiB of what
 * is in a compressed file. */
#define CW_TEXT_GUESS_RECORDS 1000

/* Fields are the keys of these objects, in the order in which they come. A number is an i64 if all are whole, else
 * an f64; a list of numbers has any length; what is sometimes this and sometimes that, an object, or a list of anything else is its JSON text. */
int cw_text_guess_json(const char *path, struct cw_value *said, struct cw_err *err);
/* Fields are the columns. A column is i64 or f64 if all of its cells that are not empty are such numbers, else str. */
struct cw_csv_guess {
    struct cw_csv_rules rules;
    bool has_header;
    const struct cw_str_list *empty; /* cells that count as empty */
};
int cw_text_guess_csv(const char *path, const struct cw_csv_guess *how, struct cw_value *said,
                      struct cw_err *err);
/* Leaves those fields out of a schema that was guessed which nothing behind the source reads (wanted NULL: all
 * may be read) and none of the options `absent` (missing, null) names: they are not decoded then. If an
 * option says that records without any field are left out, all fields stay, since they decide which
 * records there are. One field stays in any case. */
void cw_text_guess_leave_out(const struct cw_op_names *wanted, const struct cw_value *const *absent,
                             size_t absent_n, struct cw_value *said);

#endif
