/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of cached elements: equal keys and ids are equal bytes, and what changes bytes changes the
 * key. */
#include "base/mem.h"
#include "plan/plan_nodes.h"
#include "support/checked.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cw_plan *plan_of(const char *nodes, uint64_t seed)
{
    struct cw_err err = {0};
    struct cw_checked *checked = cw_test_must_check(nodes);
    struct cw_plan *plan = NULL;
    if (cw_plan_new(checked, seed, NULL, &plan, &err))
        fail_msg("%s: %s", nodes, err.msg);
    cw_checked_unref(checked);
    return plan;
}

/* What is said of the node of that name. */
static struct cw_plan_cacheable ask(const char *nodes, uint64_t seed, const char *name)
{
    struct cw_plan *plan = plan_of(nodes, seed);
    struct cw_plan_cacheable said = {0};
    bool found = false;
    for (size_t i = 0; i < plan->n; i++) {
        if (!cw_str_eq(plan->nodes[i].node->name, name))
            continue;
        cw_plan_cacheable(plan, i, &said);
        found = true;
    }
    assert_true(found);
    cw_plan_unref(plan);
    said.mark = NULL; /* the plan's */
    said.out = NULL;
    return said;
}

static struct cw_hash key(const char *nodes, uint64_t seed)
{
    struct cw_plan_cacheable said = ask(nodes, seed, "m");
    if (said.why_not)
        fail_msg("%s: %s", nodes, said.why_not);
    return said.key;
}

static bool same(const char *a, const char *b)
{
    return cw_hash_eq(key(a, 1), key(b, 1));
}

#define RANGE "{\"op\":\"range\",\"stop\":1000}"
#define MARK "{\"op\":\"mark\",\"name\":\"m\"}"
#define FREEZE "{\"op\":\"mark\",\"name\":\"m\",\"freeze\":true}"
#define BATCH "{\"op\":\"batch\",\"size\":64}"
#define IMAGES                                                                                     \
    "{\"op\":\"from_values\",\"values\":[\"a\",\"b\"]},{\"op\":\"read_file\"},{\"op\":\"decode_"   \
    "image\",\"channels\":3}"
#define FLIP "{\"op\":\"random_flip\"}"

static void test_keys(void **state)
{
    (void)state;
    assert_true(same(RANGE "," MARK,
                     RANGE ",{\"op\":\"shuffle\"},{\"op\":\"take\",\"count\":3}," MARK "," BATCH));
    assert_false(same(RANGE "," MARK, "{\"op\":\"range\",\"start\":1,\"stop\":1000}," MARK));
    /* the seed counts where something was drawn */
    assert_true(cw_hash_eq(key(RANGE ",{\"op\":\"shuffle\"}," MARK, 1),
                           key(RANGE ",{\"op\":\"shuffle\"}," MARK, 2)));
    assert_true(cw_hash_eq(key(IMAGES "," FREEZE "," FLIP, 1), key(IMAGES "," FREEZE "," FLIP, 2)));
    assert_true(cw_hash_eq(key(IMAGES "," FLIP "," FREEZE, 1),
                           key(IMAGES "," FLIP "," FREEZE "," FLIP, 1)));
    assert_false(
        cw_hash_eq(key(IMAGES "," FLIP "," FREEZE, 1), key(IMAGES "," FLIP "," FREEZE, 2)));
    assert_false(cw_hash_eq(key(IMAGES "," FLIP "," BATCH "," FREEZE, 1),
                            key(IMAGES "," FLIP "," BATCH "," FREEZE, 2)));
    assert_false(cw_hash_eq(key(IMAGES "," FLIP "," FREEZE, 1), key(IMAGES "," FREEZE, 1)));
}

