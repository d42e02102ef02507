/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on images by strips (src/exec/op_strips.c) against the same operators one by one, as the engine
 * calls them for an element: on one thread, image by image in turn, from images of 500 x 375 in memory to the slots
 * of a batch. Results are compared first. Prints microseconds of CPU time an image, of the sum over the images of
 * the least of the rounds, and the ratio; and of chains that normalize, what they cannot do without: resize and flip alone,
 * one by one, and a copy of as many bytes as the result has. usage: bench_strips [-n ROUNDS] JPEG... */
#include "base/clock.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "exec/op_call.h"
#include "plan/plan_nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEIGHT 375
#define WIDTH 500
#define IMAGE_BYTES ((size_t)HEIGHT * WIDTH * 3)
#define IMAGES_MAX 64
#define SLOTS 16
#define SLOT_BYTES ((size_t)768 * 1024 * 3 * sizeof(float))
#define NORMALIZE "{\"op\":\"normalize\",\"mean\":[0.485,0.456,0.406],\"std\":[0.229,0.224,0.225]}"

static const struct {
    const char *what, *operators;
    const char *resize; /* the operators that cannot be left out; NULL: not asked */
} chains[] = {
    {"random_resized_crop, flip, normalize, NCHW",
     "{\"op\":\"random_resized_crop\",\"size\":224},{\"op\":\"random_flip\"}," NORMALIZE
     ",{\"op\":\"layout\"}",
     "{\"op\":\"random_resized_crop\",\"size\":224},{\"op\":\"random_flip\"}"},
    {"resize, flip, normalize, NCHW",
     "{\"op\":\"resize\",\"size\":[224,224]},{\"op\":\"random_flip\"}," NORMALIZE
     ",{\"op\":\"layout\"}",
     "{\"op\":\"resize\",\"size\":[224,224]},{\"op\":\"random_flip\"}"},
    {"random_resized_crop, flip, normalize",
     "{\"op\":\"random_resized_crop\",\"size\":224},{\"op\":\"random_flip\"}," NORMALIZE,
     "{\"op\":\"random_resized_crop\",\"size\":224},{\"op\":\"random_flip\"}"},
    {"resize 256, center_crop 224, normalize",
     "{\"op\":\"resize\",\"size\":256},{\"op\":\"center_crop\",\"size\":224}," NORMALIZE, NULL},
    {"resize 768 x 1024, flip, normalize, NCHW",
     "{\"op\":\"resize\",\"size\":[768,1024]},{\"op\":\"random_flip\"}," NORMALIZE
     ",{\"op\":\"layout\"}",
     "{\"op\":\"resize\",\"size\":[768,1024]},{\"op\":\"random_flip\"}"},
    {"resize 768 x 1024, flip, normalize",
     "{\"op\":\"resize\",\"size\":[768,1024]},{\"op\":\"random_flip\"}," NORMALIZE,
     "{\"op\":\"resize\",\"size\":[768,1024]},{\"op\":\"random_flip\"}"},
    {"random_resized_crop, flip, NCHW u8",
     "{\"op\":\"random_resized_crop\",\"size\":224},{\"op\":\"random_flip\"},{\"op\":\"layout\"}",
     NULL},
};

static void die(const char *what, const struct cw_err *err)
{
    fprintf(stderr, "%s: %s\n", what, err->msg);
    exit(1);
}

static struct cw_plan *plan_of(const char *source, const char *operators)
{
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    cw_autofree char *text = cw_mem_printf("{\"pipeline\": [%s,%s]}", source, operators);
    if (cw_graph_parse(text, strlen(text), "", &graph, &err) < 0 ||
        cw_graph_check(graph, &checked, &err) < 0 || cw_plan_new(checked, 1, NULL, &plan, &err) < 0)
        die(operators, &err);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return plan;
}

/* Has the operators called one by one. */
static void part(struct cw_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        plan->nodes[i].strips_n = 0;
        plan->nodes[i].planes_to = SIZE_MAX;
    }
}

/* One way of calling the operators of a chain. */
struct way {
    struct cw_plan *plan;
    struct cw_thread_context *work;
};

