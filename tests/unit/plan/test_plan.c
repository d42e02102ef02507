/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan says of an epoch, and that manifests fix the files. */
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "support/checked.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int plan_of(const char *nodes, const struct cw_value *manifest, struct cw_plan **ret_plan,
                   struct cw_err *err)
{
    struct cw_checked *checked = cw_test_must_check(nodes);
    int rc = cw_plan_new(checked, 1, manifest, ret_plan, err);
    cw_checked_unref(checked);
    return rc;
}

static struct cw_plan *must(const char *nodes, const struct cw_value *manifest)
{
    struct cw_plan *plan = NULL;
    struct cw_err err = {0};
    if (plan_of(nodes, manifest, &plan, &err))
        fail_msg("%s: %s", nodes, err.msg);
    return plan;
}

#define RANGE "{\"op\":\"range\",\"stop\":1000}"

static const struct {
    const char *nodes;
    uint64_t items;
    int64_t elements, batch, item_bytes;
} dense[] = {
    {RANGE ",{\"op\":\"batch\",\"size\":64}", 16, 1000, 64, 512},
    {RANGE ",{\"op\":\"batch\",\"size\":64,\"drop_remainder\":true}", 15, 960, 64, 512},
    {RANGE ",{\"op\":\"batch\",\"size\":4096}", 1, 1000, 4096, 8000},
    {RANGE ",{\"op\":\"batch\",\"size\":64},{\"op\":\"repeat\",\"count\":2}", 32, 2000, 64, -1},
    {RANGE ",{\"op\":\"batch\",\"size\":64},{\"op\":\"skip\",\"count\":15}", 1, 40, 64, -1},
    {RANGE ",{\"op\":\"batch\",\"size\":64},{\"op\":\"take\",\"count\":2}", 2, 128, 64, -1},
    {RANGE ",{\"op\":\"skip\",\"count\":5000},{\"op\":\"batch\",\"size\":64}", 0, 0, 64, 0},
    {RANGE ",{\"op\":\"batch\",\"size\":10},{\"op\":\"batch\",\"size\":3}", 34, 100, 3, -1},
    {RANGE, 1000, 1000, 1, 8},
};

static void test_dense(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(dense); i++) {
        struct cw_plan *plan = must(dense[i].nodes, NULL);
        const struct cw_plan_info *info = cw_plan_info(plan);
        if (info->sparse || info->items != dense[i].items || info->elements != dense[i].elements ||
            info->batch != dense[i].batch || info->item_bytes != dense[i].item_bytes ||
            info->join.take != -1)
            fail_msg("%s: items %lld elements %lld batch %lld bytes %lld", dense[i].nodes,
                     (long long)info->items, (long long)info->elements, (long long)info->batch,
                     (long long)info->item_bytes);
        cw_plan_unref(plan);
    }
}

static void test_sparse(void **state)
{
    (void)state;
    struct cw_plan *plan =
        must("{\"op\":\"range\",\"stop\":100000},{\"op\":\"filter\",\"expr\":\"x > "
             "3\"},{\"op\":\"skip\",\"count\":2},{\"op\":\"inflate\",\"factor\":16},"
             "{\"op\":\"batch\",\"size\":100}",
             NULL);
    const struct cw_plan_info *info = cw_plan_info(plan);
    assert_true(info->sparse);
    assert_int_equal(info->chunk, (256 << 10) / 128);
    assert_int_equal(info->items, (100000 + info->chunk - 1) / info->chunk);
    assert_int_equal(info->elements, -1);
    assert_int_equal(info->join.skip, 2);
    assert_int_equal(info->join.take, -1);
    assert_int_equal(info->join.batch, 100);
    assert_int_equal(info->out.fields[0].rank, 2);
    cw_plan_unref(plan);
    plan = must("{\"op\":\"range\",\"stop\":100000},{\"op\":\"filter\",\"expr\":\"x > "
                "3\"},{\"op\":\"take\",\"count\":0}",
                NULL);
    assert_int_equal(cw_plan_info(plan)->items, 0);
    assert_int_equal(cw_plan_info(plan)->join.batch, 0);
    assert_int_equal(cw_plan_info(plan)->join.take, 0);
    cw_plan_unref(plan);
}

