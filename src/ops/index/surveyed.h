/* SPDX-License-Identifier: Apache-2.0 */
/* What a survey has found out of the elements that come to a filter, and the index operator that
 * stands in the filter's place from then on: position p is that of the p-th element that is kept
 * (docs/decisions/0006-survey.md). */
#ifndef CW_OPS_INDEX_SURVEYED_H
#define CW_OPS_INDEX_SURVEYED_H

#include "base/hash.h"
#include "base/select.h"
#include "ops/op.h"

/* What becomes of an element: it is kept, left out, or refused by an operator. */
enum cw_fate { CW_FATE_KEPT, CW_FATE_LEFT_OUT, CW_FATE_BAD };

/* The fates of n elements: bit i % 8 of byte i / 8. */
struct cw_fates {
    uint64_t n;
    uint8_t *kept, *bad;
};
/* Makes room for n fates, all of them CW_FATE_LEFT_OUT. Returns false if there is no memory. */
bool cw_fates_init(struct cw_fates *fates, uint64_t n);
void cw_fates_fini(struct cw_fates *fates);
static inline size_t cw_fates_bytes(uint64_t n)
{
    return (size_t)((n + 7) / 8);
}
/* Returns how many bits are set. */
uint64_t cw_fates_count(const uint8_t *bits, uint64_t n);
/* Appends the bytes in which fates are kept: the bits of what is kept, then, unless there is none, of
 * what is bad. */
void cw_fates_write(const struct cw_fates *fates, struct cw_str *out);
/* Reads them. Returns false if they are not of n fates, or say two things of one element. */
bool cw_fates_read(const uint8_t *bytes, size_t bytes_n, uint64_t n, struct cw_fates *ret_fates);

/* A permutation that stood before the filter, and that is done behind it (shuffle). */
struct cw_surveyed_order {
    const struct cw_op *op;
    const void *opts; /* belong to the graph */
    uint64_t tag;
};
/* The state of the operator in the filter's place, which is `op`. Immutable. */
struct cw_surveyed {
    struct cw_op op;
    struct cw_select select;
    uint8_t *bad; /* NULL: none of those that are given is bad */
    uint64_t n, kept_n, bad_n;
    bool skips_bad;     /* what is bad is left out, too; else it is given, and fails */
    struct cw_hash sum; /* of the bytes of cw_fates_write */
    char *text;         /* these bytes in hexadecimal digits, if they are few; else NULL */
    struct cw_surveyed_order *orders; /* the last one before the filter is the first */
    size_t orders_n;
};
/* Makes the state for a filter `op`. It takes the fates. */
int cw_surveyed_new(const struct cw_op *op, struct cw_fates *fates, bool skips_bad,
                    struct cw_surveyed **ret_surveyed, struct cw_err *err);
void cw_surveyed_free(struct cw_surveyed *surveyed);
void cw_surveyed_add_order(struct cw_surveyed *surveyed, const struct cw_op *op, const void *opts,
                           uint64_t tag);
/* Whether the element with this position at the filter's input is bad. */
static inline bool cw_surveyed_is_bad(const struct cw_surveyed *surveyed, int64_t pos)
{
    return surveyed->bad && (surveyed->bad[pos / 8] >> (pos % 8) & 1);
}

/* What the manifest of a job says of a survey. */
struct cw_survey_said {
    uint64_t n, kept_n, bad_n;
    bool skips_bad;
    struct cw_hash sum;
    const char *text; /* NULL: it does not have the fates */
};
int cw_survey_said_read(const struct cw_value *manifest, struct cw_survey_said *ret_said,
                        struct cw_err *err);
/* Appends bytes as hexadecimal digits, and reads them: n bytes, or false. */
void cw_hex_add(const uint8_t *bytes, size_t n, struct cw_str *out);
bool cw_hex_read(const char *text, uint8_t *ret_bytes, size_t n);

#endif
