/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of bad elements that were left out of an output or a batch, for whoever repairs the
 * data set. A list is bounded (base/limits.h CW_BAD_...), so it may describe fewer elements than
 * were left out. It is refcounted, and not changed any more once somebody else has a reference. */
#ifndef CW_DATA_BAD_LIST_H
#define CW_DATA_BAD_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/compiler.h"

/* The texts are never NULL in a list, and "" if they are not known. */
struct cw_bad_element {
    /* The number of elements that it stands for: 1, or those of a batch that is bad as a whole. */
    uint64_t elements;
    int64_t position; /* its number in its source; -1 if it is made of several */
    int64_t record;   /* its number in the file; -1 if there is none */
    const char *file;
    const char *source; /* the source elements that it is made of, as errors name them */
    const char *node, *op, *reason;
};
struct cw_bad_list;

struct cw_bad_list *cw_bad_list_new(void) CW_MUST_CHECK;
struct cw_bad_list *cw_bad_list_ref(struct cw_bad_list *list); /* NULL gives NULL */
/* Gives up a reference. Returns NULL; accepts NULL. */
struct cw_bad_list *cw_bad_list_unref(struct cw_bad_list *list);
/* Adds a copy of an element at its place in the order of `row`, which the caller chooses. Long texts
 * are cut. A list that is full keeps the elements with the lowest rows, in whatever order they are
 * added. */
void cw_bad_list_add(struct cw_bad_list *list, int64_t row, const struct cw_bad_element *element);
/* Returns whether an element of this row could still be added. */
bool cw_bad_list_takes(const struct cw_bad_list *list, int64_t row);
/* Adds copies of the elements of another list behind those that are there. NULL is accepted. */
void cw_bad_list_append(struct cw_bad_list *list, const struct cw_bad_list *more);
/* Returns the number of descriptions; 0 for NULL. */
size_t cw_bad_list_n(const struct cw_bad_list *list);
/* Returns element i, whose texts belong to the list. */
const struct cw_bad_element *cw_bad_list_at(const struct cw_bad_list *list, size_t i);
/* Returns the bytes of memory that the list occupies; 0 for NULL. */
size_t cw_bad_list_held(const struct cw_bad_list *list);

#endif
