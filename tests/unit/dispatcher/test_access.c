/* SPDX-License-Identifier: Apache-2.0 */
/* The whole table of rights, and who a caller is by the token that he shows. */
#include "dispatcher/access/access.h"
#include "dispatcher/job/job.h"
#include "unit/dispatcher/made_up.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

/* ---- the table ---- */

/* One letter a kind that may call the method: nobody, tenant, worker, operator, worker of a job, client (a
 * tenant by its certificate). */
static const struct {
    const char *method, *kinds;
} rights[] = {
    {"/grpc.health.v1.Health/Check", "ntwojc"},
    {"/grpc.health.v1.Health/Watch", "ntwojc"},
    {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "toc"},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "toc"},
    {"/cachew.v1.Fleet/Attach", "wj"},
    {"/cachew.v1.Jobs/Attach", "toc"},
    {"/cachew.v1.Data/Fetch", ""},
    {"/cachew.v1.Admin/Info", "toc"},
    {"/cachew.v1.Admin/ListJobs", "toc"},
    {"/cachew.v1.Admin/ListWorkers", "toc"},
    {"/cachew.v1.Admin/DrainWorker", "o"},
    {"/cachew.v1.Admin/RemoveJob", "to"},
    {"/cachew.v1.Admin/SkipItems", "to"},
    {"/cachew.v1.Admin/ScaleJob", "to"},
    {"/cachew.v1.Admin/ReplanJob", "to"},
    {"/cachew.v1.Admin/ScaleFleet", "o"},
    {"/cachew.v1.Admin/GetJob", "toc"},
    {"/cachew.v1.Admin/CacheList", "toc"},
    {"/cachew.v1.Admin/CacheScan", "o"},
    {"/cachew.v1.Admin/CacheEvict", "to"},
    {"/cachew.v1.Admin/CachePin", "to"},
    {"/cachew.v1.Admin/CacheAttach", "o"},
    {"/cachew.v1.Admin/CacheDetach", "o"},
    {"/cachew.v1.Admin/CacheClose", "o"},
    {"/cachew.v1.Admin/CacheDescribe", "toc"},
    {"/cachew.v1.Admin/CacheNoteSource", "toc"},
    {"/cachew.v1.Admin/Explain", "toc"},
    {"/cachew.v1.Admin/GetMetrics", "o"},
    {"/cachew.v1.Admin/ListDecisions", "toc"},
    {"/cachew.v1.Admin/ListTenants", "toc"},
    {"/cachew.v1.Admin/CheckPipeline", "toc"},
    {"/cachew.v1.Admin/ShowElements", "toc"},
    {"/cachew.v1.Admin/Backup", "o"},
};

static bool is_in_table(const char *method)
{
    for (size_t i = 0; cw_access_method(i); i++)
        if (cw_str_eq(cw_access_method(i), method))
            return true;
    return false;
}

static void test_table(void **state)
{
    static const char letters[CW_CALLER_KINDS + 1] = "ntwojc";
    size_t n = 0;
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rights); i++) {
        assert_true(is_in_table(rights[i].method));
        for (int kind = 0; kind < CW_CALLER_KINDS; kind++)
            if (cw_access_allows((enum cw_caller_kind)kind, rights[i].method) !=
                (strchr(rights[i].kinds, letters[kind]) != NULL))
                fail_msg("%s, %c", rights[i].method, letters[kind]);
    }
    while (cw_access_method(n))
        n++;
    assert_int_equal(n, CW_ARRAY_LEN(rights));
}

static void test_other_methods(void **state)
{
    static const char *const others[] = {"",
                                         "/",
                                         "/cachew.v1.Admin/",
                                         "/cachew.v1.Admin/Other",
                                         "/cachew.v1.Admin/Info/",
                                         "cachew.v1.Admin/Info"};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(others); i++)
        for (int kind = 0; kind < CW_CALLER_KINDS; kind++)
            assert_false(cw_access_allows((enum cw_caller_kind)kind, others[i]));
}

