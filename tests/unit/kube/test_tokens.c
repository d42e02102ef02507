/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of service accounts: what they say of themselves, and for how long an answer about one counts. */
#include <stdio.h>
#include <string.h>

#include "kube/account_token.h"
#include "kube/token_cache.h"
#include "support/cm.h"
#include "support/jwt.h"

#define NOW_S 1700000000LL
#define NOW_MS (NOW_S * 1000)
#define SUB "\"sub\":\"system:serviceaccount:team:trainer\""

static void users(void **state)
{
    static const struct {
        const char *user, *account; /* NULL: it is no service account */
    } cases[] = {
        {"system:serviceaccount:team:trainer", "team:trainer"},
        {"system:serviceaccount:team:a.b-c9", "team:a.b-c9"},
        {NULL, NULL},
        {"", NULL},
        {"admin", NULL},
        {"system:node:n1", NULL},
        {"system:serviceaccount:", NULL},
        {"system:serviceaccount:team", NULL},
        {"system:serviceaccount:team:", NULL},
        {"system:serviceaccount::trainer", NULL},
        {"system:serviceaccount:te.am:trainer", NULL},
        {"system:serviceaccount:team:tra:iner", NULL},
        {"system:serviceaccount:team:Trainer", NULL},
        {"system:serviceaccount:team:tra/iner", NULL},
    };
    char account[CW_ACCOUNT_BYTES], name[512] = "system:serviceaccount:n:";
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        bool is = cw_account_of_user(cases[i].user, account);
        assert_int_equal(is, cases[i].account != NULL);
        if (is)
            assert_string_equal(account, cases[i].account);
    }
    size_t n = strlen(name);
    memset(&name[n], 'a', 254);
    assert_false(cw_account_of_user(name, account));
    name[n + 253] = '\0';
    assert_true(cw_account_of_user(name, account));
    assert_int_equal(strlen(account), 2 + 253);
}

/* A token that need not be asked about is refused, with the reason. */
static void claims(void **state)
{
    static const struct {
        const char *claims, *why; /* NULL: it may be good */
        int64_t expires_ms;
    } cases[] = {
        {"{\"aud\":[\"cachew\"],\"exp\":1700000100," SUB "}", NULL, (NOW_S + 100) * 1000},
        {"{\"aud\":[\"other\",\"cachew\"],\"exp\":1700000100," SUB "}", NULL, (NOW_S + 100) * 1000},
        {"{\"aud\":\"cachew\"," SUB "}", NULL, INT64_MAX},
        {"{\"aud\":\"cachew\",\"exp\":\"soon\"," SUB "}", NULL, INT64_MAX},
        {"{\"aud\":\"cachew\",\"exp\":9223372036854775807," SUB "}", NULL, INT64_MAX},
        {"{\"aud\":\"cachew\",\"exp\":1699999990," SUB "}", NULL, (NOW_S - 10) * 1000},
        {"{\"aud\":\"cachew\",\"exp\":1699999960," SUB "}", "team:trainer that has expired", 0},
        {"{\"aud\":\"cachew\",\"exp\":-9223372036854775807," SUB "}", "has expired", 0},
        {"{\"aud\":[\"other\"],\"exp\":1700000100," SUB "}", "not for the audience \"cachew\"", 0},
        {"{\"aud\":[\"cachews\",1,null],\"exp\":1700000100," SUB "}", "not for the audience", 0},
        {"{\"aud\":{},\"exp\":1700000100," SUB "}", "not for the audience", 0},
        {"{" SUB "}", "not for the audience", 0},
        {"{\"aud\":[\"cachew\"],\"sub\":\"joe\"}", "no token of a service account", 0},
        {"{\"aud\":[\"cachew\"],\"sub\":7}", "no token of a service account", 0},
        {"[\"cachew\"]", "no token of a service account", 0},
        {"", "no token of a service account", 0},
        {"{\"aud\":", "no token of a service account", 0},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        cw_autofree char *token = jwt(cases[i].claims);
        int64_t expires_ms = 0;
        struct cw_err err = {0};
        int rc = cw_account_token_check(token, "cachew", NOW_MS, &expires_ms, &err);
        if (!cases[i].why) {
            assert_int_equal(rc, CW_OK);
            assert_int_equal(expires_ms, cases[i].expires_ms);
        } else if (rc != CW_E_DENIED || !strstr(err.msg, cases[i].why)) {
            fail_msg("%s: %d %s", cases[i].claims, rc, err.msg);
        }
        assert_null(strstr(err.msg, token));
    }
}

static void other_forms(void **state)
{
    static const char *const others[] = {
        "",      "a",       "a.b",     "a..c",     ".b.c",           "a.b.",
        "a.b.c", "a.b.c.d", "a.b c.d", "a.e30=.c", "a.eyJhIjoxfQ.c", "vision-0123456789abcdef"};
    int64_t expires_ms;
    struct cw_err err = {0};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(others); i++) {
        assert_int_equal(cw_account_token_check(others[i], "cachew", NOW_MS, &expires_ms, &err),
                         CW_E_DENIED);
        assert_non_null(strstr(err.msg, "no token of a service account"));
    }
}