/* What stands between a decoder and a crop, and how many operators the decoder then asks (0: it makes
 * the whole image). */
static void asks(const char *between, size_t n)
{
    cw_autofree char *chain =
        cw_mem_printf("{\"op\":\"from_values\",\"values\":[\"p\"]},{\"op\":\"read_file\"},{\"op\":"
                      "\"decode_image\",\"channels\":3},%s,{\"op\":\"center_crop\",\"size\":[4,4]},"
                      "{\"op\":\"batch\",\"size\":2}",
                      between);
    struct cw_plan *plan = must(chain, NULL);
    const struct cw_plan_node *decode = &plan->nodes[2];
    assert_int_equal(decode->want_n, n);
    for (size_t k = 0; k < n; k++)
        assert_int_equal(decode->want[k].node, 3 + k);
    cw_plan_unref(plan);
}

/* A decoder learns of the crop behind it, also through a shuffle and what works on parts, but not
 * when somebody sees all of its image. */
static void test_want(void **state)
{
    (void)state;
    const char *chain =
        "{\"op\":\"from_values\",\"values\":[\"p\"]},{\"op\":\"read_file\"},{\"op\":\"decode_"
        "image\",\"channels\":3},{\"op\":\"shuffle\"},"
        "{\"op\":\"random_resized_crop\",\"size\":[4,4]},{\"op\":\"batch\",\"size\":2}";
    struct cw_plan *plan = must(chain, NULL);
    assert_int_equal(plan->nodes[2].want_n, 1);
    assert_int_equal(plan->nodes[2].want[0].node, 4);
    assert_int_equal(plan->nodes[1].want_n, 0);
    cw_plan_unref(plan);
    asks("{\"op\":\"cast\",\"dtype\":\"f32\"}", 2);
    asks("{\"op\":\"resize\",\"size\":9},{\"op\":\"random_flip\"},{\"op\":\"eval\","
         "\"expr\":\"image * 2 % 7\"},{\"op\":\"burn\",\"ms\":0}",
         5);
    asks("{\"op\":\"normalize\",\"mean\":[1,2,3]}", 2);
    asks("{\"op\":\"eval\",\"expr\":\"7 % image\"}", 0); /* it refuses images with a 0 anywhere */
    asks("{\"op\":\"eval\",\"expr\":\"image + 1\",\"out\":\"other\"}", 0);
    asks("{\"op\":\"filter\",\"expr\":\"image >= 0\"}", 0);
    asks("{\"op\":\"inflate\",\"factor\":1}", 0);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_manifest(void **state)
{
    (void)state;
    char dir[] = "/tmp/cachew-test-plan-XXXXXX";
    assert_non_null(mkdtemp(dir));
    cw_autofree char *a = cw_mem_printf("%s/a.txt", dir), *b = cw_mem_printf("%s/b.txt", dir);
    cw_autofree char *nodes =
        cw_mem_printf("{\"op\":\"files\",\"pattern\":\"%s/"
                      "*.txt\",\"name\":\"here\"},{\"op\":\"batch\",\"size\":2}",
                      dir);
    write_file(a, "1");
    struct cw_plan *first = must(nodes, NULL);
    struct cw_value manifest = {0};
    cw_plan_manifest(first, &manifest);
    assert_non_null(cw_value_get(&manifest, "here"));
    write_file(b, "2");
    struct cw_plan *again = must(nodes, &manifest), *fresh = must(nodes, NULL);
    assert_int_equal(cw_plan_info(again)->elements, 1); /* the manifest, not the directory */
    assert_int_equal(cw_plan_info(fresh)->elements, 2);
    assert_true(cw_hash_eq(cw_plan_info(first)->fingerprint, cw_plan_info(again)->fingerprint));
    assert_false(cw_hash_eq(cw_plan_info(first)->fingerprint, cw_plan_info(fresh)->fingerprint));
    cw_plan_unref(first);
    cw_plan_unref(again);
    cw_plan_unref(fresh);
    cw_value_fini(&manifest);

    struct cw_err err = {0};
    struct cw_plan *none = NULL;
    cw_value_set_object(&manifest);
    assert_true(plan_of(nodes, &manifest, &none, &err) < 0);
    assert_non_null(strstr(err.msg, "node \"here\" (files): the manifest"));
    cw_value_fini(&manifest);
    unlink(a);
    unlink(b);
    assert_true(plan_of(nodes, NULL, &none, &err) < 0);
    assert_non_null(strstr(err.msg, "node \"here\" (files): "));
    rmdir(dir);
}

/* Files with fixed names, sizes and times: what is stored in tokens and names caches must stay
 * what it is. */
static void test_identity(void **state)
{
    (void)state;
    char dir[] = "/tmp/cachew-test-plan-XXXXXX";
    static const char *const words[] = {"", "\"identity\":\"mtime\",", "\"identity\":\"size\",",
                                        "\"identity\":\"sample\",", "\"identity\":\"content\","};
    struct cw_plan_info infos[CW_ARRAY_LEN(words)];
    struct cw_hash keys[CW_ARRAY_LEN(words)];
    char text[CW_HASH_TEXT_BYTES];
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    write_file("a.txt", "1");
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, "a.txt", times, 0), 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(words); i++) {
        cw_autofree char *json =
            cw_mem_printf("{%s\"pipeline\":[{\"op\":\"files\",\"pattern\":\"*.txt\"},{\"op\":"
                          "\"read_file\"},{\"op\":\"batch\",\"size\":2}]}",
                          words[i]);
        struct cw_graph *graph = NULL;
        struct cw_checked *checked = NULL;
        struct cw_plan *plan = NULL;
        struct cw_plan_cacheable cacheable;
        struct cw_err err = {0};
        if (cw_graph_parse(json, strlen(json), "test", &graph, &err) != 0 ||
            cw_graph_check(graph, &checked, &err) != 0 ||
            cw_plan_new(checked, 1, NULL, &plan, &err) != 0)
            fail_msg("%s", err.msg);
        cw_graph_unref(graph);
        cw_checked_unref(checked);
        cw_plan_cacheable(plan, 1, &cacheable);
        infos[i] = *cw_plan_info(plan);
        keys[i] = cacheable.key;
        cw_plan_unref(plan);
    }
    cw_hash_text(infos[0].fingerprint, text);
    assert_string_equal(text, "97d07a0cd6374939b47e3158331bed68");
    cw_hash_text(keys[0], text);
    assert_string_equal(text, "71dc58b3e9ec8962a4cef8ce81905241");
    assert_true(cw_hash_eq(infos[0].fingerprint, infos[1].fingerprint));
    assert_true(cw_hash_eq(keys[0], keys[1]));
    for (size_t i = 1; i < CW_ARRAY_LEN(words); i++) {
        assert_int_equal(infos[i].identity, i - 1);
        assert_true(infos[i].pipeline_sum == infos[0].pipeline_sum &&
                    infos[i].files_sum == infos[0].files_sum);
        for (size_t k = i + 1; k < CW_ARRAY_LEN(words); k++) {
            assert_false(cw_hash_eq(infos[i].fingerprint, infos[k].fingerprint));
            assert_false(cw_hash_eq(keys[i], keys[k]));
        }
    }
    assert_int_equal(unlink("a.txt"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dense),    cmocka_unit_test(test_sparse),
        cmocka_unit_test(test_want),     cmocka_unit_test(test_identity),
        cmocka_unit_test(test_manifest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
