/* SPDX-License-Identifier: Apache-2.0 */
#include "io/remote/sigv4.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "auth/sign.h"
#include "base/mem.h"

#define SIGNED_MAX 12
#define ALGORITHM "AWS4-HMAC-SHA256"

/* The headers that are signed: "name:value", the name in small letters, sorted. */
struct signed_headers {
    char *v[SIGNED_MAX];
    size_t n;
};

static size_t name_of(const char *header)
{
    return strcspn(header, ":");
}

/* Takes "Name: value" and makes "name:value", without spaces around the value and with one where
 * there are several. */
static void add_header(struct signed_headers *all, const char *header)
{
    struct cw_str text = {0};
    size_t name_n = name_of(header);
    CW_ASSERT(all->n < SIGNED_MAX);
    for (size_t i = 0; i < name_n; i++)
        cw_str_add_char(&text, (char)tolower((unsigned char)header[i]));
    cw_str_add_char(&text, ':');
    const char *p = header + name_n + 1;
    for (p += strspn(p, " \t"); *p;) {
        size_t word_n = strcspn(p, " \t");
        cw_str_add_bytes(&text, p, word_n);
        p += word_n + strspn(p + word_n, " \t");
        if (*p)
            cw_str_add_char(&text, ' ');
    }
    all->v[all->n++] = cw_str_take(&text);
}

static int compare(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t x_n = name_of(x), y_n = name_of(y);
    int order = memcmp(x, y, CW_MIN(x_n, y_n));
    return order != 0 ? order : (x_n > y_n) - (x_n < y_n);
}

static void add_names(const struct signed_headers *all, struct cw_str *str)
{
    for (size_t i = 0; i < all->n; i++) {
        if (i > 0)
            cw_str_add_char(str, ';');
        cw_str_add_bytes(str, all->v[i], name_of(all->v[i]));
    }
}

static void add_sum(struct cw_str *str, const char *text)
{
    uint8_t sum[CW_SHA256_BYTES];
    cw_sha256(text, strlen(text), sum);
    cw_sign_add_hex(str, sum, sizeof(sum));
}

/* The canonical request. */
static void write_canonical(const struct cw_sigv4_request *request,
                            const struct signed_headers *all, const char *body_sum,
                            struct cw_str *ret_text)
{
    cw_str_addf(ret_text, "%s\n%s\n%s\n", request->method, request->path,
                request->query ? request->query : "");
    for (size_t i = 0; i < all->n; i++)
        cw_str_addf(ret_text, "%s\n", all->v[i]);
    cw_str_add_char(ret_text, '\n');
    add_names(all, ret_text);
    cw_str_addf(ret_text, "\n%s", body_sum);
}

static void derive(uint8_t key[CW_SHA256_BYTES], const char *text)
{
    uint8_t next[CW_SHA256_BYTES];
    cw_hmac_sha256(key, CW_SHA256_BYTES, text, strlen(text), next);
    memcpy(key, next, sizeof(next));
    explicit_bzero(next, sizeof(next));
}

/* Appends the signature of a text. */
static void add_signature(const struct cw_sigv4_who *who, const char *day, const char *text,
                          struct cw_str *str)
{
    uint8_t key[CW_SHA256_BYTES];
    char *first = cw_mem_printf("AWS4%s", who->secret);
    cw_hmac_sha256(first, strlen(first), day, strlen(day), key);
    explicit_bzero(first, strlen(first));
    cw_mem_free(first);
    derive(key, who->region);
    derive(key, who->service);
    derive(key, "aws4_request");
    derive(key, text);
    cw_sign_add_hex(str, key, sizeof(key));
    explicit_bzero(key, sizeof(key));
}

static void add_authorization(const struct cw_sigv4_request *request,
                              const struct cw_sigv4_who *who, const char *time,
                              const struct signed_headers *all, const char *body_sum,
                              struct cw_wire *wire)
{
    CW_STR_AUTO canonical = {0};
    CW_STR_AUTO text = {0};
    CW_STR_AUTO names = {0};
    CW_STR_AUTO signature = {0};
    cw_autofree char *day = cw_mem_strndup(time, 8);
    cw_autofree char *scope =
        cw_mem_printf("%s/%s/%s/aws4_request", day, who->region, who->service);
    write_canonical(request, all, body_sum, &canonical);
    cw_str_addf(&text, ALGORITHM "\n%s\n%s\n", time, scope);
    add_sum(&text, canonical.s);
    add_signature(who, day, text.s, &signature);
    add_names(all, &names);
    cw_wire_add(wire,
                "Authorization: " ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=%s",
                who->id, scope, names.s, signature.s);
}

void cw_sigv4_sign(const struct cw_sigv4_request *request, const struct cw_sigv4_who *who,
                   int64_t now_s, struct cw_wire *wire)
{
    struct signed_headers all = {0};
    CW_STR_AUTO body_sum = {0};
    cw_autofree char *host = cw_mem_printf("host: %s", request->host);
    char time[32];
    struct tm tm = {0};
    time_t now = (time_t)now_s;
    CW_ASSERT(gmtime_r(&now, &tm) && strftime(time, sizeof(time), "%Y%m%dT%H%M%SZ", &tm) > 0);
    add_sum(&body_sum, request->body ? request->body : "");
    size_t first = wire->headers_n;
    cw_wire_add(wire, "x-amz-date: %s", time);
    cw_wire_add(wire, "x-amz-content-sha256: %s", body_sum.s);
    if (who->token)
        cw_wire_add(wire, "x-amz-security-token: %s", who->token);
    add_header(&all, host);
    for (size_t i = first; i < wire->headers_n; i++)
        add_header(&all, wire->headers[i]);
    for (size_t i = 0; i < request->headers_n; i++)
        add_header(&all, request->headers[i]);
    qsort(all.v, all.n, sizeof(all.v[0]), compare);
    add_authorization(request, who, time, &all, body_sum.s, wire);
    for (size_t i = 0; i < all.n; i++) {
        explicit_bzero(all.v[i], strlen(all.v[i]));
        cw_mem_free(all.v[i]);
    }
}
