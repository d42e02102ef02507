/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of any length, page by page. */
#ifndef CW_KUBE_KUBE_LIST_H
#define CW_KUBE_KUBE_LIST_H

#include "kube/kube.h"

#define CW_KUBE_PAGE 500 /* objects of a page, unless told otherwise */

struct cw_kube_list_request {
    struct cw_kube_target target; /* without a name */
    const char *labels, *fields;  /* selectors; NULL: all objects */
    int page;                     /* objects of a page; 0: CW_KUBE_PAGE */
    const char *const *without;   /* lists of objects that nobody reads (kube/cut_lists.h), static;
                                     NULL: none */
};
struct cw_kube_list_events {
    /* Takes an object, which it may empty. */
    void (*item)(void *arg, struct cw_value *object);
    /* The list begins again, since the server does not remember its first pages any more: what came
     * does not count. */
    void (*again)(void *arg);
    /* Called once at the end. resource_version: from where a watch goes on; NULL on failure. CORRUPT:
     * what was answered is no list of the kind, or has no resourceVersion. */
    void (*done)(void *arg, const char *resource_version, const struct cw_kube_answer *answer);
    void *arg;
};
struct cw_kube_list;
struct cw_kube_list *cw_kube_list_new(struct cw_kube *kube,
                                      const struct cw_kube_list_request *request,
                                      const struct cw_kube_list_events *events) CW_MUST_CHECK;
/* Ends it without a word; not from its callbacks. Accepts NULL. */
void cw_kube_list_cancel(struct cw_kube_list *list);

#endif
