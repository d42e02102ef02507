/* SPDX-License-Identifier: Apache-2.0 */
/* Who a caller is by a token of a service account (--token-review), besides tokens of the file and
 * certificates. */
#include "dispatcher/access/access.h"
#include "unit/dispatcher/made_up.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "support/http_server.h"
#include "support/jwt.h"

#define VISION "vision-token-0123456789"
#define JOBS "/cachew.v1.Jobs/Attach"
#define FLEET "/cachew.v1.Fleet/Attach"
#define BACKUP "/cachew.v1.Admin/Backup"
#define REMOVE "/cachew.v1.Admin/RemoveJob"
#define HEALTH "/grpc.health.v1.Health/Check"

static const char *const accounts[] = {"team:trainer",
                                       "cachew-system:cachew-worker",
                                       "cachew-system:cachew-admin",
                                       "team:x.cachew-client",
                                       "other:both",
                                       "default:gone"};
enum { TRAINER, WORKER, ADMIN, LIKE_A_NAME, BOTH, GONE, ACCOUNTS };

static struct http_server server;
static char *tokens[ACCOUNTS], kubeconfig[64], token_file[64];
static atomic_bool forbidden;
static char last_why[1024];

static void answer(void *arg, struct http_exchange *x)
{
    (void)arg;
    for (size_t i = 0; i < ACCOUNTS && !atomic_load(&forbidden); i++) {
        if (i == GONE || !strstr(x->text, tokens[i]))
            continue;
        cw_autofree char *body = cw_mem_printf(
            "{\"status\":{\"authenticated\":true,\"audiences\":[\"cachew\"],\"user\":{\"username\":"
            "\"system:serviceaccount:%s\"}}}",
            accounts[i]);
        http_respond(x, 201, "", body);
        return;
    }
    if (atomic_load(&forbidden))
        http_respond(x, 403, "",
                     "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"cannot create "
                     "tokenreviews\"}");
    else
        http_respond(x, 201, "", "{\"status\":{\"error\":\"the account was deleted\"}}");
}

