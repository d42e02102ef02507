/* SPDX-License-Identifier: Apache-2.0 */
/* What an API server says when something failed: its Status objects. Pure functions. Decisions are
 * made from the reason, never from the message. */
#ifndef CW_KUBE_KUBE_STATUS_H
#define CW_KUBE_KUBE_STATUS_H

#include "conf/value.h"

enum cw_kube_reason {
    CW_KUBE_NONE,    /* nothing failed, or there was no answer */
    CW_KUBE_Unknown, /* a reason that is not in the list, and an HTTP status that says no more */
#define CW_KUBE(name, http, code) CW_KUBE_##name,
#include "kube/reason_list.h"
#undef CW_KUBE
    CW_KUBE_REASONS
};
struct cw_kube_status {
    enum cw_kube_reason reason;
    int http;               /* the HTTP status, or the Status' code in a watch */
    int64_t retry_after_ms; /* the server asks to be left alone for so long; 0: it did not say */
    char message[512]; /* the server's words, cut; with the fields that are wrong, for people */
};
/* Reads what failed. body: what was answered, which need not be a Status or JSON at all. http: the
 * HTTP status, at least 300; 0 in a watch, where the Status has it. retry_after: the header's text,
 * or NULL. */
void cw_kube_status_read(const char *body, size_t n, int http, const char *retry_after,
                         struct cw_kube_status *ret_status);
/* Does the same for an object that was parsed. */
void cw_kube_status_of(const struct cw_value *object, int http, const char *retry_after,
                       struct cw_kube_status *ret_status);
const char *cw_kube_reason_name(enum cw_kube_reason reason);
/* Returns the CW_E_ code that stands for a reason; CW_OK for CW_KUBE_NONE. */
int cw_kube_reason_code(enum cw_kube_reason reason);

#endif
