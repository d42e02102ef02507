/* SPDX-License-Identifier: Apache-2.0 */
/* S3: requests as another signer makes them, profiles, lists, and what is learnt of refusals. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/io.h"
#include "io/match.h"
#include "io/remote/aws_config.h"
#include "io/remote/ini.h"
#include "io/remote/remote.h"
#include "io/remote/s3.h"
#include "io/remote/s3_list.h"
#include "support/cm.h"
#include "support/http_server.h"

#define NOW INT64_C(1709251198) /* 2024-02-29T23:59:58Z */
#define SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

struct vector {
    const char *endpoint, *style, *region, *token;
    const char *url, *query, *headers[2]; /* what is asked for */
    const char *wire_url, *authorization; /* what must be sent */
};
#include "unit/io/s3_vectors.h"

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void clear_environment(void)
{
    static const char *const names[] = {
        "AWS_PROFILE",           "AWS_REGION",          "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
        "AWS_ENDPOINT_URL_S3",   "AWS_ACCESS_KEY_ID",   "AWS_SESSION_TOKEN",  "AWS_CONFIG_FILE",
        "AWS_SECRET_ACCESS_KEY", "CACHEW_S3_ADDRESSING"};
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++)
        unsetenv(names[i]);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
    setenv("HOME", "/nowhere", 1);
}

static void set_credentials(const char *token)
{
    set("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
    set("AWS_SECRET_ACCESS_KEY", SECRET);
    set("AWS_SESSION_TOKEN", token);
}

static const char *find_header(const struct cw_wire *wire, const char *name)
{
    for (size_t i = 0; i < wire->headers_n; i++)
        if (strncmp(wire->headers[i], name, strlen(name)) == 0)
            return wire->headers[i] + strlen(name);
    return NULL;
}

static void requests_are_signed_as_by_others(void **state)
{
    (void)state;
    clear_environment();
    for (size_t i = 0; i < CW_ARRAY_LEN(vectors); i++) {
        const struct vector *v = &vectors[i];
        struct cw_ask ask = {.method = "GET", .url = v->url, .query = v->query};
        struct cw_wire wire = {0};
        struct cw_err err = {0};
        set_credentials(v->token);
        set("AWS_ENDPOINT_URL", v->endpoint);
        set("AWS_REGION", v->region);
        set("CACHEW_S3_ADDRESSING", v->style);
        for (size_t k = 0; k < 2 && v->headers[k]; k++)
            snprintf(ask.headers[ask.headers_n++], sizeof(ask.headers[0]), "%s", v->headers[k]);
        if (cw_s3_make_at(&ask, NOW, &wire, &err) < 0)
            fail_msg("%zu: %s", i, err.msg);
        if (strcmp(wire.url, v->wire_url) != 0)
            fail_msg("%zu: %s is not %s", i, wire.url, v->wire_url);
        if (!cw_str_eq(find_header(&wire, "Authorization: "), v->authorization))
            fail_msg("%zu (%s): %s\nis not %s", i, v->wire_url,
                     find_header(&wire, "Authorization: "), v->authorization);
        cw_wire_fini(&wire);
        cw_s3_forget();
    }
}

static void names_that_are_none(void **state)
{
    static const char *const bad[] = {"s3://a",  "s3://a@b/c",     "s3://-abc/x",
                                      "s3:///x", "s3://host:80/x", "s3://b\\c/x"};
    (void)state;
    clear_environment();
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        struct cw_ask ask = {.method = "GET", .url = bad[i]};
        struct cw_wire wire = {0};
        if (cw_s3_make_at(&ask, NOW, &wire, NULL) != CW_E_INVALID)
            fail_msg("%s", bad[i]);
    }
    cw_s3_forget();
}

