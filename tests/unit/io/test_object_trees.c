/* SPDX-License-Identifier: Apache-2.0 */
/* Locations on object stores that are one object, all below a prefix, both, or neither
 * (cw_io_glob_tree). A bucket of either kind of store, whose lists have pages of 1,000. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/io.h"
#include "io/remote/remote.h"
#include "support/cm.h"
#include "support/http_server.h"

#define PAGE 1000
#define MANY (PAGE + 1) /* objects below many/ */

struct bucket {
    struct http_server server;
    const char *scheme;
    atomic_int pages; /* that were listed */
};

/* As a server sorts them: the keys of many/ stand between these two. */
static const char *const before[] = {"both",   "both/a.bin", "both/deep/b.bin",
                                     "empty/", "folder/",    "folder/one.bin",
                                     "many",   "many-more/x"};
static const char *const behind[] = {"one.tar", "one.tar.gz"};
#define KEYS (CW_ARRAY_LEN(before) + MANY + CW_ARRAY_LEN(behind))

static const char *key_at(size_t i, char *text, size_t cap)
{
    if (i < CW_ARRAY_LEN(before))
        return before[i];
    i -= CW_ARRAY_LEN(before);
    if (i >= MANY)
        return behind[i - MANY];
    snprintf(text, cap, "many/%04zu.bin", i);
    return text;
}

/* "many" is a folder alone. */
static bool is_there(const char *key)
{
    char text[32];
    for (size_t i = 0; strcmp(key, "many") != 0 && i < KEYS; i++)
        if (strcmp(key_at(i, text, sizeof(text)), key) == 0)
            return true;
    return false;
}

/* ---- the server ---- */

/* Copies what stands behind `name` up to a blank or `&`, with %2F read; "": there is no such thing. */
static void read_part(const char *text, const char *name, char *part, size_t cap)
{
    const char *at = strstr(text, name);
    size_t n = 0;
    for (at = at ? at + strlen(name) : ""; *at && !strchr(" &\r", *at) && n + 1 < cap; n++) {
        bool is_slash = strncmp(at, "%2F", 3) == 0;
        part[n] = is_slash ? '/' : *at;
        at += is_slash ? 3 : 1;
    }
    part[n] = '\0';
}

static void print_object(const struct bucket *b, const char *key, struct cw_str *out)
{
    if (strcmp(b->scheme, "s3") == 0)
        cw_str_addf(out, "<Contents><Key>%s</Key><Size>5</Size><ETag>\"1\"</ETag></Contents>", key);
    else
        cw_str_addf(out, "%s{\"name\":\"%s\",\"size\":\"5\",\"generation\":\"1\"}",
                    cw_str_text(out)[0] ? "," : "", key);
}

static void respond_list(struct bucket *b, struct http_exchange *x, const char *items, size_t next)
{
    CW_STR_AUTO body = {0};
    bool is_s3 = strcmp(b->scheme, "s3") == 0;
    b->pages++;
    cw_str_add(&body, is_s3 ? "<ListBucketResult>" : "{\"items\":[");
    cw_str_add(&body, items);
    cw_str_add(&body, is_s3 ? "<IsTruncated>" : "]");
    if (is_s3)
        cw_str_add(&body, next ? "true</IsTruncated>" : "false</IsTruncated>");
    if (next && is_s3)
        cw_str_addf(&body, "<NextContinuationToken>%zu</NextContinuationToken>", next);
    else if (next)
        cw_str_addf(&body, ",\"nextPageToken\":\"%zu\"", next);
    cw_str_add(&body, is_s3 ? "</ListBucketResult>" : "}");
    http_respond(x, 200, "", cw_str_text(&body));
}

static void list(struct bucket *b, struct http_exchange *x)
{
    CW_STR_AUTO items = {0};
    char prefix[64], token[32], text[32];
    bool is_s3 = strcmp(b->scheme, "s3") == 0;
    read_part(x->text, "prefix=", prefix, sizeof(prefix));
    read_part(x->text, is_s3 ? "continuation-token=" : "pageToken=", token, sizeof(token));
    size_t i = strtoul(token, NULL, 10), n = 0;
    for (; i < KEYS && n < PAGE; i++) {
        const char *key = key_at(i, text, sizeof(text));
        if (strcmp(key, "many") == 0 || strncmp(key, prefix, strlen(prefix)) != 0)
            continue;
        print_object(b, key, &items);
        n++;
    }
    respond_list(b, x, cw_str_text(&items), i < KEYS ? i : 0);
}

static void answer(void *arg, struct http_exchange *x)
{
    struct bucket *b = arg;
    char key[64];
    if (strstr(x->text, "prefix=")) {
        list(b, x);
        return;
    }
    read_part(x->text, "GET /bucket/", key, sizeof(key));
    if (is_there(key))
        http_send_text(x, "HTTP/1.1 206 x\r\nContent-Length: 5\r\nETag: \"1\"\r\n"
                          "x-goog-generation: 1\r\nContent-Range: bytes 0-4/5\r\n\r\nhello");
    else
        http_respond(x, 404, "", "<Error><Code>NoSuchKey</Code></Error>");
}