static void test_facts(void **state)
{
    (void)state;
    const char *nodes = RANGE ",{\"op\":\"take\",\"count\":500},{\"op\":\"cache\"}," BATCH
                              ",{\"op\":\"shuffle\"}," MARK ",{\"op\":\"take\",\"count\":2}";
    struct cw_plan_cacheable said = ask(nodes, 1, "cache");
    assert_true(said.asked && !said.whole && !said.why_not);
    assert_int_equal(said.ids, 1000);
    said = ask(nodes, 1, "m");
    assert_true(!said.asked && said.whole);
    assert_string_equal(said.why_not ? said.why_not : "", "");
    assert_int_equal(said.ids, 8);
    struct cw_plan *plan = plan_of(nodes, 1);
    cw_plan_cacheable(plan, 5, &said);
    assert_string_equal(said.mark, "m");
    assert_int_equal(said.out->fields[0].rank, 1);
    cw_plan_cacheable(plan, 1, &said);
    assert_null(said.mark);
    cw_plan_unref(plan);
}

static void test_set(void **state)
{
    (void)state;
    struct cw_err err = {0};
    struct cw_plan *plan = plan_of(RANGE ",{\"op\":\"shuffle\"}," BATCH, 1);
    int some = 0;
    struct cw_cache_dataset *cache = (void *)&some; /* is not looked into when it is refused */
    assert_int_equal(cw_plan_set_cache(plan, 3, NULL, true, true, &err), CW_E_INVALID);
    assert_int_equal(cw_plan_set_cache(plan, 2, cache, true, false, &err), CW_E_INVALID);
    assert_non_null(strstr(
        err.msg, "node \"batch\" (batch): elements cannot be cached here: batches of shuffled"));
    assert_int_equal(cw_plan_set_cache(plan, 2, NULL, true, true, &err), 0);
    assert_int_equal(plan->uses_n, 0);
    cw_plan_unref(plan);
}

static void write_file(const char *path, const char *text, int64_t mtime)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    struct timespec times[2] = {{.tv_sec = mtime}, {.tv_sec = mtime}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Which files there are is in the key, and on which side of a zip. */
static void test_files(void **state)
{
    (void)state;
    char dir[] = "/tmp/cachew-test-key-XXXXXX";
    assert_non_null(mkdtemp(dir));
    cw_autofree char *a = cw_mem_printf("%s/a.txt", dir), *b = cw_mem_printf("%s/b.txt", dir);
    cw_autofree char *read = cw_mem_printf(
        "{\"op\":\"files\",\"pattern\":\"%s/*.txt\"},{\"op\":\"read_file\"}," MARK, dir);
    cw_autofree char *sides =
        cw_mem_printf("{\"op\":\"files\",\"pattern\":\"%s/"
                      "a*\",\"field\":\"a\"},{\"op\":\"files\",\"pattern\":\"%s/[b-z]*\","
                      "\"field\":\"b\",\"name\":\"two\"},{\"op\":\"zip\",\"inputs\":[\"files\","
                      "\"two\"]},{\"op\":\"read_file\"}," MARK,
                      dir, dir);
    write_file(a, "1", 1000);
    write_file(b, "2", 1000);
    struct cw_hash first = key(read, 1), zipped = key(sides, 1);
    assert_true(cw_hash_eq(first, key(read, 2)));
    write_file(b, "3", 1000); /* same size and time: nobody can tell */
    assert_true(cw_hash_eq(first, key(read, 1)));
    write_file(b, "3", 2000);
    assert_false(cw_hash_eq(first, key(read, 1)));
    assert_false(cw_hash_eq(zipped, key(sides, 1)));
    write_file(b, "33", 1000);
    assert_false(cw_hash_eq(first, key(read, 1)));
    write_file(a, "33", 2000);
    write_file(b, "2", 1000);
    struct cw_hash one = key(sides, 1);
    write_file(a, "2", 1000);
    write_file(b, "33", 2000);
    assert_false(cw_hash_eq(one, key(sides, 1)));
    unlink(b);
    assert_false(cw_hash_eq(first, key(read, 1)));
    unlink(a);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_facts),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
