/* SPDX-License-Identifier: Apache-2.0 */
/* Who shows a token, as an API server says it: what is asked, how often, and what becomes of each answer. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kube/token_reviews.h"
#include "support/cm.h"
#include "support/http_server.h"
#include "support/jwt.h"

#define OF_TEAM                                                                                    \
    "{\"status\":{\"authenticated\":true,\"audiences\":[\"cachew\"],\"user\":{\"username\":"       \
    "\"system:serviceaccount:team:trainer\"}}}"

/* Time stands, but when a test moves it. */
static int64_t now_ms;
int64_t __wrap_cw_clock_ms(void);
int64_t __wrap_cw_clock_ms(void)
{
    return now_ms;
}

struct world {
    struct cw_loop *loop;
    struct cw_kube *kube;
    struct cw_token_reviews *reviews;
    struct http_server server;
    /* What the server's threads answer, and have seen. */
    _Atomic(const char *) answer;
    atomic_int status, running, most;
    atomic_bool held;
    char last[8192];
    /* told */
    size_t known;
    char token[2048];
};
static struct world w;

static void answer(void *arg, struct http_exchange *x)
{
    struct world *world = arg;
    int now = atomic_fetch_add(&world->running, 1) + 1;
    if (now > atomic_load(&world->most))
        atomic_store(&world->most, now);
    if (now == 1)
        snprintf(world->last, sizeof(world->last), "%s", x->text);
    while (atomic_load(&world->held))
        cw_clock_sleep_ns(1000000);
    http_respond(x, atomic_load(&world->status), "", atomic_load(&world->answer));
    atomic_fetch_sub(&world->running, 1);
}

static void on_known(void *arg, const char *token)
{
    struct world *world = arg;
    world->known++;
    snprintf(world->token, sizeof(world->token), "%s", token);
    cw_loop_stop(world->loop);
}

static int begin_with(size_t kept_max)
{
    memset(&w, 0, sizeof(w));
    now_ms = 1000000;
    w.loop = cw_loop_new();
    w.server.answer = answer;
    w.server.arg = &w;
    atomic_store(&w.status, 201);
    atomic_store(&w.answer, OF_TEAM);
    http_server_start(&w.server, NULL, NULL, NULL);
    cw_autofree char *url = cw_mem_printf("http://127.0.0.1:%d", w.server.port);
    struct cw_kube_config config = {
        .server = url, .name_space = (char[]){"ns"}, .token = (char[]){"own-token"}};
    struct cw_kube_options options = {.program = "test"};
    assert_int_equal(cw_kube_new(w.loop, &config, &options, &w.kube, NULL), CW_OK);
    const struct cw_token_reviews_options reviews = {
        .audience = "cachew", .known = on_known, .arg = &w, .kept_max = kept_max};
    w.reviews = cw_token_reviews_new(w.kube, &reviews);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    return begin_with(0);
}

static int end(void **state)
{
    (void)state;
    atomic_store(&w.held, false);
    cw_token_reviews_free(w.reviews);
    cw_kube_free(w.kube);
    cw_loop_free(w.loop);
    http_server_stop(&w.server);
    return 0;
}

static char *fresh(int number)
{
    return jwt_of("team:trainer", "cachew", cw_clock_wall_ms() / 1000 + 600, number);
}

/* Each time the same one. */
static char *of_ever(int number)
{
    return jwt_of("team:trainer", "cachew", 1LL << 40, number);
}

static enum cw_token_state look(const char *token, const char **ret_text)
{
    return cw_token_reviews_look(w.reviews, token, ret_text);
}

static void wait_known(size_t n)
{
    while (w.known < n)
        cw_loop_run(w.loop);
}

/* What the answer becomes for a token that nobody has asked about before. */
static enum cw_token_state after(const char *text, int status, const char **ret_text)
{
    static int number = 1000;
    cw_autofree char *token = fresh(number++);
    size_t before = w.known;
    atomic_store(&w.answer, text);
    atomic_store(&w.status, status);
    assert_int_equal(look(token, ret_text), CW_TOKEN_NEW);
    wait_known(before + 1);
    assert_string_equal(w.token, token);
    return look(token, ret_text);
}

