/* SPDX-License-Identifier: Apache-2.0 */
/* bench_tokens OP OPTIONS LINES OUT [ROUNDS]: applies an operator from texts to tokens to each line of a
 * file, on one thread, and prints the CPU seconds of the fastest round (reading the file and opening the
 * operator are not counted). OUT gets, for each line, the number of its tokens and the tokens, as
 * i32; "-" writes nothing. bench_tokens.py compares this with other software. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"
#include "conf/opt.h"
#include "ops/op.h"

static void fail(const char *what, const struct cw_err *err)
{
    fprintf(stderr, "bench_tokens: %s: %s\n", what, err->msg);
    exit(1);
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char *read_file(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    *ret_n = (size_t)ftell(file);
    rewind(file);
    char *text = cw_mem_try(*ret_n + 1);
    if (!text || fread(text, 1, *ret_n, file) != *ret_n)
        exit(1);
    fclose(file);
    return text;
}

struct bench {
    const struct cw_op *op;
    void *opts, *state, *scratch;
    struct cw_op_ctx ctx;
};

static void open_op(struct bench *b, const char *name, const char *options)
{
    struct cw_err err = {0};
    struct cw_value value = {0};
    const struct cw_op_open how = {0};
    b->op = cw_op_find(name);
    if (!b->op || cw_value_parse(options, strlen(options), "options", &value, &err) < 0)
        fail("operator or options", &err);
    b->opts = cw_mem_new(b->op->options_bytes);
    if (cw_opt_parse(b->op->options, &value, b->opts, &err) < 0 ||
        (b->op->check && b->op->check(b->opts, &err) < 0) ||
        (b->op->open && b->op->open(b->opts, &how, &b->state, &err) < 0))
        fail(name, &err);
    b->scratch = b->op->scratch_new ? b->op->scratch_new(b->opts, b->state) : NULL;
    b->ctx.arena = cw_arena_new((size_t)64 << 20);
    cw_value_fini(&value);
}

static void close_op(struct bench *b)
{
    if (b->op->scratch_free)
        b->op->scratch_free(b->scratch);
    if (b->op->close)
        b->op->close(b->state);
    cw_opt_fini(b->op->options, b->opts);
    cw_mem_free(b->opts);
    cw_arena_free(b->ctx.arena);
}

/* Returns the number of tokens. */
static uint64_t run(struct bench *b, char *text, size_t n, FILE *out)
{
    struct cw_err err = {0};
    uint64_t tokens = 0;
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        const size_t len = end ? (size_t)(end - text) - at : n - at;
        struct cw_view in = {.data = text + at, .bytes = len, .dtype = CW_DTYPE_STR};
        struct cw_view result = in;
        cw_arena_reset(b->ctx.arena);
        if (b->op->apply_field(&b->ctx, b->opts, b->state, b->scratch, &in, &result, &err) < 0)
            fail("a line", &err);
        tokens += result.bytes / 4;
        const int32_t ids_n = (int32_t)(result.bytes / 4);
        if (out && (fwrite(&ids_n, 4, 1, out) != 1 ||
                    fwrite(result.data, 4, (size_t)ids_n, out) != (size_t)ids_n))
            exit(1);
        at += len + 1;
    }
    return tokens;
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    size_t n;
    if (argc < 5) {
        fprintf(stderr, "usage: bench_tokens OP OPTIONS LINES OUT [ROUNDS]\n");
        return 2;
    }
    char *text = read_file(argv[3], &n);
    open_op(&b, argv[1], argv[2]);
    FILE *out = strcmp(argv[4], "-") == 0 ? NULL : fopen(argv[4], "wb");
    int64_t rounds = 1;
    if (argc > 5 && !cw_str_to_i64(argv[5], &rounds))
        return 2;
    double best = 1e30;
    uint64_t tokens = 0;
    for (int64_t i = 0; i < rounds; i++) {
        const double begin = cpu_s();
        tokens = run(&b, text, n, i == 0 ? out : NULL);
        best = CW_MIN(best, cpu_s() - begin);
    }
    printf("{\"bytes\": %zu, \"tokens\": %llu, \"cpu_s\": %.6f}\n", n, (unsigned long long)tokens,
           best);
    if (out)
        fclose(out);
    close_op(&b);
    cw_mem_free(text);
    return 0;
}
