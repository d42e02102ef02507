/* SPDX-License-Identifier: Apache-2.0 */
/* The image operators one after another on one thread, as the engine runs them for an element
 * (decode_image -> random_resized_crop -> random_flip -> normalize -> layout into a batch's slot), against
 * bare full decoding of the same files in the same run, file by file in turn, against the same
 * operators with `layout` called by itself, and as the engine calls them, by strips (src/exec/op_strips.c).
 * Prints the ratios of CPU times, and the time of each operator; then what kernels take by themselves, apart from the
 * chain: decoding the part that the crop needs, the resize, and a copy of as many bytes as the result has; and
 * reading the codes of all blocks alone, here and by libjpeg.
 * usage: bench_image [-n ROUNDS] FILE... */
#include "bench/files.h"

#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/clock.h"
#include "base/mem.h"
#include "exec/op_call.h"
#include "graph/graph.h"
#include "ops/kernels/jpeg.h"
#include "ops/kernels/resample.h"
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
    const struct cw_spec *in; /* of the elements that come to it */
    uint64_t tag;
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
        *ctx = (struct cw_op_ctx){.arena = arena, .in = steps[i].in};
        cw_rng_init(&ctx->rng, 1, steps[i].tag, 0, 0, id); /* the engine's stream */
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

/* The plan of the chain, whose source is not read. */
static struct cw_thread_context *engine_open(const char *file, struct cw_arena *arena)
{
    static const struct cw_stop never;
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    CW_STR_AUTO text = {0};
    cw_str_addf(
        &text, "{\"pipeline\":[{\"op\":\"files\",\"pattern\":\"%s\"},{\"op\":\"read_file\"}", file);
    for (size_t i = 0; i < STEPS; i++)
        cw_str_addf(&text, ",{\"op\":\"%s\"%s%s", chain[i].op,
                    chain[i].options[1] == '}' ? "" : ",", chain[i].options + 1);
    cw_str_add(&text, "]}");
    if (cw_graph_parse(cw_str_text(&text), text.len, "", &graph, &err) < 0 ||
        cw_graph_check(graph, &checked, &err) < 0 || cw_plan_new(checked, 1, NULL, &plan, &err) < 0)
        die(&err, "the plan");
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return cw_thread_context_get(plan, arena, 0, &never);
}

/* Has the engine call the operators behind read_file. */
static void engine_run(struct cw_thread_context *work, const struct bench_file *file, uint64_t id,
                       float *slot)
{
    struct cw_err err = {0};
    static struct cw_element element; /* 512 fields, which the engine does not clear either */
    element.id = id;
    element.n = 1;
    element.fields[0] =
        (struct cw_view){.data = file->bytes, .bytes = file->n, .dtype = CW_DTYPE_STR};
    work->pending_n = 0;
    for (size_t i = work->plan->n; i-- > 2;)
        work->pending[work->pending_n++] =
            (struct cw_walk_pending){.node = (uint32_t)i, .live = i + 1 == work->plan->n};
    work->slot[0] = slot;
    work->slot_bytes[0] = SIDE * SIDE * 3 * sizeof(float);
    while (work->pending_n)
        if (cw_op_call_apply(work, &work->pending[--work->pending_n], &element, &err) < 0)
            die(&err, "the engine");
    cw_arena_reset(work->arena);
}

static int64_t time_bare(struct bench_files *files, size_t i)
{
    const int64_t start = cw_clock_thread_cpu_ns();
    bench_decode(files, i);
    return cw_clock_thread_cpu_ns() - start;
}

/* CPU times of what the chain consists of at least, all images together. The kernels are called by themselves, with
 * memory of their own, and none of it is a time of the chain. */
struct least {
    struct cw_jpeg *jpeg;
    struct cw_resample resample;
    uint8_t *small; /* a resized image */
    float *from;    /* as many bytes as a result has */
    int64_t codes_ns, libjpeg_ns, decode_ns, resize_ns, copy_ns;
};

/* Decodes the part that is wanted into files->pixels, which has room for a whole image. */
static void decode_part(struct least *least, struct bench_files *files, const struct cw_rect *want,
                        struct cw_rect *ret_part)
{
    struct cw_err err = {0};
    if (cw_jpeg_part(least->jpeg, want, ret_part, &err) < 0 ||
        (size_t)(ret_part->h * ret_part->w * 3) > files->pixels_bytes ||
        cw_jpeg_finish(least->jpeg, files->pixels, &err) < 0)
        die(&err, "a part");
}

static void begin_file(struct least *least, const struct bench_file *file, int64_t *ret_h,
                       int64_t *ret_w)
{
    struct cw_err err = {0};
    int64_t channels;
    if (cw_jpeg_begin(least->jpeg, file->bytes, file->n, 3, &err) < 0)
        die(&err, "a file");
    cw_jpeg_size(least->jpeg, ret_h, ret_w, &channels);
}

static void resize_part(struct least *least, const uint8_t *pixels, const struct cw_rect *want,
                        const struct cw_rect *part)
{
    struct cw_err err = {0};
    const struct cw_resample_job job = {
        .src = pixels + ((want->y - part->y) * part->w + want->x - part->x) * 3,
        .src_stride = (size_t)part->w * 3,
        .src_h = (int32_t)want->h,
        .src_w = (int32_t)want->w,
        .channels = 3,
        .src_part = {.h = (int32_t)want->h, .w = (int32_t)want->w},
        .dst = least->small,
        .dst_h = SIDE,
        .dst_w = SIDE,
        .dst_part = {.h = SIDE, .w = SIDE},
        .filter = CW_FILTER_BILINEAR};
    if (cw_resample(&least->resample, &job, &err) < 0)
        die(&err, "a resize");
}

