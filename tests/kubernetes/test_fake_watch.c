/* SPDX-License-Identifier: Apache-2.0 */
/* Watches, pages, time and faults of the fake API server's core. */
#include "kubernetes/fk_ask.h"
#include <inttypes.h>
#include <stdio.h>

static void test_watch_tells_changes_and_ends(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){.bookmark_ms = 1000});
    struct heard heard;
    assert_int_equal(hear(&ask, &heard,
                          "GET " CONFIGS
                          "?watch=1&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=3"),
                     200);
    make_config(&ask, "a");
    assert_int_equal(ask_do(&ask, "PATCH " CONFIGS "/a", "{\"data\":{\"x\":\"1\"}}"), 200);
    assert_int_equal(ask_do(&ask, "DELETE " CONFIGS "/a", NULL), 200);
    assert_heard(&heard, "ADDED a\nMODIFIED a\nDELETED a\n");
    assert_int_equal(heard.end, FK_WATCH_GOES_ON);
    ask_pass(&ask, 2500);
    assert_heard(&heard, "ADDED a\nMODIFIED a\nDELETED a\nBOOKMARK -\nBOOKMARK -\n");
    ask_pass(&ask, 1000);
    assert_int_equal(heard.end, FK_WATCH_ENDS);
    heard_fini(&heard);
    ask_fini(&ask);
}

static void test_selector_turns_changes_into_ends(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    struct heard heard;
    hear(&ask, &heard, "GET " CONFIGS "?watch=1&labelSelector=l%3D1");
    make_config(&ask, "a");
    ask_do(&ask, "PATCH " CONFIGS "/a", "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}");
    ask_do(&ask, "PATCH " CONFIGS "/a", "{\"metadata\":{\"labels\":{\"l\":\"2\"}}}");
    ask_do(&ask, "DELETE " CONFIGS "/a", NULL);
    assert_heard(&heard, "ADDED a\nDELETED a\n");
    heard_fini(&heard);
    ask_fini(&ask);
}

static void test_window_is_bounded(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){.window = 3});
    struct heard heard;
    make_config(&ask, "a");
    char line[200];
    snprintf(line, sizeof(line), "GET " CONFIGS "?watch=1&resourceVersion=%s",
             fk_text(ask.json, "metadata.resourceVersion"));
    for (int i = 0; i < 3; i++) {
        char name[8] = {(char)('b' + i), '\0'};
        make_config(&ask, name);
    }
    hear(&ask, &heard, line); /* three events since: all are there */
    assert_heard(&heard, "ADDED b\nADDED c\nADDED d\n");
    heard_fini(&heard);
    make_config(&ask, "e");
    assert_int_equal(hear(&ask, &heard, line), 200);
    assert_heard(&heard, "ERROR -\n");
    assert_non_null(strstr(cw_str_text(&heard.text), "\"code\":410"));
    assert_int_equal(heard.end, FK_WATCH_ENDS);
    heard_fini(&heard);
    ask_fini(&ask);
}

static void test_too_old_can_be_a_status(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){.old_gone = true});
    struct heard heard;
    fk_server_compact(ask.server);
    assert_int_equal(hear(&ask, &heard, "GET " CONFIGS "?watch=1&resourceVersion=1"), 410);
    assert_string_equal(fk_text(ask.json, "reason"), "Expired");
    ask_fini(&ask);
}

