/* SPDX-License-Identifier: Apache-2.0 */
/* Records of text by the scanner against a plain walk over the same bytes; the index against a list;
 * masks against their plain forms. */
#include "support/cm.h"

#include <string.h>

#include "base/mem.h"
#include "format/byte_mask.h"
#include "format/line_scan.h"

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void fill(char *p, size_t n, const char *of, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = of[draw(seed) % strlen(of)];
}

static void masks_are_as_the_plain_ones(void **state)
{
    uint64_t seed = 88172645463325252u;
    char bytes[64];
    (void)state;
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (char)(round % 2 ? draw(&seed) : draw(&seed) % 48);
        for (int c = 0; c < 256; c += 5)
            assert_true(cw_mask64(bytes, (char)c) == cw_mask64_plain(bytes, (char)c));
        assert_true(cw_mask64_text(bytes) == cw_mask64_text_plain(bytes));
        uint64_t bits = draw(&seed), parity = 0;
        for (unsigned i = 0, odd = 0; i < 64; i++) {
            odd ^= (unsigned)(bits >> i & 1);
            parity |= (uint64_t)odd << i;
        }
        assert_true(cw_prefix_xor(bits) == parity);
    }
}

struct plain {
    uint64_t begins[5000];
    size_t n;
    bool is_open;
};

static bool is_text(char c, enum cw_blank blank)
{
    return blank == CW_BLANK_KEPT ||
           (blank == CW_BLANK_EMPTY ? c != '\n' && c != '\r' : (unsigned char)c > ' ');
}

/* The same by one byte after the other. */
static void walk(const char *p, size_t n, const struct cw_line_rules *rules, struct plain *plain)
{
    size_t begin = rules->skips_mark && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    uint64_t seen = 0;
    bool text = false;
    plain->n = 0;
    plain->is_open = false;
    for (size_t i = 0; i < n; i++) {
        if (rules->quote && p[i] == rules->quote)
            plain->is_open = !plain->is_open;
        bool ends = p[i] == '\n' && !plain->is_open;
        text = text || (i >= begin && is_text(p[i], rules->blank) &&
                        (!ends || rules->blank == CW_BLANK_KEPT));
        if (!ends && i + 1 < n)
            continue;
        if (text && i + 1 > begin && seen++ >= rules->head)
            plain->begins[plain->n++] = begin;
        text = false;
        begin = i + 1;
    }
}

