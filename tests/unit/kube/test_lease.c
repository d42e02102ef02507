/* SPDX-License-Identifier: Apache-2.0 */
/* Electing a leader, against a server that keeps one Lease. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "kube/field.h"
#include "kube/kube_lease.h"
#include "kube/lease_record.h"
#include "support/cm.h"
#include "support/http_server.h"

/* ---- the server ---- */

struct lease_server {
    struct http_server http;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char object[4096]; /* ""; there is none */
    int version;
    bool ended, hangs, lies; /* hangs: writes are not answered; lies: without a version */
    int writes;
};

static void set_object(struct lease_server *s, const char *holder, int duration_s)
{
    s->version++;
    snprintf(
        s->object, sizeof(s->object),
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"labels\":{"
        "\"keep\":\"me\"},\"managedFields\":[1],\"name\":\"n\",\"namespace\":\"ns\","
        "\"resourceVersion\":\"%d\",\"uid\":\"u\"},\"spec\":{\"holderIdentity\":\"%s\","
        "\"leaseDurationSeconds\":%d,\"leaseTransitions\":3}}",
        s->version, holder, duration_s);
    pthread_cond_broadcast(&s->changed);
}

static void serve_watch(struct lease_server *s, struct http_exchange *x)
{
    const char *from = strstr(x->text, "resourceVersion=");
    int seen = from ? (int)strtol(from + 16, NULL, 10) : 0;
    char line[5000];
    http_send_head(x, 200, "");
    while (!s->ended) {
        if (s->version == seen) {
            pthread_cond_wait(&s->changed, &s->lock);
            continue;
        }
        seen = s->version;
        int n = snprintf(line, sizeof(line), "{\"type\":\"MODIFIED\",\"object\":%s}\n", s->object);
        if (s->object[0])
            http_send_piece(x, line, (size_t)n);
    }
    x->last = true;
}

static void serve_list(const struct lease_server *s, struct http_exchange *x)
{
    char body[5000];
    snprintf(body, sizeof(body),
             "{\"kind\":\"LeaseList\",\"metadata\":{\"resourceVersion\":\"%d\"},\"items\":[%s]}",
             s->version, s->object);
    http_respond(x, 200, "", body);
}

/* Takes the body as the object, with the next version. */
static void store(struct lease_server *s, const char *body)
{
    struct cw_value v = {0};
    CW_STR_AUTO text = {0};
    char version[16];
    assert_int_equal(cw_value_parse(body, strlen(body), NULL, &v, NULL), CW_OK);
    snprintf(version, sizeof(version), "%d", ++s->version);
    for (size_t i = 0; i < v.n; i++)
        if (cw_str_eq(v.keys[i], "metadata")) {
            cw_value_set_str(cw_value_member(&v.items[i], "uid"), "u");
            cw_value_set_str(cw_value_member(&v.items[i], "resourceVersion"), version);
        }
    cw_value_print(&v, &text);
    cw_value_fini(&v);
    snprintf(s->object, sizeof(s->object), "%s", text.s);
    pthread_cond_broadcast(&s->changed);
}

static void serve_write(struct lease_server *s, struct http_exchange *x)
{
    bool creates = cw_str_starts(x->text, "POST ");
    char version[48];
    s->writes++;
    snprintf(version, sizeof(version), "\"resourceVersion\":\"%d\"", s->version);
    if (s->hangs) {
        pthread_mutex_unlock(&s->lock);
        http_wait_closed(x);
        pthread_mutex_lock(&s->lock);
    } else if (creates && s->object[0]) {
        http_respond(x, 409, "", "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\"}");
    } else if (!creates && !s->object[0]) {
        http_respond(x, 404, "", "{\"kind\":\"Status\",\"reason\":\"NotFound\"}");
    } else if (!creates && !strstr(x->body, version)) {
        http_respond(x, 409, "", "{\"kind\":\"Status\",\"reason\":\"Conflict\"}");
    } else {
        store(s, x->body);
        http_respond(x, 200, "", s->lies ? "{\"kind\":\"Lease\",\"metadata\":{}}" : s->object);
    }
}

static void answer(void *arg, struct http_exchange *x)
{
    struct lease_server *s = arg;
    pthread_mutex_lock(&s->lock);
    if (strstr(x->text, "watch=1"))
        serve_watch(s, x);
    else if (cw_str_starts(x->text, "GET /apis/coordination.k8s.io/v1/namespaces/ns/leases/n "))
        http_respond(x, s->object[0] ? 200 : 404, "",
                     s->object[0] ? s->object : "{\"kind\":\"Status\",\"reason\":\"NotFound\"}");
    else if (cw_str_starts(x->text, "GET "))
        serve_list(s, x);
    else
        serve_write(s, x);
    pthread_mutex_unlock(&s->lock);
}

/* ---- those who want to lead ---- */

struct world {
    struct cw_loop *loop;
    struct lease_server server;
    struct one {
        struct world *w;
        struct cw_kube *kube;
        struct cw_kube_lease *lease;
        const char *name;
    } a, b;
    struct cw_str told;
    const char *until;
};

