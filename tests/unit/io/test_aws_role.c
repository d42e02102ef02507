/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials of S3 that servers give, by exchanges as AWS documents them: web identity, agents of
 * containers, metadata of instances. One server of the test plays all of them, and S3. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/io.h"
#include "io/remote/remote.h"
#include "support/cm.h"
#include "support/http_server.h"

#define URL "s3://bucket/x"

struct world {
    struct http_server server;
    char url[64], token_file[64];
    int given;        /* credentials so far; the latest are the good ones */
    int sessions;     /* of the metadata */
    bool is_refusing; /* nobody gives any */
    const char *expires;
};

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void answer_sts(struct world *w, struct http_exchange *x)
{
    char body[900];
    const char *wanted = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15"
                         "&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Freader"
                         "&RoleSessionName=test&WebIdentityToken=eyJ.a%2Bb%2F.c%3D";
    if (w->is_refusing || strcmp(x->body, wanted) != 0) {
        http_respond(x, 400, "",
                     "<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>not yours"
                     "</Message></Error></ErrorResponse>");
        return;
    }
    w->given++;
    snprintf(body, sizeof(body),
             "<AssumeRoleWithWebIdentityResponse "
             "xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><AssumeRoleWithWebIdentityResult>"
             "<SubjectFromWebIdentityToken>s</SubjectFromWebIdentityToken><Credentials>"
             "<SessionToken>geheim/t%d==</SessionToken><SecretAccessKey>geheim%d</SecretAccessKey>"
             "<Expiration>%s</Expiration><AccessKeyId>GIVEN%d</AccessKeyId></Credentials>"
             "</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>",
             w->given, w->given, w->expires, w->given);
    http_respond(x, 200, "", body);
}

static void answer_json(struct world *w, struct http_exchange *x)
{
    char body[500];
    w->given++;
    snprintf(
        body, sizeof(body),
        "{\"Code\":\"Success\",\"LastUpdated\":\"2012-04-26T16:39:16Z\",\"Type\":\"AWS-HMAC\","
        "\"AccessKeyId\":\"GIVEN%d\",\"SecretAccessKey\":\"geheim%d\",\"Token\":\"geheim/t%d==\","
        "\"Expiration\":\"%s\"}",
        w->given, w->given, w->given, w->expires);
    http_respond(x, 200, "", body);
}

static void answer_metadata(struct world *w, struct http_exchange *x)
{
    char session[64];
    snprintf(session, sizeof(session), "X-aws-ec2-metadata-token: session%d\r\n", w->sessions);
    if (strstr(x->text, "PUT /latest/api/token ") && !w->is_refusing) {
        assert_non_null(strstr(x->text, "X-aws-ec2-metadata-token-ttl-seconds: 300\r\n"));
        snprintf(session, sizeof(session), "session%d", ++w->sessions);
        http_respond(x, 200, "", session);
    } else if (!strstr(x->text, session)) {
        http_respond(x, 401, "", "");
    } else if (strstr(x->text, "GET /latest/meta-data/iam/security-credentials/ ")) {
        http_respond(x, 200, "", "reader");
    } else if (strstr(x->text, "GET /latest/meta-data/iam/security-credentials/reader ")) {
        answer_json(w, x);
    } else {
        http_respond(x, 404, "", "");
    }
}

static void answer_s3(struct world *w, struct http_exchange *x)
{
    char id[64], token[64];
    snprintf(id, sizeof(id), "Credential=GIVEN%d/", w->given);
    snprintf(token, sizeof(token), "x-amz-security-token: geheim/t%d==\r\n", w->given);
    if (strstr(x->text, id) && strstr(x->text, token))
        http_send_text(x, "HTTP/1.1 206 x\r\nContent-Length: 1\r\nETag: \"1\"\r\n"
                          "Content-Range: bytes 0-0/5\r\n\r\nh");
    else if (strstr(x->text, "Credential=GIVEN"))
        http_respond(x, 400, "", "<Error><Code>ExpiredToken</Code></Error>");
    else
        http_respond(x, 403, "", "<Error><Code>AccessDenied</Code></Error>");
}

static void answer(void *arg, struct http_exchange *x)
{
    struct world *w = arg;
    if (strstr(x->text, "POST / "))
        answer_sts(w, x);
    else if (strstr(x->text, "/latest/"))
        answer_metadata(w, x);
    else if (strstr(x->text, "GET /agent/reader ") &&
             strstr(x->text, "Authorization: geheim-agent\r\n"))
        answer_json(w, x);
    else
        answer_s3(w, x);
}

