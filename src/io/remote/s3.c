/* SPDX-License-Identifier: Apache-2.0 */
/* The scheme s3: "s3://bucket/key" on AWS or any server that speaks its language. Requests are signed
 * (sigv4.h) with what aws_config.h finds, which is read when it is needed first, and again when a
 * server does not take it any more. Which region a bucket is in is learnt from refusals. All state
 * here belongs to the loop thread. */
#include "io/remote/s3.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "http/http_url.h"
#include "io/match.h"
#include "io/remote/aws_config.h"
#include "io/remote/aws_role.h"
#include "io/remote/bucket_glob.h"
#include "io/remote/credentials.h"
#include "io/remote/object.h"
#include "io/remote/s3_list.h"
#include "io/remote/sigv4.h"
#include "io/source_url.h"

#define PAGE_MAX                                                                                   \
    ((size_t)16 << 20) /* a thousand keys of 1 KiB, encoded, and what belongs to them */
#define REGION_MAX 64

static struct {
    bool is_loaded;
    struct cw_aws_config config;
    struct cw_strmap regions; /* of buckets that are not in the region of the config */
} s3;

void cw_s3_forget(void)
{
    size_t i = 0;
    const char *bucket;
    void *region;
    while (cw_strmap_next(&s3.regions, &i, &bucket, &region))
        cw_mem_free(region);
    cw_strmap_fini(&s3.regions);
    cw_aws_config_fini(&s3.config);
    memset(&s3, 0, sizeof(s3));
    cw_aws_role_forget();
}

static int load(struct cw_err *err)
{
    int rc = s3.is_loaded ? 0 : cw_aws_config_load(&s3.config, err);
    s3.is_loaded = s3.is_loaded || rc == 0;
    return rc;
}

/* ---- where an object is ---- */

static const char *after_scheme(const char *url)
{
    return url + strlen("s3://");
}

static const char *region_of(const char *bucket)
{
    const char *learnt = cw_strmap_get(&s3.regions, bucket);
    return learnt ? learnt : s3.config.region;
}

/* Certificates of AWS fit names without dots only. */
static bool is_path_style(const char *bucket)
{
    return s3.config.is_path_style || strpbrk(bucket, "._") != NULL;
}

