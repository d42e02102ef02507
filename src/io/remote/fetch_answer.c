/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what servers answer. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "io/remote/fetch_int.h"

const struct cw_io_info *cw_fetch_means(const struct cw_fetch *f)
{
    if (f->expected)
        return f->expected;
    return f->info.version[0] || f->info.size >= 0 ? &f->info : NULL;
}

bool cw_fetch_is_redirect(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool cw_fetch_parse_range(const char *text, uint64_t *ret_begin, uint64_t *ret_end,
                          int64_t *ret_size)
{
    char size[32] = "";
    int end = 0;
    if (sscanf(text, "bytes %19" SCNu64 "-%19" SCNu64 "/%31[0-9*]%n", ret_begin, ret_end, size,
               &end) != 3 ||
        text[end] != '\0' || *ret_begin > *ret_end)
        return false;
    *ret_size = -1;
    if (strcmp(size, "*") == 0)
        return true;
    return cw_str_to_i64(size, ret_size) && *ret_size >= 0 && *ret_end < (uint64_t)*ret_size;
}

static void read_version(const struct cw_fetch *f, const struct cw_http_response *response,
                         struct cw_io_info *info)
{
    const char *header = f->dialect->version_header;
    size_t cap = sizeof(info->version);
    info->version[0] = '\0';
    if (header) {
        (void)cw_http_header(response, header, 0, info->version, cap);
    } else if (!cw_http_header(response, "ETag", 0, info->version, cap)) {
        (void)cw_http_header(response, "Last-Modified", 0, info->version, cap);
    }
}

/* Compares what came with what is meant. */
static void compare(struct cw_fetch *f, const struct cw_io_info *is)
{
    const struct cw_io_info *means = cw_fetch_means(f);
    if (!means)
        return;
    if (strcmp(means->version, is->version) != 0)
        cw_err_set(&f->why, CW_E_OTHER_FILE,
                   "it has changed: its version was %s, and is %s while it is read",
                   means->version[0] ? means->version : "not told",
                   is->version[0] ? is->version : "not told");
    else if (means->size >= 0 && is->size >= 0 && means->size != is->size)
        cw_err_set(&f->why, CW_E_OTHER_FILE, "it has changed: it had %lld bytes, and has %lld",
                   (long long)means->size, (long long)is->size);
}

/* 206: just the range. */
static void read_part(struct cw_fetch *f, const struct cw_http_response *response,
                      struct cw_io_info *is)
{
    char text[96] = "";
    uint64_t begin = 0, end = 0;
    (void)cw_http_header(response, "Content-Range", 0, text, sizeof(text));
    if (!cw_fetch_parse_range(text, &begin, &end, &is->size) || begin != f->offset + f->got)
        cw_err_set(&f->why, CW_E_CORRUPT, "the server sent another range than it was asked for");
    f->has_ranges = true;
}

/* 200: the server has no ranges, or was not asked for one. */
static void read_whole(struct cw_fetch *f, const struct cw_http_response *response,
                       struct cw_io_info *is)
{
    char text[32] = "";
    f->skip = f->offset + f->got;
    if (cw_http_header(response, "Content-Length", 0, text, sizeof(text)) &&
        (!cw_str_to_i64(text, &is->size) || is->size < 0))
        cw_err_set(&f->why, CW_E_CORRUPT, "its length is no number");
    else if (f->only_range && (f->skip > 0 || is->size < 0 || (uint64_t)is->size > f->n))
        cw_err_set(&f->why, CW_E_UNSUPPORTED, "the server has no ranges");
}

void cw_fetch_read_head(struct cw_fetch *f, const struct cw_http_response *response)
{
    struct cw_io_info is = {.size = -1, .is_object = true};
    f->head_seen = true;
    f->status = response->status;
    if (f->body_max) {
        f->is_good = f->status >= 200 && f->status < 300;
        return;
    }
    if (f->status != 200 && f->status != 206)
        return;
    f->is_good = true;
    if (f->status == 206)
        read_part(f, response, &is);
    else
        read_whole(f, response, &is);
    read_version(f, response, &is);
    if (f->why.code == 0)
        compare(f, &is);
    if (f->why.code == 0)
        f->info = is;
}

static int code_of(const struct cw_fetch *f)
{
    switch (f->status) {
    case 401:
    case 403:
    case 407:
        return CW_E_DENIED;
    case 404:
    case 410:
        return f->expected ? CW_E_OTHER_FILE : CW_E_NOT_FOUND;
    case 412:
    case 416:
        return CW_E_OTHER_FILE;
    default: /* 400 and others are of the request: nothing is said of the object's bytes */
        return f->status >= 500 || f->status == 429 || f->status == 408 ? CW_E_UNAVAILABLE
                                                                        : CW_E_IO;
    }
}

/* Appends text of a server with what cannot be printed left out. */
static void add_printable(struct cw_str *text, const char *bytes)
{
    for (const char *p = bytes; *p && text->len < 300; p++)
        if (*p >= ' ' && *p < 0x7f)
            cw_str_add_char(text, *p);
}

void cw_fetch_read_refusal(const struct cw_fetch *f, struct cw_err *ret_why)
{
    static const char *const meant[] = {"", " (it has changed since the job was prepared)"};
    CW_STR_AUTO said = {0};
    CW_STR_AUTO printable = {0};
    if (f->dialect->explain)
        f->dialect->explain(cw_str_text(&f->refusal), &said);
    add_printable(&printable, cw_str_text(&said));
    int code = code_of(f);
    cw_err_set(ret_why, code, "the server answers with status %d%s%s%s", f->status,
               printable.len > 0 ? ": " : "", cw_str_text(&printable),
               meant[code == CW_E_OTHER_FILE]);
}

/* Reads Retry-After: seconds, or a date. */
static int64_t retry_after_ms(const struct cw_http_response *response)
{
    char text[64];
    int64_t seconds;
    struct tm tm = {0};
    if (!cw_http_header(response, "Retry-After", 0, text, sizeof(text)))
        return 0;
    if (cw_str_to_i64(text, &seconds))
        return CW_MIN(CW_MAX(seconds, 0), INT64_C(86400)) * 1000;
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    if (!end || *end)
        return 0;
    return CW_MAX((int64_t)timegm(&tm) * 1000 - cw_clock_wall_ms(), 0);
}

bool cw_fetch_may_pass(const struct cw_fetch *f, const struct cw_http_response *response,
                       int64_t *ret_wait_ms)
{
    static const int passing[] = {408, 425, 429, 500, 502, 503, 504, 509};
    *ret_wait_ms = retry_after_ms(response);
    for (size_t i = 0; i < CW_ARRAY_LEN(passing); i++)
        if (f->status == passing[i])
            return true;
    return false;
}