static void test_pages_are_of_one_moment_and_expire(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    for (int i = 0; i < 4; i++) {
        char name[8] = {(char)('a' + i), '\0'};
        make_config(&ask, name);
    }
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "?limit=2", NULL), 200);
    cw_autofree char *line = cw_mem_printf("GET " CONFIGS "?limit=2&continue=%s",
                                           fk_text(ask.json, "metadata.continue"));
    ask_do(&ask, "DELETE " CONFIGS "/c", NULL);
    make_config(&ask, "e");
    assert_int_equal(ask_do(&ask, line, NULL), 200);
    assert_int_equal(fk_len(ask.json, "items"), 2); /* c is still there, e is not yet */
    assert_string_equal(fk_text(json_array_get(fk_at(ask.json, "items"), 0), "metadata.name"), "c");
    fk_server_compact(ask.server);
    assert_int_equal(ask_do(&ask, line, NULL), 410);
    cw_autofree char *rest = cw_mem_printf("GET " CONFIGS "?limit=9&continue=%s",
                                           fk_text(ask.json, "metadata.continue"));
    assert_int_equal(ask_do(&ask, rest, NULL), 200); /* what is there now, behind the same key */
    assert_string_equal(fk_text(json_array_get(fk_at(ask.json, "items"), 0), "metadata.name"), "d");
    assert_string_equal(fk_text(json_array_get(fk_at(ask.json, "items"), 1), "metadata.name"), "e");
    ask_fini(&ask);
}

static void test_line_is_split_at_every_byte(void **state)
{
    (void)state;
    for (int at = 1; at < 200; at += 3) {
        struct ask ask = ask_new((struct fk_options){0});
        struct heard heard;
        hear(&ask, &heard, "GET " CONFIGS "?watch=1");
        char text[100];
        snprintf(text, sizeof(text), "{\"fault\":\"split\",\"at\":%d}", at);
        order(&ask, text);
        make_config(&ask, "a");
        assert_int_equal(heard.text.len, at);
        ask_pass(&ask, 100);
        assert_heard(&heard, "ADDED a\n");
        assert_int_equal(heard.pieces, 2);
        heard_fini(&heard);
        ask_fini(&ask);
    }
}

/* What the next change's line meets, and what is heard of it and of one more change. */
static void check_fault(const char *fault, const char *lines, enum fk_watch_end end)
{
    struct ask ask = ask_new((struct fk_options){0});
    struct heard heard;
    hear(&ask, &heard, "GET " CONFIGS "?watch=1");
    make_config(&ask, "a");
    order(&ask, fault);
    make_config(&ask, "b");
    make_config(&ask, "c");
    ask_pass(&ask, 1000);
    assert_heard(&heard, lines);
    assert_int_equal(heard.end, end);
    heard_fini(&heard);
    ask_fini(&ask);
}

static void test_faults_of_lines(void **state)
{
    (void)state;
    check_fault("{\"fault\":\"watch-reset\",\"at\":7}", "ADDED a\n?\n", FK_WATCH_RESET);
    check_fault("{\"fault\":\"watch-end\"}", "ADDED a\nADDED b\n", FK_WATCH_ENDS);
    check_fault("{\"fault\":\"watch-silence\"}", "ADDED a\n", FK_WATCH_GOES_ON);
    check_fault("{\"fault\":\"watch-gone\"}", "ADDED a\nADDED b\nERROR -\n", FK_WATCH_ENDS);
    check_fault("{\"fault\":\"duplicate\"}", "ADDED a\nADDED b\nADDED b\nADDED c\n",
                FK_WATCH_GOES_ON);
    check_fault("{\"fault\":\"back\"}", "ADDED a\nADDED b\nADDED a\nADDED c\n", FK_WATCH_GOES_ON);
    check_fault("{\"fault\":\"watch-line\",\"line\":\"{\\\"type\\\":\\\"ODD\\\"}\"}",
                "ADDED a\nADDED b\nODD -\nADDED c\n", FK_WATCH_GOES_ON);
    check_fault("{\"fault\":\"split\",\"skip\":1}", "ADDED a\nADDED b\nADDED c\n",
                FK_WATCH_GOES_ON);
}

