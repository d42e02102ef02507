/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of tests. */
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#include "support/http_server.h"

struct test_ca {
    EVP_PKEY *key;
    X509 *cert;
    long serial;
};

static X509 *new_cert(const char *name, long serial, int days, EVP_PKEY *key)
{
    X509 *cert = X509_new();
    X509_NAME *subject = X509_get_subject_name(cert);
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), serial);
    X509_gmtime_adj(X509_getm_notBefore(cert), -86400L * 30);
    X509_gmtime_adj(X509_getm_notAfter(cert), 86400L * days);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1,
                               0);
    X509_set_pubkey(cert, key);
    return cert;
}

static void add_extension(X509 *cert, int nid, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
}

static char *take_text(BIO *bio)
{
    char *bytes = NULL;
    long n = BIO_get_mem_data(bio, &bytes);
    char *text = strndup(bytes, (size_t)n);
    BIO_free(bio);
    return text;
}

static char *cert_text(X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, cert);
    return take_text(bio);
}

struct test_ca *test_ca_new(const char *name)
{
    struct test_ca *ca = calloc(1, sizeof(*ca));
    ca->key = EVP_EC_gen("P-256");
    ca->serial = 1;
    ca->cert = new_cert(name, 1, 30, ca->key);
    X509_set_issuer_name(ca->cert, X509_get_subject_name(ca->cert));
    add_extension(ca->cert, NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(ca->cert, ca->key, EVP_sha256());
    return ca;
}

void test_ca_free(struct test_ca *ca)
{
    X509_free(ca->cert);
    EVP_PKEY_free(ca->key);
    free(ca);
}

char *test_ca_text(const struct test_ca *ca)
{
    return cert_text(ca->cert);
}

void test_ca_sign(struct test_ca *ca, const char *name, int days, char **ret_cert, char **ret_key)
{
    (void)name;
    test_ca_sign_names(ca, "IP:127.0.0.1,DNS:localhost", -30, days, ret_cert, ret_key);
}

void test_ca_sign_names(struct test_ca *ca, const char *names, int from, int until, char **ret_cert,
                        char **ret_key)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = new_cert("test", ++ca->serial, until, key);
    BIO *bio = BIO_new(BIO_s_mem());
    X509_gmtime_adj(X509_getm_notBefore(cert), 86400L * from);
    X509_set_issuer_name(cert, X509_get_subject_name(ca->cert));
    if (names)
        add_extension(cert, NID_subject_alt_name, names);
    X509_sign(cert, ca->key, EVP_sha256());
    PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    *ret_cert = cert_text(cert);
    *ret_key = take_text(bio);
    X509_free(cert);
    EVP_PKEY_free(key);
}
