/* SPDX-License-Identifier: Apache-2.0 */
/* Tokenizers: the scanners against PCRE2 with the published patterns, damaged files of models, words of a
 * megabyte, many added tokens, and that what a thread remembers changes no token. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ops/text/bpe_model.h"
#include "ops/text/sp_model.h"
#include "ops/text/wordpiece.h"
#include "support/cm.h"

#define TOKENS CW_TEST_SOURCE_DIR "/tests/ops/data/tokens/"

static char *read_file(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *ret_n = (size_t)ftell(file);
    rewind(file);
    char *bytes = cw_mem_new(*ret_n + 1);
    assert_int_equal(fread(bytes, 1, *ret_n, file), *ret_n);
    fclose(file);
    return bytes;
}

/* ---- random texts ---- */

static const char *const pieces[] = {"'s",
                                     "'S",
                                     "'\xc5\xbf",
                                     "'RE",
                                     "'ll",
                                     " ",
                                     "  ",
                                     "\t",
                                     "\r",
                                     "\n",
                                     "\r\n",
                                     "\xc2\x85",
                                     "\xc2\xa0",
                                     "a",
                                     "B",
                                     "word",
                                     "Word",
                                     "WORD",
                                     "1",
                                     "1234",
                                     "\xc2\xbd",
                                     "\xd9\xa3",
                                     "-",
                                     "/",
                                     "...",
                                     "_",
                                     "\xc3\x9f",
                                     "\xc7\x85",
                                     "\xca\xb0",
                                     "\xcc\x81",
                                     "\xe6\xbc\xa2",
                                     "\xf0\x9f\x98\x80",
                                     "\xe2\x96\x81",
                                     "'",
                                     "\xce\xa3",
                                     "\xe3\x80\x80",
                                     "\xef\xbb\xbf",
                                     "<|end|>"};

static size_t random_text(uint64_t *seed, char *out)
{
    size_t n = 0;
    const uint64_t count = (*seed = cw_mix64(*seed + 1)) % 14;
    for (uint64_t i = 0; i < count; i++) {
        const char *piece = pieces[(*seed = cw_mix64(*seed + 1)) % CW_ARRAY_LEN(pieces)];
        memcpy(out + n, piece, strlen(piece));
        n += strlen(piece);
    }
    return n;
}

/* ---- scanners ---- */

#define SPACES "\\s+(?!\\S)|\\s+"
#define CASED "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALL "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define TAIL "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define BEFORE "[^\\r\\n\\p{L}\\p{N}]?"

static const struct {
    cw_scan_fn *scan;
    const char *pattern;
} scanners[] = {
    {cw_scan_gpt2, "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|" SPACES},
    {cw_scan_cl100k,
     "'(?i:[sdmt]|ll|ve|re)|" BEFORE "+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|"
     "\\s++$(?!\\n)|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"},
    {cw_scan_llama3, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|" BEFORE
                     "\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" SPACES},
    {cw_scan_qwen2, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|" BEFORE
                    "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|" SPACES},
    {cw_scan_o200k,
     BEFORE CASED "*" SMALL "+" TAIL "|" BEFORE CASED "+" SMALL "*" TAIL
                  "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|" SPACES},
};

static void compare_scan(size_t which, const struct cw_regex *regex, struct cw_regex_match *match,
                         const uint8_t *p, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t begin = 0, end = 0;
        assert_int_equal(cw_regex_find(regex, match, p, n, at, &begin, &end, NULL), 1);
        assert_int_equal(begin, at);
        const size_t len = scanners[which].scan(p + at, n - at);
        if (at + len != end)
            fail_msg("scanner %zu, byte %zu of \"%.*s\": %zu, not %zu", which, at, (int)n,
                     (const char *)p, len, end - at);
        at = end;
    }
}

static void test_scanners(void **state)
{
    char text[256];
    (void)state;
    for (size_t which = 0; which < CW_ARRAY_LEN(scanners); which++) {
        struct cw_regex *regex = NULL;
        uint64_t seed = which;
        assert_int_equal(cw_regex_new(scanners[which].pattern, &regex, NULL), 0);
        struct cw_regex_match *match = cw_regex_match_new(regex);
        for (int i = 0; i < 4000; i++) {
            const size_t n = random_text(&seed, text);
            compare_scan(which, regex, match, (const uint8_t *)text, n);
        }
        cw_regex_match_free(match);
        cw_regex_free(regex);
    }
}

/* ---- bpe ---- */

static void load_bpe(struct cw_bpe_model *model, const char *name)
{
    size_t n;
    struct cw_err err = {0};
    cw_autofree char *path = cw_mem_printf(TOKENS "%s", name);
    cw_autofree char *bytes = read_file(path, &n);
    cw_bpe_model_init(model);
    if (cw_bpe_read_json(model, bytes, n, true, &err) < 0 ||
        cw_scan_init(&model->scan, model->pattern, &err) < 0)
        fail_msg("%s", err.msg);
}

