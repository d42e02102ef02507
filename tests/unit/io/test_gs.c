/* SPDX-License-Identifier: Apache-2.0 */
/* Google's storage: tokens of a service account, whose signature the server checks with the account's
 * public key, lists by pages, generations. */
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
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

struct world {
    struct http_server server;
    EVP_PKEY *key;
    char path[64]; /* of the account's file */
    int tokens, listed, refused, generation, lasts_s;
    bool bad_account;
};

/* Decodes base64 for URLs. Returns the number of bytes. */
static size_t decode(const char *text, size_t n, unsigned char *bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint32_t bits = 0;
    size_t have = 0, got = 0;
    for (size_t i = 0; i < n; i++) {
        bits = bits << 6 | (uint32_t)(strchr(digits, text[i]) - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            bytes[got++] = (unsigned char)(bits >> have);
        }
    }
    return got;
}

static bool is_signed(struct world *w, const char *claim)
{
    unsigned char claims[2048] = {0}, signature[1024];
    const char *first = strchr(claim, '.'), *second = strchr(first + 1, '.');
    size_t n = decode(second + 1, strlen(second + 1), signature);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool ok = EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, w->key) == 1 &&
              EVP_DigestVerify(context, signature, n, (const unsigned char *)claim,
                               (size_t)(second - claim)) == 1;
    EVP_MD_CTX_free(context);
    decode(first + 1, (size_t)(second - first) - 1, claims);
    return ok && strstr((char *)claims, "\"iss\":\"a@b.example\"") &&
           strstr((char *)claims, "devstorage.read_only\"") &&
           strstr((char *)claims, "/token\",\"iat\":");
}

static void answer_token(struct world *w, struct http_exchange *x)
{
    static const char grant[] =
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=";
    char body[200];
    if (w->bad_account || strncmp(x->body, grant, strlen(grant)) != 0 ||
        !is_signed(w, x->body + strlen(grant))) {
        http_respond(x, 400, "", "{\"error\":\"invalid_grant\"}");
        return;
    }
    snprintf(body, sizeof(body), "{\"access_token\":\"ya29.geheim-%d\",\"expires_in\":3599}",
             ++w->tokens);
    http_respond(x, 200, "", body);
}

/* As the metadata server of an instance: recorded of its documentation. */
static void answer_metadata(struct world *w, struct http_exchange *x)
{
    char body[200];
    if (!strstr(x->text, "Metadata-Flavor: Google\r\n") || w->bad_account) {
        http_respond(x, 403, "", "Missing Metadata-Flavor:Google header");
        return;
    }
    snprintf(body, sizeof(body),
             "{\"access_token\":\"ya29.geheim-%d\",\"expires_in\":%d,\"token_type\":\"Bearer\"}",
             ++w->tokens, w->lasts_s);
    http_respond(x, 200, "Content-Type: application/json\r\nMetadata-Flavor: Google\r\n", body);
}

static void answer_object(struct world *w, struct http_exchange *x)
{
    char head[200];
    const char *meant = strstr(x->text, "x-goog-if-generation-match: ");
    const char *range = strstr(x->text, "Range: bytes=");
    unsigned long begin = 0, end = 0;
    (void)sscanf(range, "Range: bytes=%lu-%lu", &begin, &end);
    end = CW_MIN(end, 199999);
    if (meant && strtol(strchr(meant, ' '), NULL, 10) != w->generation) {
        http_respond(x, 412, "", "<Error><Code>PreconditionFailed</Code></Error>");
        return;
    }
    char *bytes = CW_NEW_ARRAY(char, 200000);
    memset(bytes, 'x', 200000);
    snprintf(head, sizeof(head),
             "HTTP/1.1 206 x\r\nContent-Length: %lu\r\nContent-Range: bytes %lu-%lu/200000\r\n"
             "x-goog-generation: %d\r\n\r\n",
             end - begin + 1, begin, end, w->generation);
    http_send_text(x, head);
    http_send(x, bytes, end - begin + 1);
    cw_mem_free(bytes);
}

static void answer(void *arg, struct http_exchange *x)
{
    struct world *w = arg;
    char token[64];
    snprintf(token, sizeof(token), "Authorization: Bearer ya29.geheim-%d\r\n", w->tokens);
    if (strstr(x->text, "POST /token ")) {
        answer_token(w, x);
    } else if (strstr(x->text,
                      "GET /computeMetadata/v1/instance/service-accounts/default/token ")) {
        answer_metadata(w, x);
    } else if (!strstr(x->text, token) || w->refused-- > 0) {
        http_respond(x, 401, "", "<Error><Code>Unauthenticated</Code></Error>");
    } else if (strstr(x->text, "GET /storage/v1/b/corpus/o?") && !strstr(x->text, "pageToken=")) {
        assert_non_null(strstr(x->text, "prefix=a%20b%2F"));
        http_respond(
            x, 200, "",
            "{\"items\":[{\"name\":\"a b/1.bin\",\"size\":\"200000\",\"generation\":\"7\"},"
            "{\"name\":\"a b/1.txt\",\"size\":\"1\",\"generation\":\"7\"}],"
            "\"nextPageToken\":\"x=\"}");
    } else if (strstr(x->text, "pageToken=x%3D&")) {
        http_respond(x, 200, "",
                     "{\"items\":[{\"name\":\"a b/2.bin\",\"size\":\"3\",\"generation\":\"8\"}]}");
    } else if (strstr(x->text, "GET /corpus/a%20b/1.bin ")) {
        answer_object(w, x);
    } else {
        http_respond(x, 404, "", "{\"error\":{\"message\":\"no such object\"}}");
    }
}

