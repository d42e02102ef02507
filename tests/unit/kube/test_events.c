/* SPDX-License-Identifier: Apache-2.0 */
/* Events: the first is an object, the same again is a series, and those that nobody may write are
 * dropped. */
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/mem.h"
#include "kube/kube_events.h"
#include "support/cm.h"
#include "support/http_server.h"

struct world {
    struct cw_loop *loop;
    struct cw_kube *kube;
    struct cw_kube_events *events;
    struct http_server server;
    struct cw_str seen; /* by the server's threads */
    atomic_int answers; /* how many the loop has been told of */
    int wanted, failures;
    bool refuses;
};

static void answer(void *arg, struct http_exchange *x)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct world *w = arg;
    pthread_mutex_lock(&lock); /* each connection has a thread */
    cw_str_addf(&w->seen, "%.*s %s\n", (int)strcspn(x->text, " "), x->text, x->body);
    pthread_mutex_unlock(&lock);
    if (w->refuses)
        http_respond(x, 403, "", "{\"kind\":\"Status\",\"reason\":\"Forbidden\"}");
    else
        http_respond(x, 201, "", "{\"kind\":\"Event\"}");
}

static void answered(void *arg, enum cw_kube_verb verb, int http)
{
    struct world *w = arg;
    assert_true(verb == CW_KUBE_CREATE || verb == CW_KUBE_PATCH);
    assert_true(http > 0);
    if (atomic_fetch_add(&w->answers, 1) + 1 >= w->wanted)
        cw_loop_stop(w->loop);
}

static void failed(void *arg, const struct cw_err *err)
{
    assert_int_equal(err->code, CW_E_DENIED);
    ((struct world *)arg)->failures++;
}

static void begin(struct world *w)
{
    memset(w, 0, sizeof(*w));
    w->loop = cw_loop_new();
    w->server.answer = answer;
    w->server.arg = w;
    http_server_start(&w->server, NULL, NULL, NULL);
    cw_autofree char *url = cw_mem_printf("http://127.0.0.1:%d", w->server.port);
    struct cw_kube_config config = {.server = url, .name_space = (char[]){"ns"}};
    struct cw_kube_options options = {.program = "test", .answered = answered, .arg = w};
    assert_int_equal(cw_kube_new(w->loop, &config, &options, &w->kube, NULL), CW_OK);
    w->events = cw_kube_events_new(w->kube, "pod-1", failed, w);
}

static void end(struct world *w)
{
    cw_kube_events_free(w->events);
    cw_kube_free(w->kube);
    cw_loop_free(w->loop);
    http_server_stop(&w->server);
    cw_str_fini(&w->seen);
}

static void tell(struct world *w, const char *reason, const char *note)
{
    const struct cw_kube_event event = {
        .regarding = {"apps/v1", "Deployment", "ns", "d", "u-1"},
        .reason = reason,
        .action = "Scale",
        .note = note,
    };
    cw_kube_events_tell(w->events, &event);
}

static void run(struct world *w, int answers)
{
    w->wanted = answers;
    cw_loop_run(w->loop);
}

static void the_same_is_a_series(void **state)
{
    (void)state;
    static struct world w;
    begin(&w);
    tell(&w, "Out", "to \"2\"");
    tell(&w, "Out", "to \"2\""); /* these gather */
    tell(&w, "Out", "to \"2\"");
    run(&w, 2);
    const char *patch = strstr(w.seen.s, "PATCH ");
    assert_non_null(patch);
    assert_true(cw_str_starts(w.seen.s,
                              "POST {\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\","
                              "\"metadata\":{\"namespace\":\"ns\",\"name\":\"d."));
    assert_non_null(strstr(w.seen.s,
                           "\"reportingController\":\"cachew-test\",\"reportingInstance\":"
                           "\"pod-1\",\"action\":\"Scale\",\"reason\":\"Out\",\"type\":"
                           "\"Normal\",\"note\":\"to \\\"2\\\"\",\"regarding\":{\"apiVersion\":"
                           "\"apps/v1\",\"kind\":\"Deployment\",\"namespace\":\"ns\",\"name\":"
                           "\"d\",\"uid\":\"u-1\"}}"));
    assert_true(cw_str_starts(patch, "PATCH {\"series\":{\"count\":3,\"lastObservedTime\":\"2"));
    cw_str_clear(&w.seen);
    tell(&w, "Out", "to \"3\"");
    run(&w, 3);
    assert_true(cw_str_starts(w.seen.s, "POST "));
    struct cw_kube_events_counts counts = cw_kube_events_counts(w.events);
    assert_int_equal(counts.told, 4);
    assert_int_equal(counts.made, 2);
    assert_int_equal(counts.counted, 1);
    assert_int_equal(counts.dropped, 0);
    tell(&w, "Out", "to \"4\"");
    end(&w); /* drops it */
}

static void who_may_not_is_told_once(void **state)
{
    (void)state;
    static struct world w;
    begin(&w);
    w.refuses = true;
    tell(&w, "A", "x");
    run(&w, 1);
    tell(&w, "A", "x");
    tell(&w, "B", "x");
    run(&w, 3);
    tell(&w, "C", "x"); /* the callback of the last answer has run by the next one's */
    run(&w, 4);
    assert_int_equal(w.failures, 1);
    assert_null(strstr(w.seen.s, "PATCH"));
    end(&w);
}

static void there_is_a_limit(void **state)
{
    (void)state;
    static struct world w;
    char note[] = "note 0000";
    begin(&w);
    for (int i = 0; i < 60; i++) {
        note[7] = (char)('0' + i / 10);
        note[8] = (char)('0' + i % 10);
        tell(&w, "A", note);
    }
    run(&w, CW_KUBE_EVENTS_BURST);
    struct cw_kube_events_counts counts = cw_kube_events_counts(w.events);
    assert_true(counts.made >= CW_KUBE_EVENTS_BURST);
    assert_int_equal(counts.made + counts.dropped, 60);
    end(&w);
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    static struct world w;
    char note[2002];
    begin(&w);
    for (size_t i = 0; i + 1 < sizeof(note); i++)
        note[i] = i % 2 ? (char)0xa4 : (char)0xc3;
    note[0] = 'x';
    note[1] = 'y';
    note[2] = 'z';
    note[3] = 'z';
    note[sizeof(note) - 2] = '\0';
    tell(&w, "A", note);
    run(&w, 1);
    assert_null(strstr(w.seen.s, "\xef\xbf\xbd")); /* not within a character */
    assert_true(w.seen.len < 1600);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_a_series),
        cmocka_unit_test(who_may_not_is_told_once),
        cmocka_unit_test(there_is_a_limit),
        cmocka_unit_test(long_texts_are_cut),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