static void test_bpe_remembers_well(void **state)
{
    static const char *const names[] = {"gpt2.json", "llama3.json", "added.json", "odd.json"};
    char text[256];
    (void)state;
    for (size_t k = 0; k < CW_ARRAY_LEN(names); k++) {
        struct cw_bpe_model model;
        uint64_t seed = k;
        load_bpe(&model, names[k]);
        struct cw_bpe_thread *thread = cw_bpe_thread_new(&model);
        for (int i = 0; i < 500; i++) {
            const size_t n = random_text(&seed, text);
            struct cw_bpe_thread *fresh = cw_bpe_thread_new(&model);
            assert_int_equal(cw_bpe_encode(&model, thread, (uint8_t *)text, n, NULL), 0);
            assert_int_equal(cw_bpe_encode(&model, fresh, (uint8_t *)text, n, NULL), 0);
            assert_int_equal(thread->ids.n, fresh->ids.n);
            assert_memory_equal(thread->ids.v, fresh->ids.v, 4 * fresh->ids.n);
            cw_bpe_thread_free(fresh);
        }
        cw_bpe_thread_free(thread);
        cw_bpe_model_fini(&model);
    }
}

/* A word of a megabyte: its tokens stand for all of its bytes. */
static void test_long_words(void **state)
{
    const size_t n = (size_t)1 << 20;
    struct cw_bpe_model model;
    cw_autofree char *text = cw_mem_new(n);
    (void)state;
    load_bpe(&model, "gpt2.json");
    struct cw_bpe_thread *thread = cw_bpe_thread_new(&model);
    for (size_t i = 0; i < n; i++)
        text[i] = "lanternkeeper"[i % 13];
    assert_int_equal(cw_bpe_encode(&model, thread, (uint8_t *)text, n, NULL), 0);
    size_t bytes = 0;
    for (size_t i = 0; i < thread->ids.n; i++)
        for (size_t k = 0; k < model.tokens.n; k++)
            if (model.tokens.entries[k].id == thread->ids.v[i])
                bytes += model.tokens.entries[k].n;
    assert_int_equal(bytes, n);
    cw_bpe_thread_free(thread);
    cw_bpe_model_fini(&model);
}

static void test_many_added_tokens(void **state)
{
    struct cw_added added;
    struct cw_added_walk walk = {0};
    struct cw_added_piece piece;
    const char text[] = "<999999><1000000>x";
    (void)state;
    cw_added_init(&added);
    for (int i = 0; i < 1000000; i++) {
        char token[16];
        const int n = snprintf(token, sizeof(token), "<%d>", i);
        assert_int_equal(
            cw_added_add(&added, token, (size_t)n, (struct cw_added_token){.id = i}, NULL), 0);
    }
    assert_true(cw_added_next(&added, &walk, (const uint8_t *)text, strlen(text), &piece));
    assert_true(piece.id == 999999 && piece.begin == 0 && piece.end == 8);
    assert_true(cw_added_next(&added, &walk, (const uint8_t *)text, strlen(text), &piece));
    assert_true(piece.id == -1 && piece.begin == 8 && piece.end == strlen(text));
    assert_false(cw_added_next(&added, &walk, (const uint8_t *)text, strlen(text), &piece));
    const struct cw_added_token last = {.id = INT32_MAX};
    assert_int_equal(cw_added_add(&added, "last", 4, last, NULL), 0);
    walk = (struct cw_added_walk){0};
    assert_true(cw_added_next(&added, &walk, (const uint8_t *)"a last", 6, &piece));
    assert_true(piece.id == -1 && piece.end == 2);
    assert_true(cw_added_next(&added, &walk, (const uint8_t *)"a last", 6, &piece));
    assert_true(piece.id == INT32_MAX && piece.begin == 2 && piece.end == 6);
    cw_added_fini(&added);
}

/* ---- sentencepiece ---- */

static void load_sp(struct cw_sp_model *model, const char *name)
{
    size_t n;
    struct cw_err err = {0};
    cw_autofree char *path = cw_mem_printf(TOKENS "%s", name);
    cw_autofree char *bytes = read_file(path, &n);
    cw_sp_init(model);
    if (cw_sp_read(model, (uint8_t *)bytes, n, &err) < 0)
        fail_msg("%s", err.msg);
}

/* A text that is not cut is computed as a whole, as the library does. */
static void test_parts_are_the_whole(void **state)
{
    static const char *const names[] = {"bpe.model", "bpe_bytes.model", "unigram.model",
                                        "unigram_bytes.model", "unigram_behind.model"};
    char text[256];
    (void)state;
    for (size_t k = 0; k < CW_ARRAY_LEN(names); k++) {
        struct cw_sp_model model, whole;
        uint64_t seed = 50 + k;
        load_sp(&model, names[k]);
        load_sp(&whole, names[k]);
        assert_true(model.cut != CW_SP_CUT_NEVER);
        whole.cut = CW_SP_CUT_NEVER;
        struct cw_sp_thread *a = cw_sp_thread_new(&model), *b = cw_sp_thread_new(&whole);
        for (int i = 0; i < 3000; i++) {
            const size_t n = random_text(&seed, text);
            assert_int_equal(cw_sp_encode(&model, a, (uint8_t *)text, n, NULL), 0);
            assert_int_equal(cw_sp_encode(&whole, b, (uint8_t *)text, n, NULL), 0);
            if (a->ids.n != b->ids.n || memcmp(a->ids.v, b->ids.v, 4 * b->ids.n) != 0)
                fail_msg("%s: other tokens for \"%.*s\"", names[k], (int)n, text);
        }
        cw_sp_thread_free(a);
        cw_sp_thread_free(b);
        cw_sp_fini(&model);
        cw_sp_fini(&whole);
    }
}

