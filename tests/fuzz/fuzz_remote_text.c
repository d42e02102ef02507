/* SPDX-License-Identifier: Apache-2.0 */
/* What servers and files say to src/io/remote: lists of S3, credentials, profiles, ranges; and URLs and
 * patterns of pipelines. The first byte says which. */
#include <string.h>

#include "base/mem.h"
#include "io/match.h"
#include "io/remote/aws_role.h"
#include "io/remote/fetch_int.h"
#include "io/remote/ini.h"
#include "io/remote/s3_list.h"
#include "io/source_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static int on_object(void *arg, const char *key, int64_t size, const char *etag, struct cw_err *err)
{
    (void)arg, (void)err;
    CW_ASSERT(key[0] && size >= 0 && etag);
    return 0;
}

static void read_list(const char *text, size_t n)
{
    char *next = NULL;
    struct cw_err err = {0};
    if (cw_s3_list_parse(text, n, on_object, NULL, &next, &err) == 0)
        CW_ASSERT(!next || next[0]);
    else
        CW_ASSERT(err.msg[0] != '\0');
    cw_mem_free(next);
}

static void read_profile(const char *text)
{
    char *value = cw_ini_get(text, "profile a", NULL, "region");
    CW_ASSERT(!value || value[0]);
    cw_mem_free(value);
    value = cw_ini_get(text, "default", "s3", "addressing_style");
    CW_ASSERT(!value || value[0]);
    cw_mem_free(value);
}

static void read_keys(const char *text)
{
    struct cw_aws_keys keys;
    char *expires;
    if (cw_aws_keys_parse(text, &keys, &expires))
        CW_ASSERT(keys.id[0] && keys.secret[0] && keys.token[0] && !strpbrk(keys.token, "\r\n "));
    cw_aws_keys_fini(&keys);
    cw_mem_free(expires);
}

static void read_range(const char *text)
{
    uint64_t begin, end;
    int64_t size;
    if (cw_fetch_parse_range(text, &begin, &end, &size))
        CW_ASSERT(begin <= end && (size < 0 || end < (uint64_t)size));
}

/* What is encoded is decoded to the same; a URL that passes has no step upwards. */
static void read_url(const char *text, size_t n)
{
    struct cw_str coded = {0}, decoded = {0};
    struct cw_err err = {0};
    if (cw_url_check(text, &err) == 0)
        CW_ASSERT(!strstr(strstr(text, "://") + 3, "/../"));
    else
        CW_ASSERT(err.msg[0] != '\0');
    cw_url_encode(&coded, text, n, true);
    cw_url_decode(&decoded, cw_str_text(&coded), coded.len);
    CW_ASSERT(decoded.len == n && (n == 0 || memcmp(decoded.s, text, n) == 0));
    cw_str_fini(&coded);
    cw_str_fini(&decoded);
}

/* The pattern, a line's end, and the name. A name without wildcards matches itself. */
static void match(char *text)
{
    char *name = strchr(text, '\n');
    if (!name)
        return;
    *name++ = '\0';
    (void)cw_match_name(text, name);
    if (!cw_match_is_pattern(name) && strlen(name) < 1000)
        CW_ASSERT(cw_match_name(name, name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    char *text = cw_mem_strndup((const char *)data + 1, n - 1);
    switch (data[0]) {
    case 'k':
        read_keys(text);
        break;
    case 'l':
        read_list((const char *)data + 1, n - 1);
        break;
    case 'p':
        read_profile(text);
        break;
    case 'r':
        read_range(text);
        break;
    case 'u':
        read_url(text, strlen(text));
        break;
    default:
        match(text);
    }
    cw_mem_free(text);
    return 0;
}
