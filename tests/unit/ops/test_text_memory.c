/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on texts allocate nothing for an element once sizes have settled: the allocator's functions are
 * wrapped, and counted while texts are computed a second time. */
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ops/op.h"
#include "support/cm.h"

#define TOKENS CW_TEST_SOURCE_DIR "/tests/ops/data/tokens/"

static size_t allocations;

void *__real_cw_mem_try(size_t bytes);
void *__real_cw_mem_try_grow(void *p, size_t bytes);
void *__real_cw_mem_new(size_t bytes);
void *__real_cw_mem_grow(void *p, size_t n, size_t size);
void *__real_cw_mem_new_array(size_t n, size_t size);
void *__wrap_cw_mem_try(size_t bytes);
void *__wrap_cw_mem_try_grow(void *p, size_t bytes);
void *__wrap_cw_mem_new(size_t bytes);
void *__wrap_cw_mem_grow(void *p, size_t n, size_t size);
void *__wrap_cw_mem_new_array(size_t n, size_t size);

void *__wrap_cw_mem_try(size_t bytes)
{
    allocations++;
    return __real_cw_mem_try(bytes);
}

void *__wrap_cw_mem_try_grow(void *p, size_t bytes)
{
    allocations++;
    return __real_cw_mem_try_grow(p, bytes);
}

void *__wrap_cw_mem_new(size_t bytes)
{
    allocations++;
    return __real_cw_mem_new(bytes);
}

void *__wrap_cw_mem_grow(void *p, size_t n, size_t size)
{
    allocations++;
    return __real_cw_mem_grow(p, n, size);
}

void *__wrap_cw_mem_new_array(size_t n, size_t size)
{
    allocations++;
    return __real_cw_mem_new_array(n, size);
}

static const struct {
    const char *op, *options;
} cases[] = {
    {"bpe", "{\"tokenizer\": \"" TOKENS "gpt2.json\"}"},
    {"bpe", "{\"tokenizer\": \"" TOKENS "added.json\"}"},
    {"bpe", "{\"tokenizer\": \"" TOKENS "odd.json\"}"},
    {"bpe", "{\"ranks\": \"" TOKENS "ranks.tiktoken\", \"pattern\": \"o200k\"}"},
    {"sentencepiece", "{\"model\": \"" TOKENS "unigram_bytes.model\"}"},
    {"sentencepiece", "{\"model\": \"" TOKENS "unigram_across.model\"}"},
    {"sentencepiece", "{\"model\": \"" TOKENS "bpe.model\"}"},
    {"sentencepiece", "{\"model\": \"" TOKENS "bpe_bytes_unused.model\"}"},
    {"wordpiece", "{\"vocab\": \"" TOKENS "vocab.txt\"}"},
    {"lower", "{}"},
    {"unicode_normalize", "{\"form\": \"nfkd\"}"},
    {"regex_replace", "{\"pattern\": \"a|e\", \"with\": \"<$0>\"}"},
};

static void compute(const struct cw_op *op, const struct cw_op_ctx *ctx, const void *opts,
                    void *state, void *scratch)
{
    static const char *const words[] = {"the ",
                                        "lantern's ",
                                        "keeper",
                                        (" \xc3\x89"
                                         "e\xcc\x81 "),
                                        "\xe6\xbc\xa2 ",
                                        "<tool>",
                                        "unbelievable ",
                                        "-----",
                                        "1234 ",
                                        "\xef\xac\x81",
                                        "\xff"};
    uint64_t seed = 1;
    for (int i = 0; i < 300; i++) {
        char text[512];
        size_t n = 0;
        seed = cw_mix64(seed + 1);
        for (uint64_t k = seed % 30; k > 0; k--) {
            seed = cw_mix64(seed + 1);
            const char *word = words[seed % CW_ARRAY_LEN(words)];
            memcpy(text + n, word, strlen(word));
            n += strlen(word);
        }
        struct cw_view in = {.data = text, .bytes = n, .dtype = CW_DTYPE_STR};
        struct cw_view out = in;
        cw_arena_reset(ctx->arena);
        assert_int_equal(op->apply_field(ctx, opts, state, scratch, &in, &out, NULL), 0);
    }
}

static void test_nothing_is_allocated(void **test_state)
{
    (void)test_state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        const struct cw_op *op = cw_op_find(cases[i].op);
        struct cw_value value = {0};
        struct cw_err err = {0};
        void *state = NULL;
        const struct cw_op_open how = {0};
        struct cw_op_ctx ctx = {.arena = cw_arena_new((size_t)1 << 20)};
        void *opts = cw_mem_new(CW_MAX(op->options_bytes, 1));
        static const struct cw_opt none[] = {{0}};
        assert_int_equal(
            cw_value_parse(cases[i].options, strlen(cases[i].options), "options", &value, NULL), 0);
        const struct cw_opt *table = op->options ? op->options : none;
        if (cw_opt_parse(table, &value, opts, &err) < 0 ||
            (op->open && op->open(opts, &how, &state, &err) < 0))
            fail_msg("%s: %s", cases[i].op, err.msg);
        allocations = 0;
        void *scratch = op->scratch_new(opts, state);
        compute(op, &ctx, opts, state, scratch);
        assert_true(allocations > 0); /* they are seen */
        allocations = 0;
        compute(op, &ctx, opts, state, scratch);
        if (allocations > 0)
            fail_msg("%s %s: %zu allocations", cases[i].op, cases[i].options, allocations);
        op->scratch_free(scratch);
        if (op->close)
            op->close(state);
        cw_opt_fini(table, opts);
        cw_mem_free(opts);
        cw_value_fini(&value);
        cw_arena_free(ctx.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_is_allocated)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