static void asks_once(void **state)
{
    cw_autofree char *token = fresh(1);
    const char *text;
    (void)state;
    assert_int_equal(look(token, &text), CW_TOKEN_NEW);
    assert_int_equal(look(token, &text), CW_TOKEN_NEW); /* the same question goes on */
    wait_known(1);
    assert_string_equal(w.token, token);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
        assert_string_equal(text, "team:trainer");
    }
    assert_int_equal(atomic_load(&w.server.requests), 1);
    assert_true(cw_str_starts(w.last, "POST /apis/authentication.k8s.io/v1/tokenreviews"));
    assert_non_null(strstr(w.last, "Authorization: Bearer own-token\r\n"));
    cw_autofree char *body = cw_mem_printf("\r\n\r\n{\"apiVersion\":\"authentication.k8s.io/v1\","
                                           "\"kind\":\"TokenReview\",\"spec\":{\"audiences\":["
                                           "\"cachew\"],\"token\":\"%s\"}}",
                                           token);
    assert_non_null(strstr(w.last, body));
    const struct cw_token_review_counts counts = cw_token_reviews_counts(w.reviews);
    assert_int_equal(counts.asked, 1);
    assert_int_equal(counts.good, 1);
}

/* Tokens that cannot be good are nobody's business but ours: the server hears nothing of them. */
static void does_not_ask(void **state)
{
    cw_autofree char *expired = jwt_of("team:trainer", "cachew", 1000, 1),
                     *other = jwt_of("team:trainer", "other", 1LL << 40, 1);
    const char *text;
    (void)state;
    assert_int_equal(look("wrong-0123456789abcdef", &text), CW_TOKEN_BAD);
    assert_non_null(strstr(text, "no token of a service account"));
    assert_int_equal(look(expired, &text), CW_TOKEN_BAD);
    assert_non_null(strstr(text, "has expired"));
    assert_int_equal(look(other, &text), CW_TOKEN_BAD);
    assert_non_null(strstr(text, "not for the audience"));
    assert_int_equal(atomic_load(&w.server.requests), 0);
}

static void refusals(void **state)
{
    static const struct {
        const char *answer, *why;
    } cases[] = {
        {"{\"status\":{\"user\":{},\"error\":\"[invalid bearer token, token has expired]\"}}",
         "does not know it: [invalid bearer token, token has expired]"},
        {"{\"status\":{\"authenticated\":false}}", "does not know it"},
        {"{\"status\":{\"authenticated\":\"true\",\"audiences\":[\"cachew\"],\"user\":{"
         "\"username\":"
         "\"system:serviceaccount:team:trainer\"}}}",
         "does not know it"},
        {"{}", "does not know it"},
        /* A server that does not know of audiences vouches for nothing here. */
        {"{\"status\":{\"authenticated\":true,\"user\":{\"username\":"
         "\"system:serviceaccount:team:trainer\"}}}",
         "not for this audience"},
        {"{\"status\":{\"authenticated\":true,\"audiences\":[\"other\"],\"user\":{\"username\":"
         "\"system:serviceaccount:team:trainer\"}}}",
         "not for this audience"},
        {"{\"status\":{\"authenticated\":true,\"audiences\":[\"cachew\"],\"user\":{\"username\":"
         "\"system:admin\"}}}",
         "of no service account"},
        {"{\"status\":{\"authenticated\":true,\"audiences\":[\"cachew\"]}}",
         "of no service account"},
    };
    const char *text;
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        if (after(cases[i].answer, 201, &text) != CW_TOKEN_BAD || !strstr(text, cases[i].why))
            fail_msg("%s: %s", cases[i].answer, text);
    }
    const struct cw_token_review_counts counts = cw_token_reviews_counts(w.reviews);
    assert_int_equal(counts.refused, CW_ARRAY_LEN(cases));
    assert_int_equal(counts.good, 0);
}

/* A server that cannot be asked says nothing of a token, which is neither good nor wrong then. */
static void away(void **state)
{
    static const struct {
        const char *answer;
        int status;
        const char *why;
    } cases[] = {
        {"{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"cannot create "
         "tokenreviews\"}",
         403, "Forbidden"},
        {"{\"kind\":\"Status\",\"reason\":\"ServiceUnavailable\",\"message\":\"not yet\"}", 503,
         "ServiceUnavailable"},
        {"<html>", 200, "no object"},
        {"", 500, "InternalError"},
    };
    const char *text;
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        if (after(cases[i].answer, cases[i].status, &text) != CW_TOKEN_AWAY ||
            !strstr(text, cases[i].why))
            fail_msg("%s: %s", cases[i].answer, text);
    }
    assert_int_equal(cw_token_reviews_counts(w.reviews).failed, CW_ARRAY_LEN(cases));
    http_server_stop(&w.server);
    assert_int_equal(after("", 200, &text), CW_TOKEN_AWAY);
    assert_non_null(strstr(text, "127.0.0.1"));
    w.server = (struct http_server){.answer = answer, .arg = &w};
    http_server_start(&w.server, NULL, NULL, NULL);
}

