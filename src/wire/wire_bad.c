/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/mem.h"
#include "wire/wire.h"

/* The strings of protobuf-c messages are not const. */
static char *borrow(const char *s)
{
    return (char *)(uintptr_t)s;
}

void cw_wire_bad_element_to(const struct cw_bad_element *element,
                            Cachew__V1__BadElement *ret_message)
{
    cachew__v1__bad_element__init(ret_message);
    ret_message->elements = element->elements;
    ret_message->position = element->position;
    ret_message->record = element->record;
    ret_message->file = borrow(element->file);
    ret_message->source = borrow(element->source);
    ret_message->node = borrow(element->node);
    ret_message->op = borrow(element->op);
    ret_message->reason = borrow(element->reason);
}

Cachew__V1__BadElement **cw_wire_bad_to(const struct cw_bad_list *list)
{
    size_t n = cw_bad_list_n(list);
    Cachew__V1__BadElement **pointers =
        cw_mem_new_array(n + 1, sizeof(*pointers) + sizeof(**pointers));
    Cachew__V1__BadElement *messages = (void *)(pointers + n + 1);
    for (size_t i = 0; i < n; i++) {
        pointers[i] = &messages[i];
        cw_wire_bad_element_to(cw_bad_list_at(list, i), pointers[i]);
    }
    return pointers;
}

struct cw_bad_element cw_wire_bad_element_from(const Cachew__V1__BadElement *message)
{
    return (struct cw_bad_element){.elements = message->elements,
                                   .position = message->position,
                                   .record = message->record,
                                   .file = message->file,
                                   .source = message->source,
                                   .node = message->node,
                                   .op = message->op,
                                   .reason = message->reason};
}

int cw_wire_bad_from(Cachew__V1__BadElement *const *messages, size_t n,
                     struct cw_bad_list **ret_list, struct cw_err *err)
{
    *ret_list = NULL;
    if (n > CW_BAD_LISTED_MAX)
        return cw_err_set(err, CW_E_LIMIT, "%zu bad elements are described, at most %d may be", n,
                          CW_BAD_LISTED_MAX);
    if (n == 0)
        return 0;
    *ret_list = cw_bad_list_new();
    for (size_t i = 0; i < n; i++) {
        struct cw_bad_element element = cw_wire_bad_element_from(messages[i]);
        cw_bad_list_add(*ret_list, (int64_t)i, &element);
    }
    return 0;
}