static struct way way_of(const char *source, const char *operators, struct cw_arena *arena)
{
    static const struct cw_stop never;
    struct way way = {.plan = plan_of(source, operators)};
    way.work = cw_thread_context_get(way.plan, arena, 0, &never);
    return way;
}

/* Calls all operators for an image; returns how long it took. */
static int64_t run(const struct way *way, const uint8_t *image, uint64_t id, uint8_t *slot,
                   struct cw_view *ret_view)
{
    struct cw_err err = {0};
    struct cw_thread_context *work = way->work;
    struct cw_element element = {.id = id, .n = 1};
    element.fields[0] = (struct cw_view){.data = (uint8_t *)(uintptr_t)image,
                                         .bytes = IMAGE_BYTES,
                                         .dtype = CW_DTYPE_U8,
                                         .rank = 3,
                                         .dims = {HEIGHT, WIDTH, 3}};
    const int64_t begin = cw_clock_thread_cpu_ns();
    work->pending_n = 0;
    for (size_t i = way->plan->n; i-- > 1;) /* the source is not called */
        work->pending[work->pending_n++] =
            (struct cw_walk_pending){.node = (uint32_t)i, .live = i + 1 == way->plan->n};
    work->slot[0] = slot;
    work->slot_bytes[0] = (size_t)cw_field_bytes(&way->plan->nodes[way->plan->n - 1].out.fields[0]);
    CW_ASSERT(work->slot_bytes[0] <= SLOT_BYTES);
    while (work->pending_n)
        if (cw_op_call_apply(work, &work->pending[--work->pending_n], &element, &err) < 0)
            die("an image", &err);
    const int64_t ns = cw_clock_thread_cpu_ns() - begin;
    *ret_view = element.fields[0];
    cw_arena_reset(work->arena);
    return ns;
}

/* The least time in which an image is resized, and as many bytes as the result has are copied; `least` is what was found
 * before. The copy comes from memory that was read a while ago, as images do. */
static int64_t resize_and_copy(const struct way *resize, const uint8_t *image, uint64_t id,
                               uint8_t *slot, const uint8_t *from, size_t bytes, int64_t least)
{
    struct cw_view view;
    int64_t ns = run(resize, image, id, slot, &view);
    const int64_t begin = cw_clock_thread_cpu_ns();
    memcpy(slot, from, bytes);
    ns += cw_clock_thread_cpu_ns() - begin;
    return CW_MIN(ns, least);
}

static void compare(const char *source, size_t c, const uint8_t *images, size_t n, long rounds,
                    uint8_t *slots)
{
    struct cw_arena *arena = cw_arena_new((size_t)64 << 20);
    const struct way ways[2] = {way_of(source, chains[c].operators, arena),
                                way_of(source, chains[c].operators, arena)};
    struct way resize = {0};
    double sum[3] = {0};
    if (chains[c].resize) {
        resize = way_of(source, chains[c].resize, arena);
        part(resize.plan);
    }
    part(ways[1].plan);
    for (size_t i = 0; i < n; i++) {
        int64_t least[3] = {INT64_MAX, INT64_MAX, resize.plan ? INT64_MAX : 0};
        for (long round = -1; round < rounds; round++) {
            struct cw_view view[2];
            for (size_t k = 0; k < 2; k++) { /* each is first in turn */
                const size_t w = (k + (size_t)(round + 1)) % 2;
                uint8_t *slot = slots + (3 * (size_t)(round + 1) + w) % SLOTS * SLOT_BYTES;
                const int64_t ns = run(&ways[w], images + i * IMAGE_BYTES, i, slot, &view[w]);
                least[w] = CW_MIN(least[w], ns);
            }
            if (view[0].bytes != view[1].bytes ||
                memcmp(view[0].data, view[1].data, view[0].bytes) != 0) {
                fprintf(stderr, "%s: other results\n", chains[c].what);
                exit(1);
            }
            if (resize.plan)
                least[2] =
                    resize_and_copy(&resize, images + i * IMAGE_BYTES, i,
                                    slots + (3 * (size_t)(round + 1) + 2) % SLOTS * SLOT_BYTES,
                                    view[1].data, view[1].bytes, least[2]);
        }
        for (size_t w = 0; w < 3; w++)
            sum[w] += (double)least[w] / 1e3 / (double)n;
    }
    printf("%-44s %8.1f %10.1f %7.2f", chains[c].what, sum[0], sum[1], sum[1] / sum[0]);
    printf(resize.plan ? " %8.1f %7.2f\n" : "\n", sum[2], sum[2] / sum[0]);
    if (resize.plan) {
        cw_thread_context_put(resize.work);
        cw_plan_unref(resize.plan);
    }
    for (size_t w = 0; w < 2; w++) {
        cw_thread_context_put(ways[w].work);
        cw_plan_unref(ways[w].plan);
    }
    cw_arena_free(arena);
}

