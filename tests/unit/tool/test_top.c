/* SPDX-License-Identifier: Apache-2.0 */
/* What `cachew top` shows of a fixed fleet: it fits the screen whatever there is, and says what
 * has no room. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client/tool/view/top.h"
#include "conf/value.h"
#include "support/cm.h"

#define MANY 40

static char empty[] = "", version[] = "1.2.3", none[] = "none";
static char ready[] = "ready", draining[] = "draining", running[] = "running",
            finished[] = "finished", failed[] = "failed", preparing[] = "preparing";
static char address[] = "10.0.0.1:7171", job_id[] = "j0123456789abcdef",
            strange[] = "Gr\xc3\xb6\xc3\x9f"
                        "e\x1b[2J\tx and more than there is room for",
            oops[] = "oops";
static char
    kind[] = "autoscale",
    policy[] = "auto", choice[] = "2 workers",
    reason[] = "the trainer waits half of its time, so that this sentence is too long for a screen";
static char tenant[] = "team-a";

struct fleet {
    Cachew__V1__InfoReply info;
    Cachew__V1__ListJobsReply jobs;
    Cachew__V1__ListWorkersReply workers;
    Cachew__V1__ListDecisionsReply decisions;
    Cachew__V1__JobRow job[MANY], *job_list[MANY];
    Cachew__V1__WorkerRow worker[MANY], *worker_list[MANY];
    Cachew__V1__Decision decision[MANY], *decision_list[MANY];
    Cachew__V1__TrainerWindow window;
    char *worker_jobs[1];
    struct tool_top top;
};

static void make(struct fleet *f, size_t jobs, size_t workers, size_t decisions)
{
    *f = (struct fleet){.info = CACHEW__V1__INFO_REPLY__INIT,
                        .jobs = CACHEW__V1__LIST_JOBS_REPLY__INIT,
                        .workers = CACHEW__V1__LIST_WORKERS_REPLY__INIT,
                        .decisions = CACHEW__V1__LIST_DECISIONS_REPLY__INIT,
                        .window = CACHEW__V1__TRAINER_WINDOW__INIT,
                        .worker_jobs = {job_id}};
    f->info.version = version;
    f->info.uptime_ms = 3723000;
    f->window.seconds = 2;
    f->window.batches = 100;
    f->window.wait_share = 0.25;
    f->window.step_s = 0.0155;
    f->window.queue = 3.5;
    for (size_t i = 0; i < MANY; i++) {
        cachew__v1__job_row__init(&f->job[i]);
        cachew__v1__worker_row__init(&f->worker[i]);
        cachew__v1__decision__init(&f->decision[i]);
        Cachew__V1__JobRow *job = f->job_list[i] = &f->job[i];
        job->job_id = job_id;
        job->name = i == 0 ? strange : empty;
        job->state = running;
        job->epoch = 3;
        job->epochs = 4;
        job->epoch_done = 0.5;
        job->window = &f->window;
        job->wanted = 3;
        job->assigned = 4;
        job->local = 2;
        job->hits = 10;
        job->hit_share = 0.5;
        job->tenant = tenant;
        Cachew__V1__WorkerRow *worker = f->worker_list[i] = &f->worker[i];
        worker->address = address;
        worker->state = i == 1 ? draining : ready;
        worker->threads = 2;
        worker->cpu_share = 0.5;
        worker->cpu_cores = 1;
        worker->budget_bytes = 1000000000;
        worker->budget_used = 500000;
        worker->jobs = f->worker_jobs;
        worker->n_jobs = 1;
        Cachew__V1__Decision *decision = f->decision_list[i] = &f->decision[i];
        decision->job_id = decision->job_name = i == 0 ? empty : job_id;
        decision->kind = kind;
        decision->policy = policy;
        decision->choice = choice;
        decision->reason = reason;
    }
    f->jobs.jobs = f->job_list;
    f->jobs.n_jobs = jobs;
    f->workers.workers = f->worker_list;
    f->workers.n_workers = workers;
    f->workers.provisioner = none;
    f->workers.starting = 1;
    f->decisions.decisions = f->decision_list;
    f->decisions.n_decisions = decisions;
    f->top = (struct tool_top){"127.0.0.1:7070", &f->info, &f->jobs, &f->workers,
                               &f->decisions,    1000,     NULL};
}

static size_t count_lines(const char *text, size_t columns)
{
    size_t lines = 0, width = 0;
    for (; *text; text++) {
        if (*text == '\n') {
            assert_true(width <= columns);
            lines++;
            width = 0;
        } else {
            assert_true((unsigned char)*text >= 0x20 || *text == TOOL_TOP_HEAD);
            width += (*text & 0xc0) != 0x80 && *text != TOOL_TOP_HEAD;
        }
    }
    assert_int_equal(width, 0);
    return lines;
}

static bool has(const struct cw_str *text, const char *part)
{
    return strstr(cw_str_text(text), part) != NULL;
}

static void shows_all_of_a_few(void **state)
{
    (void)state;
    static struct fleet f;
    CW_STR_AUTO text = {0};
    make(&f, 2, 2, 2);
    f.job[1].state = finished;
    f.job[1].window = NULL;
    tool_top_text(&f.top, 80, 24, false, &text);
    assert_int_equal(count_lines(cw_str_text(&text), 80), 2 + 3 * 2 + 2 + 2 + 2);
    assert_true(has(&text, "cachew 1.2.3  127.0.0.1:7070  up 1:02:03  2 jobs"));
    assert_true(has(
        &text, "workers: 1 ready, 1 starting, 1 draining; thr 4; CPU 2.0; 976.6 KiB of 1.9 GiB\n"));
    assert_true(has(
        &text, "JOB         STATE    EPOCH DONE BATCH/S WAIT    STEP QUEUE WORKERS HITS TENANT\n"));
    assert_true(
        has(&text, "Gr\xc3\xb6\xc3\x9f"
                   "e?[2J?x running    3/4  88%    50.0  25%   16 ms   3.5   2/3+2  50% team-a\n"));
    assert_true(has(
        &text, "j0123456789 done       3/4 100%       -    -       -     -   2/3+2  50% team-a\n"));
    assert_true(has(&text, "10.0.0.1:7171         draining   2  50%    -     -  488.3 KiB      0"));
    assert_true(has(&text, " autoscale auto: 2 workers: the trainer waits half of its time"));
}

static void fits_any_screen(void **state)
{
    (void)state;
    static struct fleet f;
    static const size_t sizes[][2] = {{80, 24}, {80, 50},   {132, 43}, {40, 24},
                                      {20, 12}, {200, 100}, {80, 9},   {1, 9}};
    make(&f, MANY, MANY, 10);
    for (size_t i = 0; i < CW_ARRAY_LEN(sizes); i++) {
        CW_STR_AUTO text = {0};
        tool_top_text(&f.top, sizes[i][0], sizes[i][1], true, &text);
        /* one is left for the state */
        assert_true(count_lines(cw_str_text(&text), sizes[i][0]) <= sizes[i][1] - 1);
    }
    CW_STR_AUTO text = {0};
    tool_top_text(&f.top, 80, 24, true, &text);
    assert_true(has(&text, "\x01"
                           "JOB "));
    assert_true(has(&text, "... and 36 more jobs\n"));
    assert_true(has(&text, "... and 36 more workers\n"));
    cw_str_clear(&text);
    tool_top_text(&f.top, TOOL_TOP_WIDE, 0, false, &text);
    assert_false(has(&text, "... and"));
    assert_int_equal(count_lines(cw_str_text(&text), TOOL_TOP_WIDE), 2 + 3 + 3 + MANY + MANY + 10);
}

