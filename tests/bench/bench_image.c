/* SPDX-License-Identifier: Apache-2.0 */
/* The image operators one after another on one thread, as the engine runs them for an element
 * (decode_image -> random_resized_crop -> random_flip -> normalize -> layout into a batch's slot), against
 * bare full decoding of the same files in the same run, file by file in turn, and against the same
 * operators with `layout` called by itself. Prints the ratios of CPU times, and the time of each operator.
 * usage: bench_image [-n ROUNDS] FILE... */
#include "bench/files.h"

#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ops/op.h"

#define STEPS 5
/* as a batch of 64: results go to fresh memory, not to a slot that is in the cache */
#define SLOTS 64
#define SIDE 224

static const struct {
    const char *op, *options;
} chain[STEPS] = {
    {"decode_image", "{}"},
    {"random_resized_crop", "{\"size\":[224,224]}"},
    {"random_flip", "{\"p\":0.5}"},
    {"normalize", "{\"mean\":[0.485,0.456,0.406],\"std\":[0.229,0.224,0.225]}"},
    {"layout", "{}"},
};

struct step {
    const struct cw_op *op;
    void *opts, *state, *scratch;
    struct cw_op_ctx ctx;
    int64_t cpu_ns;
};

static void die(const struct cw_err *err, const char *op)
{
    fprintf(stderr, "%s: %s\n", op, err->msg);
    exit(1);
}

static void step_open(struct step *step, const char *name, const char *text)
{
    struct cw_err err = {0};
    struct cw_value value = {0};
    *step = (struct step){.op = cw_op_find(name)};
    CW_ASSERT(step->op);
    step->opts = cw_mem_new(step->op->options_bytes);
    size_t n = 0;
    while (text[n])
        n++;
    if (cw_value_parse(text, n, name, &value, &err) < 0 ||
        cw_opt_parse(step->op->options, &value, step->opts, &err) < 0)
        die(&err, name);
    cw_value_fini(&value);
    if (step->op->open &&
        step->op->open(step->opts, &(struct cw_op_open){0}, &step->state, &err) < 0)
        die(&err, name);
    if (step->op->scratch_new)
        step->scratch = step->op->scratch_new(step->opts, step->state);
}

static void step_close(struct step *step)
{
    if (step->op->scratch_free)
        step->op->scratch_free(step->scratch);
    if (step->op->close)
        step->op->close(step->state);
    cw_opt_fini(step->op->options, step->opts);
    cw_mem_free(step->opts);
}

static int ask_next(const struct cw_op_ctx *ctx, int64_t h, int64_t w, struct cw_rect *ret_rect,
                    struct cw_err *err)
{
    const struct step *next = ctx->next_want_arg;
    return next->op->want(&next->ctx, next->opts, h, w, ret_rect, err);
}

/* Whether the engine has step i do the work of the next one as well (src/plan/plan_planes.c). */
static bool takes_planes(const struct step *steps, size_t i)
{
    return i + 1 < STEPS && steps[i].op->makes_planes && steps[i + 1].op->puts_channels_first;
}

static void set_contexts(struct step *steps, struct cw_arena *arena, uint64_t id, bool apart)
{
    for (size_t i = 0; i < STEPS; i++) {
        struct cw_op_ctx *ctx = &steps[i].ctx;
        *ctx = (struct cw_op_ctx){.arena = arena};
        cw_rng_init(&ctx->rng, 1, i, 0, 0, id);
        if (i + 1 < STEPS && steps[i + 1].op->want) {
            ctx->next_want = ask_next;
            ctx->next_want_arg = &steps[i + 1];
        }
        ctx->planes = !apart && takes_planes(steps, i);
    }
}

static void run(struct step *steps, struct cw_arena *arena, const struct bench_file *file,
                uint64_t id, float *slot, bool apart)
{
    struct cw_err err = {0};
    struct cw_view view = {.data = file->bytes, .bytes = file->n, .dtype = CW_DTYPE_STR};
    set_contexts(steps, arena, id, apart);
    for (size_t i = 0; i < STEPS; i++) {
        const int64_t start = cw_clock_thread_cpu_ns();
        struct cw_view out = view;
        const size_t next = steps[i].ctx.planes ? i + 2 : i + 1;
        if (next == STEPS) {
            steps[i].ctx.slot = slot;
            steps[i].ctx.slot_bytes = SIDE * SIDE * 3 * sizeof(float);
        }
        if (steps[i].op->apply_field(&steps[i].ctx, steps[i].opts, steps[i].state, steps[i].scratch,
                                     &view, &out, &err) < 0)
            die(&err, steps[i].op->name);
        view = out;
        if (!apart)
            steps[i].cpu_ns += cw_clock_thread_cpu_ns() - start;
        i = next - 1;
    }
    cw_arena_reset(arena);
}

static int64_t time_bare(struct bench_files *files, size_t i)
{
    const int64_t start = cw_clock_thread_cpu_ns();
    bench_decode(files, i);
    return cw_clock_thread_cpu_ns() - start;
}

int main(int argc, char **argv)
{
    struct bench_files files;
    struct step steps[STEPS];
    const long rounds = bench_files_read(&files, argc, argv, 10);
    struct cw_arena *arena = cw_arena_new((size_t)64 << 20);
    float *slots = cw_mem_try_aligned(64, (size_t)SLOTS * SIDE * SIDE * 3 * sizeof(float));
    CW_ASSERT(slots);
    memset(slots, 0,
           (size_t)SLOTS * SIDE * SIDE * 3 *
               sizeof(float)); /* page faults are not what is measured */
    for (size_t i = 0; i < STEPS; i++)
        step_open(&steps[i], chain[i].op, chain[i].options);
    int64_t bare_ns = 0, chain_ns = 0, apart_ns = 0;
    uint64_t id = 0;
    for (long round = -1; round < rounds; round++) {
        if (round == 0) { /* the first was to warm up */
            bare_ns = chain_ns = apart_ns = 0;
            for (size_t i = 0; i < STEPS; i++)
                steps[i].cpu_ns = 0;
        }
        for (size_t i = 0; i < files.n; i++, id++) {
            int64_t ns[2];
            bare_ns += time_bare(&files, i);
            for (uint64_t k = 0; k < 2;
                 k++) { /* in turn the first, for which the file is not in the cache */
                const bool apart = (id + k) % 2;
                float *slot = slots + (2 * id + k) % SLOTS * SIDE * SIDE * 3;
                const int64_t start = cw_clock_thread_cpu_ns();
                run(steps, arena, &files.v[i], id, slot, apart);
                ns[apart] = cw_clock_thread_cpu_ns() - start;
            }
            chain_ns += ns[0];
            apart_ns += ns[1];
        }
    }
    const double images = (double)rounds * (double)files.n, us = 1e3 * images;
    printf("bench_image: images=%.0f bare_us=%.1f chain_us=%.1f ratio=%.3f apart_us=%.1f", images,
           (double)bare_ns / us, (double)chain_ns / us, (double)chain_ns / (double)bare_ns,
           (double)apart_ns / us);
    for (size_t i = 0; i < STEPS; i++) {
        printf(" %s_us=%.1f", chain[i].op, (double)steps[i].cpu_ns / us);
        step_close(&steps[i]);
    }
    printf("\n");
    cw_arena_free(arena);
    cw_mem_free(slots);
    bench_files_free(&files);
    return 0;
}
