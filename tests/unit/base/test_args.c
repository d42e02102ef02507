/* SPDX-License-Identifier: Apache-2.0 */
#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

#include "base/args.h"
#include "base/mem.h"
#include "base/str.h"

static struct opts {
    bool verbose, order;
    const char *listen;
    int64_t threads, timeout_ms;
    uint64_t seed, budget;
    double factor;
    struct cw_arg_list files;
} opts;

static const struct cw_arg rows[] = {
    {"verbose", 'v', CW_ARG_FLAG, &opts.verbose, NULL, "say more", 0, 0},
    {"order", 0, CW_ARG_FLAG, &opts.order, NULL, "keep the order", 0, 0},
    {"listen", 'l', CW_ARG_STR, &opts.listen, "HOST:PORT",
     "where to listen; port 0 = any, an address may also be unix:/path (default 127.0.0.1:0)", 0,
     0},
    {"threads", 't', CW_ARG_I64, &opts.threads, NULL, "number of threads (default 1)", 1, 64},
    {"timeout", 0, CW_ARG_MS, &opts.timeout_ms, NULL, "how long to wait", 0, 0},
    {"seed", 0, CW_ARG_U64, &opts.seed, NULL, "seed", 0, 0},
    {"memory-budget", 0, CW_ARG_BYTES, &opts.budget, NULL, "bytes", 0, 0},
    {"factor", 0, CW_ARG_F64, &opts.factor, NULL, "a factor", 0, 10},
    {"file", 'f', CW_ARG_LIST, &opts.files, "FILE", "a file; may stand several times", 0, 0},
    {NULL, 0, CW_ARG_FLAG, NULL, NULL, NULL, 0, 0},
};
static const struct cw_args_spec spec = {
    "cachew-test",
    "FILE [options]",
    "Does nothing, but says so at such length that the line must be broken somewhere.",
    rows,
    "Examples:\n  cachew-test x",
    "CACHEW_TEST_ARGS",
    NULL};
static const char *rest[4];
static size_t rest_n;
static struct cw_err err;

static int parse(const char *line)
{
    cw_autofree char *copy = cw_mem_strdup(line);
    static char *words[32]; /* kept: the options point into them */
    static int n;
    char *save = NULL;

    while (n > 0)
        cw_mem_free(words[--n]);
    words[n++] = cw_mem_strdup("prog");
    for (char *word = strtok_r(copy, " ", &save); word && n < 31; word = strtok_r(NULL, " ", &save))
        words[n++] = cw_mem_strdup(word);
    opts = (struct opts){.order = true, .threads = 1};
    err = (struct cw_err){0};
    return cw_args_parse(&spec, n, words, rest, 4, &rest_n, &err);
}

static void reads_all_types(void **state)
{
    (void)state;
    assert_int_equal(
        parse("a -v --no-order --listen=h:1 -t4 --timeout 3s b --seed 18446744073709551615 "
              "--memory-budget 64M --factor 2.5 -f x --file y -- --z"),
        CW_ARGS_RUN);
    assert_true(opts.verbose && !opts.order);
    assert_string_equal(opts.listen, "h:1");
    assert_int_equal(opts.threads, 4);
    assert_int_equal(opts.timeout_ms, 3000);
    assert_int_equal(opts.seed, UINT64_MAX);
    assert_int_equal(opts.budget, 64 << 20);
    assert_true(opts.factor > 2.4 && opts.factor < 2.6);
    assert_int_equal(opts.files.n, 2);
    assert_string_equal(opts.files.v[1], "y");
    assert_int_equal(rest_n, 3);
    assert_string_equal(rest[1], "b");
    assert_string_equal(rest[2], "--z");
}

static void check_error(const char *line, const char *message)
{
    assert_int_equal(parse(line), CW_E_INVALID);
    assert_string_equal(err.msg, message);
}

static void explains_what_is_wrong(void **state)
{
    (void)state;
    check_error("--therads 3", "unknown option --therads (did you mean --threads?)");
    check_error("--zzzzzzzz", "unknown option --zzzzzzzz (see cachew-test --help)");
    check_error("-x", "unknown option -x (see cachew-test --help)");
    check_error("--threads", "--threads needs a value");
    check_error("--threads 0", "--threads: must be at least 1 (given 0)");
    check_error("--threads=65", "--threads: must be at most 64 (given 65)");
    check_error("--threads 2x", "--threads: not a whole number: \"2x\"");
    check_error("--timeout soon", "--timeout: not a time like 250ms, 3s, 2m: \"soon\"");
    check_error("--memory-budget x", "--memory-budget: not a size like 512K, 64M, 2GiB: \"x\"");
    check_error("--no-threads", "unknown option --no-threads (did you mean --threads?)");
    check_error("a b c d e", "unexpected argument \"e\"");
}

static void environment_gives_way(void **state)
{
    (void)state;
    setenv("CACHEW_TEST_ARGS_THREADS", "7", 1);
    setenv("CACHEW_TEST_ARGS_MEMORY_BUDGET", "1K", 1);
    setenv("CACHEW_TEST_ARGS_FILE", "e", 1);
    assert_int_equal(parse("-f c"), CW_ARGS_RUN);
    assert_int_equal(opts.threads, 7);
    assert_int_equal(opts.budget, 1024);
    assert_int_equal(opts.files.n, 1);
    assert_string_equal(opts.files.v[0], "c");
    assert_int_equal(parse("--threads 2"), CW_ARGS_RUN);
    assert_int_equal(opts.threads, 2);
    assert_string_equal(opts.files.v[0], "e");
    setenv("CACHEW_TEST_ARGS_THREADS", "many", 1);
    check_error("", "CACHEW_TEST_ARGS_THREADS: not a whole number: \"many\"");
    unsetenv("CACHEW_TEST_ARGS_THREADS");
    unsetenv("CACHEW_TEST_ARGS_MEMORY_BUDGET");
    unsetenv("CACHEW_TEST_ARGS_FILE");
}

static void help_fits_a_terminal(void **state)
{
    cw_autofree char *help = cw_args_help(&spec);
    const char *column = strstr(help, "say more");
    size_t indent = 0;

    (void)state;
    assert_non_null(column);
    while (column > help && column[-1] != '\n') {
        column--;
        indent++;
    }
    for (const char *line = help; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 80);
    static const char *const texts[] = {"keep the order", "where to listen", "number of threads",
                                        "show the version"};
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        const char *at = strstr(help, texts[i]);
        assert_non_null(at);
        assert_int_equal(at[-(ptrdiff_t)indent - 1], '\n');
    }
    assert_true(cw_str_starts(help, "Usage: cachew-test FILE [options]\n"));
    assert_non_null(strstr(help, "  -l, --listen HOST:PORT  "));
    assert_non_null(strstr(help, "CACHEW_TEST_ARGS_OPTION"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(reads_all_types), cmocka_unit_test(explains_what_is_wrong),
    cmocka_unit_test(environment_gives_way), cmocka_unit_test(help_fits_a_terminal)};
CW_TESTS_MAIN(tests)