/* Each "rpc NAME(" of a file has a row; returns how many there are. */
static size_t check_proto(const char *path)
{
    char line[512], service[128] = "", name[128];
    size_t n = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        (void)sscanf(line, "service %127[A-Za-z0-9]", service);
        if (sscanf(line, " rpc %127[A-Za-z0-9]", name) != 1)
            continue;
        cw_autofree char *method = cw_mem_printf("/cachew.v1.%s/%s", service, name);
        if (!is_in_table(method))
            fail_msg("%s has no row in dispatcher/access/methods.c", method);
        n++;
    }
    fclose(file);
    return n;
}

static void test_each_method_of_proto(void **state)
{
    size_t n = 0;
    DIR *dir = opendir(PROTO);
    (void)state;
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        cw_autofree char *path = cw_mem_printf("%s/%s", PROTO, entry->d_name);
        if (strstr(entry->d_name, ".proto"))
            n += check_proto(path);
    }
    closedir(dir);
    assert_int_equal(n, CW_ARRAY_LEN(rights) - 4); /* those of grpc are described elsewhere */
}

/* ---- who somebody is ---- */

#define VISION "vision-token-0123456789"
#define AUDIO "audio-token-0123456789"
#define WORKER "worker-token-0123456789"
#define ROOT "operator-token-0123456789"

static char token_file[64];
static size_t changes;

static void on_changed(void *arg)
{
    assert_ptr_equal(arg, &made_up);
    changes++;
    cw_loop_stop(made_up.loop);
}

static void write_tokens(const char *text)
{
    cw_autofree char *fresh = cw_mem_printf("%s.new", token_file);
    FILE *file = fopen(fresh, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(fresh, token_file), 0);
}

static int begin(void **state)
{
    struct cw_err err = {0};
    snprintf(token_file, sizeof(token_file), "/tmp/cw_test_access_XXXXXX");
    int fd = mkstemp(token_file);
    if (fd < 0 || made_up_begin(state) != 0)
        return -1;
    close(fd);
    changes = 0;
    made_up.options.token_file = token_file;
    write_tokens("vision tenant " VISION "\naudio tenant " AUDIO "\nhosts worker " WORKER
                 "\nroot operator " ROOT "\n");
    return cw_access_open(&made_up, on_changed, &err);
}

static int end(void **state)
{
    cw_access_close(&made_up);
    unlink(token_file);
    return made_up_end(state);
}

/* Asks the gate; *ret_caller is freed with cw_mem_free. */
static enum cw_gate ask(const char *token, const char *method, struct cw_caller **ret_caller)
{
    const struct cw_gate_question question = {
        .method = method, .token = token, .peer = "ipv4:192.0.2.1:1"};
    const char *why = NULL;
    void *caller = NULL;
    enum cw_gate answer = cw_access_gate(&made_up, &question, &caller, &why);
    assert_int_equal(answer == CW_GATE_PASS, caller != NULL);
    assert_int_equal(answer == CW_GATE_PASS, why == NULL);
    if (ret_caller)
        *ret_caller = caller;
    else
        cw_mem_free(caller);
    return answer;
}

