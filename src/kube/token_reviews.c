/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/token_reviews.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/account_token.h"
#include "kube/field.h"
#include "kube/kube_file.h"

#define LOG "tokens"
#define API_VERSION "authentication.k8s.io/v1"
#define MARGIN_MS 5000     /* a token does not count any more so long before it expires */
#define LEAST_MS 1000      /* what was answered counts for so long at least */
#define RETRY_MS 5000      /* of a good token whose review has failed */
#define LOG_EVERY_MS 60000 /* of failures that go on */

static const struct cw_kube_kind token_reviews = {"authentication.k8s.io", "v1", "tokenreviews"};

struct review { /* a question that is asked, or waits to be */
    struct cw_token_reviews *reviews;
    struct review *next;
    struct cw_token_entry *entry; /* it stays, since it is asked */
    char *token;
    int64_t expires_ms; /* wall time, as the token says */
    int64_t came_ms;
    struct cw_kube_call *call;
};
struct cw_token_reviews {
    struct cw_kube *kube;
    struct cw_token_reviews_options options; /* the audience is a copy */
    char *audience;
    struct cw_token_cache cache;
    struct review *running, *waiting, **waiting_end;
    size_t running_n, asked_n; /* asked_n: those that wait, too */
    struct cw_token_review_counts counts;
    struct cw_err said;
    int64_t logged_ms; /* when a failure was logged; 0: none since the last answer */
};

struct cw_token_reviews *cw_token_reviews_new(struct cw_kube *kube,
                                              const struct cw_token_reviews_options *options)
{
    struct cw_token_reviews *reviews = CW_NEW(struct cw_token_reviews);
    reviews->kube = kube;
    reviews->options = *options;
    reviews->audience = cw_mem_strdup(options->audience);
    reviews->waiting_end = &reviews->waiting;
    cw_token_cache_init(&reviews->cache,
                        options->kept_max > 0 ? options->kept_max : CW_TOKEN_REVIEWS_KEPT);
    return reviews;
}

static void free_review(struct review *review)
{
    cw_kube_forget(review->token);
    cw_mem_free(review);
}

static void free_list(struct review *list)
{
    for (struct review *next; list; list = next) {
        next = list->next;
        cw_kube_call_cancel(list->call);
        free_review(list);
    }
}

void cw_token_reviews_free(struct cw_token_reviews *reviews)
{
    if (!reviews)
        return;
    free_list(reviews->running);
    free_list(reviews->waiting);
    cw_token_cache_fini(&reviews->cache);
    cw_mem_free(reviews->audience);
    cw_mem_free(reviews);
}

struct cw_token_review_counts cw_token_reviews_counts(const struct cw_token_reviews *reviews)
{
    return reviews->counts;
}

/* ---- answers ---- */

static bool is_for(const struct cw_value *answer, const char *audience)
{
    size_t n;
    const struct cw_value *v = cw_kube_list(answer, "status.audiences", &n);
    for (size_t i = 0; i < n; i++)
        if (v[i].type == CW_VALUE_STR && cw_str_eq(v[i].s, audience))
            return true;
    return false;
}

static void note_good(const struct review *review, const char *account, int64_t now)
{
    int64_t left = CW_TOKEN_KEPT_MS;
    if (review->expires_ms != INT64_MAX)
        left = CW_MIN(left, review->expires_ms - cw_clock_wall_ms() - MARGIN_MS);
    review->reviews->counts.good++;
    cw_token_entry_set(review->entry, CW_TOKEN_GOOD, account, now + CW_MAX(left, LEAST_MS),
                       now + CW_TOKEN_RENEW_MS);
}

static void note_refused(const struct review *review, const char *why, int64_t now)
{
    review->reviews->counts.refused++;
    cw_token_entry_set(review->entry, CW_TOKEN_BAD, why, now + CW_TOKEN_REFUSED_MS, 0);
}

/* What the server said. An account counts only for the audience that was asked for: servers that do
 * not know of audiences name none. */
static void note_answer(const struct review *review, const struct cw_value *answer, int64_t now)
{
    const struct cw_value *is_known = cw_kube_field(answer, "status.authenticated");
    const char *user = cw_kube_text(answer, "status.user.username"),
               *error = cw_kube_text(answer, "status.error");
    char account[CW_ACCOUNT_BYTES];
    review->reviews->logged_ms = 0;
    if (!is_known || is_known->type != CW_VALUE_BOOL || !is_known->b) {
        cw_autofree char *why = cw_mem_printf("the API server does not know it%s%.300s",
                                              error ? ": " : "", error ? error : "");
        note_refused(review, why, now);
    } else if (!is_for(answer, review->reviews->audience)) {
        note_refused(review, "the API server knows it, and not for this audience", now);
    } else if (!cw_account_of_user(user, account)) {
        note_refused(review, "the API server knows it, and it is of no service account", now);
    } else {
        note_good(review, account, now);
    }
}

/* A token that was good stays so while nothing else is known. */
static void note_failure(const struct review *review, const struct cw_err *err, int64_t now)
{
    struct cw_token_reviews *reviews = review->reviews;
    struct cw_token_entry *entry = review->entry;
    reviews->counts.failed++;
    if (reviews->logged_ms == 0 || now - reviews->logged_ms >= LOG_EVERY_MS) {
        reviews->logged_ms = now;
        cw_log_warn(LOG, "the API server cannot be asked who shows a token: %s", err->msg);
    }
    if (entry->state == CW_TOKEN_GOOD && cw_token_entry_counts(entry, now))
        entry->renew_ms = now + RETRY_MS;
    else
        cw_token_entry_set(entry, CW_TOKEN_AWAY, err->msg, now + CW_TOKEN_AWAY_MS, 0);
}

