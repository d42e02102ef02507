/* SPDX-License-Identifier: Apache-2.0 */
/* An element on its way through the operators, on one thread. Its fields are views of memory in the
 * thread's arena, in a batch's slot, or in a mapped file; all of them are valid until the element
 * is done. Nothing is counted or freed for a single element. */
#ifndef CW_DATA_ELEMENT_H
#define CW_DATA_ELEMENT_H

#include "data/identity.h"
#include "data/spec.h"

struct cw_view {
    /* Numeric data are aligned for their dtype only if an operator made them; a source may give
     * unaligned bytes as STR. */
    void *data;
    size_t bytes;
    enum cw_dtype dtype;
    int rank;
    int64_t dims[CW_RANK_MAX];
    /* Set for an image of which only a part was decoded, because the next operator needs no more
     * (`want` in op.h): the position of the part in the whole image, and the size of the whole.
     * full_h = 0: the view is the whole image. */
    int64_t part_y, part_x, full_h, full_w;
    /* for a path: the stamp that its file must have; NULL: not known */
    const struct cw_file_stamp *stamp;
};
/* What was computed of a part of an image, value by value, is that part of the result. */
static inline void cw_view_copy_part(struct cw_view *view, const struct cw_view *from)
{
    view->part_y = from->part_y;
    view->part_x = from->part_x;
    view->full_h = from->full_h;
    view->full_w = from->full_w;
}
/* It is large, since it has room for as many fields as there may be: it does not belong on a stack, and
 * is copied by cw_element_copy(). */
struct cw_element {
    /* Position in the source; behind an operator that chooses from several inputs the pair of the input's
     * number and the id there (exec/positions.h); a hash of several positions if several sources were
     * zipped. */
    uint64_t id;
    uint64_t rep; /* number of the repetition by the operator `repeat` */
    size_t n;
    struct cw_view fields[CW_FIELDS_MAX]; /* in the order of the node's spec */
};

/* Copies an element: as much as its own fields take. */
static inline void cw_element_copy(struct cw_element *to, const struct cw_element *from)
{
    to->id = from->id;
    to->rep = from->rep;
    to->n = from->n;
    for (size_t i = 0; i < from->n; i++)
        to->fields[i] = from->fields[i];
}

#endif
