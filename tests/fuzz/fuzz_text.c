/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a text: the scanners go through all of it, lower case and the normal forms are made, and
 * WordPiece, with the first line as its vocabulary, gives tokens. A first line is also a pattern, by
 * which the rest is cut and replaced. */
#include <string.h>

#include "base/mem.h"
#include "ops/text/normal_form.h"
#include "ops/text/scan.h"
#include "ops/text/wordpiece.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void scan(const uint8_t *p, size_t n)
{
    static cw_scan_fn *const scanners[] = {cw_scan_gpt2, cw_scan_cl100k, cw_scan_llama3,
                                           cw_scan_qwen2, cw_scan_o200k};
    for (size_t i = 0; i < CW_ARRAY_LEN(scanners); i++) {
        for (size_t at = 0; at < n;) {
            const size_t len = scanners[i](p + at, n - at);
            CW_ASSERT(len > 0 && len <= n - at);
            at += len;
        }
    }
}

static void change(const uint8_t *p, size_t n)
{
    CW_STR_AUTO once = {0};
    for (int form = 0; form < CW_FORM_NONE; form++) {
        CW_STR_AUTO twice = {0};
        cw_str_clear(&once);
        CW_ASSERT(cw_normal_form((enum cw_normal_form)form, p, n, &once, NULL) == 0);
        CW_ASSERT(cw_normal_form((enum cw_normal_form)form, (const uint8_t *)cw_str_text(&once),
                                 once.len, &twice, NULL) == 0);
    }
    cw_str_clear(&once);
    CW_ASSERT(cw_lower(p, n, &once, NULL) == 0);
}

static void match(const char *pattern, const uint8_t *p, size_t n)
{
    struct cw_regex *regex = NULL;
    struct cw_err err = {0};
    CW_STR_AUTO out = {0};
    if (cw_regex_new(pattern, &regex, &err) < 0) {
        CW_ASSERT(err.msg[0]);
        return;
    }
    struct cw_regex_match *m = cw_regex_match_new(regex);
    size_t begin = 0, end = 0;
    int rc = 1;
    for (size_t at = 0; rc == 1 && at < n; at = end)
        rc = cw_regex_find(regex, m, p, n, at, &begin, &end, &err);
    if (rc >= 0)
        rc = cw_regex_replace(regex, m, p, n, "<$0>", &out, &err);
    CW_ASSERT(rc >= 0 || err.msg[0]);
    cw_regex_match_free(m);
    cw_regex_free(regex);
}

static void wordpiece(const char *vocab, const uint8_t *p, size_t n)
{
    struct cw_wordpiece model;
    struct cw_err err = {0};
    cw_wordpiece_init(&model);
    model.lower = model.strip_accents = model.chinese_chars = model.clean = true;
    model.word_chars_max = 20;
    int rc = cw_wordpiece_read(&model, vocab, strlen(vocab), "##", "a", &err);
    CW_ASSERT(rc == 0 || err.msg[0]);
    if (rc == 0) {
        struct cw_wordpiece_thread *thread = cw_wordpiece_thread_new();
        CW_ASSERT(cw_wordpiece_encode(&model, thread, p, n, &err) == 0);
        cw_wordpiece_thread_free(thread);
    }
    cw_wordpiece_fini(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *end = n > 0 ? memchr(data, '\n', n) : NULL;
    scan(data, n);
    change(data, n);
    if (end && end - data < 200 && n < 2000) {
        cw_autofree char *line = cw_mem_strndup((const char *)data, (size_t)(end - data));
        match(line, end + 1, (size_t)(data + n - end) - 1);
        for (char *c = line; *c; c++)
            *c = *c == ' ' ? '\n' : *c;
        wordpiece(line, end + 1, (size_t)(data + n - end) - 1);
    }
    return 0;
}