static void encode_damaged(const uint8_t *p, size_t n)
{
    struct cw_sp_model model;
    struct cw_err err = {0};
    static const char text[] = "the \xe6\xbc\xa2 <tool> lantern\xff  ";
    cw_sp_init(&model);
    if (cw_sp_read(&model, p, n, &err) == 0) {
        struct cw_sp_thread *thread = cw_sp_thread_new(&model);
        (void)cw_sp_encode(&model, thread, (const uint8_t *)text, sizeof(text) - 1, &err);
        cw_sp_thread_free(thread);
    } else {
        assert_true(err.msg[0]);
    }
    cw_sp_fini(&model);
}

static void test_damaged_models(void **state)
{
    size_t n;
    uint64_t seed = 9;
    (void)state;
    cw_autofree char *bytes = read_file(TOKENS "bpe_bytes.model", &n);
    for (size_t cut = 0; cut < n; cut++) {
        cw_autofree uint8_t *part = cw_mem_dup(bytes, CW_MAX(cut, 1));
        encode_damaged(part, cut);
    }
    for (int i = 0; i < 2000; i++) {
        cw_autofree uint8_t *other = cw_mem_dup(bytes, n);
        for (int k = 0; k < 3; k++) {
            seed = cw_mix64(seed + 1);
            other[seed % n] = (uint8_t)(seed >> 40);
        }
        encode_damaged(other, n);
    }
}

/* Reads a model of a kind; what can be read encodes a text. */
static int read_cut_bpe(const char *kind, const char *p, size_t n, struct cw_err *err)
{
    static const char text[] = "the \xe6\xbc\xa2 <tool> lantern\xff  don't";
    struct cw_bpe_model model;
    int rc;
    cw_bpe_model_init(&model);
    if (strcmp(kind, "json") == 0) {
        rc = cw_bpe_read_json(&model, p, n, true, err);
    } else if (strcmp(kind, "tiktoken") == 0) {
        model.pattern = cw_mem_printf("o200k");
        rc = cw_bpe_read_ranks(&model, p, n, err);
    } else {
        size_t vocab_n;
        cw_autofree char *vocab = read_file(TOKENS "vocab.json", &vocab_n);
        rc = cw_bpe_read_gpt2(&model, vocab, vocab_n, p, n, err);
    }
    if (rc == 0)
        rc = cw_scan_init(&model.scan, model.pattern, err);
    if (rc == 0) {
        struct cw_bpe_thread *thread = cw_bpe_thread_new(&model);
        rc = cw_bpe_encode(&model, thread, (const uint8_t *)text, sizeof(text) - 1, err);
        cw_bpe_thread_free(thread);
    }
    cw_bpe_model_fini(&model);
    return rc;
}

static int read_cut_wordpiece(const char *p, size_t n, struct cw_err *err)
{
    struct cw_wordpiece model;
    cw_wordpiece_init(&model);
    const int rc = cw_wordpiece_read(&model, p, n, "##", "[UNK]", err);
    cw_wordpiece_fini(&model);
    return rc;
}

/* Files of the other models, too, are cut after each byte, exactly as long, so that a sanitizer sees what is read
 * behind them. */
static void test_cut_models(void **state)
{
    static const char *const names[] = {"added.json", "ranks.tiktoken", "merges.txt", "vocab.txt"};
    (void)state;
    for (size_t k = 0; k < CW_ARRAY_LEN(names); k++) {
        cw_autofree char *path = cw_mem_printf("%s%s", TOKENS, names[k]);
        size_t n;
        cw_autofree char *bytes = read_file(path, &n);
        for (size_t cut = 0; cut <= n; cut++) {
            struct cw_err err = {0};
            cw_autofree char *part = cw_mem_dup(bytes, CW_MAX(cut, 1));
            const int rc = strcmp(names[k], "vocab.txt") == 0
                               ? read_cut_wordpiece(part, cut, &err)
                               : read_cut_bpe(strchr(names[k], '.') + 1, part, cut, &err);
            assert_true(rc == 0 || err.msg[0]);
            assert_true(cut < n || rc == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scanners),
        cmocka_unit_test(test_bpe_remembers_well),
        cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_many_added_tokens),
        cmocka_unit_test(test_parts_are_the_whole),
        cmocka_unit_test(test_damaged_models),
        cmocka_unit_test(test_cut_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
