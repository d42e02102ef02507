/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/sign.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <string.h>

#include "base/mem.h"

void cw_sha256(const void *p, size_t n, uint8_t ret_sum[CW_SHA256_BYTES])
{
    CW_ASSERT(SHA256(p, n, ret_sum));
}

void cw_hmac_sha256(const void *key, size_t key_n, const void *p, size_t n,
                    uint8_t ret_sum[CW_SHA256_BYTES])
{
    unsigned int sum_n = CW_SHA256_BYTES;
    CW_ASSERT(key_n <= INT32_MAX);
    CW_ASSERT(HMAC(EVP_sha256(), key, (int)key_n, p, n, ret_sum, &sum_n));
}

void cw_sign_add_hex(struct cw_str *str, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        cw_str_add_char(str, digits[bytes[i] >> 4]);
        cw_str_add_char(str, digits[bytes[i] & 15]);
    }
}

void cw_sign_add_base64url(struct cw_str *str, const void *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const uint8_t *p = bytes;
    for (size_t i = 0; i < n; i += 3) {
        size_t left = CW_MIN((size_t)3, n - i);
        uint32_t bits = (uint32_t)p[i] << 16;
        if (left > 1)
            bits |= (uint32_t)p[i + 1] << 8;
        if (left > 2)
            bits |= p[i + 2];
        for (size_t k = 0; k <= left; k++)
            cw_str_add_char(str, digits[bits >> (18 - 6 * k) & 63]);
    }
}

static EVP_PKEY *read_key(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    if (key && EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) {
        EVP_PKEY_free(key);
        return NULL;
    }
    return key;
}

int cw_sign_add_rs256(struct cw_str *str, const char *pem, const void *bytes, size_t n,
                      struct cw_err *err)
{
    EVP_PKEY *key = read_key(pem);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    size_t signature_n = 0;
    uint8_t *signature = NULL;
    CW_ASSERT(context);
    bool ok = key && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
              EVP_DigestSign(context, NULL, &signature_n, bytes, n) == 1;
    if (ok) {
        signature = CW_NEW_ARRAY(uint8_t, signature_n);
        ok = EVP_DigestSign(context, signature, &signature_n, bytes, n) == 1;
    }
    if (ok)
        cw_sign_add_base64url(str, signature, signature_n);
    cw_mem_free(signature);
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return ok ? 0 : cw_err_set(err, CW_E_INVALID, "the private key is no RSA key in PEM form");
}
