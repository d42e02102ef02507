/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields are read out of records of text (jsonl, csv), of which types, and what becomes of a
 * record that lacks one. A field is a row of text: "text: str", "label = meta.label: i64",
 * "vector: f32[?]". */
#ifndef CW_FORMAT_TEXT_SCHEMA_H
#define CW_FORMAT_TEXT_SCHEMA_H

#include "base/arena.h"
#include "conf/value.h"
#include "data/element.h"

enum cw_text_what { CW_TEXT_FAIL, CW_TEXT_SKIP, CW_TEXT_VALUE };
/* What becomes of a record without a value. */
struct cw_text_absent {
    enum cw_text_what what;
    char *value; /* for VALUE: what is read instead, as it would stand in the record */
};
struct cw_text_field {
    char *key;    /* what it is called in the records */
    bool is_json; /* the value as it stands there, whatever it is */
    struct cw_field field;
    struct cw_text_absent missing, null;
    bool has_mask; /* a field NAME_mask tells which records have a value of their own */
};
struct cw_text_schema {
    struct cw_text_field *fields;
    size_t n;
    size_t masks; /* how many fields have a mask; masks stand behind all fields */
};

/* Parses rows, and the options `missing` and `null`: "fail", "skip", a value for all fields, or an
 * object with one of these by field; JSON null stands for "fail". Messages name the option. */
int cw_text_schema_parse(char *const *rows, size_t n, const struct cw_value *missing,
                         const struct cw_value *null, struct cw_text_schema *ret_schema,
                         struct cw_err *err);
/* Reads the option `mask`: true for all fields for which a value stands in, the name of one, or a list of
 * names; false or null for none. */
int cw_text_schema_mask(struct cw_text_schema *schema, const struct cw_value *mask,
                        struct cw_err *err);
/* Whether such an option asks for any. */
bool cw_text_schema_asks_mask(const struct cw_value *mask);
/* Makes the views of the masks of a record; own: for each field, whether the record has its value. */
int cw_text_schema_put_masks(const struct cw_text_schema *schema, const bool *own,
                             struct cw_arena *arena, struct cw_view *ret_views, struct cw_err *err);
void cw_text_schema_fini(struct cw_text_schema *schema);
int cw_text_schema_spec(const struct cw_text_schema *schema, struct cw_spec *ret_spec,
                        struct cw_err *err);
/* Whether records may have to be left out. */
bool cw_text_schema_skips(const struct cw_text_schema *schema);

#endif