static void test_gate(void **state)
{
    static const char *const strangers[] = {
        NULL, "", "nobody-token-0123456789", VISION "x", "vision", "job.j1.00", "job..", "job.j1"};
    struct cw_caller *caller;
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(strangers); i++) {
        assert_int_equal(ask(strangers[i], "/cachew.v1.Admin/Info", NULL), CW_GATE_ASK);
        assert_int_equal(ask(strangers[i], "/cachew.v1.Fleet/Attach", NULL), CW_GATE_ASK);
        assert_int_equal(ask(strangers[i], "/no/method", NULL), CW_GATE_ASK);
        assert_int_equal(ask(strangers[i], "/grpc.health.v1.Health/Check", NULL), CW_GATE_PASS);
    }
    assert_int_equal(ask(VISION, "/cachew.v1.Jobs/Attach", &caller), CW_GATE_PASS);
    assert_int_equal(caller->kind, CW_CALLER_TENANT);
    assert_string_equal(cw_access_tenant_of(caller), "vision");
    assert_true(cw_access_sees_tenant(caller, "vision"));
    assert_false(cw_access_sees_tenant(caller, "audio"));
    assert_false(cw_access_sees_tenant(caller, ""));
    cw_mem_free(caller);
    assert_int_equal(ask(VISION, "/cachew.v1.Fleet/Attach", NULL), CW_GATE_DENY);
    assert_int_equal(ask(VISION, "/cachew.v1.Admin/DrainWorker", NULL), CW_GATE_DENY);
    assert_int_equal(ask(VISION, "/no/method", NULL), CW_GATE_DENY);
    assert_int_equal(ask(WORKER, "/cachew.v1.Fleet/Attach", NULL), CW_GATE_PASS);
    assert_int_equal(ask(WORKER, "/cachew.v1.Admin/Info", NULL), CW_GATE_DENY);
    assert_int_equal(ask(WORKER, "/cachew.v1.Jobs/Attach", NULL), CW_GATE_DENY);
    assert_int_equal(ask(ROOT, "/cachew.v1.Admin/Backup", &caller), CW_GATE_PASS);
    assert_null(cw_access_tenant_of(caller));
    assert_true(cw_access_sees_tenant(caller, "vision"));
    cw_mem_free(caller);
    const char *own = cw_access_own_workers_token(&made_up);
    assert_int_equal(ask(own, "/cachew.v1.Fleet/Attach", NULL), CW_GATE_PASS);
    assert_int_equal(ask(own, "/cachew.v1.Admin/Info", NULL), CW_GATE_DENY);
}

static struct cw_job *make_job(const char *id, const char *tenant)
{
    Cachew__V1__JobOptions *options = cachew__v1__job_options__unpack(NULL, 0, NULL);
    Cachew__V1__PlanInfo *info = cachew__v1__plan_info__unpack(NULL, 0, NULL);
    options->tenant = cw_mem_strdup(tenant);
    info->items = 10;
    return made_up_job(id, options, info);
}

/* The credential of a job's workers makes a worker of that job, and of no other. */
static void test_worker_of_a_job(void **state)
{
    char one[CW_CREDENTIAL_BYTES], other[CW_CREDENTIAL_BYTES], mixed[CW_CREDENTIAL_BYTES];
    struct cw_caller *caller;
    (void)state;
    cw_access_job_credential(make_job("j1", "vision"), one);
    cw_access_job_credential(make_job("j2", "audio"), other);
    assert_int_equal(ask(one, "/cachew.v1.Fleet/Attach", &caller), CW_GATE_PASS);
    assert_string_equal(cw_access_job_of(caller), "j1");
    assert_true(cw_access_sees_tenant(caller, "vision"));
    assert_false(cw_access_sees_tenant(caller, "audio"));
    assert_true(cw_access_is_valid(&made_up, caller));
    cw_mem_free(caller);
    assert_int_equal(ask(one, "/cachew.v1.Jobs/Attach", NULL), CW_GATE_DENY);
    assert_int_equal(ask(one, "/cachew.v1.Admin/Info", NULL), CW_GATE_DENY);
    snprintf(mixed, sizeof(mixed), "job.j1%s", strrchr(other, '.'));
    assert_int_equal(ask(mixed, "/cachew.v1.Fleet/Attach", NULL), CW_GATE_ASK);
    snprintf(mixed, sizeof(mixed), "job.j9%s", strrchr(one, '.'));
    assert_int_equal(ask(mixed, "/cachew.v1.Fleet/Attach", NULL), CW_GATE_ASK);
}

static void wait_for_change(void)
{
    size_t before = changes;
    while (changes == before)
        cw_loop_run(made_up.loop);
}