/* Of a job with several consumers a line says which of them wait, the one that waits most first. */
static void says_which_consumers_wait(void **state)
{
    (void)state;
    static struct fleet f;
    static float waits[MANY] = {0.25F, -1, 0.934F, 0.25F};
    CW_STR_AUTO text = {0};
    make(&f, 2, 0, 0);
    f.job[0].name = empty;
    f.job[0].consumer_waits = waits;
    f.job[0].n_consumer_waits = 4;
    f.job[1].consumer_waits = waits;
    f.job[1].n_consumer_waits = 4;
    f.job[1].state = finished; /* nobody waits any more */
    tool_top_text(&f.top, 80, 24, false, &text);
    assert_int_equal(count_lines(cw_str_text(&text), 80), 2 + 3 * 2 + 2 + 1);
    assert_true(has(&text, "team-a\n  consumers wait: 2 93%, 0 25%, 3 25%, 1 -\nj0123456789 done"));
    cw_str_clear(&text);
    f.job[0].n_consumer_waits = MANY;
    tool_top_text(&f.top, 40, 24, false, &text);
    assert_true(has(&text, "\n  consumers wait: 2 93%, 0 25%, 3 25%\n"));
    /* The line goes before the job does. */
    make(&f, MANY, 0, 0);
    for (size_t i = 0; i < MANY; i++) {
        f.job[i].consumer_waits = waits;
        f.job[i].n_consumer_waits = 4;
    }
    for (size_t rows = 9; rows < 30; rows++) {
        cw_str_clear(&text);
        tool_top_text(&f.top, 80, rows, false, &text);
        assert_true(count_lines(cw_str_text(&text), 80) <= rows - 1);
    }
    assert_true(
        has(&text, "... and 30 more jobs\n")); /* 10 of 40 in 20 lines, the last of which says it */
    cw_str_clear(&text);
    tool_top_text(&f.top, 80, 0, false, &text);
    assert_int_equal(count_lines(cw_str_text(&text), 80), 2 + 3 * 2 + 2 * MANY);
}