static void check_one(const char *p, size_t n, const struct cw_line_rules *rules,
                      struct plain *plain)
{
    struct cw_readable_bytes bytes = {p, n};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    struct cw_line_index *index = NULL;
    struct cw_err err = {0};
    walk(p, n, rules, plain);
    int rc = cw_line_scan(&file, rules, &index, &err);
    if (plain->is_open) {
        assert_int_equal(rc, CW_E_CORRUPT);
        assert_non_null(strstr(err.msg, "a quote is open"));
        return;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(cw_line_index_n(index), plain->n);
    for (size_t k = 0; k < plain->n; k++)
        assert_int_equal(cw_line_index_at(index, k), plain->begins[k]);
    assert_int_equal(cw_line_index_at(index, plain->n), n);
    cw_line_index_free(index);
}

static void records_are_those_of_a_plain_walk(void **state)
{
    static const char *const alphabets[] = {"\n", "a\n", "\"\n,", "ab \r\n\"", "abcdefgh\n\r\t"};
    cw_autofree struct plain *plain = CW_NEW(struct plain);
    uint64_t seed = 4101842887655102017u;
    char text[4096];
    (void)state;
    for (int round = 0; round < 4000; round++) {
        const size_t n = draw(&seed) % (round % 3 ? 200 : sizeof(text));
        const struct cw_line_rules rules = {.quote = draw(&seed) % 2 ? '"' : '\0',
                                            .blank = (enum cw_blank)(draw(&seed) % 3),
                                            .skips_mark = draw(&seed) % 2,
                                            .head = draw(&seed) % 3};
        fill(text, n, alphabets[draw(&seed) % CW_ARRAY_LEN(alphabets)], &seed);
        if (n >= 3 && draw(&seed) % 2)
            memcpy(text, "\xef\xbb\xbf", 3);
        check_one(text, n, &rules, plain);
    }
}

static void are_equal(const struct cw_line_index *a, const struct cw_line_index *b)
{
    const uint64_t n = cw_line_index_n(a);
    assert_int_equal(cw_line_index_n(b), n);
    for (uint64_t k = 0; k <= n; k++)
        assert_int_equal(cw_line_index_at(a, k), cw_line_index_at(b, k));
}

static void check_pieces(const char *p, size_t n, const struct cw_line_rules *rules,
                         uint64_t piece_bytes)
{
    struct cw_readable_bytes bytes = {p, n};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    struct cw_line_index *whole = NULL, *pieces = NULL;
    struct cw_err err = {0};
    assert_int_equal(cw_line_scan(&file, rules, &whole, &err), 0);
    assert_int_equal(cw_line_scan_pieces(&file, rules, piece_bytes, 3, &pieces, &err), 0);
    are_equal(whole, pieces);
    cw_line_index_free(whole);
    cw_line_index_free(pieces);
}

/* Wherever the seams are: in a line, at its end, before a blank line, in many lines that are longer than a
 * piece. */
static void pieces_make_the_same_index(void **state)
{
    static const char *const alphabets[] = {
        "\n", "a\n", "ab \r\n", "abcdefgh\n\r\t",
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\n"};
    uint64_t seed = 77;
    char text[600];
    (void)state;
    for (int round = 0; round < 400; round++) {
        const size_t n = draw(&seed) % sizeof(text);
        const struct cw_line_rules rules = {.blank = (enum cw_blank)(draw(&seed) % 3),
                                            .skips_mark = draw(&seed) % 2,
                                            .head = draw(&seed) % 4};
        fill(text, n, alphabets[draw(&seed) % CW_ARRAY_LEN(alphabets)], &seed);
        if (n >= 3 && draw(&seed) % 2)
            memcpy(text, "\xef\xbb\xbf", 3);
        check_pieces(text, n, &rules, 4 + draw(&seed) % 100);
    }
}

/* Pieces that are longer than a window, and lines of several pieces, of nothing but spaces too. */
static void pieces_of_many_windows(void **state)
{
    const size_t n = ((size_t)5 << 20) + 3;
    cw_autofree char *text = cw_mem_new(n);
    uint64_t seed = 5;
    (void)state;
    memset(text, 'x', n);
    memset(text + n / 2, ' ', n / 3);
    for (int i = 0; i < 40; i++)
        text[draw(&seed) % n] = '\n';
    for (int blank = 0; blank < 3; blank++) {
        const struct cw_line_rules rules = {.blank = (enum cw_blank)blank};
        check_pieces(text, n, &rules, ((uint64_t)2 << 20) + 1);
        check_pieces(text, n, &rules, 100000);
    }
}

/* A read that fails in a piece fails the scan. */
static int fail_behind(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    (void)arg;
    memset(dst, '\n', n);
    return offset < 1000
               ? 0
               : cw_err_set(err, CW_E_CORRUPT, "no byte %llu", (unsigned long long)offset);
}

static void an_error_of_a_piece_is_told(void **state)
{
    const struct cw_readable file = {.name = "f", .size = 100000, .read_at = fail_behind};
    const struct cw_line_rules rules = {0};
    struct cw_line_index *index = NULL;
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(cw_line_scan_pieces(&file, &rules, 500, 4, &index, &err), CW_E_CORRUPT);
    assert_non_null(strstr(err.msg, "no byte"));
    assert_null(index);
}

/* Lines of very different lengths, over the scanner's window. */
static void an_index_is_small(void **state)
{
    enum { N = 100000 };
    struct cw_line_index *index = cw_line_index_new();
    uint64_t seed = 7, at = 0;
    cw_autofree uint64_t *begins = cw_mem_new_array(N, sizeof(*begins));
    (void)state;
    for (size_t k = 0; k < N; k++) {
        begins[k] = at;
        assert_int_equal(cw_line_index_add(index, at), 0);
        at += k < N / 2 ? draw(&seed) % 400 : draw(&seed) % 60000;
        at += k == 777 ? UINT64_C(1) << 40 : 0;
    }
    assert_int_equal(cw_line_index_end(index, at), 0);
    for (size_t k = 0; k < N; k++)
        assert_true(cw_line_index_at(index, k) == begins[k]);
    assert_true(cw_line_index_at(index, N) == at);
    assert_true(cw_line_index_n(index) == N);
    assert_true(cw_line_index_bytes(index) < 4 * N + N / 2);
    cw_line_index_free(index);
}

static void long_lines_cross_windows(void **state)
{
    const size_t n = ((size_t)3 << 20) + 17;
    cw_autofree char *text = cw_mem_new(n);
    struct cw_readable_bytes bytes = {text, n};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    const struct cw_line_rules rules = {.quote = '"', .blank = CW_BLANK_EMPTY};
    struct cw_line_index *index = NULL;
    struct cw_err err = {0};
    (void)state;
    memset(text, 'x', n);
    text[(1 << 20) - 1] = '\n';
    text[1 << 20] = '"';
    text[(1 << 20) + 5] = '\n';
    text[(2 << 20) + 64] = '"';
    text[(2 << 20) + 65] = '\n';
    assert_int_equal(cw_line_scan(&file, &rules, &index, &err), 0);
    assert_int_equal(cw_line_index_n(index), 3);
    assert_int_equal(cw_line_index_at(index, 1), 1 << 20);
    assert_int_equal(cw_line_index_at(index, 2), (2 << 20) + 66);
    cw_line_index_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_as_the_plain_ones),
        cmocka_unit_test(records_are_those_of_a_plain_walk),
        cmocka_unit_test(pieces_make_the_same_index),
        cmocka_unit_test(pieces_of_many_windows),
        cmocka_unit_test(an_error_of_a_piece_is_told),
        cmocka_unit_test(an_index_is_small),
        cmocka_unit_test(long_lines_cross_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