static void test_faults_of_requests(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    make_config(&ask, "a");
    order(&ask,
          "{\"fault\":\"429\",\"verb\":\"get\",\"resource\":\"configmaps\",\"retryAfter\":7}");
    assert_int_equal(ask_do(&ask, "GET " CONFIGS, NULL), 200); /* a list is not meant */
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 429);
    assert_int_equal(ask.answer.retry_after_s, 7);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 200);
    order(&ask, "{\"fault\":\"500\",\"skip\":1,\"times\":2}");
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 200);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 500);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 500);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 200);
    order(&ask, "{\"fault\":\"reset\",\"verb\":\"delete\"}");
    ask_do(&ask, "DELETE " CONFIGS "/a", NULL);
    assert_int_equal(ask.answer.harm, FK_HARM_RESET);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 200); /* nothing was done */
    order(&ask, "{\"fault\":\"done\",\"verb\":\"delete\"}");
    ask_do(&ask, "DELETE " CONFIGS "/a", NULL);
    assert_int_equal(ask.answer.harm, FK_HARM_DONE);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 404);
    order(&ask, "{\"fault\":\"answer\",\"status\":307,\"body\":\"<html>\"}");
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 307);
    assert_string_equal(ask.answer.body, "<html>");
    struct cw_err err = {0};
    json_auto_t *odd = json_pack("{s:s}", "fault", "none such");
    assert_true(fk_server_order(ask.server, odd, &err) < 0);
    assert_non_null(strstr(err.msg, "none such"));
    ask_fini(&ask);
}

static void test_list_in_another_order(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){.seed = 3});
    for (int i = 0; i < 8; i++) {
        char name[8] = {(char)('a' + i), '\0'};
        make_config(&ask, name);
    }
    ask_do(&ask, "GET " CONFIGS, NULL);
    json_auto_t *usual = json_incref(fk_at(ask.json, "items"));
    order(&ask, "{\"fault\":\"shuffle\"}");
    ask_do(&ask, "GET " CONFIGS, NULL);
    assert_int_equal(fk_len(ask.json, "items"), 8);
    assert_false(json_equal(usual, fk_at(ask.json, "items")));
    ask_fini(&ask);
}

static void test_token_comes_and_goes(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    ask.token = "t";
    assert_int_equal(ask_do(&ask, "GET " CONFIGS, NULL), 401);
    fk_server_set_token(ask.server, "t", "u", "system:masters");
    assert_int_equal(ask_do(&ask, "GET " CONFIGS, NULL), 200);
    fk_server_set_token(ask.server, "t", NULL, NULL);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS, NULL), 401);
    ask_fini(&ask);
}

static void test_wipe(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    struct heard heard;
    make_config(&ask, "a");
    cw_autofree char *uid = cw_mem_strdup(fk_text(ask.json, "metadata.uid"));
    hear(&ask, &heard, "GET " CONFIGS "?watch=1&resourceVersion=100");
    fk_server_wipe(ask.server, ask.now_ms);
    assert_int_equal(heard.end, FK_WATCH_RESET);
    heard_fini(&heard);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 404);
    make_config(&ask, "a");
    assert_string_not_equal(uid, fk_text(ask.json, "metadata.uid"));
    ask_fini(&ask);
}

static void test_restored_from_a_backup(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    struct heard heard;
    make_config(&ask, "a");
    cw_autofree char *uid = cw_mem_strdup(fk_text(ask.json, "metadata.uid"));
    cw_autofree char *version = cw_mem_strdup(fk_text(ask.json, "metadata.resourceVersion"));
    json_auto_t *saved = fk_server_save(ask.server);
    assert_int_equal(ask_do(&ask, "PATCH " CONFIGS "/a", "{\"data\":{\"k\":\"v\"}}"), 200);
    make_config(&ask, "b");
    hear(&ask, &heard, "GET " CONFIGS "?watch=1&resourceVersion=100");
    fk_server_restore(ask.server, ask.now_ms, saved);
    assert_int_equal(heard.end, FK_WATCH_RESET);
    heard_fini(&heard);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/b", NULL), 404);
    assert_int_equal(ask_do(&ask, "GET " CONFIGS "/a", NULL), 200);
    assert_string_equal(fk_text(ask.json, "metadata.uid"), uid);
    assert_string_equal(fk_text(ask.json, "metadata.resourceVersion"), version);
    assert_null(fk_at(ask.json, "data"));
    ask_fini(&ask);
}

/* The version of the object that was answered. */
static uint64_t version_of(const struct ask *ask)
{
    uint64_t version = 0;
    assert_true(cw_str_to_u64(fk_text(ask->json, "metadata.resourceVersion"), &version));
    return version;
}

