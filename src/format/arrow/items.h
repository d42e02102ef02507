/* SPDX-License-Identifier: Apache-2.0 */
/* The items of one level of a column while it is decoded, and the values that are read of them. */
#ifndef CW_FORMAT_ARROW_ITEMS_H
#define CW_FORMAT_ARROW_ITEMS_H

#include "format/arrow/buffers.h"
#include "format/arrow/arrow_slab.h"

struct cw_arrow_items {
    struct cw_arrow_buffers *buffers;
    uint64_t first;      /* in the arrays of this level */
    size_t n;            /* how many */
    size_t per_entry;    /* values of an entry of a list */
    bool in_fixed_lists; /* they are entries of lists of one length */
    uint8_t *null;       /* items that are null are 1; NULL: there are none */
    uint8_t *no_lists; /* rows whose list is null, and becomes an empty one; NULL: there are none */
};
void cw_arrow_items_fini(struct cw_arrow_items *items);
/* Adds the nulls of a node of this level. */
int cw_arrow_items_validity(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                            struct cw_err *err);
/* Goes to the entries of lists of one length, or of any, which makes the entries of the slab. */
int cw_arrow_items_enter_fixed(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                               struct cw_err *err);
int cw_arrow_items_enter(struct cw_arrow_items *items, const struct cw_arrow_node *node, bool fills,
                         struct cw_arrow_slab *slab, struct cw_err *err);
/* Null lists may have entries, which are left out. */
void cw_arrow_drop_null_lists(const struct cw_arrow_items *items, struct cw_arrow_slab *slab);
/* Makes the marks of rows with nulls, if there are none yet. Returns what is wrong. */
const char *cw_arrow_null_rows(struct cw_arrow_slab *slab);

/* Read the values of a leaf, or those that stand in a dictionary. */
int cw_arrow_values_read(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                         struct cw_arrow_slab *slab, struct cw_err *err);
int cw_arrow_values_look_up(struct cw_arrow_items *items, const struct cw_arrow_node *node,
                            const struct cw_arrow_slab *dictionary, struct cw_arrow_slab *slab,
                            struct cw_err *err);
/* Puts the fill in the place of nulls. Returns what is wrong. */
const char *cw_arrow_fill(const struct cw_arrow_items *items, const struct cw_arrow_want *want,
                          struct cw_arrow_slab *slab);

#endif
