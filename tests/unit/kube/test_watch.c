/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and watches against a server that follows a script: each request is answered by the next
 * step, and the test looks at what was asked and at what was told. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "kube/field.h"
#include "kube/kube_watch.h"
#include "support/cm.h"
#include "support/http_server.h"

static const struct cw_kube_kind pods = {"", "v1", "pods"};

#define LIST(version, items)                                                                       \
    "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"" version "\"},\"items\":[" items   \
    "]}"
#define POD(name, uid, version)                                                                    \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"" uid                     \
    "\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(version)                                                                          \
    EVENT("BOOKMARK", "{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"" version "\"}}")
#define GONE "{\"kind\":\"Status\",\"reason\":\"Expired\",\"message\":\"too old\",\"code\":410}"

struct step {
    const char *asks; /* a part of the request's line */
    int status;       /* of a response as a whole; 0: a stream */
    const char *body;
    enum { ENDS, BREAKS, HANGS, SPLITS } how; /* SPLITS: byte by byte, then ends */
};
struct world {
    struct cw_loop *loop;
    struct cw_kube *kube;
    struct cw_kube_watch *watch;
    struct http_server server;
    const struct step *steps;
    size_t steps_n;
    atomic_size_t next;
    char wrong[512]; /* a request that the step did not expect */
    struct cw_str told;
    const char *until;  /* the loop is stopped when this was told */
    const char *relist; /* it is to list anew when this was told; NULL: never */
    int failures;
    char failure[1024];
};

static void answer(void *arg, struct http_exchange *x)
{
    struct world *w = arg;
    size_t i = atomic_fetch_add(&w->next, 1);
    if (i >= w->steps_n) {
        http_wait_closed(x);
        return;
    }
    const struct step *step = &w->steps[i];
    if (!strstr(x->text, step->asks)) {
        snprintf(w->wrong, sizeof(w->wrong), "step %zu: %.400s", i, x->text);
        x->last = true;
        return;
    }
    if (step->status) {
        http_respond(x, step->status, "", step->body);
        return;
    }
    http_send_head(x, 200, "Content-Type: application/json\r\n");
    for (const char *at = step->body; *at && step->how == SPLITS; at++)
        http_send_piece(x, at, 1);
    if (*step->body && step->how != SPLITS)
        http_send_piece(x, step->body, strlen(step->body));
    if (step->how == HANGS)
        http_wait_closed(x);
    else if (step->how != BREAKS)
        http_send_piece(x, "", 0);
    x->last = step->how == BREAKS;
}

static void relist(void *arg)
{
    cw_kube_watch_relist(((struct world *)arg)->watch);
}

static void look(struct world *w)
{
    if (w->relist && strstr(cw_str_text(&w->told), w->relist)) {
        w->relist = NULL;
        cw_loop_post(w->loop, relist, w);
    }
    if (strstr(cw_str_text(&w->told), w->until))
        cw_loop_stop(w->loop);
}

static void changed(void *arg, enum cw_kube_change change, const struct cw_kube_object *object,
                    void *before)
{
    struct world *w = arg;
    (void)before;
    cw_str_addf(&w->told, "%c%s@%s ", "+~-"[change], object -> key + 3, object -> version);
    look(w);
}

static void listed(void *arg)
{
    struct world *w = arg;
    cw_str_add(&w->told, "listed ");
    look(w);
}

static void failed(void *arg, const struct cw_err *err, int64_t retry_ms)
{
    struct world *w = arg;
    assert_true(err->code != CW_OK && err->msg[0]);
    snprintf(w->failure, sizeof(w->failure), "%s", err->msg);
    w->failures++;
    cw_str_addf(&w->told, "failed%s ", retry_ms >= 1000 ? "(later)" : "");
    look(w);
}

static void run(struct world *w, http_answer_fn *fn, int64_t silence_ms)
{
    w->loop = cw_loop_new();
    w->server.answer = fn;
    w->server.arg = w;
    http_server_start(&w->server, NULL, NULL, NULL);
    cw_autofree char *url = cw_mem_printf("http://127.0.0.1:%d", w->server.port);
    struct cw_kube_config config = {.server = url, .name_space = (char[]){"ns"}};
    struct cw_kube_options options = {.program = "test"};
    struct cw_kube_watch_options watch = {.target = {&pods, "ns", NULL, NULL},
                                          .labels = "app=a,b",
                                          .timeout_s = 7,
                                          .silence_ms = silence_ms,
                                          .retry_max_ms = 2};
    struct cw_kube_watch_events events = {{NULL, NULL, changed, w}, listed, failed, w};
    assert_int_equal(cw_kube_new(w->loop, &config, &options, &w->kube, NULL), CW_OK);
    w->watch = cw_kube_watch_new(w->kube, &watch, &events);
    cw_loop_run(w->loop);
    cw_kube_watch_free(w->watch);
    cw_kube_free(w->kube);
    cw_loop_free(w->loop);
    http_server_stop(&w->server);
}