/* A token that is replaced is another token, and the one before it counts as long as it says. */
static void rotates(void **state)
{
    cw_autofree char *first = fresh(1), *second = fresh(2);
    const char *text;
    (void)state;
    assert_int_equal(look(first, &text), CW_TOKEN_NEW);
    wait_known(1);
    assert_int_equal(look(second, &text), CW_TOKEN_NEW);
    wait_known(2);
    assert_int_equal(look(first, &text), CW_TOKEN_GOOD);
    assert_int_equal(look(second, &text), CW_TOKEN_GOOD);
    assert_int_equal(atomic_load(&w.server.requests), 2);
}

/* One that expires within moments counts for a moment, or nobody could ever use it. */
static void nearly_expired(void **state)
{
    cw_autofree char *token = jwt_of("team:trainer", "cachew", cw_clock_wall_ms() / 1000 - 20, 1);
    const char *text;
    (void)state;
    assert_int_equal(look(token, &text), CW_TOKEN_NEW);
    wait_known(1);
    assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
    now_ms += 1000;
    assert_int_equal(look(token, &text), CW_TOKEN_NEW);
    wait_known(2);
}

/* A good token that is used is asked for again, and counts meanwhile; whoever is refused then is so at
 * once. */
static void renews(void **state)
{
    cw_autofree char *token = of_ever(1);
    const char *text;
    (void)state;
    assert_int_equal(look(token, &text), CW_TOKEN_NEW);
    wait_known(1);
    now_ms += CW_TOKEN_RENEW_MS - 1;
    assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
    assert_int_equal(cw_token_reviews_counts(w.reviews).asked, 1);
    now_ms += 1;
    assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
    assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
    assert_int_equal(cw_token_reviews_counts(w.reviews).asked, 2);
    wait_known(2);
    atomic_store(&w.answer, "{\"status\":{\"error\":\"the pod is gone\"}}");
    now_ms += CW_TOKEN_RENEW_MS;
    assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
    wait_known(3);
    assert_int_equal(look(token, &text), CW_TOKEN_BAD);
    assert_non_null(strstr(text, "the pod is gone"));
    now_ms += CW_TOKEN_REFUSED_MS;
    atomic_store(&w.answer, OF_TEAM);
    assert_int_equal(look(token, &text), CW_TOKEN_NEW); /* a refusal does not count for long */
    wait_known(4);
    assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
}

/* Who is known stays so while the server is away, until the token expires, or for an hour. */
static void outlives_the_server(void **state)
{
    cw_autofree char *token = of_ever(1), *shorter = fresh(2);
    const char *text;
    (void)state;
    assert_int_equal(look(token, &text), CW_TOKEN_NEW);
    assert_int_equal(look(shorter, &text), CW_TOKEN_NEW);
    wait_known(2);
    atomic_store(&w.status, 503);
    now_ms += CW_TOKEN_RENEW_MS;
    assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
    wait_known(3);
    assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
    assert_int_equal(cw_token_reviews_counts(w.reviews).asked, 3); /* not at each call again */
    now_ms += 600000 - CW_TOKEN_RENEW_MS;
    assert_int_equal(look(shorter, &text), CW_TOKEN_NEW);
    assert_int_equal(look(token, &text),
                     CW_TOKEN_NEW); /* it may be revoked: the server is asked first */
    wait_known(5);
    assert_int_equal(look(shorter, &text), CW_TOKEN_AWAY);
    assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
    now_ms += CW_TOKEN_KEPT_MS;
    assert_int_equal(look(token, &text), CW_TOKEN_NEW);
    wait_known(6);
    assert_int_equal(look(token, &text), CW_TOKEN_AWAY);
    now_ms += CW_TOKEN_AWAY_MS;
    atomic_store(&w.status, 201);
    assert_int_equal(look(token, &text), CW_TOKEN_NEW);
    wait_known(7);
    assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
}