/* A token stays valid as long as it stands in the file, whatever else changes there. */
static void test_rotation(void **state)
{
    struct cw_caller *old, *kept;
    (void)state;
    assert_int_equal(ask(VISION, "/cachew.v1.Jobs/Attach", &old), CW_GATE_PASS);
    assert_int_equal(ask(WORKER, "/cachew.v1.Fleet/Attach", &kept), CW_GATE_PASS);
    write_tokens("hosts worker " WORKER "\nvision tenant new-" VISION "\nvision tenant " VISION
                 "\n");
    wait_for_change();
    assert_true(cw_access_is_valid(&made_up, old));
    assert_int_equal(ask("new-" VISION, "/cachew.v1.Jobs/Attach", NULL), CW_GATE_PASS);
    assert_int_equal(ask(AUDIO, "/cachew.v1.Jobs/Attach", NULL), CW_GATE_ASK);
    write_tokens("vision tenant new-" VISION "\nhosts worker " WORKER "\n");
    wait_for_change();
    assert_false(cw_access_is_valid(&made_up, old));
    assert_true(cw_access_is_valid(&made_up, kept));
    assert_int_equal(ask(VISION, "/cachew.v1.Jobs/Attach", NULL), CW_GATE_ASK);
    cw_mem_free(old);
    cw_mem_free(kept);
}

/* Who shows a token that was written a moment ago is not refused because the timer has not come yet; the
 * sessions are told by the timer, not in the gate. */
static void test_new_token_at_once(void **state)
{
    struct cw_caller *old;
    (void)state;
    assert_int_equal(ask(VISION, "/cachew.v1.Jobs/Attach", &old), CW_GATE_PASS);
    write_tokens("vision tenant new-" VISION "\n");
    assert_int_equal(ask("new-" VISION, "/cachew.v1.Jobs/Attach", NULL), CW_GATE_PASS);
    assert_int_equal(ask(AUDIO, "/cachew.v1.Jobs/Attach", NULL), CW_GATE_ASK);
    assert_int_equal(changes, 0);
    wait_for_change();
    assert_int_equal(changes, 1);
    assert_false(cw_access_is_valid(&made_up, old));
    cw_mem_free(old);
}

/* What cannot be used changes nothing; what comes after it does. */
static void test_damaged_file(void **state)
{
    struct cw_caller *caller;
    (void)state;
    assert_int_equal(ask(VISION, "/cachew.v1.Jobs/Attach", &caller), CW_GATE_PASS);
    write_tokens("vision nonsense " VISION "\n");
    assert_true(cw_access_look_now(&made_up) < 0);
    assert_true(cw_access_is_valid(&made_up, caller));
    unlink(token_file);
    assert_true(cw_access_look_now(&made_up) < 0);
    assert_int_equal(ask(VISION, "/cachew.v1.Jobs/Attach", NULL), CW_GATE_PASS);
    assert_int_equal(changes, 0);
    write_tokens("audio tenant " AUDIO "\n");
    assert_int_equal(cw_access_look_now(&made_up), 0);
    assert_int_equal(changes, 1);
    assert_false(cw_access_is_valid(&made_up, caller));
    cw_mem_free(caller);
}

static void test_no_tokens(void **state)
{
    struct cw_err err = {0};
    (void)state;
    cw_access_close(&made_up);
    made_up.options.token_file = NULL;
    assert_int_equal(cw_access_open(&made_up, on_changed, &err), 0);
    assert_false(cw_access_is_on(&made_up));
    assert_null(cw_access_own_workers_token(&made_up));
    assert_true(cw_access_sees_tenant(NULL, "vision"));
    assert_null(cw_access_tenant_of(NULL));
    assert_null(cw_access_job_of(NULL));
    assert_true(cw_access_is_valid(&made_up, NULL));
    made_up.options.token_file = "/nowhere/tokens";
    assert_int_equal(cw_access_open(&made_up, on_changed, &err), CW_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "/nowhere/tokens"));
}

/* ---- by certificates ---- */

static int begin_tls(void **state)
{
    struct cw_err err = {0};
    if (made_up_begin(state) != 0)
        return -1;
    made_up.options.token_file = NULL;
    made_up.options.tls = (struct cw_tls_options){.cert = "c", .key = "k", .ca = "a"};
    made_up.options.tls.roles.v[made_up.options.tls.roles.n++] =
        "node1.example=worker,t1.example=client:audio";
    return cw_access_open(&made_up, on_changed, &err);
}

static int begin_both(void **state)
{
    struct cw_err err = {0};
    if (begin(state) != 0)
        return -1;
    cw_access_close(&made_up);
    made_up.options.tls = (struct cw_tls_options){.cert = "c", .key = "k", .ca = "a"};
    return cw_access_open(&made_up, on_changed, &err);
}

