/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a copy of all objects of one kind that a selector chooses: lists them, watches what changes,
 * goes on after a break from where it stood, and lists again when the server does not remember that
 * place (410), or says what cannot be true. Failures are tried again, later and later (about 0.8 s,
 * doubled up to 30 s), and not before the server's Retry-After; meanwhile the copy stays as it is. */
#ifndef CW_KUBE_KUBE_WATCH_H
#define CW_KUBE_KUBE_WATCH_H

#include "kube/kube.h"
#include "kube/objects.h"

/* Nobody asks who wrote what. */
extern const char *const cw_kube_without_managers[];

struct cw_kube_watch_options {
    struct cw_kube_target target; /* without a name */
    const char *labels, *fields;  /* selectors; NULL: all objects */
    int page;                     /* objects of a page of a list; 0: CW_KUBE_PAGE */
    /* Lists of objects that nobody reads, for cw_kube_cut_lists; static. NULL: none */
    const char *const *without;
    /* How long the server is asked to keep a watch; up to as much again is added at random. It is
     * ended here half a minute later. 0: 300 s */
    int64_t timeout_s;
    int64_t silence_ms; /* a watch with not a byte for so long is begun again (bookmarks come about
                         * each minute, but not where nothing of the kind changes). The first watch
                         * after a connection has broken is given half a minute at most, and then
                         * there is a list. 0: 150 s */
    int64_t retry_max_ms; /* the longest wait before another try; 0: 30 s */
};
struct cw_kube_watch_events {
    struct cw_kube_objects_events objects;
    /* A list is whole, and the copy equals it. NULL: nobody asks. */
    void (*listed)(void *arg);
    /* A list or a watch has failed, which is tried again in so many ms; a watch that the server has
     * ended in time has not. NULL: nobody asks. */
    void (*failed)(void *arg, const struct cw_err *err, int64_t retry_ms);
    void *arg;
};
struct cw_kube_watch_counts {
    uint64_t lists, watches, failures, events; /* begun, begun, of either, lines */
};
struct cw_kube_watch;
struct cw_kube_watch *cw_kube_watch_new(struct cw_kube *kube,
                                        const struct cw_kube_watch_options *options,
                                        const struct cw_kube_watch_events *events) CW_MUST_CHECK;
/* Ends it and frees the copy, without a word. Not from its callbacks. Accepts NULL. */
void cw_kube_watch_free(struct cw_kube_watch *watch);
/* Lists anew, since what the copy has may be old: a watch that has gone silent is noticed only after a
 * while. Not from its callbacks. */
void cw_kube_watch_relist(struct cw_kube_watch *watch);
/* Whether a list is still to come before the copy is complete and as new as that list. */
bool cw_kube_watch_must_list(const struct cw_kube_watch *watch);
/* Lends the copy. It is complete when `listed` was called once. */
const struct cw_kube_objects *cw_kube_watch_objects(const struct cw_kube_watch *watch);
struct cw_kube_watch_counts cw_kube_watch_counts(const struct cw_kube_watch *watch);

#endif
