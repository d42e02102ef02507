/* SPDX-License-Identifier: Apache-2.0 */
/* The dispatcher, asked over gRPC: which caches it has, again and again, and to attach, close and detach
 * one. All functions are called on the loop thread. */
#ifndef CW_CONTROLLER_LINK_H
#define CW_CONTROLLER_LINK_H

#include "auth/tls_options.h"
#include "base/err.h"
#include "controller/cachebackend.h"
#include "controller/facts.h"
#include "loop/loop.h"

struct cw_link;
struct cw_link_options {
    const char *address, *token_file; /* token_file NULL: no token */
    const struct cw_tls_options *tls; /* NULL: plaintext; not used for unix sockets */
    int64_t period_ms;                /* between one answer and the next question */
    int64_t away_ms;                  /* so long without an answer: it counts as away */
    cw_loop_fn *described;            /* called when an answer has come, or it is away by now */
    void *arg;
};
struct cw_link *cw_link_new(struct cw_loop *loop,
                            const struct cw_link_options *options) CW_MUST_CHECK;
/* Ends it; what was asked is not answered any more. Accepts NULL. */
void cw_link_free(struct cw_link *link);
/* Asks at once, or again as soon as the present answer is there. */
void cw_link_ask(struct cw_link *link);

/* Whether the last answer is not older than away_ms, or the first one is still waited for so long. */
bool cw_link_is_known(const struct cw_link *link);
bool cw_link_is_away(const struct cw_link *link);
const char *cw_link_why(const struct cw_link *link); /* of the last failure; "": none */
/* How often an answer has come, and the first one that can tell of what has happened until now: what was
 * asked before a change may say what was before it. */
uint64_t cw_link_answers(const struct cw_link *link);
uint64_t cw_link_fresh(const struct cw_link *link);
/* `for (size_t i = 0; (facts = cw_link_next(link, &i));)`; valid until the next answer. */
const struct cw_cache_facts *cw_link_next(const struct cw_link *link, size_t *i);
/* Finds a cache by its name: the one whose URL is this or has the uid in it (ret_cache), and one that is
 * another's (ret_another). A cache that is open goes before one that is leaving. */
void cw_link_find(const struct cw_link *link, const char *name, const char *url, const char *uid,
                  const struct cw_cache_facts **ret_cache,
                  const struct cw_cache_facts **ret_another);

/* What became of a change. code: CW_OK or that of the failure; close: whether it is closed. */
struct cw_link_answer {
    int code;
    const char *msg;
    bool closed;
};
typedef void cw_link_fn(void *arg, const struct cw_link_answer *answer);
void cw_link_attach(struct cw_link *link, const struct cw_cachebackend *backend, const char *url,
                    cw_link_fn *fn, void *arg);
void cw_link_detach(struct cw_link *link, const char *name, bool keep, cw_link_fn *fn, void *arg);
/* Closes the cache if nobody has used it later than since_ms; reopen: opens it again. */
void cw_link_close(struct cw_link *link, const char *name, int64_t since_ms, bool reopen,
                   cw_link_fn *fn, void *arg);

#endif