/* Runs the script until something was told, and compares all that was. */
static void play(struct world *w, const struct step *steps, size_t n, const char *told)
{
    memset(w, 0, sizeof(*w));
    w->steps = steps;
    w->steps_n = n;
    w->until = strrchr(told, '|') ? strrchr(told, '|') + 1 : told;
    run(w, answer, 600000);
    if (w->wrong[0])
        fail_msg("%s", w->wrong);
    CW_STR_AUTO all = {0};
    for (; *told; told++)
        if (*told != '|')
            cw_str_add_char(&all, *told);
    assert_string_equal(cw_str_text(&w->told), cw_str_text(&all));
    cw_str_fini(&w->told);
}
#define PLAY(w, steps, told) play(w, steps, CW_ARRAY_LEN(steps), told)
#define FROM(version) "&resourceVersion=" version "&"
#define A_LIST "GET /api/v1/namespaces/ns/pods?labelSelector=app%3Da%2Cb&limit=500 HTTP"

static void watches_from_where_the_list_ends(void **state)
{
    (void)state;
    static struct world w;
    static const struct step steps[] = {
        {A_LIST, 200, LIST("10", POD("a", "1", "5")), ENDS},
        {"GET /api/v1/namespaces/ns/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=", 0,
         EVENT("ADDED", POD("b", "2", "11")) EVENT("MODIFIED", POD("a", "1", "12"))
             EVENT("DELETED", POD("b", "2", "13")) BOOKMARK("20") BOOKMARK("20"),
         SPLITS},
        {FROM("20") "labelSelector=app%3Da%2Cb HTTP", 0, EVENT("ADDED", POD("c", "3", "21")),
         BREAKS},
        {FROM("21"), 0, EVENT("ADDED", POD("d", "4", "22")), BREAKS},
        {FROM("22"), 0, EVENT("ADDED", POD("d", "4", "22")) EVENT("DELETED", POD("c", "3", "23")),
         HANGS},
    };
    PLAY(&w, steps, "+a@5 listed +b@11 ~a@12 -b@11 +c@21 failed +d@22 failed |-c@21 ");
}

/* The first watch says nothing; a later one does, unless that comes too late again. */
static void answer_silently(void *arg, struct http_exchange *x)
{
    struct world *w = arg;
    if (!strstr(x->text, "watch=1")) {
        http_respond(x, 200, "", LIST("10", ""));
        return;
    }
    http_send_head(x, 200, "");
    if (atomic_fetch_add(&w->next, 1) > 0)
        http_send_piece(x, EVENT("ADDED", POD("a", "1", "11")),
                        sizeof(EVENT("ADDED", POD("a", "1", "11"))) - 1);
    http_wait_closed(x);
}

static void begins_again_after_silence(void **state)
{
    (void)state;
    static struct world w;
    memset(&w, 0, sizeof(w));
    w.until = "+a@11 ";
    run(&w, answer_silently, 60);
    assert_string_equal(w.told.s, "listed +a@11 "); /* it is no failure */
    cw_str_fini(&w.told);
}

/* A server that was restored from a backup tells nothing of what it was asked for. */
static void lists_again_when_nothing_comes_after_a_break(void **state)
{
    (void)state;
    static struct world w;
    static const struct step steps[] = {
        {A_LIST, 200, LIST("10", POD("a", "1", "9")), ENDS},
        {FROM("10"), 0, "", BREAKS},
        {FROM("10"), 0, "", HANGS},
        {A_LIST, 200, LIST("3", POD("a", "1", "2")), ENDS},
        {FROM("3"), 0, EVENT("ADDED", POD("b", "2", "4")), HANGS},
    };
    memset(&w, 0, sizeof(w));
    w.steps = steps;
    w.steps_n = CW_ARRAY_LEN(steps);
    w.until = "+b@4 ";
    run(&w, answer, 60);
    assert_string_equal(w.wrong, "");
    assert_string_equal(w.told.s, "+a@9 listed failed ~a@2 listed +b@4 ");
    cw_str_fini(&w.told);
}

