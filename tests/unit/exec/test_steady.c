/* SPDX-License-Identifier: Apache-2.0 */
/* The pipelines of docs/examples/cedar allocate nothing for an element once a thread has seen it: elements are
 * computed again and again, and calls of base/mem.h are counted (the linker puts the functions below in their
 * place). What libraries for sound and image files allocate is not seen here. */
#include "support/cm.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "exec/eval.h"
#include "graph/graph.h"

#define ROUNDS 3
#define WIDTH 764
#define ROWS 512

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

/* ---- data ---- */

static char *folder;

static char *path_of(const char *name)
{
    return cw_mem_printf("%s/%s", folder, name);
}

static void link_to(const char *stored, const char *name)
{
    cw_autofree char *from = cw_mem_printf("%s/%s", CW_TEST_DATA, stored), *to = path_of(name);
    assert_int_equal(symlink(from, to), 0);
}

static void write_to(const char *name, const void *head, size_t head_n, const void *rest,
                     size_t rest_n)
{
    cw_autofree char *path = path_of(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(head, 1, head_n, file), head_n);
    if (rest_n)
        assert_int_equal(fwrite(rest, 1, rest_n, file), rest_n);
    assert_int_equal(fclose(file), 0);
}

/* An .npy file of zeros. */
static void write_table(void)
{
    static float rows[ROWS * WIDTH];
    char head[128];
    cw_autofree char *shape =
        cw_mem_printf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", ROWS, WIDTH);
    memset(head, ' ', sizeof(head));
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(head + 10, shape, strlen(shape));
    head[sizeof(head) - 1] = '\n';
    write_to("models/table.npy", head, sizeof(head), rows, sizeof(rows));
}

static int make_data(void **state)
{
    static const char *const folders[] = {"photos", "objects", "clips", "prose", "models"};
    static const char lines[] = "the keeper of lantern light\n\nsea wind don't 1845\n";
    static const char objects[] = "{\"images\":[{\"id\":1,\"file_name\":\"0.jpg\",\"height\":300,"
                                  "\"width\":400}],\"categories\":"
                                  "[{\"id\":3,\"name\":\"x\"}],\"annotations\":[{\"id\":1,\"image_"
                                  "id\":1,\"category_id\":3,\"area\":"
                                  "30,\"iscrowd\":0,\"bbox\":[5,4,12,9]}]}";
    char name[] = "/tmp/test_steady.XXXXXX";
    (void)state;
    folder = cw_mem_printf("%s", mkdtemp(name));
    for (size_t i = 0; i < CW_ARRAY_LEN(folders); i++) {
        cw_autofree char *path = path_of(folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    link_to("image_420.jpg", "photos/0.jpg");
    link_to("image_444.jpg", "photos/1.jpg");
    link_to("image_420.jpg", "objects/0.jpg");
    link_to("audio_2372b6fd.file", "clips/0.mp3");
    link_to("audio_ba288556.file", "clips/1.mp3");
    link_to("tokens/vocab.json", "models/vocab.json");
    link_to("tokens/merges.txt", "models/merges.txt");
    write_to("prose/lines.txt", lines, sizeof(lines) - 1, NULL, 0);
    write_to("objects.json", objects, sizeof(objects) - 1, NULL, 0);
    write_table();
    return 0;
}

static int remove_data(void **state)
{
    static const char *const names[] = {"photos/0.jpg",
                                        "photos/1.jpg",
                                        "objects/0.jpg",
                                        "clips/0.mp3",
                                        "clips/1.mp3",
                                        "models/vocab.json",
                                        "models/merges.txt",
                                        "models/table.npy",
                                        "prose/lines.txt",
                                        "objects.json",
                                        "photos",
                                        "objects",
                                        "clips",
                                        "models",
                                        "prose",
                                        ""};
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        cw_autofree char *path = path_of(names[i]);
        (void)remove(path);
    }
    cw_mem_free(folder);
    return 0;
}

/* ---- pipelines ---- */

/* The text of an example, whose data lie in the folder. */
static char *example(const char *name)
{
    cw_autofree char *path = cw_mem_printf("%s/pipeline_%s.json", CW_TEST_EXAMPLES, name);
    char text[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t n = fread(text, 1, sizeof(text) - 1, file);
    assert_int_equal(fclose(file), 0);
    text[n] = 0;
    struct cw_str out = {0};
    const char *at = text;
    for (const char *found; (found = strstr(at, "/data/")) != NULL; at = found + strlen("/data"))
        cw_str_addf(&out, "%.*s%s", (int)(found - at), at, folder);
    cw_str_add(&out, at);
    char *copy = cw_mem_printf("%s", cw_str_text(&out));
    cw_str_fini(&out);
    return copy;
}

static struct cw_plan *plan_of(const char *name)
{
    cw_autofree char *text = example(name);
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    if (cw_graph_parse(text, strlen(text), "", &graph, &err) < 0 ||
        cw_graph_check(graph, &checked, &err) < 0 || cw_plan_new(checked, 1, NULL, &plan, &err) < 0)
        fail_msg("%s: %s", name, err.msg);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return plan;
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
    static const char *const names[] = {"simclr", "wikitext", "common_voice", "coco"};
    static const struct cw_stop never;
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(names); i++) {
        struct cw_plan *plan = plan_of(names[i]);
        struct cw_arena *arena = cw_arena_new((size_t)1 << 20);
        struct cw_thread_context *work = cw_thread_context_get(plan, arena, 0, &never);
        const size_t node = plan->nodes[plan->n - 1].inputs[0];
        assert_true(plan->nodes[node].n >= 1);
        for (int round = 0; round < ROUNDS; round++) {
            allocations = 0;
            compute(work, node);
            assert_true(round > 0 || allocations > 0); /* they are counted */
            if (round == ROUNDS - 1 && allocations)
                fail_msg("%s: %zu allocations", names[i], allocations);
        }
        cw_thread_context_put(work);
        cw_plan_unref(plan);
        cw_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steady)};
    return cmocka_run_group_tests(tests, make_data, remove_data);
}