static int end_tls(void **state)
{
    cw_access_close(&made_up);
    made_up.options.tls = (struct cw_tls_options){0};
    return made_up_end(state);
}

static int end_both(void **state)
{
    unlink(token_file);
    return end_tls(state);
}

/* Asks with the names "a b"; the answer's kind, or -1 and why. */
static int ask_names(const char *names, const char *token, const char *method,
                     struct cw_caller *ret_caller, char ret_why[512])
{
    const char *v[8];
    size_t n = 0;
    char copy[256], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", names);
    for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save))
        v[n++] = name;
    const struct cw_gate_question question = {.method = method,
                                              .token = token,
                                              .peer = "ipv4:192.0.2.1:1",
                                              .tls = true,
                                              .names = v,
                                              .names_n = n};
    const char *why = NULL;
    void *caller = NULL;
    enum cw_gate answer = cw_access_gate(&made_up, &question, &caller, &why);
    snprintf(ret_why, 512, "%s", why ? why : "");
    if (answer != CW_GATE_PASS)
        return -1;
    *ret_caller = *(struct cw_caller *)caller;
    cw_mem_free(caller);
    return (int)ret_caller->kind;
}

static void test_certificates(void **state)
{
    static const struct {
        const char *names, *method;
        int kind;
        const char *tenant, *why; /* tenant NULL: all */
    } cases[] = {
        {"cachew-worker", "/cachew.v1.Fleet/Attach", CW_CALLER_WORKER, "", ""},
        {"node1.example", "/cachew.v1.Fleet/Attach", CW_CALLER_WORKER, "", ""},
        {"cachew-worker", "/cachew.v1.Jobs/Attach", -1, "",
         "names cachew-worker, and the role admin or client is missing"},
        {"vision.cachew-client", "/cachew.v1.Jobs/Attach", CW_CALLER_CLIENT, "vision", ""},
        {"t1.example", "/cachew.v1.Admin/ListJobs", CW_CALLER_CLIENT, "audio", ""},
        {"vision.cachew-client", "/cachew.v1.Admin/RemoveJob", -1, "",
         "names vision.cachew-client, and the role admin is missing (cachew-admin"},
        {"vision.cachew-client", "/cachew.v1.Fleet/Attach", -1, "", "the role worker is missing"},
        {"cachew-admin", "/cachew.v1.Admin/RemoveJob", CW_CALLER_OPERATOR, NULL, ""},
        {"cachew-admin", "/cachew.v1.Jobs/Attach", CW_CALLER_OPERATOR, NULL, ""},
        {"cachew-admin", "/cachew.v1.Fleet/Attach", -1, "", "the role worker is missing"},
        {"cachew-admin vision.cachew-client", "/cachew.v1.Admin/ListJobs", CW_CALLER_OPERATOR, NULL,
         ""},
        {"cachew-admin vision.cachew-client", "/cachew.v1.Jobs/Attach", CW_CALLER_CLIENT, "vision",
         ""},
        {"cachew-worker vision.cachew-client", "/cachew.v1.Jobs/Attach", CW_CALLER_CLIENT, "vision",
         ""},
        {"a.cachew-client b.cachew-client", "/cachew.v1.Jobs/Attach", -1, "",
         "names clients of several tenants (a.cachew-client, b.cachew-client)"},
        {"cachew-dispatcher", "/cachew.v1.Admin/Info", -1, "", "names cachew-dispatcher"},
        {"", "/cachew.v1.Admin/Info", -1, "", "names no DNS name"},
        {"cachew-admin", "/no/method", -1, "", "nobody may call this"},
        {"", "/grpc.health.v1.Health/Check", CW_CALLER_NOBODY, "", ""},
    };
    (void)state;
    assert_true(cw_access_is_on(&made_up));
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_caller caller = {0};
        char why[512];
        int kind = ask_names(cases[i].names, NULL, cases[i].method, &caller, why);
        const char *tenant = kind >= 0 ? cw_access_tenant_of(&caller) : "";
        if (kind != cases[i].kind || !strstr(why, cases[i].why) ||
            (tenant && cases[i].tenant ? !cw_str_eq(tenant, cases[i].tenant)
                                       : tenant != cases[i].tenant))
            fail_msg("%s, %s: %d, %s", cases[i].names, cases[i].method, kind, why);
    }
    /* What the dispatcher has given out itself counts with every certificate. */
    struct cw_caller caller;
    char why[512], credential[CW_CREDENTIAL_BYTES];
    assert_int_equal(ask_names("cachew-dispatcher", cw_access_own_workers_token(&made_up),
                               "/cachew.v1.Fleet/Attach", &caller, why),
                     CW_CALLER_WORKER);
    cw_access_job_credential(make_job("j1", "vision"), credential);
    assert_int_equal(
        ask_names("vision.cachew-client", credential, "/cachew.v1.Fleet/Attach", &caller, why),
        CW_CALLER_JOB_WORKER);
    assert_string_equal(cw_access_job_of(&caller), "j1");
    /* Where there are no tokens, one that somebody has from elsewhere says nothing. */
    assert_int_equal(ask_names("cachew-admin", VISION, "/cachew.v1.Admin/Backup", &caller, why),
                     CW_CALLER_OPERATOR);
}