static void begin_next(struct cw_token_reviews *reviews);

static void take_out(struct review **list, const struct review *review)
{
    while (*list != review)
        list = &(*list)->next;
    *list = review->next;
}

static void on_reviewed(void *arg, struct cw_kube_answer *answer)
{
    struct review *review = arg;
    struct cw_token_reviews *reviews = review->reviews;
    int64_t now = cw_clock_ms();
    take_out(&reviews->running, review);
    reviews->running_n--;
    reviews->asked_n--;
    review->entry->asked = false;
    if (answer->code == CW_OK)
        note_answer(review, answer->object, now);
    else
        note_failure(review, answer->err, now);
    begin_next(reviews);
    reviews->options.known(reviews->options.arg, review->token);
    free_review(review);
}

/* ---- questions ---- */

static char *body_of(const struct review *review)
{
    struct cw_str body = {0};
    cw_str_add(&body, "{\"apiVersion\":\"" API_VERSION "\",\"kind\":\"TokenReview\",\"spec\":{"
                      "\"audiences\":[");
    cw_str_add_json(&body, review->reviews->audience, strlen(review->reviews->audience));
    cw_str_add(&body, "],\"token\":");
    cw_str_add_json(&body, review->token, strlen(review->token));
    cw_str_add(&body, "}}");
    return cw_str_take(&body);
}

/* It has waited for too long: who shows the token is told so, rather than nothing. */
static void give_up(struct review *review, int64_t now)
{
    struct cw_token_reviews *reviews = review->reviews;
    struct cw_err err = {0};
    cw_err_set(&err, CW_E_UNAVAILABLE, "it is asked about too many tokens, or is slow");
    review->entry->asked = false;
    reviews->asked_n--;
    note_failure(review, &err, now);
    reviews->options.known(reviews->options.arg, review->token);
    free_review(review);
}

static struct review *take_waiting(struct cw_token_reviews *reviews)
{
    struct review *review = reviews->waiting;
    reviews->waiting = review->next;
    if (!reviews->waiting)
        reviews->waiting_end = &reviews->waiting;
    return review;
}

static void begin_next(struct cw_token_reviews *reviews)
{
    const struct cw_kube_target all = {&token_reviews, NULL, NULL, NULL};
    const int64_t now = cw_clock_ms();
    while (reviews->waiting && reviews->running_n < CW_TOKEN_REVIEWS_RUNNING) {
        struct review *review = take_waiting(reviews);
        if (now - review->came_ms >= CW_TOKEN_WAIT_MS) {
            give_up(review, now);
            continue;
        }
        char *body = body_of(review);
        review->next = reviews->running;
        reviews->running = review;
        reviews->running_n++;
        reviews->counts.asked++;
        review->call = cw_kube_create(reviews->kube, &all, body, on_reviewed, review);
        cw_kube_forget(body);
    }
}

static void ask(struct cw_token_reviews *reviews, struct cw_token_entry *entry, const char *token,
                int64_t expires_ms)
{
    struct review *review = CW_NEW(struct review);
    *review = (struct review){.reviews = reviews,
                              .entry = entry,
                              .token = cw_mem_strdup(token),
                              .expires_ms = expires_ms,
                              .came_ms = cw_clock_ms()};
    entry->asked = true;
    reviews->asked_n++;
    *reviews->waiting_end = review;
    reviews->waiting_end = &review->next;
    begin_next(reviews);
}

/* What may be said of an entry now. */
/* What was not shown for long may be revoked, so this use waits for the server. Without an answer it counts
 * (a failure moves renew_ms). */
static bool is_stale(const struct cw_token_entry *entry, int64_t now)
{
    return entry->state == CW_TOKEN_GOOD && now >= entry->renew_ms + CW_TOKEN_RENEW_MS;
}

static enum cw_token_state say(const struct cw_token_entry *entry, int64_t now,
                               const char **ret_text)
{
    if (!cw_token_entry_counts(entry, now) || is_stale(entry, now))
        return CW_TOKEN_NEW;
    *ret_text = entry->text;
    return entry->state;
}

enum cw_token_state cw_token_reviews_look(struct cw_token_reviews *reviews, const char *token,
                                          const char **ret_text)
{
    struct cw_token_entry *entry = cw_token_cache_find(&reviews->cache, token);
    int64_t now = cw_clock_ms(), expires_ms;
    *ret_text = "";
    if (entry && !cw_token_entry_is_due(entry, now))
        return say(entry, now, ret_text);
    if (cw_account_token_check(token, reviews->audience, cw_clock_wall_ms(), &expires_ms,
                               &reviews->said) != CW_OK) {
        *ret_text = reviews->said.msg;
        return CW_TOKEN_BAD;
    }
    /* Half of the places are for what is known, however many strangers come. */
    if (!entry && reviews->asked_n < reviews->cache.max / 2)
        entry = cw_token_cache_add(&reviews->cache, token);
    if (!entry) {
        *ret_text = "the API server is being asked about too many tokens";
        return CW_TOKEN_AWAY;
    }
    ask(reviews, entry, token, expires_ms);
    return say(entry, now, ret_text);
}
