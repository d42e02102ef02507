/* SPDX-License-Identifier: Apache-2.0 */
/* Makes typed values of JSON text that json_find.h has found. */
#ifndef CW_FORMAT_JSON_DECODE_H
#define CW_FORMAT_JSON_DECODE_H

#include "base/arena.h"
#include "data/element.h"
#include "format/json_find.h"
#include "format/text_schema.h"

/* Writes the value to *ret_view: its bytes lie in the arena, or where they stand in the text. A type
 * that differs is an error, but integers are floats too. */
int cw_json_decode(const struct cw_json_slice *slice, const struct cw_text_field *field,
                   struct cw_arena *arena, struct cw_view *ret_view, struct cw_err *err);

/* Reads records of a schema. Any thread may use a reader. */
struct cw_json_reader;
/* Takes the schema, also when it fails, and checks the values that stand for missing ones. */
int cw_json_reader_new(struct cw_text_schema *schema, struct cw_json_reader **ret_reader,
                       struct cw_err *err);
void cw_json_reader_free(struct cw_json_reader *reader);
/* Reads the fields of one object, and behind them the masks, to views. Returns 1 if the record is to be left out. Messages name
 * the key. */
int cw_json_read(const struct cw_json_reader *reader, const char *p, size_t n,
                 struct cw_arena *arena, struct cw_view *ret_views, struct cw_err *err);
/* Whether the record is to be left out, which no wrong record is. */
bool cw_json_is_skipped(const struct cw_json_reader *reader, const char *p, size_t n);
/* Looks at whole lines from the beginning of a file: INVALID if many records are there and a key that each has to
 * have is in none of them, which is then mostly misspelt. Records that cannot be read do not count. */
int cw_json_look(const struct cw_json_reader *reader, const char *p, size_t n, struct cw_err *err);
const struct cw_text_schema *cw_json_reader_schema(const struct cw_json_reader *reader);

#endif
