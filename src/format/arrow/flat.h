/* SPDX-License-Identifier: Apache-2.0 */
/* Reads FlatBuffers, which Arrow's messages are: tables whose members are found by number. Nothing is
 * trusted: a place outside of the bytes gives the default, and sets `bad`, which whoever has read a message
 * looks at once in the end. Tables may refer to each other in any way, so walks need limits of their
 * own. One thread. */
#ifndef CW_FORMAT_ARROW_FLAT_H
#define CW_FORMAT_ARROW_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_flat {
    const uint8_t *p;
    size_t n;
    bool bad; /* something in it is damaged */
};
/* A table; zeroed: there is none, and all its members are defaults. */
struct cw_flat_table {
    struct cw_flat *flat;
    size_t at;                   /* of the table */
    size_t members, members_end; /* where the offsets of its members lie */
};
/* Entries one behind the other. */
struct cw_flat_vector {
    struct cw_flat *flat;
    size_t at, n; /* of the first entry; how many there are */
};

struct cw_flat_table cw_flat_root(struct cw_flat *flat);
/* Members that are numbers; the value of one that is not there is `none`. */
int64_t cw_flat_i64(const struct cw_flat_table *table, unsigned member, int64_t none);
int32_t cw_flat_i32(const struct cw_flat_table *table, unsigned member, int32_t none);
int16_t cw_flat_i16(const struct cw_flat_table *table, unsigned member, int16_t none);
uint8_t cw_flat_u8(const struct cw_flat_table *table, unsigned member, uint8_t none);
/* Members that are tables (or the value of a union), vectors and strings. A zeroed one: it is not there. */
struct cw_flat_table cw_flat_table(const struct cw_flat_table *table, unsigned member);
/* each: bytes of an entry; 4 for tables. */
struct cw_flat_vector cw_flat_vector(const struct cw_flat_table *table, unsigned member,
                                     size_t each);
struct cw_flat_table cw_flat_entry(const struct cw_flat_vector *vector, size_t i);
/* A number in a vector of structs of `each` bytes, `offset` bytes behind the beginning of struct i, which
 * exists. */
int64_t cw_flat_vector_i64(const struct cw_flat_vector *vector, size_t i, size_t each,
                           size_t offset);
int32_t cw_flat_vector_i32(const struct cw_flat_vector *vector, size_t i, size_t each,
                           size_t offset);
/* Its bytes are not terminated. */
const char *cw_flat_string(const struct cw_flat_table *table, unsigned member, size_t *ret_n);

#endif