/* Decodes a photograph, and gives it the size of the others. */
static void decode(const char *name, uint8_t *image)
{
    cw_autofree char *source = cw_mem_printf("{\"op\":\"files\",\"pattern\":\"%s\"}", name);
    struct cw_plan *plan =
        plan_of(source, "{\"op\":\"read_file\"},{\"op\":\"decode_image\",\"channels\":3},"
                        "{\"op\":\"resize\",\"size\":[375,500]},{\"op\":\"batch\",\"size\":1}");
    struct cw_batch *batch = NULL;
    struct cw_err err = {0};
    if (cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err) < 0)
        die(name, &err);
    memcpy(image, (const uint8_t *)batch->buf->data + batch->tensors[0].offset, IMAGE_BYTES);
    cw_batch_unref(batch);
    cw_plan_unref(plan);
}

/* Writes the image to an idx file: the plans have a source that has such images, though it is not read. */
static void write_source(const char *path, const uint8_t *image)
{
    static const uint8_t head[] = {
        0, 0, 8,          4,           0, 0, 0, 1, 0, 0, HEIGHT >> 8, HEIGHT & 255,
        0, 0, WIDTH >> 8, WIDTH & 255, 0, 0, 0, 3};
    FILE *file = fopen(path, "w");
    CW_ASSERT(file && fwrite(head, 1, sizeof(head), file) == sizeof(head));
    CW_ASSERT(fwrite(image, 1, IMAGE_BYTES, file) == IMAGE_BYTES && fclose(file) == 0);
}

int main(int argc, char **argv)
{
    const bool has_n = argc > 3 && strcmp(argv[1], "-n") == 0;
    const int first = has_n ? 3 : 1;
    const size_t n = (size_t)CW_MIN(argc - first, IMAGES_MAX);
    if (argc == first) {
        fprintf(stderr, "usage: bench_strips [-n ROUNDS] JPEG...\n");
        return 2;
    }
    uint8_t *images = cw_mem_try_aligned(64, IMAGES_MAX * IMAGE_BYTES),
            *slots = cw_mem_try_aligned(64, SLOTS * SLOT_BYTES);
    CW_ASSERT(images && slots);
    memset(slots, 0, SLOTS * SLOT_BYTES); /* page faults are not what is measured */
    for (size_t i = 0; i < n; i++)
        decode(argv[first + (int)i], images + i * IMAGE_BYTES);
    char path[] = "/tmp/bench_strips.XXXXXX";
    const int fd = mkstemp(path);
    CW_ASSERT(fd >= 0 && close(fd) == 0);
    write_source(path, images);
    cw_autofree char *source =
        cw_mem_printf("{\"op\":\"idx\",\"pattern\":\"%s\",\"dtype\":\"u8\",\"dims\":[%d,%d,3]}",
                      path, HEIGHT, WIDTH);
    printf("%-44s %8s %10s %7s %8s %7s\n", "us of CPU an image", "strips", "one by one", "ratio",
           "least", "/strips");
    for (size_t c = 0; c < CW_ARRAY_LEN(chains); c++)
        compare(source, c, images, n, has_n ? strtol(argv[2], NULL, 10) : 10, slots);
    (void)unlink(path);
    cw_mem_free(images);
    cw_mem_free(slots);
    return 0;
}
