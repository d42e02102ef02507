/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/tls_files.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)

/* What is looked at while the files are checked; owned by check(). */
struct parsed {
    const struct cw_tls_options *options;
    X509 *cert;
    STACK_OF(X509) * chain; /* what stands behind it in its file */
    EVP_PKEY *key;
    X509_STORE *store; /* the CA's certificates */
    bool encrypted;    /* the key has a passphrase */
};

static int read_text(const char *option, const char *file, char **ret_text, mode_t *ret_mode,
                     struct cw_err *err)
{
    struct stat st;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cw_err_errno(err, errno, "%s %s", option, file);
    char *text = cw_mem_new(FILE_BYTES_MAX + 1);
    size_t n = 0;
    ssize_t got = 0;
    while (n < FILE_BYTES_MAX && (got = read(fd, &text[n], FILE_BYTES_MAX - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    int failure = got < 0 || fstat(fd, &st) != 0 ? errno : 0;
    close(fd);
    *ret_text = text;
    if (failure)
        return cw_err_errno(err, failure, "%s %s", option, file);
    *ret_mode = st.st_mode;
    return n < FILE_BYTES_MAX ? 0
                              : cw_err_set(err, CW_E_INVALID, "%s %s: is too large", option, file);
}

/* ---- certificate and key ---- */

static BIO *bio_of(const char *text)
{
    return BIO_new_mem_buf(text, (int)strlen(text));
}

static void read_cert(struct parsed *parsed, const char *text)
{
    BIO *bio = bio_of(text);
    X509 *next;
    parsed->cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
    parsed->chain = sk_X509_new_null();
    while (parsed->cert && (next = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL)
        sk_X509_push(parsed->chain, next);
    BIO_free(bio);
}

/* OpenSSL asks for a passphrase; nobody is there to type one. */
static int on_passphrase(char *buf, int size, int rwflag, void *arg)
{
    struct parsed *parsed = arg;
    (void)buf;
    (void)size;
    (void)rwflag;
    parsed->encrypted = true;
    return -1;
}

static void read_key(struct parsed *parsed, const char *text)
{
    BIO *bio = bio_of(text);
    parsed->key = PEM_read_bio_PrivateKey(bio, NULL, on_passphrase, parsed);
    BIO_free(bio);
}

static void time_text(const ASN1_TIME *time, struct cw_str *out)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes = NULL;
    ASN1_TIME_print(bio, time);
    long n = BIO_get_mem_data(bio, &bytes);
    cw_str_add_bytes(out, bytes, n > 0 ? (size_t)n : 0);
    BIO_free(bio);
}

static int check_times(const struct parsed *parsed, struct cw_err *err)
{
    const ASN1_TIME *from = X509_get0_notBefore(parsed->cert),
                    *to = X509_get0_notAfter(parsed->cert);
    CW_STR_AUTO when = {0};
    if (X509_cmp_current_time(to) < 0) {
        time_text(to, &when);
        return cw_err_set(err, CW_E_INVALID,
                          "--tls-cert %s: the certificate has expired on %s: renew it",
                          parsed->options->cert, cw_str_text(&when));
    }
    if (X509_cmp_current_time(from) > 0) {
        time_text(from, &when);
        return cw_err_set(err, CW_E_INVALID,
                          "--tls-cert %s: the certificate is not valid before %s: is the clock of "
                          "this host right?",
                          parsed->options->cert, cw_str_text(&when));
    }
    return 0;
}

static int check_pair(struct parsed *parsed, const struct cw_tls_files *files, struct cw_err *err)
{
    const struct cw_tls_options *o = parsed->options;
    read_cert(parsed, files->cert);
    if (!parsed->cert)
        return cw_err_set(
            err, CW_E_INVALID,
            "--tls-cert %s: there is no certificate in it (PEM, \"BEGIN CERTIFICATE\")", o->cert);
    read_key(parsed, files->key);
    if (parsed->encrypted)
        return cw_err_set(
            err, CW_E_INVALID,
            "--tls-key %s: the key has a passphrase, which nobody can type here: give "
            "a key without one",
            o->key);
    if (!parsed->key)
        return cw_err_set(
            err, CW_E_INVALID,
            "--tls-key %s: there is no private key in it (PEM, \"BEGIN PRIVATE KEY\")", o->key);
    if (X509_check_private_key(parsed->cert, parsed->key) != 1)
        return cw_err_set(err, CW_E_INVALID,
                          "--tls-key %s: is not the key of the certificate in --tls-cert %s",
                          o->key, o->cert);
    return check_times(parsed, err);
}

static int take_names(const struct parsed *parsed, struct cw_tls_files *files, struct cw_err *err)
{
    GENERAL_NAMES *all = X509_get_ext_d2i(parsed->cert, NID_subject_alt_name, NULL, NULL);
    int n = all ? sk_GENERAL_NAME_num(all) : 0;
    files->names = CW_NEW_ARRAY(char *, (size_t)n + 1);
    for (int i = 0; i < n; i++) {
        const GENERAL_NAME *one = sk_GENERAL_NAME_value(all, i);
        if (one->type != GEN_DNS)
            continue;
        const char *text = (const char *)ASN1_STRING_get0_data(one->d.dNSName);
        size_t length = (size_t)ASN1_STRING_length(one->d.dNSName);
        files->names[files->names_n++] = cw_mem_strndup(text, length);
    }
    GENERAL_NAMES_free(all);
    if (files->names_n > 0)
        return 0;
    return cw_err_set(err, CW_E_INVALID,
                      "--tls-cert %s: the certificate has no DNS name (subjectAltName), by which "
                      "peers would know it: make one with a name such as cachew-worker",
                      parsed->options->cert);
}

/* ---- who signs ---- */

static int read_ca(struct parsed *parsed, const char *text, struct cw_err *err)
{
    BIO *bio = bio_of(text);
    X509 *one;
    size_t n = 0, expired = 0;
    parsed->store = X509_STORE_new();
    while ((one = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        n++;
        expired += X509_cmp_current_time(X509_get0_notAfter(one)) < 0;
        X509_STORE_add_cert(parsed->store, one);
        X509_free(one);
    }
    BIO_free(bio);
    if (n == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "--tls-ca %s: there is no certificate in it (PEM, \"BEGIN CERTIFICATE\")",
                          parsed->options->ca);
    if (n == expired)
        return cw_err_set(err, CW_E_INVALID,
                          "--tls-ca %s: the certificate of the CA has expired: make another one",
                          parsed->options->ca);
    return 0;
}

static bool is_trusted(const struct parsed *parsed)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    bool ok = X509_STORE_CTX_init(ctx, parsed->store, parsed->cert, parsed->chain) == 1 &&
              X509_verify_cert(ctx) == 1;
    X509_STORE_CTX_free(ctx);
    return ok;
}

/* ---- all of it ---- */

static int check(const struct cw_tls_options *options, struct cw_tls_files *files,
                 struct cw_err *err)
{
    struct parsed parsed = {.options = options};
    int rc = check_pair(&parsed, files, err);
    if (rc == 0)
        rc = take_names(&parsed, files, err);
    if (rc == 0)
        rc = read_ca(&parsed, files->ca, err);
    if (rc == 0)
        files->untrusted = !is_trusted(&parsed);
    X509_free(parsed.cert);
    sk_X509_pop_free(parsed.chain, X509_free);
    EVP_PKEY_free(parsed.key);
    X509_STORE_free(parsed.store);
    ERR_clear_error();
    return rc;
}

int cw_tls_files_read(const struct cw_tls_options *options, struct cw_tls_files *ret_files,
                      struct cw_err *err)
{
    struct cw_tls_files files = {0};
    mode_t mode = 0, key_mode = 0;
    int rc = read_text("--tls-cert", options->cert, &files.cert, &mode, err);
    if (rc == 0)
        rc = read_text("--tls-key", options->key, &files.key, &key_mode, err);
    if (rc == 0)
        rc = read_text("--tls-ca", options->ca, &files.ca, &mode, err);
    if (rc == 0)
        rc = check(options, &files, err);
    files.readable_by_all = (key_mode & S_IROTH) != 0;
    if (rc != 0)
        cw_tls_files_fini(&files);
    *ret_files = files;
    return rc;
}

void cw_tls_files_fini(struct cw_tls_files *files)
{
    if (files->key)
        explicit_bzero(files->key, strlen(files->key));
    cw_mem_free(files->cert);
    cw_mem_free(files->key);
    cw_mem_free(files->ca);
    for (size_t i = 0; i < files->names_n; i++)
        cw_mem_free(files->names[i]);
    cw_mem_free(files->names);
    *files = (struct cw_tls_files){0};
}