static void tell(struct one *one, const char *what, const char *more)
{
    struct world *w = one->w;
    cw_str_addf(&w->told, "%s%s%s ", one->name, what, more);
    if (w->until && strstr(w->told.s, w->until))
        cw_loop_stop(w->loop);
}

static void taken(void *arg)
{
    struct one *one = arg;
    assert_true(cw_kube_lease_holds(one->lease));
    tell(one, "+", "");
}

static void lost(void *arg, const struct cw_err *why)
{
    struct one *one = arg;
    assert_false(cw_kube_lease_holds(one->lease));
    tell(one, "-", strstr(why->msg, "ns/n ") + 5);
}

static void held(void *arg, const char *holder)
{
    tell(arg, "=", holder);
}

static void released(void *arg)
{
    tell(arg, "released", "");
}

static void join(struct world *w, struct one *one, const char *name, int64_t duration_ms)
{
    cw_autofree char *url = cw_mem_printf("http://127.0.0.1:%d", w->server.http.port);
    struct cw_kube_config config = {.server = url, .name_space = (char[]){"ns"}};
    struct cw_kube_options options = {.program = "test"};
    struct cw_kube_lease_options lease = {.name = "n", .identity = name};
    struct cw_kube_lease_events events = {taken, lost, held, NULL, one};
    if (duration_ms) {
        lease.duration_ms = duration_ms;
        lease.give_up_ms = duration_ms / 2;
        lease.renew_ms = duration_ms / 10;
    }
    *one = (struct one){.w = w, .name = name};
    assert_int_equal(cw_kube_new(w->loop, &config, &options, &one->kube, NULL), CW_OK);
    assert_int_equal(cw_kube_lease_new(one->kube, &lease, &events, &one->lease, NULL), CW_OK);
}

static void leave(struct one *one)
{
    cw_kube_lease_free(one->lease);
    cw_kube_free(one->kube);
    one->lease = NULL;
    one->kube = NULL;
}

static void begin(struct world *w)
{
    memset(w, 0, sizeof(*w));
    pthread_mutex_init(&w->server.lock, NULL);
    pthread_cond_init(&w->server.changed, NULL);
    w->server.version = 1;
    w->server.http.answer = answer;
    w->server.http.arg = &w->server;
    w->loop = cw_loop_new();
    http_server_start(&w->server.http, NULL, NULL, NULL);
}

static void end(struct world *w)
{
    leave(&w->a);
    leave(&w->b);
    cw_loop_free(w->loop);
    pthread_mutex_lock(&w->server.lock);
    w->server.ended = true;
    pthread_cond_broadcast(&w->server.changed);
    pthread_mutex_unlock(&w->server.lock);
    http_server_stop(&w->server.http);
    cw_str_fini(&w->told);
}

static void run_until(struct world *w, const char *told)
{
    w->until = told;
    if (!strstr(cw_str_text(&w->told), told))
        cw_loop_run(w->loop);
}

static void order(struct world *w, const char *holder, int duration_s)
{
    pthread_mutex_lock(&w->server.lock);
    set_object(&w->server, holder, duration_s);
    pthread_mutex_unlock(&w->server.lock);
}

static void one_leads_and_hands_over(void **state)
{
    (void)state;
    static struct world w;
    begin(&w);
    join(&w, &w.a, "A", 0);
    run_until(&w, "A+ ");
    join(&w, &w.b, "B", 0);
    run_until(&w, "B=A ");
    assert_false(cw_kube_lease_holds(w.b.lease));
    cw_kube_lease_release(w.a.lease, released, &w.a);
    assert_false(cw_kube_lease_holds(w.a.lease));
    run_until(&w, "B+ ");
    run_until(&w, "Areleased ");
    assert_null(strstr(w.told.s, "A-"));
    end(&w);
}

static void takes_it_from_the_dead(void **state)
{
    (void)state;
    static struct world w;
    begin(&w);
    order(&w, "X", 1); /* nobody renews it */
    join(&w, &w.b, "B", 0);
    run_until(&w, "B+ ");
    assert_string_equal(w.told.s, "B=X B+ ");
    assert_non_null(strstr(w.server.object, "\"keep\":\"me\"")); /* all of it was written back */
    assert_non_null(strstr(w.server.object, "\"leaseTransitions\":4"));
    assert_non_null(strstr(w.server.object, "\"leaseDurationSeconds\":15"));
    assert_null(strstr(w.server.object, "\"managedFields\":[1]"));
    end(&w);
}

static void loses_it_to_others(void **state)
{
    (void)state;
    static struct world w;
    begin(&w);
    join(&w, &w.a, "A", 0);
    run_until(&w, "A+ ");
    order(&w, "Z", 15);
    run_until(&w, "A-was taken by Z ");
    cw_kube_lease_release(w.a.lease, released, &w.a); /* nothing is written */
    int writes = w.server.writes;
    run_until(&w, "Areleased ");
    assert_int_equal(w.server.writes, writes);
    end(&w);
}

