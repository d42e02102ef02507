/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on audio allocate nothing for an element once a thread has seen one like it: a chain of them
 * is computed again and again, and calls of base/mem.h are counted (the linker puts the functions below in
 * their place). What the libraries for sound files allocate is not seen here. */
#include "support/cm.h"

#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "ops/op.h"

/* ---- counting ---- */

static size_t allocations;

void *__real_cw_mem_new(size_t bytes);
void *__real_cw_mem_new_array(size_t n, size_t size);
void *__real_cw_mem_grow(void *p, size_t n, size_t size);
void *__real_cw_mem_try(size_t bytes);
void *__real_cw_mem_try_aligned(size_t align, size_t bytes);
void *__wrap_cw_mem_new(size_t bytes);
void *__wrap_cw_mem_new_array(size_t n, size_t size);
void *__wrap_cw_mem_grow(void *p, size_t n, size_t size);
void *__wrap_cw_mem_try(size_t bytes);
void *__wrap_cw_mem_try_aligned(size_t align, size_t bytes);

void *__wrap_cw_mem_new(size_t bytes)
{
    allocations++;
    return __real_cw_mem_new(bytes);
}

void *__wrap_cw_mem_new_array(size_t n, size_t size)
{
    allocations++;
    return __real_cw_mem_new_array(n, size);
}

void *__wrap_cw_mem_grow(void *p, size_t n, size_t size)
{
    allocations++;
    return __real_cw_mem_grow(p, n, size);
}

void *__wrap_cw_mem_try(size_t bytes)
{
    allocations++;
    return __real_cw_mem_try(bytes);
}

void *__wrap_cw_mem_try_aligned(size_t align, size_t bytes)
{
    allocations++;
    return __real_cw_mem_try_aligned(align, bytes);
}

/* ---- a chain on one field ---- */

struct link {
    const char *name, *text;
    const struct cw_op *op;
    void *opts, *state, *scratch;
};

static void link_open(struct link *link)
{
    struct cw_value value = {0};
    struct cw_err err = {0};
    link->op = cw_op_find(link->name);
    assert_non_null(link->op);
    link->opts = CW_NEW_ARRAY(char, CW_MAX(link->op->options_bytes, 1));
    assert_int_equal(cw_value_parse(link->text, strlen(link->text), "", &value, &err), 0);
    if (link->op->options && cw_opt_parse(link->op->options, &value, link->opts, &err) < 0)
        fail_msg("%s: %s", link->name, err.msg);
    cw_value_fini(&value);
    if (link->op->open)
        assert_int_equal(link->op->open(link->opts, &(struct cw_op_open){0}, &link->state, &err),
                         0);
    if (link->op->scratch_new)
        link->scratch = link->op->scratch_new(link->opts, link->state);
}

static void link_close(struct link *link)
{
    if (link->op->scratch_free)
        link->op->scratch_free(link->scratch);
    if (link->op->close)
        link->op->close(link->state);
    if (link->op->options)
        cw_opt_fini(link->op->options, link->opts);
    cw_mem_free(link->opts);
}

static void link_run(struct link *link, struct cw_op_ctx *ctx, struct cw_element *element)
{
    struct cw_err err = {0};
    struct cw_view out = element->fields[0];
    const int rc = link->op->apply
                       ? link->op->apply(ctx, link->opts, link->state, link->scratch, element, &err)
                       : link->op->apply_field(ctx, link->opts, link->state, link->scratch,
                                               &element->fields[0], &out, &err);
    if (rc < 0)
        fail_msg("%s: %s", link->name, err.msg);
    if (!link->op->apply)
        element->fields[0] = out;
}

/* Computes the chain for some elements; returns how often memory was allocated for the last ones. */
static size_t run_chain(struct link *links, size_t n, const struct cw_view *view)
{
    struct cw_arena *arena = cw_arena_new((size_t)8 << 20);
    CW_SPEC_AUTO spec = {0};
    struct cw_op_ctx ctx = {.arena = arena, .in = &spec, .out = &spec};
    assert_int_equal(cw_spec_add(&spec, "audio", CW_DTYPE_F32, view->rank, view->dims, NULL), 0);
    for (size_t i = 0; i < n; i++)
        link_open(&links[i]);
    size_t before = allocations;
    for (uint64_t id = 0; id < 8; id++) {
        struct cw_element element = {.id = id, .n = 1, .fields = {*view}};
        if (id == 4) {
            assert_true(allocations > before); /* the first ones need some */
            before = allocations;
        }
        for (size_t i = 0; i < n; i++) {
            cw_rng_init(&ctx.rng, 1, i, 0, 0, id);
            link_run(&links[i], &ctx, &element);
        }
        cw_arena_reset(arena);
    }
    const size_t count = allocations - before;
    for (size_t i = 0; i < n; i++)
        link_close(&links[i]);
    cw_arena_free(arena);
    return count;
}

#define FRAMES 16000
static float samples[2 * FRAMES];
static const struct cw_view waveform = {.data = samples,
                                        .bytes = sizeof(samples),
                                        .dtype = CW_DTYPE_F32,
                                        .rank = 2,
                                        .dims = {FRAMES, 2}};

static void test_mel(void **state)
{
    (void)state;
    struct link links[] = {
        {.name = "resample", .text = "{\"from\": 22050, \"to\": 16000}"},
        {.name = "to_mono", .text = "{}"},
        {.name = "fit_length", .text = "{\"length\": 8000, \"crop\": \"random\"}"},
        {.name = "gain", .text = "{\"db\": [-6, 6]}"},
        {.name = "preemphasis", .text = "{}"},
        {.name = "add_noise", .text = "{\"snr\": [10, 20]}"},
        {.name = "spectrogram", .text = "{\"hop\": 160}"},
        {.name = "mel", .text = "{\"n_mels\": 80, \"log\": \"db\", \"top_db\": 80}"},
        {.name = "mfcc", .text = "{}"},
        {.name = "time_mask", .text = "{\"width\": 20}"},
        {.name = "freq_mask", .text = "{\"width\": 8, \"count\": 2}"},
    };
    assert_int_equal(run_chain(links, CW_ARRAY_LEN(links), &waveform), 0);
}

static void test_stretched(void **state)
{
    (void)state;
    struct link links[] = {
        {.name = "speed", .text = "{\"factors\": [0.9, 1.0, 1.1]}"},
        {.name = "spectrogram", .text = "{\"power\": 0}"},
        {.name = "time_stretch", .text = "{\"rate\": 0.8}"},
        {.name = "time_stretch", .text = "{\"rate\": [0.8, 1.2], \"power\": 2}"},
        {.name = "mel", .text = "{\"n_mels\": 80}"},
    };
    /* one like it: the factor is drawn, so all must have been seen */
    (void)run_chain(links, CW_ARRAY_LEN(links), &waveform);
    links[0].text = "{\"factors\": [0.9]}";
    assert_int_equal(run_chain(links, CW_ARRAY_LEN(links), &waveform), 0);
}

int main(void)
{
    for (int i = 0; i < 2 * FRAMES; i++)
        samples[i] = (float)sin(0.01 * i + 1e-6 * i * i);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mel),
                                       cmocka_unit_test(test_stretched)};
    return cmocka_run_group_tests_name("audio_steady", tests, NULL, NULL);
}