/* Those at work come first; of the others the youngest. */
static void jobs_at_work_come_first(void **state)
{
    (void)state;
    static struct fleet f;
    CW_STR_AUTO text = {0};
    make(&f, 30, 0, 0);
    for (size_t i = 0; i < 30; i++)
        f.job[i].state = finished;
    f.job[28].state = failed;
    f.job[28].error = oops;
    f.job[20].state = preparing;
    tool_top_text(&f.top, 80, 24, false, &text);
    const char *first = strstr(cw_str_text(&text), "prepare "),
               *done = strstr(cw_str_text(&text), "done "),
               *bad = strstr(cw_str_text(&text), "failed ");
    assert_true(first && done && bad && first < done && done < bad);
    assert_true(has(&text, "... and 16 more jobs\n"));
}

static void says_that_the_connection_is_lost(void **state)
{
    (void)state;
    static struct fleet f;
    CW_STR_AUTO text = {0};
    make(&f, 1, 1, 1);
    f.top.lost = "nobody there";
    tool_top_text(&f.top, 80, 24, true, &text);
    assert_true(has(&text, "connection lost, trying again: nobody there\n"));
    assert_true(has(&text, "running"));
    cw_str_clear(&text);
    tool_top_text(&(struct tool_top){.address = "x", .lost = "nobody there"}, 80, 24, true, &text);
    assert_string_equal(cw_str_text(&text), "connection lost, trying again: nobody there\n");
}

static void json_is_json(void **state)
{
    (void)state;
    static struct fleet f;
    static float waits[] = {0.25F, -1};
    make(&f, MANY, MANY, 10);
    f.job[1].consumer_waits = waits;
    f.job[1].n_consumer_waits = 2;
    for (int lost = 0; lost < 2; lost++) {
        CW_STR_AUTO text = {0};
        struct cw_value value = {0};
        struct cw_err err = {0};
        f.top.lost = lost ? "a \"reason\"" : NULL;
        tool_top_json(&f.top, &text);
        if (cw_value_parse(cw_str_text(&text), text.len, "top", &value, &err) != 0)
            fail_msg("%s: %s", err.msg, cw_str_text(&text));
        assert_true((cw_value_get(&value, "jobs") == NULL) == (lost == 1));
        assert_true((cw_value_get(&value, "error") == NULL) == (lost == 0));
        if (!lost) {
            assert_int_equal(cw_value_get(&value, "jobs")->n, MANY);
            assert_non_null(strstr(cw_str_text(&text), "\"consumer_waits\":[],"));
            assert_non_null(strstr(cw_str_text(&text), "\"consumer_waits\":[0.2500,null],"));
            assert_string_equal(cw_value_get(&cw_value_get(&value, "jobs")->items[0], "name")->s,
                                strange);
            assert_int_equal(cw_value_get(cw_value_get(&value, "fleet"), "threads")->i, 2 * MANY);
        }
        cw_value_fini(&value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_all_of_a_few),
        cmocka_unit_test(fits_any_screen),
        cmocka_unit_test(says_which_consumers_wait),
        cmocka_unit_test(jobs_at_work_come_first),
        cmocka_unit_test(says_that_the_connection_is_lost),
        cmocka_unit_test(json_is_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