/* The watch goes on, and has not told that an object is gone. */
static void lists_again_when_it_is_asked_to(void **state)
{
    (void)state;
    static struct world w;
    static const struct step steps[] = {
        {A_LIST, 200, LIST("10", POD("a", "1", "5")), ENDS},
        {FROM("10"), 0, EVENT("ADDED", POD("b", "2", "11")), HANGS},
        {A_LIST, 200, LIST("20", POD("b", "2", "11")), ENDS},
        {FROM("20"), 0, EVENT("ADDED", POD("c", "3", "21")), HANGS},
    };
    memset(&w, 0, sizeof(w));
    w.steps = steps;
    w.steps_n = CW_ARRAY_LEN(steps);
    w.relist = "+b@11 ";
    w.until = "+c@21 ";
    run(&w, answer, 600000);
    assert_string_equal(w.wrong, "");
    assert_string_equal(w.told.s, "+a@5 listed +b@11 -a@5 listed +c@21 ");
    assert_int_equal(w.failures, 0);
    cw_str_fini(&w.told);
}

static void lists_again_when_it_must(void **state)
{
    (void)state;
    static struct world w;
    static const struct step steps[] = {
        {A_LIST, 200, LIST("10", POD("a", "1", "5")), ENDS},
        {FROM("10"), 410, GONE, ENDS}, /* one form */
        {A_LIST, 200, LIST("20", POD("a", "1", "15") "," POD("b", "2", "16")), ENDS},
        {FROM("20"), 0, EVENT("ERROR", GONE), ENDS}, /* the other */
        {A_LIST, 200, LIST("30", POD("b", "2", "16")), ENDS},
        {FROM("30"), 0, EVENT("ADDED", POD("a", "1", "15")), HANGS}, /* it goes back */
        {A_LIST, 200, LIST("31", POD("b", "2", "16")), ENDS},
        {FROM("31"), 0, EVENT("ADDED", POD("c", "3", "32")), HANGS},
    };
    PLAY(&w, steps, "+a@5 listed ~a@15 +b@16 listed failed -a@15 listed failed listed |+c@32 ");
    assert_non_null(strstr(w.failure, "an event of ns/a goes back to version 15"));
}

static void tries_again(void **state)
{
    (void)state;
    static struct world w;
    static const struct step steps[] = {
        {A_LIST, 500, "", ENDS},
        {A_LIST, 200, "<html>", ENDS},
        {A_LIST, 200, LIST("1", "{}"), ENDS}, /* an object without a name */
        {A_LIST, 200, LIST("10", POD("a", "1", "5")), ENDS},
        {FROM("10"), 0, "", ENDS}, /* once is nothing */
        {FROM("10"), 0, "", ENDS},
        {FROM("10"), 0, "no json\n", HANGS},
        {FROM("10"), 0, "{\"type\":\"ADDED\"}\n", HANGS}, /* the third: it lists */
        {A_LIST, 200, LIST("11", POD("a", "1", "5")), ENDS},
        {FROM("11"), 0, EVENT("ADDED", "{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}"), HANGS},
        {A_LIST, 200, LIST("12", POD("a", "1", "5")), ENDS},
        {FROM("12"), 0, EVENT("ADDED", "{\"metadata\":{\"name\":\"n\"}}"), HANGS},
        {A_LIST, 200, LIST("13", POD("a", "1", "5")), ENDS},
        {FROM("13"), 0, EVENT("DELETED", POD("a", "1", "14")), HANGS},
    };
    PLAY(&w, steps,
         "failed failed failed +a@5 listed failed failed failed listed failed listed failed listed "
         "|-a@5 ");
}

static void waits_as_it_was_asked_to(void **state)
{
    (void)state;
    static struct world w;
    static const struct step steps[] = {
        {A_LIST, 429,
         "{\"kind\":\"Status\",\"reason\":\"TooManyRequests\",\"details\":{\"retryAfterSeconds\":1}"
         "}",
         ENDS},
        {A_LIST, 200, LIST("10", ""), ENDS},
    };
    PLAY(&w, steps, "failed(later) |listed ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watches_from_where_the_list_ends),
        cmocka_unit_test(begins_again_after_silence),
        cmocka_unit_test(lists_again_when_nothing_comes_after_a_break),
        cmocka_unit_test(lists_again_when_it_is_asked_to),
        cmocka_unit_test(lists_again_when_it_must),
        cmocka_unit_test(tries_again),
        cmocka_unit_test(waits_as_it_was_asked_to),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
