/* SPDX-License-Identifier: Apache-2.0 */
/* The page for browsers: an event has only the rows that have changed, and only names of this host
 * are its own. */
#include <string.h>

#include "dispatcher/web/web_int.h"
#include "support/cm.h"

static char ready[] = "ready", draining[] = "draining", running[] = "running";
static char first_id[] = "j1", second_id[] = "j2", kind[] = "autoscale";

struct fleet {
    Cachew__V1__InfoReply info;
    Cachew__V1__ListJobsReply jobs;
    Cachew__V1__ListWorkersReply workers;
    Cachew__V1__ListDecisionsReply decisions;
    Cachew__V1__CacheDescribeReply caches;
    Cachew__V1__JobRow job[2], *job_list[2];
    Cachew__V1__WorkerRow worker[2], *worker_list[2];
    Cachew__V1__Decision decision, *decision_list[1];
    struct cw_web_rows rows;
    struct cw_str text;
};

static void begin(struct fleet *f)
{
    *f = (struct fleet){.info = CACHEW__V1__INFO_REPLY__INIT,
                        .jobs = CACHEW__V1__LIST_JOBS_REPLY__INIT,
                        .workers = CACHEW__V1__LIST_WORKERS_REPLY__INIT,
                        .decisions = CACHEW__V1__LIST_DECISIONS_REPLY__INIT,
                        .caches = CACHEW__V1__CACHE_DESCRIBE_REPLY__INIT,
                        .decision = CACHEW__V1__DECISION__INIT};
    for (size_t i = 0; i < 2; i++) {
        cachew__v1__job_row__init(&f->job[i]);
        cachew__v1__worker_row__init(&f->worker[i]);
        f->job[i].job_id = i == 0 ? first_id : second_id;
        f->job[i].state = running;
        f->worker[i].worker_id = i + 1;
        f->worker[i].state = ready;
        f->job_list[i] = &f->job[i];
        f->worker_list[i] = &f->worker[i];
    }
    f->decision.id = 7;
    f->decision.kind = kind;
    f->decision_list[0] = &f->decision;
    f->jobs.n_jobs = f->workers.n_workers = 2;
    f->jobs.jobs = f->job_list;
    f->workers.workers = f->worker_list;
    f->decisions.decisions = f->decision_list;
}

static const char *look(struct fleet *f)
{
    const struct cw_web_look look = {&f->info, &f->jobs, &f->workers, &f->decisions, &f->caches};
    cw_str_clear(&f->text);
    cw_web_rows_print(&f->rows, &look, &f->text);
    return cw_str_text(&f->text);
}

static void end(struct fleet *f)
{
    cw_web_rows_fini(&f->rows);
    cw_str_fini(&f->text);
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static void only_what_has_changed_is_sent(void **state)
{
    (void)state;
    static struct fleet f;
    begin(&f);
    f.decisions.n_decisions = 1;
    const char *text = look(&f);
    assert_true(has(text, "\"id\":\"j1\"") && has(text, "\"id\":\"j2\""));
    assert_true(has(text, "\"id\":\"0000000000000001\"") && has(text, "\"caches\":[]"));
    assert_true(has(text, "\"decisions\":[{\"id\":7,") && has(text, "\"gone\":[]}"));
    f.decisions.n_decisions = 0;
    text = look(&f);
    assert_true(
        has(text, "\"jobs\":[],\"workers\":[],\"caches\":[],\"decisions\":[],\"gone\":[]}"));
    f.job[1].consumed = 5;
    f.worker[0].state = draining;
    text = look(&f);
    assert_true(has(text, "\"jobs\":[{\"id\":\"j2\",") && !has(text, "\"id\":\"j1\""));
    assert_true(has(text, "\"id\":\"0000000000000001\"") &&
                !has(text, "\"id\":\"0000000000000002\""));
    end(&f);
}

static void what_is_gone_is_said_once(void **state)
{
    (void)state;
    static struct fleet f;
    begin(&f);
    (void)look(&f);
    f.jobs.n_jobs = 1;
    f.workers.n_workers = 0;
    const char *text = look(&f);
    assert_true(has(text, "\"j"
                          "j2\"") &&
                has(text, "\"w0000000000000001\""));
    assert_false(has(text, "\"jj1\""));
    assert_true(has(look(&f), "\"gone\":[]}"));
    f.jobs.n_jobs = 2; /* It comes back: it is news again. */
    assert_true(has(look(&f), "\"jobs\":[{\"id\":\"j2\","));
    end(&f);
}

/* Time alone is no news, but a worker that has become silent is. */
static void time_is_no_news(void **state)
{
    (void)state;
    static struct fleet f;
    begin(&f);
    f.worker[0].age_ms = 61000;
    (void)look(&f);
    f.worker[0].age_ms = 62000;
    f.worker[0].silent_ms = 900;
    assert_true(has(look(&f), "\"workers\":[]"));
    f.worker[0].silent_ms = 4000;
    assert_true(has(look(&f), "\"silent_ms\":4000"));
    end(&f);
}

static void names_of_this_host_are_own(void **state)
{
    (void)state;
    static struct cw_dispatcher d;
    static const char *const own[] = {"127.0.0.1",    "127.0.0.1:80",  "[::1]:9464",     "[::1]",
                                      "LOCALHOST:80", "10.0.0.7:9464", "Known.Example:1"};
    static const char *const foreign[] = {"",
                                          ":80",
                                          "attacker.example",
                                          "127.0.0.1.attacker.example:80",
                                          "localhost.attacker.example",
                                          "known.example.attacker",
                                          "[::1",
                                          "[localhost.x]:80",
                                          "1.2.3:80"};
    d.options.web_hosts.v[0] = "known.example";
    d.options.web_hosts.n = 1;
    for (size_t i = 0; i < CW_ARRAY_LEN(own); i++)
        if (!cw_web_host_is_own(&d, own[i]))
            fail_msg("%s", own[i]);
    for (size_t i = 0; i < CW_ARRAY_LEN(foreign); i++)
        if (cw_web_host_is_own(&d, foreign[i]))
            fail_msg("%s", foreign[i]);
    char much[600];
    memset(much, 'a', sizeof(much) - 1);
    much[sizeof(much) - 1] = '\0';
    assert_false(cw_web_host_is_own(&d, much));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_has_changed_is_sent),
        cmocka_unit_test(what_is_gone_is_said_once),
        cmocka_unit_test(time_is_no_news),
        cmocka_unit_test(names_of_this_host_are_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
