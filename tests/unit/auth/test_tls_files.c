/* SPDX-License-Identifier: Apache-2.0 */
/* The files of TLS, and each way in which they can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "auth/tls_files.h"
#include "base/compiler.h"
#include "support/http_server.h"

static struct {
    char dir[64], cert[96], key[96], ca[96];
    struct test_ca *one, *two;
    struct cw_tls_options options;
} made;

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, 0600), 0);
}

/* Writes a certificate and its key, and who has signed it. */
static void sign(struct test_ca *by, const char *names, int from, int until)
{
    char *cert, *key, *ca = test_ca_text(made.one);
    test_ca_sign_names(by, names, from, until, &cert, &key);
    put(made.cert, cert);
    put(made.key, key);
    put(made.ca, ca);
    free(cert);
    free(key);
    free(ca);
}

static int setup(void **state)
{
    (void)state;
    snprintf(made.dir, sizeof(made.dir), "/tmp/cw_test_tls_files_XXXXXX");
    assert_non_null(mkdtemp(made.dir));
    snprintf(made.cert, sizeof(made.cert), "%s/a.crt", made.dir);
    snprintf(made.key, sizeof(made.key), "%s/a.key", made.dir);
    snprintf(made.ca, sizeof(made.ca), "%s/ca.crt", made.dir);
    made.options.cert = made.cert;
    made.options.key = made.key;
    made.options.ca = made.ca;
    made.one = test_ca_new("one");
    made.two = test_ca_new("two");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    remove(made.cert);
    remove(made.key);
    remove(made.ca);
    rmdir(made.dir);
    test_ca_free(made.one);
    test_ca_free(made.two);
    return 0;
}

static void test_right(void **state)
{
    struct cw_tls_files files;
    struct cw_err err = {0};
    (void)state;
    sign(made.one, "DNS:cachew-worker,IP:127.0.0.1,DNS:node1", -1, 1);
    if (cw_tls_files_read(&made.options, &files, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(files.names_n, 2);
    assert_string_equal(files.names[0], "cachew-worker");
    assert_string_equal(files.names[1], "node1");
    assert_false(files.untrusted || files.readable_by_all);
    cw_tls_files_fini(&files);
    assert_int_equal(chmod(made.key, 0644), 0);
    assert_int_equal(cw_tls_files_read(&made.options, &files, &err), 0);
    assert_true(files.readable_by_all);
    cw_tls_files_fini(&files);
    sign(made.two, "DNS:cachew-worker", -1, 1);
    assert_int_equal(cw_tls_files_read(&made.options, &files, &err), 0);
    assert_true(files.untrusted);
    cw_tls_files_fini(&files);
}

/* The error names the option and the file, and says this. */
static void wrong(const char *option, const char *file, const char *says)
{
    struct cw_tls_files files;
    struct cw_err err = {0};
    char begin[160];
    snprintf(begin, sizeof(begin), "%s %s: ", option, file);
    int rc = cw_tls_files_read(&made.options, &files, &err);
    if (rc == 0 || strncmp(err.msg, begin, strlen(begin)) != 0 || !strstr(err.msg, says) ||
        strstr(err.msg, "PRIVATE KEY-"))
        fail_msg("%d: %s", rc, err.msg);
}

static void test_wrong(void **state)
{
    (void)state;
    static const char *const junk[] = {"", "no PEM at all\n",
                                       "-----BEGIN CERTIFICATE-----\nAAAA\n"};
    char *text = test_ca_text(made.two);
    sign(made.one, "DNS:cachew-worker", -1, 1);
    put(made.key, text);
    wrong("--tls-key", made.key, "no private key");
    free(text);
    for (size_t i = 0; i < CW_ARRAY_LEN(junk); i++) {
        sign(made.one, "DNS:cachew-worker", -1, 1);
        put(made.cert, junk[i]);
        wrong("--tls-cert", made.cert, "no certificate");
        sign(made.one, "DNS:cachew-worker", -1, 1);
        put(made.ca, junk[i]);
        wrong("--tls-ca", made.ca, "no certificate");
        sign(made.one, "DNS:cachew-worker", -1, 1);
        put(made.key, junk[i]);
        wrong("--tls-key", made.key, "no private key");
    }
}

static void test_other_key(void **state)
{
    char *cert, *key;
    (void)state;
    sign(made.one, "DNS:cachew-worker", -1, 1);
    test_ca_sign_names(made.one, "DNS:cachew-worker", -1, 1, &cert, &key);
    put(made.key, key);
    wrong("--tls-key", made.key, "is not the key of the certificate in --tls-cert");
    free(cert);
    free(key);
}

static void test_times(void **state)
{
    (void)state;
    sign(made.one, "DNS:cachew-worker", -3, -1);
    wrong("--tls-cert", made.cert, "has expired on");
    sign(made.one, "DNS:cachew-worker", 1, 3);
    wrong("--tls-cert", made.cert, "is not valid before");
    sign(made.one, NULL, -1, 1);
    wrong("--tls-cert", made.cert, "has no DNS name");
    sign(made.one, "IP:127.0.0.1", -1, 1);
    wrong("--tls-cert", made.cert, "has no DNS name");
}

static void test_passphrase(void **state)
{
    (void)state;
    sign(made.one, "DNS:cachew-worker", -1, 1);
    /* openssl genpkey -algorithm ed25519 -aes128 -pass pass:secret */
    put(made.key, "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                  "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhBsVBxPfdtWgICCAAw\n"
                  "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEAQIEEEDx68rUExEi+vOUU+ZaFHkEQEuw\n"
                  "WbuzwElz+HN9W0qPqhUoAruDrxYyOXvYOuf4EtCcbxAWPRE1TwfcMfUwaVzy99wb\n"
                  "q3ue1O+Gs1pmma4c4JY=\n"
                  "-----END ENCRYPTED PRIVATE KEY-----\n");
    wrong("--tls-key", made.key, "has a passphrase");
}

static void test_missing(void **state)
{
    (void)state;
    sign(made.one, "DNS:cachew-worker", -1, 1);
    remove(made.ca);
    wrong("--tls-ca", made.ca, "No such file");
    remove(made.key);
    wrong("--tls-key", made.key, "No such file");
    remove(made.cert);
    wrong("--tls-cert", made.cert, "No such file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),      cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_other_key),  cmocka_unit_test(test_times),
        cmocka_unit_test(test_passphrase), cmocka_unit_test(test_missing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
