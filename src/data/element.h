/* SPDX-License-Identifier: Apache-2.0 */
/* One element on its way through the operators, in one thread: views of memory that lives in the
 * thread's arena, in a batch's slot, or in a mapped file, all until the element is done. Nothing is
 * counted or freed per element. */
#ifndef CW_DATA_ELEMENT_H
#define CW_DATA_ELEMENT_H

#include "data/identity.h"
#include "data/spec.h"

struct cw_view {
    /* numeric: aligned for its dtype only when an operator made it; a source may hand out
     * unaligned bytes as STR */
    void *data;
    size_t bytes;
    enum cw_dtype dtype;
    int rank;
    int64_t dims[CW_RANK_MAX];
    /* An image of which only a part was decoded because the next operator needs no more (op.h
     * `want`): where the part lies in the whole. full_h = 0: the view is whole. */
    int64_t part_y, part_x, full_h, full_w;
    const struct cw_file_stamp *stamp; /* of a path: what its file has to be; NULL = not known */
};
struct cw_element {
    uint64_t id;  /* position in the source (mixed when several sources were zipped) */
    uint64_t rep; /* repetition, from `repeat` */
    size_t n;
    struct cw_view fields[CW_FIELDS_MAX]; /* in the order of the node's spec */
};

#endif
