/* SPDX-License-Identifier: Apache-2.0 */
/* One element operator on one image, again and again on one thread, as the engine calls it: for
 * bench_augment.py, which compares it with Pillow. The elements are 0, 1, 2, ... of seed 3, epoch 1,
 * tag 7. Prints CPU nanoseconds an image, and writes the results of the first elements.
 * usage: bench_augment H W IMAGE ROUNDS KEEP RESULTS OPERATOR OPTIONS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ops/op.h"

#define ARGS 9
#define CHANNELS 3

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_augment: %s: %s\n", what, why);
    exit(1);
}

static void parse(const struct cw_op *op, const char *text, void *opts)
{
    struct cw_err err = {0};
    struct cw_value value = {0};
    if (cw_value_parse(text, strlen(text), op->name, &value, &err) < 0 ||
        cw_opt_parse(op->options, &value, opts, &err) < 0)
        die(op->name, err.msg);
    cw_value_fini(&value);
}

static void *read_image(const char *path, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = cw_mem_new(bytes);
    if (!file || fread(data, 1, bytes, file) != bytes)
        die(path, "cannot be read, or is too short");
    fclose(file);
    return data;
}

int main(int argc, char **argv)
{
    if (argc != ARGS)
        die("arguments", "H W IMAGE ROUNDS KEEP RESULTS OPERATOR OPTIONS");
    const int64_t h = strtoll(argv[1], NULL, 10), w = strtoll(argv[2], NULL, 10);
    const long rounds = strtol(argv[4], NULL, 10), kept = strtol(argv[5], NULL, 10);
    const struct cw_op *op = cw_op_find(argv[7]);
    FILE *results = fopen(argv[6], "wb");
    if (!op || !op->apply_field || !results)
        die(argv[7], "no such operator, or no results");
    cw_autofree void *opts = cw_mem_new(op->options_bytes);
    parse(op, argv[8], opts);
    struct cw_view image = {.bytes = (size_t)(h * w) * CHANNELS,
                            .dtype = CW_DTYPE_U8,
                            .rank = 3,
                            .dims = {h, w, CHANNELS}};
    cw_autofree void *data = read_image(argv[3], image.bytes);
    image.data = data;
    void *scratch = op->scratch_new ? op->scratch_new(opts, NULL) : NULL;
    struct cw_arena *arena = cw_arena_new((size_t)64 << 20);
    int64_t ns = 0;
    for (long i = 0; i < rounds; i++) {
        struct cw_err err = {0};
        struct cw_view out = image;
        struct cw_op_ctx ctx = {.arena = arena};
        cw_rng_init(&ctx.rng, 3, 7, 1, 0, (uint64_t)i);
        const int64_t start = cw_clock_thread_cpu_ns();
        if (op->apply_field(&ctx, opts, NULL, scratch, &image, &out, &err) < 0)
            die(op->name, err.msg);
        ns += cw_clock_thread_cpu_ns() - start;
        if (i < kept && fwrite(out.data, 1, out.bytes, results) != out.bytes)
            die(argv[6], "cannot be written");
        cw_arena_reset(arena);
    }
    printf("%lld\n", (long long)(ns / CW_MAX(rounds, 1)));
    if (fclose(results) != 0)
        die(argv[6], "cannot be written");
    cw_arena_free(arena);
    if (op->scratch_free)
        op->scratch_free(scratch);
    cw_opt_fini(op->options, opts);
    return 0;
}