/* Nothing comes of what is not newer than the version that a watch was begun at, bookmarks included. */
static void test_watch_from_before_a_restore_is_silent(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){.bookmark_ms = 1000});
    struct heard heard;
    char line[200], name[] = "d";
    make_config(&ask, "a");
    json_auto_t *saved = fk_server_save(ask.server);
    for (int i = 0; i < 4; i++) {
        snprintf(line, sizeof(line), "{\"data\":{\"k\":\"%d\"}}", i);
        ask_do(&ask, "PATCH " CONFIGS "/a", line);
    }
    uint64_t from = version_of(&ask);
    snprintf(line, sizeof(line),
             "GET " CONFIGS "?watch=1&allowWatchBookmarks=true&resourceVersion=%" PRIu64, from);
    fk_server_restore(ask.server, ask.now_ms, saved);
    hear(&ask, &heard, line);
    ask_pass(&ask, 2500);
    for (make_config(&ask, name); version_of(&ask) <= from; make_config(&ask, name)) {
        assert_heard(&heard, "");
        name[0]++;
    }
    assert_true(name[0] > 'd');
    snprintf(line, sizeof(line), "ADDED %s\n", name);
    assert_heard(&heard, line);
    heard_fini(&heard);
    ask_fini(&ask);
}

static void test_clock_jumps(void **state)
{
    (void)state;
    struct ask ask = ask_new((struct fk_options){0});
    make_config(&ask, "a");
    assert_string_equal(fk_text(ask.json, "metadata.creationTimestamp"), "2026-01-01T00:00:00Z");
    fk_server_jump_clock(ask.server, -3600 * 1000);
    make_config(&ask, "b");
    assert_string_equal(fk_text(ask.json, "metadata.creationTimestamp"), "2025-12-31T23:00:00Z");
    ask_fini(&ask);
}

/* Everything that a run with random faults answers, as one text. */
static char *random_run(uint64_t seed)
{
    struct ask ask = ask_new((struct fk_options){.seed = seed});
    struct heard heard;
    struct cw_str out = {0};
    hear(&ask, &heard, "GET " CONFIGS "?watch=1");
    fk_server_set_fault_rate(ask.server, 0.3);
    for (int i = 0; i < 100; i++) {
        char body[200];
        snprintf(body, sizeof(body),
                 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c%d\"}}",
                 i);
        int status = ask_do(&ask, "POST " CONFIGS, body);
        cw_str_addf(&out, "%d %d %s\n", status, (int)ask.answer.harm,
                    ask.answer.body ? ask.answer.body : "");
        ask_pass(&ask, 100);
    }
    cw_str_add(&out, cw_str_text(&heard.text));
    heard_fini(&heard);
    ask_fini(&ask);
    return cw_str_take(&out);
}

static void test_seed_repeats_a_run(void **state)
{
    (void)state;
    cw_autofree char *first = random_run(5);
    cw_autofree char *again = random_run(5);
    cw_autofree char *other = random_run(6);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    assert_non_null(strstr(first, "etcdserver")); /* some of the faults were met */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_watch_tells_changes_and_ends),
        cmocka_unit_test(test_selector_turns_changes_into_ends),
        cmocka_unit_test(test_window_is_bounded),
        cmocka_unit_test(test_too_old_can_be_a_status),
        cmocka_unit_test(test_pages_are_of_one_moment_and_expire),
        cmocka_unit_test(test_line_is_split_at_every_byte),
        cmocka_unit_test(test_faults_of_lines),
        cmocka_unit_test(test_faults_of_requests),
        cmocka_unit_test(test_list_in_another_order),
        cmocka_unit_test(test_token_comes_and_goes),
        cmocka_unit_test(test_wipe),
        cmocka_unit_test(test_restored_from_a_backup),
        cmocka_unit_test(test_watch_from_before_a_restore_is_silent),
        cmocka_unit_test(test_clock_jumps),
        cmocka_unit_test(test_seed_repeats_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
