/* SPDX-License-Identifier: Apache-2.0 */
/* The scheme gs: objects of Google's storage. Objects are read by its XML interface, whose requests
 * may carry the generation that they mean, and listed by its JSON interface. STORAGE_EMULATOR_HOST
 * names another server. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/value.h"
#include "io/match.h"
#include "io/remote/bucket_glob.h"
#include "io/remote/gs_token.h"
#include "io/remote/credentials.h"
#include "io/remote/object.h"
#include "io/source_url.h"

#define PAGE_MAX ((size_t)16 << 20)

/* Appends the beginning of all URLs. */
static void add_base(struct cw_str *url)
{
    const char *host = getenv("STORAGE_EMULATOR_HOST");
    if (!host || !*host) {
        cw_str_add(url, "https://storage.googleapis.com");
        return;
    }
    cw_str_addf(url, "%s%s", strstr(host, "://") ? "" : "http://", host);
    while (url->len > 0 && url->s[url->len - 1] == '/')
        url->s[--url->len] = '\0';
}

static int make(const struct cw_ask *ask, struct cw_wire *ret_wire, struct cw_err *err)
{
    const char *bucket = ask->url + strlen("gs://");
    size_t n = strcspn(bucket, "/");
    struct cw_str url = {0};
    int rc = cw_bucket_check(bucket, n, err);
    if (rc < 0)
        return rc;
    add_base(&url);
    if (ask->query) {
        cw_str_addf(&url, "/storage/v1/b/%.*s/o?%s", (int)n, bucket, ask->query);
    } else {
        cw_str_addf(&url, "/%.*s", (int)n, bucket);
        cw_url_encode(&url, bucket + n, strlen(bucket + n), true);
    }
    ret_wire->url = cw_str_take(&url);
    for (size_t i = 0; i < ask->headers_n; i++)
        cw_wire_add(ret_wire, "%s", ask->headers[i]);
    cw_gs_token_add(ret_wire);
    return 0;
}

/* What a refusal says: <Code> of XML, or "message" of JSON. */
static void explain(const char *body, struct cw_str *ret_text)
{
    struct cw_value answer = {0};
    const char *code = strstr(body, "<Code>");
    if (code) {
        cw_str_add_bytes(ret_text, code + 6, strcspn(code + 6, "<"));
    } else if (cw_value_parse(body, strlen(body), "answer", &answer, NULL) == 0 &&
               answer.type == CW_VALUE_OBJECT) {
        const struct cw_value *error = cw_value_get(&answer, "error");
        const struct cw_value *message =
            error && error->type == CW_VALUE_OBJECT ? cw_value_get(error, "message") : NULL;
        if (message && message->type == CW_VALUE_STR)
            cw_str_add(ret_text, message->s);
    }
    cw_value_fini(&answer);
}

static const struct cw_dialect dialect = {
    .make = make, .explain = explain, .version_header = "x-goog-generation"};

static bool drop(int rc)
{
    return rc == CW_E_DENIED && cw_gs_token_drop();
}

static const struct cw_credentials credentials = {.ensure = cw_gs_token_ensure, .drop = drop};

static int gs_stat(const char *url, const struct cw_stop *stop, struct cw_io_info *ret_info,
                   struct cw_err *err)
{
    return cw_credentials_stat(&credentials, &dialect, url, stop, ret_info, err);
}

static int gs_open(const char *url, const struct cw_stop *stop, struct cw_io_file *file,
                   struct cw_err *err)
{
    return cw_credentials_open(&credentials, &dialect, url, stop, file, err);
}

static int gs_read(const struct cw_io_file *file, uint64_t offset, void *dst, size_t n,
                   const struct cw_stop *stop, struct cw_err *err)
{
    return cw_credentials_read(&credentials, file, offset, dst, n, stop, err);
}

/* ---- lists ---- */

static const char *text_of(const struct cw_value *object, const char *key)
{
    const struct cw_value *value =
        object->type == CW_VALUE_OBJECT ? cw_value_get(object, key) : NULL;
    return value && value->type == CW_VALUE_STR ? value->s : NULL;
}

/* Takes the objects of a page. Numbers are texts in it. */
static int take_page(struct cw_find *find, const struct cw_value *page, char **ret_next,
                     struct cw_err *err)
{
    const struct cw_value *items =
        page->type == CW_VALUE_OBJECT ? cw_value_get(page, "items") : NULL;
    int rc = page->type == CW_VALUE_OBJECT ? 0 : CW_E_CORRUPT;
    for (size_t i = 0; items && items->type == CW_VALUE_LIST && i < items->n && rc == 0; i++) {
        const char *name = text_of(&items->items[i], "name"),
                   *size = text_of(&items->items[i], "size"),
                   *generation = text_of(&items->items[i], "generation");
        int64_t bytes = -1;
        if (!name || !size || !cw_str_to_i64(size, &bytes) || bytes < 0)
            rc = CW_E_CORRUPT;
        else
            rc = cw_find_add(find, name, bytes, generation ? generation : "", err);
    }
    if (rc == CW_E_CORRUPT)
        cw_err_set(err, CW_E_CORRUPT, "the server's list is none");
    if (rc == 0)
        *ret_next = cw_mem_strdup(text_of(page, "nextPageToken"));
    return rc;
}

static int read_page(struct cw_find *find, const char *token, const struct cw_stop *stop,
                     char **ret_next, struct cw_err *err)
{
    CW_STR_AUTO query = {0};
    struct cw_value page = {0};
    cw_str_add(&query,
               "fields=items%28name%2Csize%2Cgeneration%29%2CnextPageToken&maxResults=1000");
    if (token) {
        cw_str_add(&query, "&pageToken=");
        cw_url_encode(&query, token, strlen(token), false);
    }
    cw_str_add(&query, "&prefix=");
    cw_url_encode(&query, find->keys, cw_match_prefix(find->keys), false);
    CW_STR_AUTO body = {0};
    int rc = cw_credentials_get(&credentials, &dialect, find->bucket, query.s, PAGE_MAX, stop,
                                &body, err);
    if (rc == 0)
        rc = cw_value_parse(cw_str_text(&body), body.len, find->bucket, &page, err);
    if (rc == 0)
        rc = take_page(find, &page, ret_next, err);
    cw_value_fini(&page);
    return rc;
}

static int gs_glob(const char *pattern, size_t entries_max, const struct cw_stop *stop,
                   struct cw_io_list *list, struct cw_err *err)
{
    return cw_bucket_glob(pattern, entries_max, read_page, stop, list, err);
}

static void gs_fetch(const char *url, struct cw_io_fetch *fetch)
{
    cw_object_fetch(&dialect, url, fetch);
}

const struct cw_io_scheme cw_io_scheme_gs = {
    .name = "gs",
    .stat = gs_stat,
    .open = gs_open,
    .close = cw_object_close,
    .read = gs_read,
    .is_unchanged = cw_object_is_unchanged,
    .glob = gs_glob,
    .fetch = gs_fetch,
    .cancel = cw_object_cancel,
};