/* However many callers come at once, the server is asked a few at a time. */
static void few_at_a_time(void **state)
{
    enum { N = 3 * CW_TOKEN_REVIEWS_RUNNING };
    const char *text;
    (void)state;
    atomic_store(&w.held, true);
    for (int i = 0; i < N; i++) {
        cw_autofree char *token = of_ever(i);
        assert_int_equal(look(token, &text), CW_TOKEN_NEW);
    }
    assert_int_equal(cw_token_reviews_counts(w.reviews).asked, CW_TOKEN_REVIEWS_RUNNING);
    atomic_store(&w.held, false);
    wait_known(N);
    assert_int_equal(cw_token_reviews_counts(w.reviews).asked, N);
    assert_int_equal(atomic_load(&w.server.requests), N);
    assert_true(atomic_load(&w.most) <= CW_TOKEN_REVIEWS_RUNNING);
    for (int i = 0; i < N; i++) {
        cw_autofree char *token = of_ever(i);
        assert_int_equal(look(token, &text), CW_TOKEN_GOOD);
    }
}

/* While the server is slow, who waits behind others is told so after a while. */
static void not_for_ever(void **state)
{
    enum { N = CW_TOKEN_REVIEWS_RUNNING + 2 };
    const char *text;
    (void)state;
    atomic_store(&w.held, true);
    for (int i = 0; i < N; i++) {
        cw_autofree char *token = of_ever(i);
        assert_int_equal(look(token, &text), CW_TOKEN_NEW);
    }
    now_ms += CW_TOKEN_WAIT_MS;
    atomic_store(&w.held, false);
    wait_known(N);
    assert_int_equal(cw_token_reviews_counts(w.reviews).asked, CW_TOKEN_REVIEWS_RUNNING);
    for (int i = 0; i < N; i++) {
        cw_autofree char *token = of_ever(i);
        bool is_late = i >= CW_TOKEN_REVIEWS_RUNNING;
        assert_int_equal(look(token, &text), is_late ? CW_TOKEN_AWAY : CW_TOKEN_GOOD);
        assert_int_equal(is_late, strstr(text, "is slow") != NULL);
    }
}

/* More tokens than there is room for are not asked about, and not refused either. */
static void bounded(void **state)
{
    cw_autofree char *a = of_ever(1), *b = of_ever(2), *c = of_ever(3), *known = of_ever(4);
    const char *text;
    (void)state;
    (void)end(NULL);
    (void)begin_with(4);
    assert_int_equal(look(known, &text), CW_TOKEN_NEW);
    wait_known(1);
    atomic_store(&w.held, true);
    assert_int_equal(look(a, &text), CW_TOKEN_NEW);
    assert_int_equal(look(b, &text), CW_TOKEN_NEW);
    assert_int_equal(look(c, &text), CW_TOKEN_AWAY);
    assert_non_null(strstr(text, "too many"));
    assert_int_equal(look(known, &text), CW_TOKEN_GOOD); /* who is known has a place */
    atomic_store(&w.held, false);
    wait_known(3);
    assert_int_equal(look(c, &text), CW_TOKEN_NEW);
    wait_known(4);
    assert_int_equal(look(c, &text), CW_TOKEN_GOOD);
}

/* It may end while questions are under way and wait. */
static void ends_early(void **state)
{
    const char *text;
    (void)state;
    atomic_store(&w.held, true);
    for (int i = 0; i < CW_TOKEN_REVIEWS_RUNNING + 2; i++) {
        cw_autofree char *token = fresh(i);
        assert_int_equal(look(token, &text), CW_TOKEN_NEW);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(asks_once, begin, end),
        cmocka_unit_test_setup_teardown(does_not_ask, begin, end),
        cmocka_unit_test_setup_teardown(refusals, begin, end),
        cmocka_unit_test_setup_teardown(away, begin, end),
        cmocka_unit_test_setup_teardown(rotates, begin, end),
        cmocka_unit_test_setup_teardown(nearly_expired, begin, end),
        cmocka_unit_test_setup_teardown(renews, begin, end),
        cmocka_unit_test_setup_teardown(outlives_the_server, begin, end),
        cmocka_unit_test_setup_teardown(few_at_a_time, begin, end),
        cmocka_unit_test_setup_teardown(not_for_ever, begin, end),
        cmocka_unit_test_setup_teardown(bounded, begin, end),
        cmocka_unit_test_setup_teardown(ends_early, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
