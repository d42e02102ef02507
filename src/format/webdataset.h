/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a WebDataset tar file: members whose names are equal up to the first dot of their
 * last component (the key) make one sample, wherever in the file they are, and what is behind that
 * dot (the extension) says which field of it they are. The index takes about 4 bytes a member and
 * finds any sample. */
#ifndef CW_FORMAT_WEBDATASET_H
#define CW_FORMAT_WEBDATASET_H

#include "base/arena.h"
#include "base/str.h"
#include "format/tar.h"

#define CW_WDS_FIELDS_MAX 4096

/* Splits a member's name. Returns false for what is no sample: names without an extension, or whose
 * last component begins with a dot or is __meta__. */
bool cw_wds_split(const char *name, size_t n, size_t *ret_key_n);

/* Which members are wanted. */
struct cw_wds_want {
    /* Returns the field of an extension, -1: it is not wanted. */
    int (*field_of)(const void *arg, const char *ext, size_t n);
    const void *arg;
    size_t fields_n;
    /* This field gets the headers of the sample's first member, which have its name; -1: none. */
    int key_field;
    bool skip_incomplete; /* samples that lack a field are left out */
};
struct cw_wds_mark;
struct cw_wds_index {
    uint64_t n; /* number of samples that have at least one wanted member */
    unsigned field_bits;
    uint8_t *codes;
    size_t codes_n;
    struct cw_wds_mark *marks;
    size_t marks_n;
};
void cw_wds_index_fini(struct cw_wds_index *index);
/* Reads all headers of the file. */
int cw_wds_scan(const struct cw_readable *file, const struct cw_wds_want *want,
                struct cw_wds_index *ret_index, struct cw_err *err);
size_t cw_wds_index_bytes(const struct cw_wds_index *index);
/* Appends the index as bytes, for cw_wds_index_unpack. */
void cw_wds_index_pack(const struct cw_wds_index *index, struct cw_str *out);
/* Makes an index again, of a file of `size` bytes. CORRUPT: the bytes are none for these fields. */
int cw_wds_index_unpack(const void *bytes, size_t n, uint64_t size, const struct cw_wds_want *want,
                        struct cw_wds_index *ret_index);

/* A member of a sample. */
struct cw_wds_part {
    uint64_t offset, bytes;
    void *data;    /* set by cw_wds_read */
    bool is_there; /* the sample has this field */
};
/* Sets the fields_n parts of sample k. */
void cw_wds_find(const struct cw_wds_index *index, uint64_t k, struct cw_wds_part *parts,
                 size_t fields_n);
/* Finds the bytes from the first to the last of the parts that are there. Returns whether they lie so close
 * together that they are read at once. */
bool cw_wds_span(const struct cw_wds_part *parts, size_t fields_n, uint64_t *ret_offset,
                 uint64_t *ret_bytes);
/* Reads the parts that are there into the arena, with one read if they lie close together. */
int cw_wds_read(const struct cw_readable *file, struct cw_wds_part *parts, size_t fields_n,
                struct cw_arena *arena, struct cw_err *err);

#endif
