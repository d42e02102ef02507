/* SPDX-License-Identifier: Apache-2.0 */
/* The messages tf.train.Example and tf.train.SequenceExample, read without a copy: features are found
 * by name, and only those that are asked for are looked into. Both messages have the same form as far
 * as features go, so it need not be known which of them it is. Nothing is allocated. Messages of errors
 * name the byte of the record. */
#ifndef CW_FORMAT_EXAMPLE_H
#define CW_FORMAT_EXAMPLE_H

#include <stdbool.h>
#include "base/err.h"

enum cw_example_kind { CW_EXAMPLE_BYTES = 1, CW_EXAMPLE_FLOAT = 2, CW_EXAMPLE_INT64 = 3 };

/* A feature that is asked for, and where it was found. */
struct cw_example_feature {
    const char *name;
    size_t name_n;
    bool is_list; /* a list of features of a SequenceExample */
    /* Set by cw_example_find: its message; NULL: it is not there. */
    const uint8_t *p;
    size_t n;
};
/* Finds n features, no two of which are the same, in a record. *hint is 0 at first; passed on from record to record it makes finding
 * fast where features come in the same order. */
int cw_example_find(const void *record, size_t record_n, struct cw_example_feature *features,
                    size_t n, size_t *hint, struct cw_err *err);

/* What a feature has. */
struct cw_example_values {
    size_t n;             /* number of values */
    size_t steps;         /* number of features of a list; 1 for other features */
    bool is_even;         /* each step has as many values as the first */
    const uint8_t *bytes; /* the last value, of kind BYTES */
    size_t bytes_n;
    size_t all_bytes; /* of all values, of kind BYTES */
};
/* Counts the values of a feature that is there, of one kind. A feature of another kind is an error; one
 * without kind has no values. */
int cw_example_count(const void *record, const struct cw_example_feature *feature,
                     enum cw_example_kind kind, struct cw_example_values *ret_values,
                     struct cw_err *err);
/* Writes the values that cw_example_count counted: float, or int64_t. */
void cw_example_read(const struct cw_example_feature *feature, enum cw_example_kind kind,
                     void *dst);

/* Writes the values of kind BYTES, `n` of them, as a list of strings (data/strings.h). */
void cw_example_read_strings(const struct cw_example_feature *feature, size_t n, void *dst);

#endif