static char *write_file(const char *text)
{
    char *path = cw_mem_strdup("/tmp/cw_test_s3_XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    return path;
}

static void drop_file(char *path)
{
    unlink(path);
    cw_mem_free(path);
}

static void profiles(void **state)
{
    struct cw_aws_config c;
    struct cw_err err = {0};
    (void)state;
    clear_environment();
    char *config = write_file("# a\n[default]\nregion = north-1\n[profile  two]\nregion=south-2\n"
                              "endpoint_url = http://here:1/\ns3 =\n  addressing_style = virtual\n"
                              "[ profile three ]\naws_access_key_id = X\n");
    char *credentials =
        write_file("[default]\naws_access_key_id=ONE\naws_secret_access_key = a=b\n"
                   "[two]\r\naws_access_key_id = TWO\r\naws_secret_access_key = s2\r\n"
                   "aws_session_token = t2\r\n");
    set("AWS_CONFIG_FILE", config);
    set("AWS_SHARED_CREDENTIALS_FILE", credentials);
    assert_int_equal(cw_aws_config_load(&c, &err), 0);
    assert_string_equal(c.id, "ONE");
    assert_string_equal(c.secret, "a=b");
    assert_null(c.token);
    assert_string_equal(c.region, "north-1");
    assert_null(c.endpoint);
    assert_false(c.is_path_style);
    cw_aws_config_fini(&c);
    set("AWS_PROFILE", "two");
    assert_int_equal(cw_aws_config_load(&c, &err), 0);
    assert_string_equal(c.secret, "s2");
    assert_string_equal(c.token, "t2");
    assert_string_equal(c.region, "south-2");
    assert_string_equal(c.endpoint, "http://here:1");
    assert_false(c.is_path_style);
    cw_aws_config_fini(&c);
    set("AWS_PROFILE", "three"); /* half of what is needed */
    assert_int_equal(cw_aws_config_load(&c, &err), CW_E_INVALID);
    assert_null(strstr(err.msg, "X"));
    set_credentials(NULL); /* the environment is first */
    assert_int_equal(cw_aws_config_load(&c, &err), 0);
    assert_string_equal(c.id, "AKIDEXAMPLE");
    cw_aws_config_fini(&c);
    set("AWS_ENDPOINT_URL", "ftp://x");
    assert_int_equal(cw_aws_config_load(&c, &err), CW_E_INVALID);
    set("AWS_ENDPOINT_URL", NULL);
    drop_file(config);
    assert_int_equal(cw_aws_config_load(&c, &err), CW_E_NOT_FOUND); /* it was named */
    drop_file(credentials);
}

static void names_match(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"a/*.tar", "a/1.tar", true},
        {"a/*.tar", "a/b/1.tar", false},
        {"a/*.tar", "a/.1.tar", false},
        {"a/.*", "a/.1.tar", true},
        {"**/*.tar", "1.tar", true},
        {"**/*.tar", "a/b/c/1.tar", true},
        {"**/*.tar", "a/.b/c/1.tar", false},
        {"a/**/b/**/c", "a/b/c", true},
        {"a/**/b/**/c", "a/b/b/x/c", true},
        {"a/**/b/**/c", "a/x/c", false},
        {"a/**", "a/b/c", true},
        {"a/**", "a", false},
        {"a/**", "b/a/c", false},
        {"a/[0-9]?", "a/12", true},
        {"a/[0-9]?", "a/1", false},
        {"a\\*b", "a*b", true},
        {"*", "a/b", false},
        {"*/", "a/", true},
        {"**/a/b", "a/a/a/b", true},
        {"**/a/*/b", "a/a/b/b/a/x/b", true},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++)
        if (cw_match_name(cases[i].pattern, cases[i].name) != cases[i].matches)
            fail_msg("%s, %s", cases[i].pattern, cases[i].name);
}

static int add_object(void *arg, const char *key, int64_t size, const char *etag,
                      struct cw_err *err)
{
    (void)err;
    cw_str_addf(arg, "%s|%lld|%s\n", key, (long long)size, etag);
    return 0;
}

static void pages(void **state)
{
    static const char good[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"http://s3/\">"
        "<Name>b</Name><IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b="
        "</NextContinuationToken><EncodingType>url</EncodingType><Contents><Key>a%20b+c%2B"
        "</Key><Size>12</Size><ETag>&quot;abc&quot;</ETag><Owner><ID>x</ID></Owner></Contents>"
        "<Contents><Key>d</Key><Size>0</Size></Contents></ListBucketResult>";
    static const char *const bad[] = {
        "",
        "<Error><Code>x</Code></Error>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key>",
        "<!DOCTYPE a [<!ENTITY x \"y\">]><ListBucketResult>&x;</ListBucketResult>",
    };
    CW_STR_AUTO seen = {0};
    char *next = NULL;
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_s3_list_parse(good, strlen(good), add_object, &seen, &next, &err), 0);
    assert_string_equal(seen.s, "a b c+|12|\"abc\"\nd|0|\n");
    assert_string_equal(next, "a&b=");
    cw_mem_free(next);
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        if (cw_s3_list_parse(bad[i], strlen(bad[i]), add_object, &seen, &next, &err) !=
            CW_E_CORRUPT)
            fail_msg("%s", bad[i]);
}

/* ---- a server ---- */

struct world {
    struct http_server server;
    int refused, listed, wrong_credentials;
    const char *credentials; /* a file that is changed */
    bool is_endless;
};

static void refuse(struct http_exchange *x, int status, const char *code, const char *rest)
{
    char body[300];
    snprintf(body, sizeof(body), "<Error><Code>%s</Code><Message>as it is</Message>%s</Error>",
             code, rest);
    http_respond(x, status, "", body);
}

