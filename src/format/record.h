/* SPDX-License-Identifier: Apache-2.0 */
/* The encoding of an element as a record in a chunk (docs/cache-format.md): for each field that is
 * not of fixed size its dims (i64) and number of bytes (u64), then the fields' bytes, each aligned
 * (to 8, or to 64 from 256 bytes on) relative to the record, which itself begins at a multiple of
 * 64 or 8 by the same rule. Reading copies nothing. */
#ifndef CW_FORMAT_RECORD_H
#define CW_FORMAT_RECORD_H

#include "data/element.h"

/* Returns the bytes of the record, or -1 if the element cannot be cached: it is a part of an image,
 * a path whose file must be compared (view.stamp), or larger than 2^31 bytes. */
int64_t cw_record_bytes(const struct cw_spec *spec, const struct cw_element *element);
size_t cw_record_align(size_t record_bytes);
void cw_record_encode(const struct cw_spec *spec, const struct cw_element *element, void *dst);
/* Encodes a large record that is not read again soon: bypasses the processor's caches. Returns the
 * record's checksum (cw_hash_u64), computed on the way. */
uint64_t cw_record_encode_nontemporal(const struct cw_spec *spec, const struct cw_element *element,
                                      void *dst);
/* Sets element->n and its fields (views into p), but not id and rep. CORRUPT if the record does not
 * fit the spec, or n. */
int cw_record_decode(const struct cw_spec *spec, const void *p, size_t n,
                     struct cw_element *element, struct cw_err *err);

/* What depends on the spec alone, computed once for many records. */
struct cw_record_shape {
    const struct cw_spec *spec;
    bool fixed;
    size_t bytes;          /* size of each record, if all fields are of fixed size */
    size_t *begin;         /* of each field, if all are of fixed size */
    struct cw_view *views; /* likewise, without data */
};
/* The spec must live as long as the shape. */
void cw_record_shape_init(struct cw_record_shape *ret_shape, const struct cw_spec *spec);
void cw_record_shape_fini(struct cw_record_shape *shape);
int cw_record_decode_shaped(const struct cw_record_shape *shape, const void *p, size_t n,
                            struct cw_element *element, struct cw_err *err);

#endif
