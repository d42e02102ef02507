/* SPDX-License-Identifier: Apache-2.0 */
/* What making only a part of an image can save: operators on photographs that end with a crop, each called for
 * each image and making all of it (as with --disable-fusion), against the same as the engine calls them, image by
 * image in turn on one thread, from files in memory to the slots of a batch. Results are compared first. Beside it
 * the least that the kernels need for the same: reading the codes up to the crop's last row and decoding the part,
 * the resize of the part, and a copy of as many bytes as the result has. one/least is a bound of the ratio for these
 * kernels, and the last column says what part of it is reached. CPU time, the sum over the images of the least of the
 * rounds. usage: bench_parts [-n ROUNDS] JPEG... */
#include "bench/files.h"

#include <string.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "exec/exec.h"
#include "exec/op_call.h"
#include "graph/graph.h"
#include "ops/kernels/jpeg.h"
#include "ops/kernels/resample.h"
#include "plan/plan_nodes.h"

#define SIDE 224
#define RESIZED 256
#define RESULT_BYTES ((size_t)SIDE * SIDE * 3 * sizeof(float))
#define SLOTS 64 /* as a batch: results go to memory that is not in the cache */
#define FIRST 2  /* the first node that is called: the decoder, behind files and read_file */
#define NORMALIZE "{\"op\":\"normalize\",\"mean\":[0.485,0.456,0.406],\"std\":[0.229,0.224,0.225]}"
#define CROP "{\"op\":\"center_crop\",\"size\":224}"

static const struct {
    const char *what, *operators;
    bool resizes;
} chains[] = {
    {"normalize, random_flip, center_crop 224", NORMALIZE ",{\"op\":\"random_flip\"}," CROP, false},
    {"resize 256, center_crop 224, normalize",
     "{\"op\":\"resize\",\"size\":[256,256]}," CROP "," NORMALIZE, true},
};

static void die(const char *what, const struct cw_err *err)
{
    fprintf(stderr, "%s: %s\n", what, err->msg);
    exit(1);
}

static struct cw_thread_context *engine_open(const char *file, const char *operators, bool apart,
                                             struct cw_arena *arena)
{
    static const struct cw_stop never;
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    cw_autofree char *text =
        cw_mem_printf("{\"pipeline\":[{\"op\":\"files\",\"pattern\":\"%s\"},{\"op\":\"read_file\"},"
                      "{\"op\":\"decode_image\",\"channels\":3},%s]}",
                      file, operators);
    if (cw_graph_parse(text, strlen(text), "", &graph, &err) < 0 ||
        cw_graph_check(graph, &checked, &err) < 0 || cw_plan_new(checked, 1, NULL, &plan, &err) < 0)
        die(operators, &err);
    if (apart)
        cw_plan_set_apart(plan);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return cw_thread_context_get(plan, arena, 0, &never);
}

static void engine_close(struct cw_thread_context *work)
{
    struct cw_plan *plan = work->plan;
    cw_thread_context_put(work);
    cw_plan_unref(plan);
}

/* Calls the operators behind read_file; the result is in the slot. Returns how long that took. */
static int64_t engine_run(struct cw_thread_context *work, const struct bench_file *file,
                          uint64_t id, uint8_t *slot)
{
    struct cw_err err = {0};
    struct cw_element element = {.id = id, .n = 1};
    const int64_t begin = cw_clock_thread_cpu_ns();
    element.fields[0] =
        (struct cw_view){.data = file->bytes, .bytes = file->n, .dtype = CW_DTYPE_STR};
    work->pending_n = 0;
    for (size_t i = work->plan->n; i-- > FIRST;)
        work->pending[work->pending_n++] =
            (struct cw_walk_pending){.node = (uint32_t)i, .live = i + 1 == work->plan->n};
    work->slot[0] = slot;
    work->slot_bytes[0] = RESULT_BYTES;
    while (work->pending_n)
        if (cw_op_call_apply(work, &work->pending[--work->pending_n], &element, &err) < 0)
            die("an image", &err);
    if (element.fields[0].data != slot) /* nobody had to write it there */
        memcpy(slot, element.fields[0].data, RESULT_BYTES);
    cw_arena_reset(work->arena);
    return cw_clock_thread_cpu_ns() - begin;
}