/* ---- the cases ---- */

static int begin(struct bucket *b, const char *scheme)
{
    char url[64];
    signal(SIGPIPE, SIG_IGN);
    b->scheme = scheme;
    b->server.answer = answer;
    b->server.arg = b;
    http_server_start(&b->server, NULL, NULL, NULL);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", b->server.port);
    setenv("AWS_ENDPOINT_URL", url, 1);
    setenv("AWS_REGION", "north-1", 1);
    setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "example", 1);
    setenv("STORAGE_EMULATOR_HOST", url + strlen("http://"), 1);
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    unsetenv("GCE_METADATA_HOST");
    cw_io_remote_start();
    return 0;
}

static void end(struct bucket *b)
{
    cw_io_remote_stop();
    http_server_stop(&b->server);
}

struct tree_case {
    const char *location;
    int rc;
    size_t n;
    const char *first, *last; /* keys */
    int pages;                /* -1: any number */
};

static const struct tree_case cases[] = {
    {"one.tar", 0, 1, "one.tar", "one.tar", 0},
    {"folder", 0, 1, "folder/one.bin", "folder/one.bin", -1},
    {"folder/", 0, 1, "folder/one.bin", "folder/one.bin", -1},
    {"both", 0, 1, "both", "both", 0}, /* what is an object is that */
    {"both/", 0, 2, "both/a.bin", "both/deep/b.bin", -1},
    {"both/deep", 0, 1, "both/deep/b.bin", "both/deep/b.bin", -1},
    {"many", 0, MANY, "many/0000.bin", "many/1000.bin", 2},
    {"many/", 0, MANY, "many/0000.bin", "many/1000.bin", 2},
    {"many/100*", 0, 1, "many/1000.bin", "many/1000.bin", -1},
    {"many*/x", 0, 1, "many-more/x", "many-more/x", -1},
    {"", 0, KEYS - 3, "both", "one.tar.gz",
     -1}, /* the bucket, but for "many" and marks of folders */
    {"empty/", CW_E_NOT_FOUND, 0, NULL, NULL, -1},
    {"empty", CW_E_NOT_FOUND, 0, NULL, NULL, -1},
    {"man", CW_E_NOT_FOUND, 0, NULL, NULL, -1},
    {"one.ta", CW_E_NOT_FOUND, 0, NULL, NULL, -1},
    {"nothing/at/all", CW_E_NOT_FOUND, 0, NULL, NULL, -1},
    {"one.tar/", CW_E_NOT_FOUND, 0, NULL, NULL, -1},
};

static void check(struct bucket *b, const struct tree_case *c)
{
    struct cw_io_list found = {0};
    struct cw_err err = {0};
    char location[80], first[80], last[80];
    snprintf(location, sizeof(location), "%s://bucket/%s", b->scheme, c->location);
    b->pages = 0;
    int rc = cw_io_glob_tree(location, 0, NULL, &found, &err);
    if (rc != c->rc || found.n != c->n)
        fail_msg("%s: %d (%s), %zu objects", location, rc, rc < 0 ? err.msg : "", found.n);
    if (c->pages >= 0 && b->pages != c->pages)
        fail_msg("%s: %d pages", location, b->pages);
    if (rc < 0 && !strstr(err.msg, location))
        fail_msg("%s: %s", location, err.msg);
    cw_io_list_sort(&found);
    if (c->n > 0) {
        snprintf(first, sizeof(first), "%s://bucket/%s", b->scheme, c->first);
        snprintf(last, sizeof(last), "%s://bucket/%s", b->scheme, c->last);
        assert_string_equal(found.v[0].url, first);
        assert_string_equal(found.v[found.n - 1].url, last);
    }
    cw_io_list_fini(&found);
}

static void check_limit(struct bucket *b)
{
    struct cw_io_list found = {0};
    struct cw_err err = {0};
    char location[80];
    snprintf(location, sizeof(location), "%s://bucket/many", b->scheme);
    assert_int_equal(cw_io_glob_tree(location, MANY - 1, NULL, &found, &err), CW_E_LIMIT);
    assert_non_null(strstr(err.msg, location));
    cw_io_list_fini(&found);
}

static void check_all(const char *scheme)
{
    struct bucket *b = CW_NEW(struct bucket);
    begin(b, scheme);
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++)
        check(b, &cases[i]);
    check_limit(b);
    end(b);
    cw_mem_free(b);
}

static void locations_of_s3(void **state)
{
    (void)state;
    check_all("s3");
}

static void locations_of_gs(void **state)
{
    (void)state;
    check_all("gs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(locations_of_s3),
                                       cmocka_unit_test(locations_of_gs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
