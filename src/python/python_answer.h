/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a child has answered. A child runs the code of strangers, so nothing in an answer is
 * believed: every place and size is checked. */
#ifndef CW_PYTHON_PYTHON_ANSWER_H
#define CW_PYTHON_PYTHON_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "data/element.h"
#include "python/python_wire.h"

/* An answer as it was received, of n bytes. */
struct cw_python_reply {
    size_t n;
    union {
        struct cw_python_answer head;
        struct {
            struct cw_python_answer head;
            struct cw_python_field fields[CW_FIELDS_MAX];
        } with;
        char bytes[CW_PYTHON_ANSWER_MAX];
    } u;
};

/* Makes views of the fields of a result, which lie in `map`. Returns false if it is none: the status is
 * another one, or something does not lie in the memory, or does not agree with its shape. */
bool cw_python_answer_fields(const struct cw_python_reply *reply, unsigned char *map,
                             size_t map_bytes, struct cw_view *ret_fields, size_t *ret_n);
/* Copies what follows the fields of such a result: their names, as JSON, or nothing. */
void cw_python_answer_names(const struct cw_python_reply *reply, char *ret_text, size_t cap);

#endif