/* With tokens and TLS: a token that is shown counts, otherwise the certificate. */
static void test_both(void **state)
{
    struct cw_caller caller;
    struct cw_err err = {0};
    char why[512];
    (void)state;
    assert_int_equal(
        ask_names("audio.cachew-client", VISION, "/cachew.v1.Jobs/Attach", &caller, why),
        CW_CALLER_TENANT);
    assert_string_equal(cw_access_tenant_of(&caller), "vision");
    assert_int_equal(cw_access_check_fetch(&caller, "vision", &err), CW_E_DENIED);
    assert_int_equal(ask_names("audio.cachew-client", NULL, "/cachew.v1.Jobs/Attach", &caller, why),
                     CW_CALLER_CLIENT);
    assert_string_equal(cw_access_tenant_of(&caller), "audio");
    assert_int_equal(
        ask_names("audio.cachew-client", ROOT, "/cachew.v1.Admin/Backup", &caller, why),
        CW_CALLER_OPERATOR);
    assert_true(cw_access_sees_tenant(&caller, "vision"));
    assert_int_equal(cw_access_check_fetch(&caller, "vision", &err), CW_E_DENIED);
    assert_int_equal(cw_access_check_fetch(&caller, "", &err), CW_E_DENIED);
    assert_int_equal(cw_access_check_fetch(&caller, "audio", &err), 0);
    assert_int_equal(ask_names("audio.cachew-client cachew-admin", VISION, "/cachew.v1.Jobs/Attach",
                               &caller, why),
                     CW_CALLER_TENANT);
    assert_int_equal(cw_access_check_fetch(&caller, "vision", &err), 0);
    assert_int_equal(cw_access_check_fetch(NULL, "vision", &err), 0);
    assert_int_equal(ask_names("cachew-admin", VISION, "/cachew.v1.Admin/Backup", &caller, why),
                     -1);
    assert_non_null(strstr(why, "token that was shown is of a kind"));
    assert_int_equal(ask_names("cachew-admin", "wrong-token-0123456789", "/cachew.v1.Admin/Backup",
                               &caller, why),
                     -1);
    assert_non_null(strstr(why, "is not known here"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_other_methods),
        cmocka_unit_test(test_each_method_of_proto),
        cmocka_unit_test_setup_teardown(test_gate, begin, end),
        cmocka_unit_test_setup_teardown(test_worker_of_a_job, begin, end),
        cmocka_unit_test_setup_teardown(test_rotation, begin, end),
        cmocka_unit_test_setup_teardown(test_new_token_at_once, begin, end),
        cmocka_unit_test_setup_teardown(test_damaged_file, begin, end),
        cmocka_unit_test_setup_teardown(test_no_tokens, begin, end),
        cmocka_unit_test_setup_teardown(test_certificates, begin_tls, end_tls),
        cmocka_unit_test_setup_teardown(test_both, begin_both, end_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