static void list_page(struct world *w, struct http_exchange *x)
{
    char body[600];
    int page = w->listed++;
    bool is_last = page == 2 && !w->is_endless;
    snprintf(
        body, sizeof(body),
        "<ListBucketResult><IsTruncated>%s</IsTruncated><NextContinuationToken>t%d"
        "</NextContinuationToken><Contents><Key>x/%d.tar</Key><Size>5</Size><ETag>&quot;1&quot;"
        "</ETag></Contents><Contents><Key>x/%d.txt</Key><Size>5</Size></Contents>"
        "</ListBucketResult>",
        is_last ? "false" : "true", w->is_endless ? 0 : page, page, page);
    http_respond(x, 200, "", body);
}

static void answer(void *arg, struct http_exchange *x)
{
    struct world *w = arg;
    if (strstr(x->text, "/north-1/s3/")) {
        w->refused++;
        refuse(x, 400, "AuthorizationHeaderMalformed", "<Region>south-9</Region>");
    } else if (!strstr(x->text, "/south-9/s3/")) {
        refuse(x, 403, "AccessDenied", "");
    } else if (strstr(x->text, "Credential=OLD/")) {
        FILE *file = fopen(w->credentials, "w");
        fputs("[default]\naws_access_key_id=NEW\naws_secret_access_key=" SECRET "\n", file);
        fclose(file);
        w->wrong_credentials++;
        refuse(x, 403, "ExpiredToken", "");
    } else if (strstr(x->text, "list-type=2")) {
        assert_non_null(strstr(x->text, "max-keys=1000&prefix=x%2F"));
        list_page(w, x);
    } else if (strstr(x->text, "GET /bucket/x/0.tar ")) {
        http_send_text(x, "HTTP/1.1 206 x\r\nContent-Length: 5\r\nETag: \"1\"\r\n"
                          "Content-Range: bytes 0-4/5\r\n\r\nhello");
    } else {
        refuse(x, 403, "AccessDenied", "");
    }
}

static void what_refusals_teach(void **state)
{
    struct world w = {0};
    struct cw_io_list list = {0};
    struct cw_io_file file;
    struct cw_err err = {0};
    char bytes[5], url[64];
    (void)state;
    clear_environment();
    signal(SIGPIPE, SIG_IGN);
    w.server.answer = answer;
    w.server.arg = &w;
    http_server_start(&w.server, NULL, NULL, NULL);
    char *path = write_file("[default]\naws_access_key_id=OLD\naws_secret_access_key=" SECRET "\n");
    w.credentials = path;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", w.server.port);
    set("AWS_SHARED_CREDENTIALS_FILE", path);
    set("AWS_ENDPOINT_URL", url);
    set("AWS_REGION", "north-1");
    cw_io_remote_start();
    if (cw_io_glob("s3://bucket/x/*.tar", 0, NULL, &list, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.v[2].url, "s3://bucket/x/2.tar");
    assert_int_equal(list.v[0].size, 5);
    assert_int_equal(w.refused, 1); /* and not for each page */
    assert_int_equal(w.wrong_credentials, 1);
    assert_int_equal(cw_io_open("s3://bucket/x/0.tar", NULL, &file, &err), 0);
    assert_int_equal(cw_io_mark(&file.info), list.v[0].mark); /* the list names the same version */
    assert_int_equal(cw_io_read(&file, 0, bytes, 5, NULL, &err), 0);
    assert_memory_equal(bytes, "hello", 5);
    cw_io_close(&file);
    assert_int_equal(cw_io_open("s3://bucket/other", NULL, &file, &err), CW_E_DENIED);
    assert_non_null(strstr(err.msg, "s3://bucket/other: "));
    assert_non_null(strstr(err.msg, "AccessDenied: as it is"));
    assert_null(strstr(err.msg, "NEW"));
    w.listed = 0;
    assert_int_equal(cw_io_glob("s3://bucket/x/**", 3, NULL, &list, &err), CW_E_LIMIT);
    w.is_endless = true;
    assert_int_equal(cw_io_glob("s3://bucket/x/**", 0, NULL, &list, &err), CW_E_CORRUPT);
    assert_int_equal(cw_io_glob("s3://bucket/", 0, NULL, &list, &err), 0); /* a name */
    assert_int_equal(cw_io_glob("s3://buc*", 0, NULL, &list, &err), CW_E_INVALID);
    cw_io_remote_stop();
    set("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
    cw_io_remote_start();
    assert_int_equal(cw_io_open("s3://bucket/other", NULL, &file, &err), CW_E_DENIED);
    assert_non_null(strstr(err.msg, "no credentials were found"));
    cw_io_remote_stop();
    cw_io_list_fini(&list);
    http_server_stop(&w.server);
    drop_file(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_signed_as_by_others),
        cmocka_unit_test(names_that_are_none),
        cmocka_unit_test(profiles),
        cmocka_unit_test(names_match),
        cmocka_unit_test(pages),
        cmocka_unit_test(what_refusals_teach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