static char *endpoint_of(const char *bucket)
{
    const char *region = region_of(bucket);
    if (s3.config.endpoint)
        return cw_mem_strdup(s3.config.endpoint);
    return cw_mem_printf("https://s3.%s.amazonaws.com%s", region,
                         strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
}

/* Where a request goes: all parts of its URL. */
struct place {
    char *scheme; /* "https://" */
    char *host;   /* with the port, if it is not the usual one */
    char *path;   /* encoded */
};

static void place_fini(struct place *place)
{
    cw_mem_free(place->scheme);
    cw_mem_free(place->host);
    cw_mem_free(place->path);
}

static struct place place_of(const char *bucket, const char *key)
{
    cw_autofree char *endpoint = endpoint_of(bucket);
    const char *authority = strstr(endpoint, "://") + 3;
    size_t n = strcspn(authority, "/");
    bool in_path = is_path_style(bucket);
    struct cw_str path = {0};
    cw_str_add(&path, authority + n);
    if (in_path)
        cw_str_addf(&path, "/%s", bucket);
    if (*key || !in_path)
        cw_str_add_char(&path, '/');
    cw_url_encode(&path, key, strlen(key), true);
    return (struct place){.scheme = cw_mem_strndup(endpoint, (size_t)(authority - endpoint)),
                          .host = in_path ? cw_mem_strndup(authority, n)
                                          : cw_mem_printf("%s.%.*s", bucket, (int)n, authority),
                          .path = cw_str_take(&path)};
}

/* The header Host has no port that is the scheme's own. */
static void drop_usual_port(struct place *place)
{
    const char *usual = strcmp(place->scheme, "https://") == 0 ? ":443" : ":80";
    size_t n = strlen(place->host), m = strlen(usual);
    if (n > m && strcmp(place->host + n - m, usual) == 0)
        place->host[n - m] = '\0';
}

/* ---- requests ---- */

static void sign(const struct cw_ask *ask, const struct place *place,
                 const struct cw_sigv4_who *who, int64_t now_s, struct cw_wire *wire)
{
    const char *headers[CW_ARRAY_LEN(ask->headers)];
    size_t n = 0;
    for (size_t i = 0; i < ask->headers_n; i++) /* others may be changed on the way */
        if (strncmp(ask->headers[i], "Accept-Encoding", strlen("Accept-Encoding")) != 0)
            headers[n++] = ask->headers[i];
    const struct cw_sigv4_request request = {.method = ask->method,
                                             .host = place->host,
                                             .path = place->path,
                                             .query = ask->query,
                                             .headers = headers,
                                             .headers_n = n};
    cw_sigv4_sign(&request, who, now_s, wire);
}

/* Signs with the key of the config, else with that of a role, if there is one. */
static void sign_by_any(const struct cw_ask *ask, const struct place *place, const char *region,
                        int64_t now_s, struct cw_wire *wire)
{
    struct cw_aws_keys keys = {0};
    const bool is_role = !s3.config.id && cw_aws_role_get(&keys);
    if (s3.config.id || is_role) {
        const struct cw_sigv4_who who = {.id = is_role ? keys.id : s3.config.id,
                                         .secret = is_role ? keys.secret : s3.config.secret,
                                         .token = is_role ? keys.token : s3.config.token,
                                         .region = region,
                                         .service = "s3"};
        sign(ask, place, &who, now_s, wire);
    }
    cw_aws_keys_fini(&keys);
}

int cw_s3_make_at(const struct cw_ask *ask, int64_t now_s, struct cw_wire *ret_wire,
                  struct cw_err *err)
{
    const char *name = after_scheme(ask->url);
    size_t n = strcspn(name, "/");
    int rc = cw_bucket_check(name, n, err);
    if (rc == 0)
        rc = load(err);
    if (rc < 0)
        return rc;
    cw_autofree char *bucket = cw_mem_strndup(name, n);
    struct place place = place_of(bucket, name + n + (name[n] == '/'));
    drop_usual_port(&place);
    ret_wire->url = cw_mem_printf("%s%s%s%s%s", place.scheme, place.host, place.path,
                                  ask->query ? "?" : "", ask->query ? ask->query : "");
    for (size_t i = 0; i < ask->headers_n; i++)
        cw_wire_add(ret_wire, "%s", ask->headers[i]);
    sign_by_any(ask, &place, region_of(bucket), now_s, ret_wire);
    place_fini(&place);
    return 0;
}

static int make(const struct cw_ask *ask, struct cw_wire *ret_wire, struct cw_err *err)
{
    return cw_s3_make_at(ask, cw_clock_wall_ms() / 1000, ret_wire, err);
}

/* ---- refusals ---- */

static bool is_code(const char *body, const char *code)
{
    const char *text;
    size_t n = cw_s3_element(body, "Code", &text);
    return n == strlen(code) && memcmp(text, code, n) == 0;
}

/* The region stands in a header, or in the body. */
static bool find_region(const struct cw_http_response *response, const char *body,
                        char ret_region[REGION_MAX])
{
    const char *text;
    if (cw_http_header(response, "x-amz-bucket-region", 0, ret_region, REGION_MAX))
        return true;
    size_t n = cw_s3_element(body, "Region", &text);
    if (n == 0 || n >= REGION_MAX)
        return false;
    memcpy(ret_region, text, n);
    ret_region[n] = '\0';
    return true;
}

static bool learn_region(const struct cw_ask *ask, const struct cw_http_response *response,
                         const char *body)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    char region[REGION_MAX];
    const char *name = after_scheme(ask->url);
    cw_autofree char *bucket = cw_mem_strndup(name, strcspn(name, "/"));
    if (!find_region(response, body, region) || strcmp(region, region_of(bucket)) == 0 ||
        region[strspn(region, allowed)] != '\0')
        return false;
    cw_mem_free(cw_strmap_set(&s3.regions, bucket, cw_mem_strdup(region)));
    return true;
}

/* Looks whether there are other credentials now than those that were refused. */
static bool learn_credentials(void)
{
    struct cw_aws_config now;
    if (cw_aws_config_load(&now, NULL) < 0)
        return false;
    bool are_others = !cw_aws_config_same_credentials(&now, &s3.config);
    if (are_others) {
        struct cw_aws_config before = s3.config;
        s3.config = now;
        now = before;
    }
    cw_aws_config_fini(&now);
    return are_others;
}

