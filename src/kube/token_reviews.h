/* SPDX-License-Identifier: Apache-2.0 */
/* Who shows a token: the API server is asked by a TokenReview, and what it says is remembered
 * (kube/token_cache.h). Only tokens that can be ones of a service account for the audience are sent.
 * Nothing waits: an answer is told later. Loop thread. */
#ifndef CW_KUBE_TOKEN_REVIEWS_H
#define CW_KUBE_TOKEN_REVIEWS_H

#include "kube/kube.h"
#include "kube/token_cache.h"

/* At most so many requests at a time; others wait for them. */
#define CW_TOKEN_REVIEWS_RUNNING 16
/* At most so many tokens that something is known of, or, of half of them, that are asked about. */
#define CW_TOKEN_REVIEWS_KEPT 4096
/* A good token that is shown is asked for again after so long, and counts meanwhile, until shortly
 * before it expires; while the server is away, for an hour at most. */
#define CW_TOKEN_RENEW_MS 120000
#define CW_TOKEN_KEPT_MS 3600000
/* A question that could not be asked for so long, since others go on, is not answered. */
#define CW_TOKEN_WAIT_MS 10000
/* A refusal, and that the server is away, count for so long. */
#define CW_TOKEN_REFUSED_MS 10000
#define CW_TOKEN_AWAY_MS 1000

struct cw_token_reviews_options {
    const char *audience;
    /* The token that was asked about is known, or the server is away: it may be looked up again. Not
     * called from within cw_token_reviews_look. */
    void (*known)(void *arg, const char *token);
    void *arg;
    size_t kept_max; /* 0: CW_TOKEN_REVIEWS_KEPT */
};
struct cw_token_reviews;
/* The client is borrowed; options are copied. */
struct cw_token_reviews *cw_token_reviews_new(struct cw_kube *kube,
                                              const struct cw_token_reviews_options *options);
/* Cancels what goes on. Accepts NULL. */
void cw_token_reviews_free(struct cw_token_reviews *reviews);
/* Looks up a token. *ret_text: GOOD: "NAMESPACE:NAME"; BAD, AWAY: the reason, for people; valid until the
 * next call. NEW: the server is asked, and options.known will be called. */
enum cw_token_state cw_token_reviews_look(struct cw_token_reviews *reviews, const char *token,
                                          const char **ret_text);
struct cw_token_review_counts {
    uint64_t asked, failed; /* requests, and those without an answer */
    uint64_t good, refused; /* what the server has said */
};
struct cw_token_review_counts cw_token_reviews_counts(const struct cw_token_reviews *reviews);

#endif
