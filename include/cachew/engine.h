/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of CacheBackends: where the bytes of a cache lie. cachew-controller has some of its own, and
 * loads others: with `cacheEngine: {plugin: {name: NAME}}` the file libcachew_engine_NAME.so of its
 * --plugin-dir, which exports the variable cachew_engine. This header is all that such a file needs.
 *
 * An engine finds a place for the cache's store, prepares it, and says whether it is this cache's
 * before anything in it is deleted. Writing, reading and deleting what jobs cache is the business of
 * the dispatcher and its workers, to which the place is named as a URL of a store (docs/cache.md).
 *
 * Functions other than `place` run on a thread of their own and may take minutes; each may be called
 * again after any failure, also by another controller, and two may run at once for different caches.
 * They return a verdict, and fill the answer, which is zeroed before. */
#ifndef CACHEW_ENGINE_H
#define CACHEW_ENGINE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CACHEW_ENGINE_ABI 1

enum cachew_engine_verdict {
    CACHEW_ENGINE_READY = 0,
    /* Not yet: it is asked again, later and later. The message says what it waits for. */
    CACHEW_ENGINE_RETRY = 1,
    /* It will not become right before the CacheBackend is changed. */
    CACHEW_ENGINE_REFUSED = 2
};

/* Which cache. Texts are valid during the call. */
struct cachew_engine_request {
    size_t struct_size;
    const char *name_space, *name, *uid; /* of the CacheBackend; the uid is never used again */
    const char *options; /* JSON: what stands below the engine in spec.cacheEngine; for
                                          * a plug-in its `options` */
    const char *root;    /* --localfs-root, or "" */
    const char *url;     /* what `place` has answered; "" when place is called */
};
struct cachew_engine_answer {
    size_t struct_size;
    char reason[64];   /* for machines: one word, such as VolumeNotFound */
    char message[512]; /* for people: which field or which thing, and what to do */
    char url[1024];    /* of place: the URL of the store; "": the cache has no store of its own */
};

struct cachew_engine {
    int abi;          /* CACHEW_ENGINE_ABI */
    const char *name; /* what stands in status.cacheEngine */
    /* Says where the cache lies, from the request alone, without waiting: the same request has the same
     * answer. The place belongs to this uid alone. */
    int (*place)(const struct cachew_engine_request *request, struct cachew_engine_answer *answer);
    /* Makes the place. */
    int (*prepare)(const struct cachew_engine_request *request,
                   struct cachew_engine_answer *answer);
    /* Whether what lies there is this cache's: READY, or REFUSED if it is another's; then nothing is
     * deleted. */
    int (*owns)(const struct cachew_engine_request *request, struct cachew_engine_answer *answer);
    /* Removes what prepare has made; what jobs have cached is gone before. */
    int (*erase)(const struct cachew_engine_request *request, struct cachew_engine_answer *answer);
};

#ifdef __cplusplus
}
#endif
#endif