static bool learn(const struct cw_ask *ask, const struct cw_http_response *response,
                  const char *body)
{
    if (response->status == 400 && is_code(body, "RequestTimeout"))
        return true;
    if (response->status < 500 && learn_region(ask, response, body))
        return true;
    bool is_expired = is_code(body, "ExpiredToken");
    if (response->status != 403 && !is_expired)
        return false;
    cw_aws_role_refused(is_expired);
    return learn_credentials();
}

static void explain(const char *body, struct cw_str *ret_text)
{
    const char *code, *message;
    size_t code_n = cw_s3_element(body, "Code", &code),
           message_n = cw_s3_element(body, "Message", &message);
    cw_str_add_bytes(ret_text, code, code_n);
    if (code_n > 0 && message_n > 0)
        cw_str_add(ret_text, ": ");
    cw_str_add_bytes(ret_text, message, message_n);
    struct cw_aws_keys keys = {0};
    if (!s3.config.id && !cw_aws_role_get(&keys))
        cw_str_add(ret_text, " (the request is not signed: no credentials were found)");
    cw_aws_keys_fini(&keys);
}

static const struct cw_dialect dialect = {.make = make, .learn = learn, .explain = explain};

/* ---- the scheme ---- */

static const struct cw_credentials credentials = {.ensure = cw_aws_role_ensure,
                                                  .drop = cw_aws_role_drop};

static int s3_stat(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
                   struct cw_err *err)
{
    return cw_credentials_stat(&credentials, &dialect, url, stop, ret_info, err);
}

static int s3_open(const char *url, const struct cw_stop *stop, struct cw_io_file *file,
                   struct cw_err *err)
{
    return cw_credentials_open(&credentials, &dialect, url, stop, file, err);
}

static int s3_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                   const struct cw_stop *stop, struct cw_err *err)
{
    return cw_credentials_read(&credentials, file, offset, dst, n, stop, err);
}

static int on_object(void *arg, const char *key, int64_t size, const char *etag, struct cw_err *err)
{
    char version[CW_IO_VERSION_BYTES] = "";
    size_t n = strlen(etag);
    if (n > 0 && n + 3 <= sizeof(version)) /* some servers leave the quotes out in lists */
        (void)snprintf(version, sizeof(version), etag[0] == '"' ? "%s" : "\"%s\"", etag);
    return cw_find_add(arg, key, size, version, err);
}

static void write_query(const struct cw_find *find, const char *token, struct cw_str *ret_query)
{
    if (token) {
        cw_str_add(ret_query, "continuation-token=");
        cw_url_encode(ret_query, token, strlen(token), false);
        cw_str_add_char(ret_query, '&');
    }
    cw_str_add(ret_query, "encoding-type=url&list-type=2&max-keys=1000&prefix=");
    cw_url_encode(ret_query, find->keys, cw_match_prefix(find->keys), false);
}

static int read_page(struct cw_find *find, const char *token, const struct cw_stop *stop,
                     char **ret_next, struct cw_err *err)
{
    CW_STR_AUTO query = {0};
    write_query(find, token, &query);
    CW_STR_AUTO body = {0};
    int rc = cw_credentials_get(&credentials, &dialect, find->bucket, query.s, PAGE_MAX, stop,
                                &body, err);
    if (rc == 0)
        rc = cw_s3_list_parse(cw_str_text(&body), body.len, on_object, find, ret_next, err);
    return rc;
}

static int s3_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                   struct cw_io_list *list, struct cw_err *err)
{
    return cw_bucket_glob(pattern, entries_max, read_page, stop, list, err);
}

static void s3_fetch(const char *url, struct cw_io_fetch *fetch)
{
    cw_object_fetch(&dialect, url, fetch);
}

const struct cw_io_scheme cw_io_scheme_s3 = {
    .name = "s3",
    .stat = s3_stat,
    .open = s3_open,
    .close = cw_object_close,
    .read = s3_read,
    .is_unchanged = cw_object_is_unchanged,
    .glob = s3_glob,
    .fetch = s3_fetch,
    .cancel = cw_object_cancel,
};
