/* SPDX-License-Identifier: Apache-2.0 */
/* Talks to an API server: one request each for get, list, create, update, merge patch and delete, and
 * streams of lines. Lists of many pages and watches stand on it (kube/kube_list.h, kube/kube_watch.h). All
 * of it runs on the loop thread, and nothing waits. */
#ifndef CW_KUBE_KUBE_H
#define CW_KUBE_KUBE_H

#include "conf/value.h"
#include "kube/kube_config.h"
#include "kube/kube_path.h"
#include "kube/kube_status.h"
#include "loop/loop.h"

enum cw_kube_verb {
    CW_KUBE_GET,
    CW_KUBE_LIST,
    CW_KUBE_WATCH,
    CW_KUBE_CREATE,
    CW_KUBE_UPDATE,
    CW_KUBE_PATCH,
    CW_KUBE_DELETE,
    CW_KUBE_VERBS
};
const char *cw_kube_verb_name(enum cw_kube_verb verb); /* "get", "list", ... */

struct cw_kube;
struct cw_kube_options {
    const char *program; /* "dispatcher": User-Agent cachew-dispatcher/VERSION, field manager
                          * cachew-dispatcher; it says who wrote, so it stays the same for ever */
    int64_t timeout_ms;  /* of a request that is no stream; 0: 30 s */
    /* Called once for each text that the server sends in a Warning header; NULL: nobody asks. */
    void (*warned)(void *arg, const char *text);
    /* Called for each answer; http 0: there was none. NULL: nobody asks. */
    void (*answered)(void *arg, enum cw_kube_verb verb, int http);
    void *arg;
};
/* Makes a client; config and options are copied. */
int cw_kube_new(struct cw_loop *loop, const struct cw_kube_config *config,
                const struct cw_kube_options *options, struct cw_kube **ret_kube,
                struct cw_err *err);
/* Cancels what goes on, and frees the client. Not from a callback of a call. Accepts NULL. */
void cw_kube_free(struct cw_kube *kube);
struct cw_loop *cw_kube_loop(const struct cw_kube *kube);
const char *cw_kube_namespace(const struct cw_kube *kube); /* that of the configuration */
const char *cw_kube_manager(const struct cw_kube *kube);   /* "cachew-dispatcher" */

/* What became of a request. */
struct cw_kube_answer {
    int code; /* CW_OK, or as cw_kube_reason_code and src/http say; CORRUPT: the answer is no object */
    struct cw_kube_status status; /* http 0: there was no answer */
    struct cw_value *object;  /* what was answered; the receiver may empty it. NULL on failure */
    const struct cw_err *err; /* for people: what, Status.reason, the server's words, Audit-Id */
};
typedef void cw_kube_fn(void *arg, struct cw_kube_answer *answer);

struct cw_kube_request {
    enum cw_kube_verb verb;
    struct cw_kube_target target; /* of CREATE: without a name, but for an eviction */
    const char *body;             /* JSON, or NULL */
    const char *const *query;     /* key, value, key, value, ..., NULL; or NULL */
    const char *const *without; /* lists of an answer that nobody reads (kube/cut_lists.h), static;
                                     NULL: none. Not for streams, whose lines are told as they are */
};
struct cw_kube_call;
/* Begins a request. What it is given is copied. fn is called once, never from within. A 401 has the
 * token's file read again, and is asked once more. */
struct cw_kube_call *cw_kube_call_new(struct cw_kube *kube, const struct cw_kube_request *request,
                                      cw_kube_fn *fn, void *arg) CW_MUST_CHECK;
/* Does the same for a request whose answer is a stream of lines (a watch): line is called for each,
 * and fn at the end, with CW_OK if the server has ended it. silence_ms: it is ended with TIMEOUT when
 * not a byte came for so long. */
typedef int cw_kube_stream_fn(void *arg, const char *line, size_t n, struct cw_err *err);
struct cw_kube_call *cw_kube_stream_new(struct cw_kube *kube, const struct cw_kube_request *request,
                                        int64_t silence_ms, cw_kube_stream_fn *line, cw_kube_fn *fn,
                                        void *arg) CW_MUST_CHECK;
/* Ends a request without a word; from any callback but its own fn. Accepts NULL. */
void cw_kube_call_cancel(struct cw_kube_call *call);

/* ---- kube_verbs.c: the usual requests ---- */
struct cw_kube_call *cw_kube_get(struct cw_kube *kube, const struct cw_kube_target *target,
                                 cw_kube_fn *fn, void *arg) CW_MUST_CHECK;
/* Makes an object of the target's kind; with a subresource, such as eviction, of the named one. */
struct cw_kube_call *cw_kube_create(struct cw_kube *kube, const struct cw_kube_target *target,
                                    const char *body, cw_kube_fn *fn, void *arg) CW_MUST_CHECK;
/* Replaces an object. metadata.resourceVersion in the body has it fail with Conflict when the object
 * has changed. */
struct cw_kube_call *cw_kube_update(struct cw_kube *kube, const struct cw_kube_target *target,
                                    const char *body, cw_kube_fn *fn, void *arg) CW_MUST_CHECK;
/* Sends a merge patch. metadata.resourceVersion as above; lists are replaced as a whole. */
struct cw_kube_call *cw_kube_patch(struct cw_kube *kube, const struct cw_kube_target *target,
                                   const char *body, cw_kube_fn *fn, void *arg) CW_MUST_CHECK;
/* Deletes an object if it still has this uid and resourceVersion (NULL: whatever they are): Conflict
 * if not. propagation: "Background", "Foreground", "Orphan", or NULL. */
struct cw_kube_call *cw_kube_delete(struct cw_kube *kube, const struct cw_kube_target *target,
                                    const char *uid, const char *resource_version,
                                    const char *propagation, cw_kube_fn *fn,
                                    void *arg) CW_MUST_CHECK;

#endif