static void write_token(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int begin(void **state)
{
    static const char *const names[] = {"AWS_PROFILE",
                                        "AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "AWS_CONFIG_FILE",
                                        "AWS_ROLE_ARN",
                                        "AWS_WEB_IDENTITY_TOKEN_FILE",
                                        "AWS_ENDPOINT_URL",
                                        "AWS_ENDPOINT_URL_STS",
                                        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                                        "AWS_EC2_METADATA_SERVICE_ENDPOINT"};
    struct world *w = CW_NEW(struct world);
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++)
        unsetenv(names[i]);
    w->server.answer = answer;
    w->server.arg = w;
    w->expires = "2099-01-01T00:00:00Z";
    http_server_start(&w->server, NULL, NULL, NULL);
    snprintf(w->url, sizeof(w->url), "http://127.0.0.1:%d", w->server.port);
    snprintf(w->token_file, sizeof(w->token_file), "/tmp/cw_test_role_XXXXXX");
    close(mkstemp(w->token_file));
    set("AWS_SHARED_CREDENTIALS_FILE", "/dev/null");
    set("HOME", "/nowhere");
    set("AWS_ENDPOINT_URL_S3", w->url);
    cw_io_remote_start();
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    cw_io_remote_stop();
    http_server_stop(&w->server);
    unlink(w->token_file);
    cw_mem_free(w);
    return 0;
}

static void expect_good(int given, struct world *w)
{
    struct cw_io_info info;
    struct cw_err err = {0};
    if (cw_io_stat(URL, NULL, &info, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(info.size, 5);
    assert_int_equal(w->given, given);
}

static void expect_error(int code, const char *text)
{
    struct cw_io_info info;
    struct cw_err err = {0};
    assert_int_equal(cw_io_stat(URL, NULL, &info, &err), code);
    if (!strstr(err.msg, text) || strstr(err.msg, "geheim") || strstr(err.msg, "eyJ"))
        fail_msg("%s", err.msg);
}

/* What the tests of all three have in common: kept while good, got anew when refused or near its end. */
static void expect_life(struct world *w)
{
    expect_good(1, w);
    expect_good(1, w);
    w->given++; /* S3 takes others from now on: those that we have are too old */
    expect_good(3, w);
    w->given++;
    w->expires = "2000-01-01T00:00:00Z";
    expect_good(5, w);
    expect_good(6, w); /* what has ended is not even shown */
    w->expires = "2099-01-01T00:00:00Z";
    expect_good(7, w);
    expect_good(7, w);
}

static void web_identity(void **state)
{
    struct world *w = *state;
    write_token(w->token_file, "eyJ.a+b/.c=\n");
    set("AWS_ENDPOINT_URL_STS", w->url);
    set("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/reader");
    set("AWS_WEB_IDENTITY_TOKEN_FILE", w->token_file);
    set("AWS_ROLE_SESSION_NAME", "test");
    expect_life(w);
    w->is_refusing = true;
    w->given++;
    expect_error(CW_E_IO, "InvalidIdentityToken: not yours");
    unlink(w->token_file);
    expect_error(CW_E_NOT_FOUND, w->token_file);
    set("AWS_ENDPOINT_URL_STS", "http://sts.example:80");
    expect_error(CW_E_DENIED, "servers of https only");
}

/* The same by a profile; the key of the same profile counts less, as with AWS' own tools. */
static void web_identity_of_a_profile(void **state)
{
    struct world *w = *state;
    char config[64] = "/tmp/cw_test_role_XXXXXX", text[400];
    close(mkstemp(config));
    write_token(w->token_file, "eyJ.a+b/.c=");
    snprintf(text, sizeof(text),
             "[profile two]\nrole_arn = arn:aws:iam::123456789012:role/reader\n"
             "web_identity_token_file = %s\nrole_session_name = test\n"
             "aws_access_key_id = X\naws_secret_access_key = Y\n",
             w->token_file);
    write_token(config, text);
    unsetenv("AWS_ROLE_SESSION_NAME");
    set("AWS_CONFIG_FILE", config);
    set("AWS_PROFILE", "two");
    set("AWS_ENDPOINT_URL_STS", w->url);
    expect_good(1, w);
    unlink(config);
}

static void agent_of_a_container(void **state)
{
    struct world *w = *state;
    char url[100];
    snprintf(url, sizeof(url), "%s/agent/reader", w->url);
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://agent.example/agent/reader");
    expect_error(CW_E_DENIED, "neither https nor an agent of AWS");
    write_token(w->token_file, "geheim-agent\n");
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", w->token_file);
    expect_life(w);
}

static void metadata_of_an_instance(void **state)
{
    struct world *w = *state;
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", w->url);
    expect_life(w);
    assert_int_equal(w->sessions, 5);
    w->is_refusing = true;
    w->given++;
    expect_error(CW_E_DENIED, "while credentials for s3:// are got: ");
    set("AWS_EC2_METADATA_DISABLED", "true");
    expect_error(CW_E_DENIED, "no credentials were found");
    unsetenv("AWS_EC2_METADATA_DISABLED");
}

/* Another server than AWS': no instance is asked, and requests are not signed. */
static void nobody_is_asked(void **state)
{
    struct world *w = *state;
    expect_error(CW_E_DENIED, "no credentials were found");
    assert_int_equal(w->server.requests, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(web_identity, begin, end),
        cmocka_unit_test_setup_teardown(web_identity_of_a_profile, begin, end),
        cmocka_unit_test_setup_teardown(agent_of_a_container, begin, end),
        cmocka_unit_test_setup_teardown(metadata_of_an_instance, begin, end),
        cmocka_unit_test_setup_teardown(nobody_is_asked, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
