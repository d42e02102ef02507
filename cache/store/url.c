/* SPDX-License-Identifier: Apache-2.0 */
/* Parses URLs of stores: "scheme:address?key=value&...". */
#include <stdio.h>
#include <string.h>
#include "base/str.h"
#include "cache/store/backend.h"

#define TIMEOUT_MAX_MS (3600 * (int64_t)1000)

static const char *const common_keys[] = {"timeout", "read_rate", "write_rate",
                                          "latency", "verify",    NULL};

static int set_ms(const struct cw_store_url *url, const char *key, const char *value, int64_t min,
                  int64_t *ret_ns, struct cw_err *err)
{
    int64_t ms;

    if (!cw_str_to_ms(value, &ms) || ms < min || ms > TIMEOUT_MAX_MS)
        return cw_err_set(err, CW_E_INVALID,
                          "store %s: %s=%s is no time from %dms to 1h, such as 500ms or 5s",
                          url->text, key, value, (int)min);
    *ret_ns = ms * 1000000;
    return 0;
}
static int set_rate(const struct cw_store_url *url, const char *key, const char *value,
                    uint64_t *ret_rate, struct cw_err *err)
{
    if (!cw_str_to_bytes(value, ret_rate) || *ret_rate == 0)
        return cw_err_set(err, CW_E_INVALID,
                          "store %s: %s=%s is no number of bytes per second, such as 100M",
                          url->text, key, value);
    return 0;
}
static int set_verify(struct cw_store_url *url, const char *value, struct cw_err *err)
{
    url->verifies_always = cw_str_eq(value, "always");
    if (url->verifies_always || cw_str_eq(value, "first"))
        return 0;
    return cw_err_set(err, CW_E_INVALID, "store %s: verify is first or always", url->text);
}
static bool has_key(const char *const *keys, const char *key)
{
    for (; keys && *keys; keys++)
        if (cw_str_eq(*keys, key))
            return true;
    return false;
}
static int refuse_key(const struct cw_store_url *url, const char *key, struct cw_err *err)
{
    CW_STR_AUTO known = {0};

    for (const char *const *k = common_keys; *k; k++)
        cw_str_addf(&known, "%s%s", k == common_keys ? "" : ", ", *k);
    for (const char *const *k = url->ops->keys; k && *k; k++)
        cw_str_addf(&known, ", %s", *k);
    return cw_err_set(err, CW_E_INVALID, "store %s: there is no parameter \"%s\"; known are %s",
                      url->text, key, cw_str_text(&known));
}
static int set_own(struct cw_store_url *url, const char *key, const char *value, struct cw_err *err)
{
    if (strlen(value) >= sizeof(url->values[0]) || url->keys_n == CW_STORE_KEYS_MAX)
        return cw_err_set(err, CW_E_INVALID, "store %s: the value of %s is too long", url->text,
                          key);
    snprintf(url->keys[url->keys_n], sizeof(url->keys[0]), "%s", key);
    snprintf(url->values[url->keys_n++], sizeof(url->values[0]), "%s", value);
    return 0;
}
static int set_key(struct cw_store_url *url, const char *key, const char *value, struct cw_err *err)
{
    if (cw_str_eq(key, "timeout")) {
        url->has_timeout = true;
        return set_ms(url, key, value, 1, &url->timeout_ns, err);
    }
    if (cw_str_eq(key, "verify"))
        return set_verify(url, value, err);
    if (cw_str_eq(key, "latency"))
        return set_ms(url, key, value, 0, &url->latency_ns, err);
    if (cw_str_eq(key, "read_rate"))
        return set_rate(url, key, value, &url->read_rate, err);
    if (cw_str_eq(key, "write_rate"))
        return set_rate(url, key, value, &url->write_rate, err);
    if (has_key(url->ops->keys, key))
        return set_own(url, key, value, err);
    return refuse_key(url, key, err);
}
static int parse_keys(struct cw_store_url *url, char *query, struct cw_err *err)
{
    for (char *pair = query, *end; pair; pair = end) {
        end = strchr(pair, '&');
        if (end)
            *end++ = '\0';
        char *value = strchr(pair, '=');
        if (!value)
            return cw_err_set(err, CW_E_INVALID, "store %s: \"%s\" is not key=value", url->text,
                              pair);
        *value++ = '\0';
        int rc = set_key(url, pair, value, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
static int find_scheme(const struct cw_backend *const *backends, struct cw_store_url *url,
                       struct cw_err *err)
{
    CW_STR_AUTO forms = {0};

    for (const struct cw_backend *const *b = backends; *b; b++) {
        size_t n = strlen((*b)->scheme);
        if (strncmp(url->text, (*b)->scheme, n) == 0 && url->text[n] == ':') {
            url->ops = *b;
            snprintf(url->address, sizeof(url->address), "%s", url->text + n + 1);
            return 0;
        }
        cw_str_addf(&forms, "%s%s", b == backends ? "" : ", ", (*b)->form);
    }
    if (url->text[0] == '/')
        return cw_err_set(err, CW_E_INVALID,
                          "store \"%s\": did you mean dir:%s? a store is one of %s", url->text,
                          url->text, cw_str_text(&forms));
    return cw_err_set(err, CW_E_INVALID, "store \"%s\": a store is one of %s", url->text,
                      cw_str_text(&forms));
}
int cw_store_url_parse(const struct cw_backend *const *backends, const char *text,
                       struct cw_store_url *ret_url, struct cw_err *err)
{
    struct cw_store_url *url = ret_url;
    int rc;

    memset(url, 0, sizeof(*url));
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 127)
            return cw_err_set(err, CW_E_INVALID, "store \"%s\": a URL holds no spaces", text);
    if (strlen(text) >= sizeof(url->text))
        return cw_err_set(err, CW_E_INVALID, "store: a URL has at most %d bytes",
                          CW_STORE_URL_MAX - 1);
    snprintf(url->text, sizeof(url->text), "%s", text);
    if ((rc = find_scheme(backends, url, err)) < 0)
        return rc;
    url->timeout_ns = url->ops->timeout_ms * 1000000;
    char *query = strchr(url->address, '?');
    if (query) {
        *query++ = '\0';
        if ((rc = parse_keys(url, query, err)) < 0)
            return rc;
    }
    return url->ops->check(url, err);
}
const char *cw_store_url_get(const struct cw_store_url *url, const char *key)
{
    for (size_t i = 0; i < url->keys_n; i++)
        if (cw_str_eq(url->keys[i], key))
            return url->values[i];
    return NULL;
}

/* Returns the bytes of a URL without its parameters, and without '/' at its end. */
static size_t place_bytes(const char *url)
{
    size_t n = strcspn(url, "?");
    while (n > 0 && url[n - 1] == '/')
        n--;
    return n;
}

bool cw_store_urls_overlap(const char *a, const char *b)
{
    size_t a_n = place_bytes(a), b_n = place_bytes(b), n = CW_MIN(a_n, b_n);
    const char *longer = a_n > b_n ? a : b;
    return memcmp(a, b, n) == 0 && (a_n == b_n || longer[n] == '/');
}