/* Writes the file of a service account. */
static void write_account(struct world *w)
{
    char *pem = NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    assert_int_equal(PEM_write_bio_PrivateKey(bio, w->key, NULL, NULL, 0, NULL, NULL), 1);
    long n = BIO_get_mem_data(bio, &pem);
    struct cw_str text = {0};
    cw_str_add(&text,
               "{\"type\":\"service_account\",\"client_email\":\"a@b.example\",\"private_key\":");
    cw_str_add_json(&text, pem, (size_t)n);
    cw_str_addf(&text, ",\"token_uri\":\"http://127.0.0.1:%d/token\"}", w->server.port);
    snprintf(w->path, sizeof(w->path), "/tmp/cw_test_gs_XXXXXX");
    int fd = mkstemp(w->path);
    assert_int_equal(write(fd, text.s, text.len), text.len);
    close(fd);
    cw_str_fini(&text);
    BIO_free(bio);
}

static int begin(void **state)
{
    struct world *w = CW_NEW(struct world);
    char url[64];
    signal(SIGPIPE, SIG_IGN);
    w->server.answer = answer;
    w->server.arg = w;
    w->generation = 7;
    w->lasts_s = 3599;
    w->key = EVP_RSA_gen(2048);
    assert_non_null(w->key);
    http_server_start(&w->server, NULL, NULL, NULL);
    write_account(w);
    snprintf(url, sizeof(url), "127.0.0.1:%d", w->server.port);
    setenv("STORAGE_EMULATOR_HOST", url, 1);
    setenv("GOOGLE_APPLICATION_CREDENTIALS", w->path, 1);
    unsetenv("GCE_METADATA_HOST");
    cw_io_remote_start();
    *state = w;
    return 0;
}

static int end(void **state)
{
    struct world *w = *state;
    cw_io_remote_stop();
    http_server_stop(&w->server);
    unlink(w->path);
    EVP_PKEY_free(w->key);
    cw_mem_free(w);
    return 0;
}

static void lists_and_reads(void **state)
{
    struct world *w = *state;
    struct cw_io_list list = {0};
    struct cw_io_file file;
    struct cw_err err = {0};
    char byte;
    if (cw_io_glob("gs://corpus/a b/*.bin", 0, NULL, &list, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.v[1].url, "gs://corpus/a b/2.bin");
    if (cw_io_open(list.v[0].url, NULL, &file, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(file.info.size, list.v[0].size);
    assert_int_equal(cw_io_mark(&file.info), list.v[0].mark);
    assert_int_equal(w->tokens, 1);
    w->refused = 1; /* the token is good no more */
    if (cw_io_read(&file, 100000, &byte, 1, NULL, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(byte, 'x');
    assert_int_equal(w->tokens, 2);
    w->generation = 8;
    assert_int_equal(cw_io_read(&file, 199999, &byte, 1, NULL, &err), CW_E_OTHER_FILE);
    assert_non_null(strstr(err.msg, "PreconditionFailed"));
    cw_io_close(&file);
    cw_io_list_fini(&list);
}

static void refusals(void **state)
{
    struct world *w = *state;
    struct cw_io_file file;
    struct cw_err err = {0};
    assert_int_equal(cw_io_open("gs://corpus/none", NULL, &file, &err), CW_E_NOT_FOUND);
    assert_non_null(strstr(err.msg, "no such object"));
    w->refused = 1000;
    assert_int_equal(cw_io_open("gs://corpus/none", NULL, &file, &err), CW_E_DENIED);
    assert_null(strstr(err.msg, "geheim"));
    w->bad_account = true;
    assert_true(cw_io_open("gs://corpus/none", NULL, &file, &err) < 0);
    assert_non_null(strstr(err.msg, "token"));
    assert_null(strstr(err.msg, "assertion"));
    setenv("GOOGLE_APPLICATION_CREDENTIALS", "/dev/null", 1);
    assert_int_equal(cw_io_open("gs://corpus/none", NULL, &file, &err), CW_E_INVALID);
    assert_non_null(strstr(err.msg, "/dev/null"));
}

/* The token of an instance is got of its metadata server, kept while it lasts, and got anew when it is
 * about to end or was refused. */
static void metadata(void **state)
{
    struct world *w = *state;
    struct cw_io_info info;
    struct cw_io_list list = {0};
    struct cw_err err = {0};
    char host[64];
    snprintf(host, sizeof(host), "127.0.0.1:%d", w->server.port);
    unsetenv("GOOGLE_APPLICATION_CREDENTIALS");
    setenv("GCE_METADATA_HOST", host, 1);
    if (cw_io_glob("gs://corpus/a b/*.bin", 0, NULL, &list, &err) < 0)
        fail_msg("%s", err.msg);
    assert_int_equal(list.n, 2);
    assert_int_equal(cw_io_stat(list.v[0].url, NULL, &info, &err), 0);
    assert_int_equal(w->tokens, 1);
    w->refused = 1;
    w->lasts_s = 299; /* less than what is kept in reserve */
    assert_int_equal(cw_io_stat(list.v[0].url, NULL, &info, &err), 0);
    assert_int_equal(w->tokens, 2);
    assert_int_equal(cw_io_stat(list.v[0].url, NULL, &info, &err), 0);
    assert_int_equal(w->tokens, 3);
    w->bad_account = true;
    assert_int_equal(cw_io_stat(list.v[0].url, NULL, &info, &err), CW_E_DENIED);
    assert_non_null(strstr(err.msg, "token"));
    cw_io_list_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_and_reads, begin, end),
        cmocka_unit_test_setup_teardown(refusals, begin, end),
        cmocka_unit_test_setup_teardown(metadata, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
