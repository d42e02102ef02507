/* SPDX-License-Identifier: Apache-2.0 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <string.h>

#include "base/mem.h"
#include "ops/text/regex.h"

struct cw_regex {
    pcre2_code *code;
    pcre2_match_context *limits;
};
struct cw_regex_match {
    pcre2_match_data *data;
};

int cw_regex_new(const char *pattern, struct cw_regex **ret_regex, struct cw_err *err)
{
    int error = 0;
    PCRE2_SIZE at = 0;
    PCRE2_UCHAR text[200] = "";
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &error, &at, NULL);
    if (!code) {
        pcre2_get_error_message(error, text, sizeof(text));
        return cw_err_set(err, CW_E_INVALID, "pattern \"%.200s\", character %zu: %s", pattern,
                          (size_t)at, (const char *)text);
    }
    struct cw_regex *regex = CW_NEW(struct cw_regex);
    regex->code = code;
    regex->limits = pcre2_match_context_create(NULL);
    CW_ASSERT(regex->limits);
    pcre2_set_match_limit(regex->limits, CW_REGEX_STEPS_MAX);
    pcre2_set_heap_limit(regex->limits, CW_REGEX_HEAP_KIB);
    *ret_regex = regex;
    return 0;
}

void cw_regex_free(struct cw_regex *regex)
{
    if (!regex)
        return;
    pcre2_match_context_free(regex->limits);
    pcre2_code_free(regex->code);
    cw_mem_free(regex);
}

struct cw_regex_match *cw_regex_match_new(const struct cw_regex *regex)
{
    struct cw_regex_match *match = CW_NEW(struct cw_regex_match);
    match->data = pcre2_match_data_create_from_pattern(regex->code, NULL);
    CW_ASSERT(match->data);
    return match;
}

void cw_regex_match_free(struct cw_regex_match *match)
{
    if (!match)
        return;
    pcre2_match_data_free(match->data);
    cw_mem_free(match);
}

static int failed(int rc, struct cw_err *err)
{
    PCRE2_UCHAR text[200] = "";
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT || rc == PCRE2_ERROR_HEAPLIMIT)
        return cw_err_set(err, CW_E_LIMIT,
                          "the pattern needs more than %d steps, or %d KiB, for this text",
                          CW_REGEX_STEPS_MAX, CW_REGEX_HEAP_KIB);
    pcre2_get_error_message(rc, text, sizeof(text));
    return cw_err_set(err, rc == PCRE2_ERROR_NOMEMORY ? CW_E_NOMEM : CW_E_INVALID, "pattern: %s",
                      (const char *)text);
}

int cw_regex_find(const struct cw_regex *regex, struct cw_regex_match *match, const uint8_t *p,
                  size_t n, size_t at, size_t *ret_begin, size_t *ret_end, struct cw_err *err)
{
    const int rc = pcre2_match(regex->code, p, n, at, PCRE2_NOTEMPTY, match->data, regex->limits);
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc < 0)
        return failed(rc, err);
    const PCRE2_SIZE *places = pcre2_get_ovector_pointer(match->data);
    /* \K inside of a lookahead may give a match that ends before it begins, or before `at` */
    if (places[0] < at || places[1] <= places[0] || places[1] > n)
        return cw_err_set(err, CW_E_INVALID, "pattern: \\K makes a match end before it begins");
    *ret_begin = places[0];
    *ret_end = places[1];
    return 1;
}

int cw_regex_replace(const struct cw_regex *regex, struct cw_regex_match *match, const uint8_t *p,
                     size_t n, const char *with, struct cw_str *out, struct cw_err *err)
{
    for (;;) {
        PCRE2_SIZE room = out->cap;
        const int rc = pcre2_substitute(regex->code, p, n, 0,
                                        PCRE2_SUBSTITUTE_GLOBAL | PCRE2_SUBSTITUTE_OVERFLOW_LENGTH |
                                            PCRE2_SUBSTITUTE_UNSET_EMPTY,
                                        match->data, regex->limits, (PCRE2_SPTR)with, strlen(with),
                                        (PCRE2_UCHAR *)out->s, &room);
        if (rc >= 0) {
            out->len = room;
            return 0;
        }
        if (rc != PCRE2_ERROR_NOMEMORY || room <= out->cap)
            return failed(rc, err);
        char *s = cw_mem_try_grow(out->s, room + room / 4);
        if (!s)
            return cw_err_set(err, CW_E_NOMEM, "no memory for %zu bytes", (size_t)room);
        out->s = s;
        out->cap = room + room / 4;
    }
}

/* Returns the length of the group's name or number behind a $, 0: there is none such. */
static size_t group_len(const struct cw_regex *regex, const char *p)
{
    uint32_t groups = 0;
    char name[64] = "";
    const bool braces = p[0] == '{';
    const size_t n = strspn(p + braces, braces ? "0123456789_abcdefghijklmnopqrstuvwxyz"
                                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                               : "0123456789");
    if (n == 0 || n >= sizeof(name) || (braces && p[1 + n] != '}'))
        return 0;
    memcpy(name, p + braces, n);
    pcre2_pattern_info(regex->code, PCRE2_INFO_CAPTURECOUNT, &groups);
    int64_t number;
    const bool known = cw_str_to_i64(name, &number)
                           ? number <= (int64_t)groups
                           : pcre2_substring_number_from_name(regex->code, (PCRE2_SPTR)name) > 0;
    return known ? n + 2 * (size_t)braces : 0;
}

int cw_regex_check_template(const struct cw_regex *regex, const char *with, struct cw_err *err)
{
    for (const char *p = strchr(with, '$'); p; p = strchr(p, '$')) {
        const size_t len = p[1] == '$' ? 1 : group_len(regex, p + 1);
        if (len == 0)
            return cw_err_set(err, CW_E_INVALID,
                              "option with: \"%.40s\" names no group of the pattern; $$ is a $", p);
        p += 1 + len;
    }
    return 0;
}
