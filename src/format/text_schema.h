/* SPDX-License-Identifier: Apache-2.0 */
/* Which fields are read out of records of text (jsonl, csv), of which types, and what becomes of a
 * record that lacks one. A field is a row of text: "text: str", "label = meta.label: i64",
 * "vector: f32[?]". */
#ifndef CW_FORMAT_TEXT_SCHEMA_H
#define CW_FORMAT_TEXT_SCHEMA_H

#include "conf/value.h"
#include "data/spec.h"

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
};
struct cw_text_schema {
    struct cw_text_field *fields;
    size_t n;
};

/* Parses rows, and the options `missing` and `null`: "fail", "skip", a value for all fields, or an
 * object with one of these by field; JSON null stands for "fail". Messages name the option. */
int cw_text_schema_parse(char *const *rows, size_t n, const struct cw_value *missing,
                         const struct cw_value *null, struct cw_text_schema *ret_schema,
                         struct cw_err *err);
void cw_text_schema_fini(struct cw_text_schema *schema);
int cw_text_schema_spec(const struct cw_text_schema *schema, struct cw_spec *ret_spec,
                        struct cw_err *err);
/* Whether records may have to be left out. */
bool cw_text_schema_skips(const struct cw_text_schema *schema);

#endif