/* The part is that of the crop of element id. */
static void measure_least(struct least *least, struct bench_files *files, size_t i,
                          struct step *steps, struct cw_arena *arena, uint64_t id, float *slot)
{
    struct cw_err err = {0};
    struct cw_rect want, part;
    int64_t h, w, at[6];
    set_contexts(steps, arena, id, false);
    at[0] = cw_clock_thread_cpu_ns();
    begin_file(least, &files->v[i], &h, &w);
    decode_part(least, files, &(struct cw_rect){.y = h - 1, .x = w - 1, .h = 1, .w = 1}, &part);
    at[1] = cw_clock_thread_cpu_ns();
    bench_read_codes(files, i);
    at[2] = cw_clock_thread_cpu_ns();
    begin_file(least, &files->v[i], &h, &w);
    if (steps[1].op->want(&steps[1].ctx, steps[1].opts, h, w, &want, &err) < 0)
        die(&err, "a crop");
    decode_part(least, files, &want, &part);
    at[3] = cw_clock_thread_cpu_ns();
    resize_part(least, files->pixels, &want, &part);
    at[4] = cw_clock_thread_cpu_ns();
    memcpy(slot, least->from, SIDE * SIDE * 3 * sizeof(float));
    at[5] = cw_clock_thread_cpu_ns();
    least->codes_ns += at[1] - at[0];
    least->libjpeg_ns += at[2] - at[1];
    least->decode_ns += at[3] - at[2];
    least->resize_ns += at[4] - at[3];
    least->copy_ns += at[5] - at[4];
}

static void print_least(const struct least *least, int64_t chain_ns, double us)
{
    const int64_t sum = least->decode_ns + least->resize_ns + least->copy_ns;
    printf("least: decode_us=%.1f resize_us=%.1f copy_us=%.1f sum_us=%.1f sum/chain=%.3f; codes "
           "alone %.1f, by libjpeg %.1f\n",
           (double)least->decode_ns / us, (double)least->resize_ns / us,
           (double)least->copy_ns / us, (double)sum / us, (double)sum / (double)chain_ns,
           (double)least->codes_ns / us, (double)least->libjpeg_ns / us);
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
    struct cw_thread_context *work = engine_open(argv[argc - 1], arena);
    for (size_t i = 0; i < STEPS; i++) {
        steps[i].tag = work->plan->nodes[i + 2].tag;
        steps[i].in = work->plan->nodes[i + 2].in;
    }
    struct least least = {.jpeg = cw_jpeg_new(),
                          .small = cw_mem_new(SIDE * SIDE * 3),
                          .from = cw_mem_new(SIDE * SIDE * 3 * sizeof(float))};
    int64_t bare_ns = 0, chain_ns = 0, apart_ns = 0, strips_ns = 0;
    uint64_t id = 0;
    for (long round = -1; round < rounds; round++) {
        if (round == 0) { /* the first was to warm up */
            bare_ns = chain_ns = apart_ns = strips_ns = 0;
            for (size_t i = 0; i < STEPS; i++)
                steps[i].cpu_ns = 0;
            least.codes_ns = least.libjpeg_ns = least.decode_ns = least.resize_ns = least.copy_ns =
                0;
        }
        for (size_t i = 0; i < files.n; i++, id++) {
            int64_t ns[3];
            bare_ns += time_bare(&files, i);
            for (uint64_t k = 0; k < 3;
                 k++) { /* in turn the first, for which the file is not in the cache */
                const uint64_t way = (id + k) % 3;
                float *slot = slots + (3 * id + k) % SLOTS * SIDE * SIDE * 3;
                const int64_t start = cw_clock_thread_cpu_ns();
                if (way == 2)
                    engine_run(work, &files.v[i], id, slot);
                else
                    run(steps, arena, &files.v[i], id, slot, way == 1);
                ns[way] = cw_clock_thread_cpu_ns() - start;
            }
            measure_least(&least, &files, i, steps, arena, id,
                          slots + 3 * id % SLOTS * SIDE * SIDE * 3);
            chain_ns += ns[0];
            apart_ns += ns[1];
            strips_ns += ns[2];
        }
    }
    const double images = (double)rounds * (double)files.n, us = 1e3 * images;
    printf("bench_image: images=%.0f bare_us=%.1f chain_us=%.1f ratio=%.3f apart_us=%.1f "
           "strips_us=%.1f strips_ratio=%.3f",
           images, (double)bare_ns / us, (double)chain_ns / us, (double)chain_ns / (double)bare_ns,
           (double)apart_ns / us, (double)strips_ns / us, (double)strips_ns / (double)bare_ns);
    for (size_t i = 0; i < STEPS; i++) {
        printf(" %s_us=%.1f", chain[i].op, (double)steps[i].cpu_ns / us);
        step_close(&steps[i]);
    }
    printf("\n");
    print_least(&least, chain_ns, us);
    cw_jpeg_free(least.jpeg);
    cw_resample_fini(&least.resample);
    cw_mem_free(least.small);
    cw_mem_free(least.from);
    struct cw_plan *plan = work->plan;
    cw_thread_context_put(work);
    cw_plan_unref(plan);
    cw_arena_free(arena);
    cw_mem_free(slots);
    bench_files_free(&files);
    return 0;
}