/* ---- the cache ---- */

static struct cw_token_entry *made(struct cw_token_cache *cache, int number)
{
    char token[32];
    snprintf(token, sizeof(token), "token-%d", number);
    struct cw_token_entry *entry = cw_token_cache_find(cache, token);
    return entry ? entry : cw_token_cache_add(cache, token);
}

static bool is_there(struct cw_token_cache *cache, int number)
{
    char token[32];
    snprintf(token, sizeof(token), "token-%d", number);
    return cw_token_cache_find(cache, token) != NULL;
}

static void counts_for_its_time(void **state)
{
    struct cw_token_cache cache;
    (void)state;
    cw_token_cache_init(&cache, 10);
    struct cw_token_entry *entry = made(&cache, 1);
    assert_ptr_equal(made(&cache, 1), entry);
    assert_true(cw_token_entry_is_due(entry, 0));
    assert_false(cw_token_entry_counts(entry, 0));
    entry->asked = true;
    assert_false(cw_token_entry_is_due(entry, 0));
    entry->asked = false;
    cw_token_entry_set(entry, CW_TOKEN_GOOD, "team:trainer", 1000, 400);
    assert_false(cw_token_entry_is_due(entry, 399));
    assert_true(
        cw_token_entry_is_due(entry, 400)); /* it is asked for again, and counts meanwhile */
    assert_true(cw_token_entry_counts(entry, 999));
    assert_false(cw_token_entry_counts(entry, 1000));
    cw_token_entry_set(entry, CW_TOKEN_BAD, "no", 2000, 0);
    assert_true(cw_token_entry_counts(entry, 1999));
    assert_false(cw_token_entry_is_due(entry, 1999));
    assert_true(cw_token_entry_is_due(entry, 2000));
    assert_string_equal(entry->text, "no");
    cw_token_cache_fini(&cache);
}

/* Strangers who show ever new tokens fill it, and drive out nobody who is known. */
static void is_bounded(void **state)
{
    enum { MAX = 8 };
    struct cw_token_cache cache;
    (void)state;
    cw_token_cache_init(&cache, MAX);
    for (int i = 0; i < MAX / 2; i++)
        cw_token_entry_set(made(&cache, i), CW_TOKEN_GOOD, "team:trainer", 1000, 500);
    for (int i = 100; i < 1100; i++) {
        cw_token_entry_set(made(&cache, i), CW_TOKEN_BAD, "no", 1000, 0);
        assert_true(cache.by_digest.n <= MAX);
    }
    for (int i = 0; i < MAX / 2; i++)
        assert_true(is_there(&cache, i));
    /* Of those that are good the one that was used last stays longest. */
    assert_true(is_there(&cache, 0));
    for (int i = 200; i < 200 + MAX - 1; i++)
        cw_token_entry_set(made(&cache, i), CW_TOKEN_GOOD, "team:trainer", 1000, 500);
    assert_true(is_there(&cache, 0));
    for (int i = 1; i < MAX / 2; i++)
        assert_false(is_there(&cache, i));
    cw_token_cache_fini(&cache);
}

/* What is being asked about stays; there is no room for more than that. */
static void keeps_what_is_asked(void **state)
{
    enum { MAX = 4 };
    struct cw_token_cache cache;
    (void)state;
    cw_token_cache_init(&cache, MAX);
    for (int i = 0; i < MAX; i++)
        made(&cache, i)->asked = true;
    assert_null(made(&cache, MAX));
    made(&cache, 2)->asked = false;
    assert_non_null(made(&cache, MAX));
    assert_false(is_there(&cache, 2));
    assert_true(is_there(&cache, 3));
    cw_token_cache_fini(&cache);
}

/* No token, and nothing that is the same in another process, is kept. */
static void digests_have_a_key(void **state)
{
    struct cw_token_cache a, b;
    const char *digest_a = NULL, *digest_b = NULL;
    size_t i = 0, j = 0;
    (void)state;
    cw_token_cache_init(&a, 4);
    cw_token_cache_init(&b, 4);
    (void)made(&a, 1);
    (void)made(&b, 1);
    assert_true(cw_strmap_next(&a.by_digest, &i, &digest_a, NULL));
    assert_true(cw_strmap_next(&b.by_digest, &j, &digest_b, NULL));
    assert_int_equal(strlen(digest_a), 64);
    assert_string_not_equal(digest_a, digest_b);
    assert_null(strstr(digest_a, "token"));
    cw_token_cache_fini(&a);
    cw_token_cache_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users),
        cmocka_unit_test(claims),
        cmocka_unit_test(other_forms),
        cmocka_unit_test(counts_for_its_time),
        cmocka_unit_test(is_bounded),
        cmocka_unit_test(keeps_what_is_asked),
        cmocka_unit_test(digests_have_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
