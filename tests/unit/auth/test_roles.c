/* SPDX-License-Identifier: Apache-2.0 */
/* What the names in a certificate stand for, and the options of TLS. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "auth/tls_options.h"
#include "base/compiler.h"

static struct cw_peer_roles roles_of(const char *rules, const char *a, const char *b)
{
    const char *const names[] = {a, b};
    struct cw_role_rules parsed = {0};
    struct cw_peer_roles peer;
    struct cw_err err = {0};
    if (cw_role_rules_add(&parsed, rules, &err) != 0)
        fail_msg("%s", err.msg);
    cw_roles_of(&parsed, names, b ? 2 : 1, &peer);
    cw_role_rules_fini(&parsed);
    return peer;
}

static size_t count(const struct cw_peer_roles *peer)
{
    size_t n = 0;
    for (size_t i = 0; i < CW_ROLES; i++)
        n += peer->has[i];
    return n;
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int role; /* -1: none */
    } cases[] = {{"cachew-dispatcher", CW_ROLE_DISPATCHER},
                 {"cachew-worker", CW_ROLE_WORKER},
                 {"Cachew-Worker", CW_ROLE_WORKER},
                 {"cachew-admin", CW_ROLE_ADMIN},
                 {"vision.cachew-client", CW_ROLE_CLIENT},
                 {"team.vision.cachew-client", CW_ROLE_CLIENT},
                 {".cachew-client", -1},
                 {"cachew-client", -1},
                 {"client", -1},
                 {"cachew-worker.example", -1},
                 {"x.cachew-worker", -1},
                 {"vision.cachew-client.evil", -1},
                 {"vi sion.cachew-client", -1},
                 {"*.cachew-client", -1},
                 {"", -1}};
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_peer_roles peer = roles_of("", cases[i].name, NULL);
        if (count(&peer) != (cases[i].role >= 0) ||
            (cases[i].role >= 0 && !peer.has[cases[i].role]))
            fail_msg("%s", cases[i].name);
    }
    assert_string_equal(roles_of("", "team.vision.cachew-client", NULL).tenant, "team.vision");
}

static void test_several(void **state)
{
    (void)state;
    struct cw_peer_roles peer = roles_of("", "cachew-worker", "vision.cachew-client");
    assert_int_equal(count(&peer), 2);
    assert_string_equal(peer.tenant, "vision");
    peer = roles_of("", "vision.cachew-client", "vision.cachew-client");
    assert_true(peer.has[CW_ROLE_CLIENT] && !peer.ambiguous);
    peer = roles_of("", "vision.cachew-client", "speech.cachew-client");
    assert_true(peer.ambiguous);
    assert_int_equal(count(&peer), 0);
}

static void test_rules(void **state)
{
    (void)state;
    struct cw_peer_roles peer =
        roles_of("node1.example=worker,t1.example=client:vision", "T1.example", "node2.example");
    assert_int_equal(count(&peer), 1);
    assert_string_equal(peer.tenant, "vision");
    peer = roles_of("a=admin,a=worker", "a", NULL);
    assert_true(peer.has[CW_ROLE_ADMIN] && peer.has[CW_ROLE_WORKER]);
    static const char *const bad[] = {
        "a",         "=worker",     "a=",           "a=boss",    "a=client",
        "a=client:", "a=client:.x", "a=client:x y", "a b=worker"};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_role_rules rules = {0};
        struct cw_err err = {0};
        if (cw_role_rules_add(&rules, bad[i], &err) != CW_E_INVALID || !strstr(err.msg, bad[i]))
            fail_msg("%s: %s", bad[i], err.msg);
        cw_role_rules_fini(&rules);
    }
}

static void test_text(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    char text[CW_NAMES_TEXT_BYTES];
    cw_names_text(names, 0, text);
    assert_string_equal(text, "no DNS name");
    cw_names_text(names, 2, text);
    assert_string_equal(text, "a, b");
    cw_names_text(names, 6, text);
    assert_string_equal(text, "a, b, c, d and 2 more");
}

static void test_options(void **state)
{
    (void)state;
    struct cw_tls_options none = {.cert = ""}, o = {.cert = "c"}, all = {0};
    struct cw_err err = {0};
    assert_int_equal(cw_tls_options_read(&none, &err), 0);
    assert_false(cw_tls_options_are_set(&none));
    assert_int_equal(cw_tls_options_read(&o, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "--tls-key is missing"));
    setenv("CACHEW_TLS_KEY", "k", 1);
    setenv("CACHEW_TLS_CA", "a", 1);
    setenv("CACHEW_TLS_ROLE", "x=worker,y=admin", 1);
    o = (struct cw_tls_options){.cert = "c"};
    assert_int_equal(cw_tls_options_read(&o, &err), 0);
    assert_string_equal(o.key, "k");
    struct cw_role_rules rules = {0};
    cw_tls_options_rules(&o, &rules);
    assert_int_equal(rules.n, 2);
    cw_role_rules_fini(&rules);
    all.cert = "c";
    all.roles.v[all.roles.n++] = "x=boss";
    assert_int_equal(cw_tls_options_read(&all, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "--tls-role"));
    unsetenv("CACHEW_TLS_KEY");
    unsetenv("CACHEW_TLS_CA");
    unsetenv("CACHEW_TLS_ROLE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_several),
                                       cmocka_unit_test(test_rules), cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_options)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