static void loses_it_when_it_cannot_renew(void **state)
{
    (void)state;
    static struct world w;
    begin(&w);
    join(&w, &w.a, "A", 3000);
    run_until(&w, "A+ ");
    pthread_mutex_lock(&w.server.lock);
    w.server.hangs = true;
    pthread_mutex_unlock(&w.server.lock);
    run_until(&w, "A-could not be renewed in time ");
    end(&w);
}

static void release_ends_although_nobody_answers(void **state)
{
    (void)state;
    static struct world w;
    begin(&w);
    join(&w, &w.a, "A", 0);
    run_until(&w, "A+ ");
    pthread_mutex_lock(&w.server.lock);
    w.server.hangs = true;
    pthread_mutex_unlock(&w.server.lock);
    cw_kube_lease_release(w.a.lease, released, &w.a);
    run_until(&w, "Areleased ");
    end(&w);
}

/* Whoever's write is answered without a version does not lead. */
static void does_not_believe_lies(void **state)
{
    (void)state;
    static struct world w;
    begin(&w);
    w.server.lies = true;
    join(&w, &w.a, "A", 3000);
    w.until = NULL;
    order(&w, "X", 0);
    run_until(&w, "A=X ");
    assert_null(strstr(w.told.s, "A+"));
    end(&w);
}

static void refuses_odd_times(void **state)
{
    (void)state;
    struct cw_kube_lease *lease = NULL;
    struct cw_kube_lease_events events = {taken, lost, held, NULL, NULL};
    static const int64_t bad[][3] = {{10000, 2000, 10000}, {15000, 10000, 10000}, {0, -1, 0}};
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_kube_lease_options options = {.name = "n",
                                                .identity = "me",
                                                .duration_ms = bad[i][0],
                                                .renew_ms = bad[i][1],
                                                .give_up_ms = bad[i][2]};
        assert_int_equal(cw_kube_lease_new(NULL, &options, &events, &lease, NULL), CW_E_INVALID);
    }
}

static bool see(struct cw_lease_record *record, const char *text, int64_t now_ms)
{
    struct cw_value v = {0};
    assert_int_equal(cw_value_parse(text, strlen(text), NULL, &v, NULL), CW_OK);
    bool news = cw_lease_record_see(record, &v, now_ms);
    cw_value_fini(&v);
    return news;
}

static void a_record(void **state)
{
    (void)state;
    struct cw_lease_record r = {0};
    CW_STR_AUTO text = {0};
    int64_t left = 1;
    assert_true(cw_lease_record_see(&r, NULL, 5));
    assert_false(cw_lease_record_see(&r, NULL, 6));
    assert_true(cw_lease_record_is_free(&r, "me", 15000, 6, &left));
    cw_lease_record_print(&r, "ns", "n", "me", 15000, 0, &text);
    assert_string_equal(
        text.s,
        "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
        "\"n\",\"namespace\":\"ns\"},\"spec\":{\"acquireTime\":\"1970-01-01T00:00:00.000000Z\","
        "\"holderIdentity\":\"me\",\"leaseDurationSeconds\":15,\"leaseTransitions\":0,"
        "\"renewTime\":\"1970-01-01T00:00:00.000000Z\"}}");
    static const char other[] =
        "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"holderIdentity\":"
        "\"x\",\"leaseDurationSeconds\":20,\"renewTime\":\"1999\"}}";
    assert_true(see(&r, other, 100));
    assert_false(see(&r, other, 5000)); /* the same: its time runs on */
    assert_false(cw_lease_record_is_free(&r, "me", 15000, 5000, &left));
    assert_int_equal(left, 15100);
    assert_true(cw_lease_record_is_free(&r, "me", 15000, 20100, &left));
    assert_true(cw_lease_record_is_free(&r, "x", 15000, 101, &left));
    assert_true(see(&r,
                    "{\"metadata\":{\"resourceVersion\":\"8\"},\"spec\":{\"holderIdentity\":\"x\","
                    "\"leaseDurationSeconds\":\"20\"}}",
                    200));
    assert_false(cw_lease_record_is_free(&r, "me", 15000, 200, &left));
    assert_int_equal(left, 15000);
    assert_true(see(&r, "{\"metadata\":{\"resourceVersion\":\"9\"},\"spec\":7}", 300));
    assert_true(cw_lease_record_is_free(&r, "me", 15000, 300, &left));
    cw_str_clear(&text);
    cw_lease_record_print(&r, "ns", "n", "", 15000, 0, &text);
    assert_non_null(strstr(text.s, "\"resourceVersion\":\"9\""));
    assert_non_null(strstr(text.s, "\"holderIdentity\":\"\",\"leaseDurationSeconds\":1,"));
    assert_null(strstr(text.s, "acquireTime"));
    cw_lease_record_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record),
        cmocka_unit_test(refuses_odd_times),
        cmocka_unit_test(one_leads_and_hands_over),
        cmocka_unit_test(takes_it_from_the_dead),
        cmocka_unit_test(loses_it_to_others),
        cmocka_unit_test(loses_it_when_it_cannot_renew),
        cmocka_unit_test(release_ends_although_nobody_answers),
        cmocka_unit_test(does_not_believe_lies),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
