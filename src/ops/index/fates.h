/* SPDX-License-Identifier: Apache-2.0 */
/* What a survey finds out of elements (docs/decisions/0006-survey.md): what becomes of each, and the value
 * of one of its fields, if an operator asks for it, or how many parts it is taken into; as bytes, and as a
 * job's manifest tells it. */
#ifndef CW_OPS_INDEX_FATES_H
#define CW_OPS_INDEX_FATES_H

#include <stdbool.h>

#include "base/hash.h"
#include "conf/value.h"
#include "data/spec.h"

/* What becomes of an element: it is kept, left out, or refused by an operator. */
enum cw_fate { CW_FATE_KEPT, CW_FATE_LEFT_OUT, CW_FATE_BAD };

/* What is known of an element besides its fate: nothing; the value of a field; or how many parts it has, which
 * are none unless it is kept. */
enum cw_fates_kind { CW_FATES_ALONE, CW_FATES_VALUES, CW_FATES_PARTS };
/* The most parts of an element. */
#define CW_FATES_PARTS_MAX UINT32_MAX

/* The fates of n elements: bit i % 8 of byte i / 8. */
struct cw_fates {
    uint64_t n;
    enum cw_fates_kind kind;
    uint8_t *kept, *bad;
    /* The value is a number of 1 to 8 bytes as it lies in memory, or the hash of a string. It and the number of
     * parts are 0 for what is not kept. NULL: CW_FATES_ALONE. */
    uint64_t *values;
};
/* Makes room for n fates, all of them CW_FATE_LEFT_OUT. Returns false if there is no memory. */
bool cw_fates_init(struct cw_fates *fates, uint64_t n, enum cw_fates_kind kind);
void cw_fates_fini(struct cw_fates *fates);
static inline size_t cw_fates_bytes(uint64_t n)
{
    return (size_t)((n + 7) / 8);
}
static inline bool cw_fates_has(const uint8_t *bits, uint64_t i)
{
    return bits[i / 8] >> (i % 8) & 1;
}
/* Returns how many bits are set. */
uint64_t cw_fates_count(const uint8_t *bits, uint64_t n);
/* Appends the bytes in which fates are kept: the values, if there are any; the bits of what is kept; and,
 * unless there is none, of what is bad. Instead of what is kept there are numbers of parts: how many bytes each
 * has, 1, 2 or 4, as the largest needs, and these. */
void cw_fates_write(const struct cw_fates *fates, struct cw_str *out);
/* Reads them. Returns false if they are not what it writes of n fates. */
bool cw_fates_read(const uint8_t *bytes, size_t bytes_n, uint64_t n, enum cw_fates_kind kind,
                   struct cw_fates *ret_fates);

/* What the manifest of a job says of a survey. */
struct cw_survey_note {
    uint64_t n, kept_n, bad_n;
    uint64_t parts_n;   /* parts of all elements; 0: they are not counted, or there are none */
    bool skips_bad;     /* what is bad is left out, too; else it is given, and fails */
    struct cw_hash sum; /* of the bytes of cw_fates_write */
    char *text;         /* these bytes in hexadecimal digits, if they are few; else NULL */
};
void cw_survey_note_of(const struct cw_fates *fates, bool skips_bad,
                       struct cw_survey_note *ret_note);
void cw_survey_note_copy(const struct cw_survey_note *note, struct cw_survey_note *ret_note);
void cw_survey_note_fini(struct cw_survey_note *note);
/* Writes it into an operator's manifest, and reads it there. */
void cw_survey_note_write(const struct cw_survey_note *note, struct cw_value *manifest);
int cw_survey_note_read(const struct cw_value *manifest, struct cw_survey_note *ret_note,
                        struct cw_err *err);
/* What an operator with surveyed_field (ops/op.h) is opened with. */
struct cw_op_survey {
    const struct cw_fates *fates; /* with the values of the field */
    const struct cw_survey_note *note;
    enum cw_dtype dtype; /* of the field */
};
/* Appends bytes as hexadecimal digits, and reads them: n bytes, or false. */
void cw_hex_add(const uint8_t *bytes, size_t n, struct cw_str *out);
bool cw_hex_read(const char *text, uint8_t *ret_bytes, size_t n);

#endif