static void write_file(char path[64], const char *text)
{
    snprintf(path, 64, "/tmp/cw_test_accounts_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void on_changed(void *arg)
{
    (void)arg;
}

static int begin(void **state)
{
    struct cw_err err = {0};
    if (made_up_begin(state) != 0)
        return -1;
    atomic_store(&forbidden, false);
    server = (struct http_server){.answer = answer};
    http_server_start(&server, NULL, NULL, NULL);
    for (size_t i = 0; i < ACCOUNTS; i++)
        tokens[i] = jwt_of(accounts[i], "cachew", cw_clock_wall_ms() / 1000 + 3600, (int)i);
    cw_autofree char *config = cw_mem_printf(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: "
        "\"http://127.0.0.1:%d\"}}]\nusers: [{name: u, user: {token: own}}]\ncontexts: [{name: c, "
        "context: {cluster: c, user: u}}]\n",
        server.port);
    write_file(kubeconfig, config);
    write_file(token_file, "vision tenant " VISION "\n");
    struct cw_options *o = &made_up.options;
    o->kubeconfig = kubeconfig;
    o->token_file = token_file;
    o->token_review = "cachew";
    o->token_roles.v[o->token_roles.n++] =
        "cachew-system:cachew-worker=worker,cachew-system:cachew-admin=admin";
    o->token_roles.v[o->token_roles.n++] = "other:both=admin,other:both=client:audio";
    assert_int_equal(cw_service_accounts_check(o, &err), 0);
    return cw_access_open(&made_up, on_changed, &err);
}

static int end(void **state)
{
    cw_access_close(&made_up);
    http_server_stop(&server);
    for (size_t i = 0; i < ACCOUNTS; i++)
        cw_mem_free(cw_steal(&tokens[i]));
    unlink(kubeconfig);
    unlink(token_file);
    return made_up_end(state);
}

static void on_again(void *arg)
{
    cw_loop_stop(arg);
}

static enum cw_gate ask_once(const char *token, const char *method, struct cw_caller *ret_caller)
{
    const struct cw_gate_question question = {
        .method = method, .token = token, .peer = "ipv4:192.0.2.1:1"};
    const char *why = "";
    void *caller = NULL;
    enum cw_gate rc = cw_access_gate(&made_up, &question, &caller, &why);
    assert_int_equal(rc == CW_GATE_PASS, caller != NULL);
    snprintf(last_why, sizeof(last_why), "%s", why);
    assert_null(token ? strstr(last_why, token) : NULL);
    *ret_caller = caller ? *(struct cw_caller *)caller : (struct cw_caller){0};
    cw_mem_free(caller);
    return rc;
}

/* Asks until the API server has answered. */
static enum cw_gate ask(const char *token, const char *method, struct cw_caller *ret_caller)
{
    struct cw_timer *timer = cw_timer_new(made_up.loop, on_again, made_up.loop);
    enum cw_gate rc;
    cw_timer_start(timer, 2, 2);
    while ((rc = ask_once(token, method, ret_caller)) == CW_GATE_LATER)
        cw_loop_run(made_up.loop);
    cw_timer_free(timer);
    return rc;
}

static void each_is_what_it_is(void **state)
{
    static const struct {
        int account;
        const char *method;
        int kind;           /* -1: it is denied */
        const char *tenant; /* NULL: all */
        const char *why;
    } cases[] = {
        {TRAINER, JOBS, CW_CALLER_CLIENT, "team", ""},
        {TRAINER, "/cachew.v1.Admin/ListJobs", CW_CALLER_CLIENT, "team", ""},
        {TRAINER, FLEET, -1, "", "service account team:trainer, and the role worker is missing"},
        {TRAINER, REMOVE, -1, "", "the role admin is missing (--token-role team:trainer=ROLE"},
        {TRAINER, "/no/method", -1, "", "nobody may call this"},
        {WORKER, FLEET, CW_CALLER_WORKER, "", ""},
        {WORKER, JOBS, -1, "", "the role admin or client is missing"},
        {ADMIN, BACKUP, CW_CALLER_OPERATOR, NULL, ""},
        {ADMIN, FLEET, -1, "", "the role worker is missing"},
        /* A name that would be a role in a certificate is none here. */
        {LIKE_A_NAME, JOBS, CW_CALLER_CLIENT, "team", ""},
        {BOTH, BACKUP, CW_CALLER_OPERATOR, NULL, ""},
        {BOTH, JOBS, CW_CALLER_CLIENT, "audio", ""},
    };
    struct cw_caller caller;
    struct cw_token_review_counts counts;
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        enum cw_gate rc = ask(tokens[cases[i].account], cases[i].method, &caller);
        if (cases[i].kind < 0) {
            if (rc != CW_GATE_DENY || !strstr(last_why, cases[i].why))
                fail_msg("%zu: %d %s", i, (int)rc, last_why);
            continue;
        }
        const char *tenant = cw_access_tenant_of(&caller);
        if (rc != CW_GATE_PASS || (int)caller.kind != cases[i].kind ||
            (cases[i].kind != CW_CALLER_WORKER && !cw_str_eq(tenant, cases[i].tenant)))
            fail_msg("%zu: %d %s, tenant %s", i, (int)rc, last_why, tenant ? tenant : "-");
        assert_true(cw_access_is_valid(&made_up, &caller));
        assert_string_equal(cw_access_shown(&caller), "token");
    }
    assert_true(cw_access_review_counts(&made_up, &counts));
    assert_int_equal(counts.asked, 5); /* once a token */
}

static void others_count_as_before(void **state)
{
    struct cw_caller caller;
    struct cw_token_review_counts counts;
    (void)state;
    assert_int_equal(ask_once(VISION, JOBS, &caller), CW_GATE_PASS);
    assert_int_equal(caller.kind, CW_CALLER_TENANT);
    assert_int_equal(ask_once(cw_access_own_workers_token(&made_up), FLEET, &caller), CW_GATE_PASS);
    assert_int_equal(ask_once(NULL, JOBS, &caller), CW_GATE_ASK);
    assert_int_equal(ask_once("wrong-token-0123456789", JOBS, &caller), CW_GATE_ASK);
    assert_non_null(strstr(last_why, "is not known here"));
    assert_int_equal(ask_once(tokens[TRAINER], HEALTH, &caller), CW_GATE_PASS);
    assert_true(cw_access_review_counts(&made_up, &counts));
    assert_int_equal(counts.asked, 0); /* for none of these */
}

static void refused_and_away(void **state)
{
    struct cw_caller caller;
    (void)state;
    assert_int_equal(ask(tokens[GONE], JOBS, &caller), CW_GATE_ASK);
    assert_non_null(strstr(last_why, "the account was deleted"));
    atomic_store(&forbidden, true);
    assert_int_equal(ask(tokens[TRAINER], JOBS, &caller), CW_GATE_AWAY);
    assert_non_null(strstr(last_why, "cannot be asked"));
    assert_non_null(strstr(last_why, "Forbidden"));
}

/* With TLS besides: a token that is shown counts before the certificate, and what workers will make of
 * the certificate is noted. */
static void with_a_certificate(void **state)
{
    const char *const names[] = {"vision.cachew-client"};
    struct cw_gate_question question = {.method = JOBS,
                                        .token = tokens[TRAINER],
                                        .peer = "ipv4:192.0.2.1:1",
                                        .tls = true,
                                        .names = names,
                                        .names_n = 1};
    struct cw_caller known;
    struct cw_err err = {0};
    const char *why;
    void *caller = NULL;
    (void)state;
    assert_int_equal(ask(tokens[TRAINER], JOBS, &known), CW_GATE_PASS);
    assert_int_equal(cw_access_gate(&made_up, &question, &caller, &why), CW_GATE_PASS);
    assert_string_equal(cw_access_tenant_of(caller), "team");
    assert_int_equal(cw_access_check_fetch(caller, "team", &err), CW_E_DENIED);
    cw_mem_free(caller);
    question.token = NULL;
    assert_int_equal(cw_access_gate(&made_up, &question, &caller, &why), CW_GATE_PASS);
    assert_string_equal(cw_access_tenant_of(caller), "vision");
    assert_string_equal(cw_access_shown(caller), "certificate");
    cw_mem_free(caller);
    question.token = "wrong-token-0123456789";
    assert_int_equal(cw_access_gate(&made_up, &question, &caller, &why), CW_GATE_ASK);
}

/* In the page for browsers: who may act there. */
static void in_the_page(void **state)
{
    static const struct {
        int account;
        enum cw_caller_kind kind;
    } cases[] = {{TRAINER, CW_CALLER_CLIENT},
                 {WORKER, CW_CALLER_WORKER},
                 {ADMIN, CW_CALLER_OPERATOR},
                 {BOTH, CW_CALLER_OPERATOR},
                 {GONE, CW_CALLER_NOBODY}};
    struct cw_caller caller;
    const char *name;
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        const char *token = tokens[cases[i].account];
        assert_int_equal(cw_access_kind_of(&made_up, token, &name), CW_CALLER_NOBODY); /* not yet */
        (void)ask(token, JOBS, &caller);
        assert_int_equal(cw_access_kind_of(&made_up, token, &name), cases[i].kind);
        assert_string_equal(name, cases[i].account == GONE ? "" : accounts[cases[i].account]);
    }
    assert_int_equal(cw_access_kind_of(&made_up, VISION, &name), CW_CALLER_TENANT);
    assert_int_equal(cw_access_kind_of(&made_up, NULL, &name), CW_CALLER_NOBODY);
}

