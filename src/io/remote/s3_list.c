/* SPDX-License-Identifier: Apache-2.0 */
#include "io/remote/s3_list.h"

#include <expat.h>
#include <string.h>

#include "base/mem.h"
#include "io/source_url.h"

#define TEXT_MAX 16384 /* no value of a page is longer */

/* Where the parser is: the depth, and whether in an object. */
struct page {
    XML_Parser parser;
    cw_s3_object_fn *fn;
    void *arg;
    struct cw_err *err;
    int rc;
    int depth;
    bool is_list, in_object, is_truncated, is_encoded;
    struct cw_str text, key, etag, next;
    int64_t size;
};

static void stop(struct page *page, int rc)
{
    page->rc = rc;
    (void)XML_StopParser(page->parser, XML_FALSE);
}

/* Names may have a prefix of a namespace. */
static const char *local_name(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

static void on_start(void *arg, const char *name, const char **attributes)
{
    struct page *page = arg;
    (void)attributes;
    page->depth++;
    cw_str_clear(&page->text);
    name = local_name(name);
    if (page->depth == 1)
        page->is_list = strcmp(name, "ListBucketResult") == 0;
    if (page->depth == 2 && strcmp(name, "Contents") == 0) {
        page->in_object = true;
        cw_str_clear(&page->key);
        cw_str_clear(&page->etag);
        page->size = -1;
    }
}

/* No page has a DTD, whose entities could make a short text a long one. */
static void on_doctype(void *arg, const char *name, const char *system, const char *public_id,
                       int has_subset)
{
    struct page *page = arg;
    (void)name, (void)system, (void)public_id, (void)has_subset;
    stop(page, cw_err_set(page->err, CW_E_CORRUPT, "the server's list has a DTD"));
}

static void on_text(void *arg, const char *text, int n)
{
    struct page *page = arg;
    if (page->text.len + (size_t)n > TEXT_MAX)
        stop(page, cw_err_set(page->err, CW_E_CORRUPT, "a value in a list is too long"));
    else
        cw_str_add_bytes(&page->text, text, (size_t)n);
}

static void take(struct cw_str *to, const struct cw_str *text)
{
    cw_str_clear(to);
    cw_str_add(to, cw_str_text(text));
}

static void take_member(struct page *page, const char *name)
{
    if (strcmp(name, "Key") == 0)
        take(&page->key, &page->text);
    else if (strcmp(name, "ETag") == 0)
        take(&page->etag, &page->text);
    else if (strcmp(name, "Size") == 0 && !cw_str_to_i64(cw_str_text(&page->text), &page->size))
        page->size = -1;
}

/* Decodes a key; "+" stands for a space. */
static void decode_key(const struct page *page, struct cw_str *ret_key)
{
    CW_STR_AUTO spaced = {0};
    if (!page->is_encoded) {
        cw_str_add(ret_key, cw_str_text(&page->key));
        return;
    }
    for (const char *p = cw_str_text(&page->key); *p; p++)
        cw_str_add_char(&spaced, *p == '+' ? ' ' : *p);
    cw_url_decode(ret_key, cw_str_text(&spaced), spaced.len);
}

static void end_object(struct page *page)
{
    CW_STR_AUTO key = {0};
    decode_key(page, &key);
    page->in_object = false;
    if (key.len == 0 || strlen(key.s) != key.len || page->size < 0)
        stop(page, cw_err_set(page->err, CW_E_CORRUPT, "an object in a list has no key or size"));
    else if ((page->rc =
                  page->fn(page->arg, key.s, page->size, cw_str_text(&page->etag), page->err)) < 0)
        stop(page, page->rc);
}

static void on_stop(void *arg, const char *name)
{
    struct page *page = arg;
    name = local_name(name);
    if (page->in_object && page->depth == 3)
        take_member(page, name);
    else if (page->in_object && page->depth == 2)
        end_object(page);
    else if (page->depth == 2 && strcmp(name, "IsTruncated") == 0)
        page->is_truncated = strcmp(cw_str_text(&page->text), "true") == 0;
    else if (page->depth == 2 && strcmp(name, "EncodingType") == 0)
        page->is_encoded = strcmp(cw_str_text(&page->text), "url") == 0;
    else if (page->depth == 2 && strcmp(name, "NextContinuationToken") == 0)
        take(&page->next, &page->text);
    page->depth--;
    cw_str_clear(&page->text);
}

/* The element EncodingType may come behind the objects. */
static bool says_encoded(const char *text, size_t n)
{
    static const char element[] = "<EncodingType>url<";
    return memmem(text, n, element, strlen(element)) != NULL;
}

static int check(struct page *page, bool is_parsed)
{
    if (page->rc < 0)
        return page->rc;
    if (!is_parsed || !page->is_list)
        return cw_err_set(page->err, CW_E_CORRUPT, "the server's list is none: %s",
                          is_parsed ? "it has another name"
                                    : XML_ErrorString(XML_GetErrorCode(page->parser)));
    if (page->is_truncated && page->next.len == 0)
        return cw_err_set(page->err, CW_E_CORRUPT, "the server's list goes on, but not where");
    return 0;
}

int cw_s3_list_parse(const char *text, size_t n, cw_s3_object_fn *fn, void *arg, char **ret_next,
                     struct cw_err *err)
{
    struct page page = {.parser = XML_ParserCreate("UTF-8"),
                        .fn = fn,
                        .arg = arg,
                        .err = err,
                        .is_encoded = says_encoded(text, n)};
    CW_ASSERT(page.parser && n <= INT32_MAX);
    XML_SetUserData(page.parser, &page);
    XML_SetElementHandler(page.parser, on_start, on_stop);
    XML_SetStartDoctypeDeclHandler(page.parser, on_doctype);
    XML_SetCharacterDataHandler(page.parser, on_text);
    int rc = check(&page, XML_Parse(page.parser, text, (int)n, 1) == XML_STATUS_OK);
    XML_ParserFree(page.parser);
    if (rc == 0)
        *ret_next = page.is_truncated ? cw_str_take(&page.next) : NULL;
    cw_str_fini(&page.text);
    cw_str_fini(&page.key);
    cw_str_fini(&page.etag);
    cw_str_fini(&page.next);
    return rc;
}

size_t cw_s3_element(const char *body, const char *name, const char **ret_text)
{
    cw_autofree char *begin = cw_mem_printf("<%s>", name);
    const char *at = strstr(body, begin);
    *ret_text = at ? at + strlen(begin) : "";
    return strcspn(*ret_text, "<");
}
