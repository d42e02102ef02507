/* SPDX-License-Identifier: Apache-2.0 */
/* What an Arrow file or stream (IPC) says of itself: its columns, and where its record batches and
 * dictionaries lie. Of a file, these stand in its footer; of a stream, the heads of all messages are
 * read. */
#ifndef CW_FORMAT_ARROW_HEAD_H
#define CW_FORMAT_ARROW_HEAD_H

#include "data/spec.h"
#include "format/arrow/flat.h"
#include "format/read_at.h"

#define CW_ARROW_META_BYTES_MAX ((uint64_t)256 << 20) /* of a message's head, or a footer */
#define CW_ARROW_FIELDS_MAX 65536                     /* with those inside of others */
#define CW_ARROW_DEPTH_MAX 32

enum cw_arrow_layout {
    CW_ARROW_FIXED,      /* validity, values */
    CW_ARROW_BITS,       /* validity, bits */
    CW_ARROW_STRINGS,    /* validity, offsets, bytes */
    CW_ARROW_LIST,       /* validity, offsets */
    CW_ARROW_FIXED_LIST, /* validity */
    CW_ARROW_STRUCT,     /* validity */
    CW_ARROW_OTHER       /* it cannot be read */
};
/* A field of the schema, or one inside of another. */
struct cw_arrow_node {
    enum cw_arrow_layout layout;
    enum cw_dtype dtype; /* of values; of a dictionary, of what is in it */
    uint32_t width;      /* FIXED: bytes of a value; STRINGS, LIST: of an offset */
    int64_t size;        /* FIXED_LIST: entries */
    bool is_bytes;       /* FIXED: a value is `width` bytes, and no number */
    const char *why;     /* why it cannot be read; NULL: it can */
    int parent;          /* -1: none */
    size_t buffer; /* number of its first buffer in a batch, but for those of views before it */
    size_t views;  /* how many nodes before it have a number of buffers that the batch says */
    bool has_dictionary; /* what stands in batches are numbers of values of a dictionary */
    int64_t dictionary;  /* its id */
    enum cw_dtype index; /* of these numbers */
};
/* A column that has values. */
struct cw_arrow_leaf {
    char *name;  /* from the root, joined by ".", without the names of what is in lists */
    size_t node; /* in the schema's order, which is that of a batch's nodes */
};
/* A record batch, or values of a dictionary. */
struct cw_arrow_batch {
    int64_t first, rows; /* of a record batch */
    uint64_t meta, body; /* where its head and its buffers lie in the file */
    uint64_t body_bytes;
    uint32_t meta_bytes;
    uint32_t dictionaries; /* how many dictionary batches hold for it: the first so many */
    int64_t id;            /* of a dictionary */
    bool is_delta;         /* it adds values to the dictionary */
    bool is_packed;        /* its buffers are compressed, so its rows cannot be read alone */
};
struct cw_arrow_head {
    struct cw_arrow_node *nodes;
    size_t nodes_n, nodes_cap;
    struct cw_arrow_leaf *leaves;
    size_t leaves_n, leaves_cap;
    struct cw_arrow_batch *batches, *dictionaries;
    size_t batches_n, batches_cap, dictionaries_n, dictionaries_cap;
    int64_t rows;
};
/* Errors (CORRUPT, UNSUPPORTED) name the file, and the byte. */
int cw_arrow_head_read(const struct cw_readable *file, struct cw_arrow_head *ret_head,
                       struct cw_err *err);
void cw_arrow_head_fini(struct cw_arrow_head *head);
/* Returns the batch of a row, which must exist. */
size_t cw_arrow_head_batch_of(const struct cw_arrow_head *head, int64_t row);

/* The type of a row of a leaf. Errors: why it cannot be read, without the file's name. */
int cw_arrow_leaf_type(const struct cw_arrow_head *head, size_t leaf, struct cw_field *ret_type,
                       struct cw_err *err);

/* ---- for files of this folder ---- */

/* Adds the fields of a schema, a table. Returns NULL, or what is wrong. */
const char *cw_arrow_schema_read(const struct cw_flat_table *schema, struct cw_arrow_head *head);
/* Reads a message's head: fails unless it is a message that is not damaged. *ret_flat must not be moved
 * while the tables are used. */
int cw_arrow_message(const struct cw_readable *file, uint64_t at, const uint8_t *p, size_t n,
                     struct cw_flat *ret_flat, struct cw_flat_table *ret_message,
                     struct cw_err *err);
enum {
    CW_ARROW_SCHEMA = 1,
    CW_ARROW_DICTIONARY = 2,
    CW_ARROW_RECORDS = 3
}; /* the format's numbers */

#endif