/* The kernels, called by themselves. */
struct least {
    struct cw_jpeg *jpeg;
    struct cw_resample resample;
    uint8_t *small; /* the part of the resized image */
    uint8_t *from;  /* as many bytes as a result has */
};

/* The part of an h x w image that the crop needs, and the resize of it, if there is one. */
static struct cw_rect part_of(struct least *least, bool resizes, int64_t h, int64_t w,
                              struct cw_resample_job *ret_job)
{
    struct cw_err err = {0};
    const int64_t have_h = resizes ? RESIZED : h, have_w = resizes ? RESIZED : w;
    const struct cw_rect crop = {.y = CW_MAX((have_h - SIDE) / 2, 0),
                                 .x = CW_MAX((have_w - SIDE) / 2, 0),
                                 .h = CW_MIN(have_h, SIDE),
                                 .w = CW_MIN(have_w, SIDE)};
    struct cw_resample_part needs;
    if (!resizes)
        return crop;
    *ret_job = (struct cw_resample_job){.src_h = (int32_t)h,
                                        .src_w = (int32_t)w,
                                        .channels = 3,
                                        .dst = least->small,
                                        .dst_h = RESIZED,
                                        .dst_w = RESIZED,
                                        .dst_part = {.y = (int32_t)crop.y,
                                                     .x = (int32_t)crop.x,
                                                     .h = (int32_t)crop.h,
                                                     .w = (int32_t)crop.w},
                                        .filter = CW_FILTER_BILINEAR};
    if (cw_resample_needs(&least->resample, ret_job, &needs, &err) < 0)
        die("a resize", &err);
    return (struct cw_rect){.y = needs.y, .x = needs.x, .h = needs.h, .w = needs.w};
}

/* Decodes at least `want`, and resizes it if there is a job. */
static void decode(struct least *least, struct bench_files *files, const struct cw_rect *want,
                   struct cw_resample_job *job)
{
    struct cw_err err = {0};
    struct cw_rect part;
    if (cw_jpeg_part(least->jpeg, want, &part, &err) < 0 ||
        (size_t)(part.h * part.w * 3) > files->pixels_bytes ||
        cw_jpeg_finish(least->jpeg, files->pixels, &err) < 0)
        die("a part", &err);
    if (!job)
        return;
    job->src = files->pixels;
    job->src_stride = (size_t)part.w * 3;
    job->src_part = (struct cw_resample_part){
        .y = (int32_t)part.y, .x = (int32_t)part.x, .h = (int32_t)part.h, .w = (int32_t)part.w};
    if (cw_resample(&least->resample, job, &err) < 0)
        die("a resize", &err);
}

/* Returns how long the kernels take; *ret_codes_ns: of that, reading the codes. */
static int64_t least_run(struct least *least, struct bench_files *files, size_t i, bool resizes,
                         uint8_t *slot, int64_t *ret_codes_ns)
{
    const struct bench_file *file = &files->v[i];
    struct cw_resample_job job;
    struct cw_err err = {0};
    int64_t h, w, channels, at[3];
    at[0] = cw_clock_thread_cpu_ns();
    if (cw_jpeg_begin(least->jpeg, file->bytes, file->n, 3, &err) < 0)
        die("a file", &err);
    cw_jpeg_size(least->jpeg, &h, &w, &channels);
    const struct cw_rect want = part_of(least, resizes, h, w, &job);
    decode(least, files, &want, resizes ? &job : NULL);
    memcpy(slot, least->from, RESULT_BYTES);
    at[1] = cw_clock_thread_cpu_ns();
    /* a corner of the part needs the codes of all rows before */
    const struct cw_rect corner = {
        .y = want.y + want.h - 1, .x = want.x + want.w - 1, .h = 1, .w = 1};
    if (cw_jpeg_begin(least->jpeg, file->bytes, file->n, 3, &err) < 0)
        die("a file", &err);
    decode(least, files, &corner, NULL);
    at[2] = cw_clock_thread_cpu_ns();
    *ret_codes_ns = at[2] - at[1];
    return at[1] - at[0];
}

