/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines of docs/examples, and others whose costs are published, allocate nothing for an element once a thread has seen it: elements are
 * computed again and again, and calls of base/mem.h are counted (the linker puts the functions below in their
 * place). What libraries for sound and image files allocate is not seen here. */
#include "support/cm.h"

#include <stdatomic.h>
#include "base/mem.h"
#include "example_data.h"
#include "exec/eval.h"

#define ROUNDS 4
/* as large as that of a thread of the engine may become */
#define ARENA_BYTES ((size_t)8 << 20)

/* ---- counting ---- */

static atomic_size_t allocations; /* threads of the engine allocate as well */

#define COUNTED(name, parameters, arguments)                                                       \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        allocations++;                                                                             \
        return __real_##name arguments;                                                            \
    }
COUNTED(cw_mem_new, (size_t bytes), (bytes))
COUNTED(cw_mem_new_array, (size_t n, size_t size), (n, size))
COUNTED(cw_mem_grow, (void *p, size_t n, size_t size), (p, n, size))
COUNTED(cw_mem_try, (size_t bytes), (bytes))
COUNTED(cw_mem_try_aligned, (size_t align, size_t bytes), (align, bytes))

/* ---- pipelines ---- */

/* Quotes are ' here, and become ". */
#define PHOTOS                                                                                     \
    "{'op':'files','pattern':'/data/photos/*.jpg'},{'op':'read_file'},"                            \
    "{'op':'decode_image','channels':3},"
#define PROSE "{'op':'text_lines','pattern':'/data/prose/lines.txt'},"
#define BPE "{'op':'bpe','vocab':'/data/models/vocab.json','merges':'/data/models/merges.txt'},"
#define CROP "{'op':'random_resized_crop','size':[224,224]},"
#define FLIP "{'op':'random_flip'},"
#define TENSOR "{'op':'normalize'},{'op':'layout'},{'op':'batch','size':1}"

/* Examples, and the works whose costs stand in docs/performance.md beside them. */
static const struct work {
    const char *name, *nodes;
    size_t batches; /* that are made on the way: each is a block of memory */
} works[] = {
    {.name = "cedar/pipeline_simclr"},
    {.name = "cedar/pipeline_wikitext"},
    {.name = "cedar/pipeline_common_voice"},
    {.name = "cedar/pipeline_coco"},
    {.name = "audio/speech"},
    {.name = "photos", .nodes = PHOTOS CROP FLIP TENSOR},
    {.name = "the middle of photos",
     .nodes = PHOTOS "{'op':'resize','size':[256],'side':'shorter'},"
                     "{'op':'center_crop','size':[224,224]}," TENSOR},
    {.name = "photos, rand_augment", .nodes = PHOTOS CROP FLIP "{'op':'rand_augment'}," TENSOR},
    {.name = "photos, color_jitter and gaussian_blur",
     .nodes = PHOTOS CROP FLIP
     "{'op':'color_jitter','brightness':0.4,'contrast':0.4,'saturation':0.4,'hue':0.1},"
     "{'op':'gaussian_blur','kernel_size':23}," TENSOR},
    {.name = "photos, chains",
     .nodes = PHOTOS CROP
     "{'op':'random_apply','p':1,'chain':[{'op':'rotate','degrees':9},{'op':'elastic','sigma':2}]},"
     "{'op':'random_choice','chains':[[{'op':'augmix'}],[{'op':'random_flip'}]]}," TENSOR},
    {.name = "photos, mosaic",
     .nodes = PHOTOS "{'op':'batch','size':2,'ragged':true},{'op':'mosaic','size':[64,80]},"
                     "{'op':'batch','size':1}",
     .batches = 1},
    {.name = "small grey images",
     .nodes = "{'op':'idx','pattern':'/data/digits.idx','field':'image','dtype':'u8','dims':[3,2]},"
              "{'op':'pad','padding':[4]},{'op':'random_crop','size':[8,8]}," FLIP
              "{'op':'cast','dtype':'f32'},{'op':'batch','size':1}"},
    {.name = "words",
     .nodes = PROSE "{'op':'split_text'},{'op':'ngrams','widths':[1,2]},{'op':'batch','size':1}"},
    {.name = "masked tokens",
     .nodes = PROSE BPE "{'op':'mask_tokens','mask':1,'vocab_size':9},"
                        "{'op':'batch','size':1,'ragged':['text','labels']}"},
    {.name = "tokens and back",
     .nodes =
         PROSE BPE "{'op':'detokenize','vocab':'/data/models/vocab.json'},{'op':'batch','size':1}"},
    {.name = "columns",
     .nodes = "{'op':'npy','name':'d','pattern':'/data/models/"
              "table.npy','field':'dense','dtype':'f32','dims':[764]},"
              "{'op':'range','name':'r','stop':512,'field':'id'},{'op':'zip','inputs':['d','r']},"
              "{'op':'batch','size':64},{'op':'eval','expr':'dense[..., :4]','out':'ages'},"
              "{'op':'fill_missing','fields':['dense'],'value':1},{'op':'clip','fields':['dense']"
              ",'min':0,'max':9},"
              "{'op':'eval','expr':'log(dense + 1)','out':'dense'},"
              "{'op':'standardize','fields':['dense'],'mean':[1],'std':[2]},"
              "{'op':'bucketize','fields':['ages'],'boundaries':[[1,5,7.5]]},"
              "{'op':'hash_bucket','fields':['id'],'buckets':100},{'op':'batch','size':1}",
     .batches = 8},
};

static struct cw_plan *plan_of(const struct work *work)
{
    if (!work->nodes)
        return example_data_plan(work->name, 1);
    cw_autofree char *text =
        cw_mem_printf("{\"name\":\"%s\",\"pipeline\":[%s]}", work->name, work->nodes);
    for (char *p = text; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    return example_data_plan_of(work->name, text, 1);
}

/* Computes all elements that the batches are made of. */
static void compute(struct cw_thread_context *work, size_t node)
{
    for (int64_t pos = 0; pos < work->plan->nodes[node].n; pos++) {
        struct cw_walk_at at = {.node = node, .pos = pos};
        struct cw_element element = {0};
        struct cw_err err = {0};
        if (cw_eval(work, &at, &element, &err) != CW_EVAL_KEEP)
            fail_msg("element %d: %s", (int)pos, err.msg);
        cw_arena_reset(work->arena);
    }
}

static void test_steady(void **state)
{
    static const struct cw_stop never;
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(works); i++) {
        struct cw_plan *plan = plan_of(&works[i]);
        struct cw_arena *arena = cw_arena_new(ARENA_BYTES);
        struct cw_thread_context *work = cw_thread_context_get(plan, arena, 0, &never);
        const size_t node = plan->nodes[plan->n - 1].inputs[0];
        assert_true(plan->nodes[node].n >= 1);
        for (int round = 0; round < ROUNDS; round++) {
            allocations = 0;
            compute(work, node);
            assert_true(round > 0 || allocations > 0); /* they are counted */
            if (round == ROUNDS - 1 && allocations != works[i].batches)
                fail_msg("%s: %zu allocations", works[i].name, allocations);
        }
        cw_thread_context_put(work);
        cw_plan_unref(plan);
        cw_arena_free(arena);
    }
}

static int make(void **state)
{
    (void)state;
    example_data_make(true);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    example_data_remove();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steady)};
    return cmocka_run_group_tests(tests, make, clean_up);
}
