/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the option `schema` of sources of text (jsonl, csv) from the first records of a file. */
#ifndef CW_OPS_SOURCE_TEXT_GUESS_H
#define CW_OPS_SOURCE_TEXT_GUESS_H

#include "format/csv_split.h"
#include "ops/op.h"

/* A schema is made of so many records, as far as they lie in the first 4 MiB. */
#define CW_TEXT_GUESS_RECORDS 1000

/* Fields are the keys of these objects, in the order in which they come. A number is an i64 if all are whole, else
 * an f64; a list of numbers has any length; what is sometimes this and sometimes that, an object, or a list of anything else is its JSON text. */
int cw_text_guess_json(const char *path, int64_t inflated_max, struct cw_value *said,
                       struct cw_err *err);
/* Fields are the columns. A column is i64 or f64 if all of its cells that are not empty are such numbers, else str. */
struct cw_csv_guess {
    struct cw_csv_rules rules;
    bool has_header;
    const struct cw_str_list *empty; /* cells that count as empty */
};
int cw_text_guess_csv(const char *path, int64_t inflated_max, const struct cw_csv_guess *how,
                      struct cw_value *said, struct cw_err *err);

#endif