enum { ONE_BY_ONE, PARTS, LEAST, CODES, WAYS };

static void compare(size_t c, struct bench_files *files, const char *any_file, long rounds,
                    uint8_t *slots)
{
    struct cw_arena *arena = cw_arena_new((size_t)64 << 20);
    struct cw_thread_context *work[2] = {engine_open(any_file, chains[c].operators, true, arena),
                                         engine_open(any_file, chains[c].operators, false, arena)};
    struct least least = {.jpeg = cw_jpeg_new(),
                          .small = cw_mem_new((size_t)SIDE * SIDE * 3),
                          .from = cw_mem_new(RESULT_BYTES)};
    double us[WAYS] = {0};
    CW_ASSERT(least.jpeg);
    for (size_t i = 0; i < files->n; i++) {
        int64_t best[WAYS] = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
        for (long round = -1; round < rounds; round++) {
            uint8_t *slot[3];
            int64_t ns[WAYS];
            for (size_t k = 0; k < 3; k++)
                slot[k] = slots + (3 * (size_t)(round + 1) + k) % SLOTS * RESULT_BYTES;
            for (size_t k = 0; k < 2; k++) { /* each is first in turn */
                const size_t way = (k + (size_t)(round + 1)) % 2;
                ns[way] = engine_run(work[way], &files->v[i], i, slot[way]);
            }
            ns[LEAST] = least_run(&least, files, i, chains[c].resizes, slot[LEAST], &ns[CODES]);
            if (memcmp(slot[ONE_BY_ONE], slot[PARTS], RESULT_BYTES) != 0) {
                fprintf(stderr, "%s: other results\n", chains[c].what);
                exit(1);
            }
            for (size_t way = 0; way < WAYS && round >= 0; way++)
                best[way] = CW_MIN(best[way], ns[way]);
        }
        for (size_t way = 0; way < WAYS; way++)
            us[way] += (double)best[way] / 1e3 / (double)files->n;
    }
    printf("%-42s %10.1f %8.1f %6.2f %8.1f %8.1f %9.2f %8.2f\n", chains[c].what, us[ONE_BY_ONE],
           us[PARTS], us[ONE_BY_ONE] / us[PARTS], us[CODES], us[LEAST], us[ONE_BY_ONE] / us[LEAST],
           us[LEAST] / us[PARTS]);
    for (size_t k = 0; k < 2; k++)
        engine_close(work[k]);
    cw_jpeg_free(least.jpeg);
    cw_resample_fini(&least.resample);
    cw_mem_free(least.small);
    cw_mem_free(least.from);
    cw_arena_free(arena);
}

int main(int argc, char **argv)
{
    struct bench_files files;
    const long rounds = bench_files_read(&files, argc, argv, 10);
    bench_decode_all(&files); /* makes room for a whole image */
    uint8_t *slots = cw_mem_try_aligned(64, SLOTS * RESULT_BYTES);
    CW_ASSERT(slots);
    memset(slots, 0, SLOTS * RESULT_BYTES); /* page faults are not what is measured */
    printf("%-42s %10s %8s %6s %8s %8s %9s %8s\n", "us of CPU an image", "one by one", "parts",
           "ratio", "codes", "least", "one/least", "/parts");
    for (size_t c = 0; c < CW_ARRAY_LEN(chains); c++)
        compare(c, &files, argv[argc - 1], rounds, slots);
    cw_mem_free(slots);
    bench_files_free(&files);
    return 0;
}
