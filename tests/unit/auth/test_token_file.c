/* SPDX-License-Identifier: Apache-2.0 */
/* Token files: what they may hold, how tokens are found, and what is told of a wrong one. */
#include "support/cm.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/token_file.h"
#include "base/mem.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccc"

static void parse(const char *text, struct cw_auth_tokens *ret_tokens)
{
    struct cw_err err = {0};
    if (cw_auth_tokens_parse(text, "file", ret_tokens, &err) != 0)
        fail_msg("%s", err.msg);
}

static void assert_token(const struct cw_auth_tokens *tokens, const char *text, const char *name,
                         enum cw_auth_kind kind)
{
    const struct cw_auth_token *token = cw_auth_tokens_find(tokens, text);
    assert_non_null(token);
    assert_string_equal(token->name, name);
    assert_int_equal(token->kind, kind);
}

static void test_lines(void **state)
{
    struct cw_auth_tokens tokens;
    (void)state;
    parse("# who\n\n  vision tenant " A "\nvision\ttenant " B "\r\nhosts worker " C
          "\nroot operator " C C,
          &tokens);
    assert_int_equal(tokens.n, 4);
    assert_token(&tokens, A, "vision", CW_AUTH_TENANT);
    assert_token(&tokens, B, "vision", CW_AUTH_TENANT);
    assert_token(&tokens, C, "hosts", CW_AUTH_WORKER);
    assert_token(&tokens, C C, "root", CW_AUTH_OPERATOR);
    cw_auth_tokens_fini(&tokens);
}

static void test_others_are_not_found(void **state)
{
    static const char *const others[] = {
        "",       "a",    A "a",  "aaaaaaaaaaaaaaaaaaaaaaab", A A, C C C, "ccccccccccccccc",
        "vision", A "\n", (" " A)};
    struct cw_auth_tokens tokens;
    (void)state;
    parse("vision tenant " A "\nhosts worker " C "\n", &tokens);
    for (size_t i = 0; i < CW_ARRAY_LEN(others); i++)
        if (cw_auth_tokens_find(&tokens, others[i]))
            fail_msg("%s", others[i]);
    cw_auth_tokens_fini(&tokens);
}

static void test_wrong_lines(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        {"", "no token"},
        {"# only this\n", "no token"},
        {"vision tenant", "line 1"},
        {"vision tenant " A " more", "line 1"},
        {A, "line 1"},
        {"\nvision nobody " A, "line 2"},
        {"vision Tenant " A, "line 1"},
        {"vision tenant short", "line 1"},
        {"../x tenant " A, "line 1"},
        {"vision tenant " A "\nother tenant " A, "line 2"},
        {"vision tenant \x80" A, "line 1"},
    };
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++) {
        struct cw_auth_tokens tokens;
        struct cw_err err = {0};
        assert_int_equal(cw_auth_tokens_parse(rows[i].text, "the/file", &tokens, &err),
                         CW_E_INVALID);
        assert_non_null(strstr(err.msg, "the/file"));
        if (!strstr(err.msg, rows[i].says))
            fail_msg("%s: %s", rows[i].text, err.msg);
        assert_null(strstr(err.msg, A)); /* a token is never told */
        assert_null(strstr(err.msg, "short"));
    }
}

static void test_ids_are_kept(void **state)
{
    struct cw_auth_tokens before, now;
    (void)state;
    parse("v tenant " A "\nv tenant " B "\n", &before);
    parse("v tenant " B "\nv tenant " C "\nw tenant " A "\n", &now);
    uint64_t a = cw_auth_tokens_find(&before, A)->id, b = cw_auth_tokens_find(&before, B)->id;
    cw_auth_tokens_keep_ids(&now, &before);
    assert_int_equal(cw_auth_tokens_find(&now, B)->id, b);
    assert_true(cw_auth_tokens_have_id(&now, b));
    assert_false(cw_auth_tokens_have_id(&now, a)); /* the same text is another tenant's now */
    assert_true(cw_auth_tokens_find(&now, C)->id != cw_auth_tokens_find(&now, A)->id);
    cw_auth_tokens_fini(&before);
    cw_auth_tokens_fini(&now);
}

static void write_file(const char *path, const char *text, size_t n, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), (ssize_t)n);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void test_files(void **state)
{
    char dir[] = "/tmp/cw_test_token_XXXXXX", own[CW_AUTH_TOKEN_MAX + 1];
    struct cw_auth_tokens tokens;
    struct cw_err err = {0};
    (void)state;
    assert_non_null(mkdtemp(dir));
    cw_autofree char *path = cw_mem_printf("%s/tokens", dir);
    assert_int_equal(cw_auth_tokens_read(path, &tokens, &err), CW_E_NOT_FOUND);
    assert_int_equal(cw_auth_own_token(path, own, &err), CW_E_NOT_FOUND);
    static const char two[] = "# x\nv tenant " A "\nv tenant " B "\n";
    write_file(path, two, strlen(two), 0600);
    assert_int_equal(cw_auth_tokens_read(path, &tokens, &err), 0);
    assert_int_equal(tokens.n, 2);
    assert_false(tokens.readable_by_all);
    cw_auth_tokens_fini(&tokens);
    assert_int_equal(cw_auth_own_token(path, own, &err), 0);
    assert_string_equal(own, A);
    write_file(path, B "\n", strlen(B) + 1, 0644);
    assert_int_equal(cw_auth_own_token(path, own, &err), 0);
    assert_string_equal(own, B);
    assert_int_equal(cw_auth_tokens_read(path, &tokens, &err), CW_E_INVALID);
    write_file(path, two, strlen(two), 0644);
    assert_int_equal(cw_auth_tokens_read(path, &tokens, &err), 0);
    assert_true(tokens.readable_by_all);
    cw_auth_tokens_fini(&tokens);
    write_file(path, "a\0b", 3, 0600);
    assert_int_equal(cw_auth_own_token(path, own, &err), CW_E_INVALID);
    write_file(path, "", 0, 0600);
    assert_int_equal(cw_auth_own_token(path, own, &err), CW_E_INVALID);
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),       cmocka_unit_test(test_others_are_not_found),
        cmocka_unit_test(test_wrong_lines), cmocka_unit_test(test_ids_are_kept),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