static void options(void **state)
{
    static const struct {
        const char *review, *role, *why; /* why NULL: they are right */
    } cases[] = {
        {"cachew", NULL, NULL},
        {"cachew", "a:b=worker", NULL},
        {"cachew", "a:b=client:vision,a:c.d=admin", NULL},
        {NULL, "a:b=worker", "needs --token-review"},
        {"", NULL, "an audience is missing"},
        {"cachew", "b=worker", "NAMESPACE:NAME=ROLE"},
        {"cachew", "a:b=dispatcher", "NAMESPACE:NAME=ROLE"},
        {"cachew", "a:b=operator", "a rule is NAME=ROLE"},
        {"cachew", "a:B=worker", "NAMESPACE:NAME=ROLE"},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_options o = {.token_review = cases[i].review};
        struct cw_err err = {0};
        if (cases[i].role)
            o.token_roles.v[o.token_roles.n++] = cases[i].role;
        int rc = cw_service_accounts_check(&o, &err);
        if (cases[i].why ? rc != CW_E_INVALID || !strstr(err.msg, cases[i].why) : rc != 0)
            fail_msg("%zu: %d %s", i, rc, err.msg);
    }
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_is_what_it_is, begin, end),
        cmocka_unit_test_setup_teardown(others_count_as_before, begin, end),
        cmocka_unit_test_setup_teardown(refused_and_away, begin, end),
        cmocka_unit_test_setup_teardown(with_a_certificate, begin, end),
        cmocka_unit_test_setup_teardown(in_the_page, begin, end),
        cmocka_unit_test(options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
