/* SPDX-License-Identifier: Apache-2.0 */
/* Items computed by the pool and by the calling thread: the same bytes, for every kind of pipeline.
 */
#include "base/mem.h"
#include "base/thread.h"
#include "exec/exec.h"
#include "support/cm.h"
#include <string.h>

static struct cw_plan *plan_of(const char *nodes, uint64_t seed)
{
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    cw_autofree char *text = cw_mem_printf("{\"pipeline\": [%s]}", nodes);
    if (cw_graph_parse(text, strlen(text), "", &graph, &err) ||
        cw_graph_check(graph, &checked, &err) || cw_plan_new(checked, seed, NULL, &plan, &err))
        fail_msg("%s: %s", nodes, err.msg);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return plan;
}

struct job {
    struct cw_exec_item item;
    struct cw_batch *batch;
    struct cw_err err;
    struct waiter *waiter;
};
struct waiter {
    struct cw_mutex mutex;
    struct cw_cond cond;
    size_t left;
};

static void on_done(struct cw_exec_item *item, struct cw_batch *batch, const struct cw_err *err)
{
    struct job *job = item->arg;
    struct waiter *waiter = job->waiter;
    job->batch = batch;
    job->err = *err;
    cw_mutex_lock(&waiter->mutex);
    waiter->left--;
    cw_cond_signal(&waiter->cond);
    cw_mutex_unlock(&waiter->mutex);
}

/* Submits items 0..n-1 and waits for them. */
static struct job *run_all(struct cw_exec *exec, struct cw_plan *plan, uint64_t epoch,
                           enum cw_bad_elements bad, size_t n)
{
    struct job *jobs = CW_NEW_ARRAY(struct job, n + 1);
    struct waiter waiter = {.left = n};
    cw_mutex_init(&waiter.mutex);
    cw_cond_init(&waiter.cond);
    for (size_t i = 0; i < n; i++) {
        jobs[i].waiter = &waiter;
        jobs[i].item = (struct cw_exec_item){
            .plan = plan, .epoch = epoch, .item = i, .bad = bad, .done = on_done, .arg = &jobs[i]};
        cw_exec_submit(exec, &jobs[i].item);
    }
    cw_mutex_lock(&waiter.mutex);
    while (waiter.left)
        cw_cond_wait(&waiter.cond, &waiter.mutex);
    cw_mutex_unlock(&waiter.mutex);
    cw_cond_fini(&waiter.cond);
    cw_mutex_fini(&waiter.mutex);
    return jobs;
}

static void free_jobs(struct job *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cw_batch_unref(jobs[i].batch);
    cw_mem_free(jobs);
}

static void add_hash(struct cw_hasher *hasher, const struct cw_batch *batch)
{
    cw_hasher_add_u64(hasher, batch->elements);
    cw_hasher_add_u64(hasher, batch->skipped);
    cw_batch_hash(batch, hasher);
}

static struct cw_hash hash_pool(struct cw_plan *plan, size_t threads, uint64_t epoch,
                                enum cw_bad_elements bad, uint64_t *ret_rows)
{
    size_t n = (size_t)cw_plan_info(plan)->items;
    struct cw_exec *exec = cw_exec_new(threads);
    struct job *jobs = run_all(exec, plan, epoch, bad, n);
    struct cw_hasher *hasher = cw_hasher_new();
    *ret_rows = 0;
    for (size_t i = 0; i < n; i++) {
        if (!jobs[i].batch)
            fail_msg("item %zu: %s", i, jobs[i].err.msg);
        add_hash(hasher, jobs[i].batch);
        *ret_rows += jobs[i].batch->elements;
    }
    free_jobs(jobs, n);
    cw_exec_free(exec);
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

static struct cw_hash hash_here(struct cw_plan *plan, uint64_t epoch, enum cw_bad_elements bad)
{
    struct cw_hasher *hasher = cw_hasher_new();
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        if (cw_exec_run(plan, epoch, i, bad, &batch, &err))
            fail_msg("item %d: %s", (int)i, err.msg);
        add_hash(hasher, batch);
        cw_batch_unref(batch);
    }
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

static const struct {
    const char *nodes;
    uint64_t items, rows;
} cases[] = {
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"batch\",\"size\":64}", 16, 1000},
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"batch\",\"size\":64,\"drop_remainder\":true}", 15,
     960},
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":7}", 143,
     1000},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"shuffle\"},{\"op\":\"repeat\",\"count\":3},{\"op\":"
     "\"skip\",\"count\":5},{\"op\":\"take\",\"count\":250},{\"op\":\"batch\",\"size\":16}",
     16, 250},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"shard\",\"num_shards\":3,\"index\":1},{\"op\":"
     "\"batch\",\"size\":10}",
     4, 33},
    {"{\"op\":\"range\",\"stop\":0},{\"op\":\"batch\",\"size\":10}", 0, 0},
    {"{\"op\":\"range\",\"stop\":1},{\"op\":\"batch\",\"size\":10}", 1, 1},
    {"{\"op\":\"range\",\"stop\":9}", 9, 9},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":5},{\"op\":\"shuffle\"},{\"op\":"
     "\"batch\",\"size\":3}",
     7, 20},
    {"{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":8},{\"op\":\"shuffle\"},{\"op\":"
     "\"cast\",\"dtype\":\"f32\"}",
     13, 100},
    {"{\"op\":\"range\",\"stop\":100,\"name\":\"a\",\"field\":\"a\"},{\"op\":\"shuffle\",\"name\":"
     "\"sa\"},{\"op\":\"range\",\"start\":5,\"stop\":80,\"name\":\"b\",\"field\":\"b\"},"
     "{\"op\":\"cast\",\"dtype\":\"f64\",\"name\":\"cb\"},{\"op\":\"zip\",\"inputs\":[\"sa\","
     "\"cb\"]},{\"op\":\"batch\",\"size\":16}",
     5, 75},
    {"{\"op\":\"range\",\"stop\":40,\"name\":\"a\",\"field\":\"a\"},{\"op\":\"batch\",\"size\":4,"
     "\"name\":\"ba\"},{\"op\":\"range\",\"stop\":10,\"name\":\"b\",\"field\":\"b\"},"
     "{\"op\":\"zip\",\"inputs\":[\"ba\",\"b\"]},{\"op\":\"batch\",\"size\":3}",
     4, 10},
    {"{\"op\":\"from_values\",\"values\":[\"a\",\"\",\"ccc\",\"dd\",\"e\"]},{\"op\":\"shuffle\"},{"
     "\"op\":\"repeat\",\"count\":21},{\"op\":\"batch\",\"size\":10}",
     11, 105},
    {"{\"op\":\"range\",\"stop\":1000},{\"op\":\"shuffle\"},{\"op\":\"filter\",\"expr\":\"x % 3 == "
     "0\"},{\"op\":\"eval\",\"expr\":\"x * "
     "2\"},{\"op\":\"inflate\",\"factor\":100},{\"op\":\"batch\",\"size\":8}",
     4, 334},
    {"{\"op\":\"range\",\"stop\":60},{\"op\":\"batch\",\"size\":4},{\"op\":\"eval\",\"expr\":\"x + "
     "0.5\"},{\"op\":\"repeat\",\"count\":2}",
     30, 120},
};

static void test_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(cases); i++) {
        struct cw_plan *plan = plan_of(cases[i].nodes, 42);
        uint64_t rows1 = 0, rows4 = 0;
        struct cw_hash here = hash_here(plan, 3, CW_BAD_FAIL);
        struct cw_hash one = hash_pool(plan, 1, 3, CW_BAD_FAIL, &rows1);
        struct cw_hash four = hash_pool(plan, 4, 3, CW_BAD_FAIL, &rows4);
        if (!cw_hash_eq(here, one) || !cw_hash_eq(here, four) || rows1 != cases[i].rows ||
            rows4 != rows1 || cw_plan_info(plan)->items != cases[i].items)
            fail_msg("%s: %d items, %d rows", cases[i].nodes, (int)cw_plan_info(plan)->items,
                     (int)rows1);
        cw_plan_unref(plan);
    }
}

/* All rows of one i64 field, items in order. */
static int64_t *rows_of(struct cw_plan *plan, uint64_t epoch, size_t *ret_n)
{
    int64_t *rows = NULL;
    size_t n = 0;
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++) {
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        if (cw_exec_run(plan, epoch, i, CW_BAD_FAIL, &batch, &err))
            fail_msg("%s", err.msg);
        size_t more = (size_t)cw_field_count(&batch->tensors[0].field);
        rows = cw_mem_grow(rows, n + more + 1, sizeof(*rows));
        if (more)
            memcpy(rows + n, cw_batch_data(batch, 0), more * sizeof(*rows));
        n += more;
        cw_batch_unref(batch);
    }
    *ret_n = n;
    return rows;
}

struct model {
    int64_t *v;
    size_t n;
};

/* Adds an operator to the text and does the same to the list of numbers. */
static void add_random_op(struct cw_str *text, struct model *model, uint64_t r)
{
    size_t k = (size_t)(r >> 8) % (model->n + 2);
    int64_t *v = model->v;
    size_t n = 0;
    switch (r % 5) {
    case 0:
        cw_str_addf(text, ",{\"op\":\"take\",\"count\":%zu}", k);
        model->n = CW_MIN(model->n, k);
        return;
    case 1:
        k %= 5;
        cw_str_addf(text, ",{\"op\":\"skip\",\"count\":%zu}", k);
        for (size_t i = k; i < model->n; i++)
            v[n++] = v[i];
        break;
    case 2:
        k = k % 3 + 1;
        cw_str_addf(text, ",{\"op\":\"shard\",\"num_shards\":%zu,\"index\":%zu}", k, k / 2);
        for (size_t i = k / 2; i < model->n; i += k)
            v[n++] = v[i];
        break;
    case 3:
        k = k % 3 + 1;
        cw_str_addf(text, ",{\"op\":\"repeat\",\"count\":%zu}", k);
        if (model->n * k > 100000)
            k = 1;
        model->v = v = cw_mem_grow(v, model->n * k + 1, sizeof(*v));
        for (size_t i = 1; i < k; i++)
            memcpy(v + i * model->n, v, model->n * sizeof(*v));
        n = model->n * k;
        break;
    default:
        cw_str_add(text, ",{\"op\":\"eval\",\"expr\":\"x + 3\"}");
        for (; n < model->n; n++)
            v[n] += 3;
    }
    model->n = n;
}

static void test_random_chains(void **state)
{
    (void)state;
    for (uint64_t round = 0; round < 150; round++) {
        uint64_t r = cw_mix64(round + 1);
        struct model model = {.n = (size_t)(r % 400)};
        model.v = CW_NEW_ARRAY(int64_t, model.n + 1);
        for (size_t i = 0; i < model.n; i++)
            model.v[i] = (int64_t)i;
        CW_STR_AUTO text = {0};
        cw_str_addf(&text, "{\"op\":\"range\",\"stop\":%zu}", model.n);
        for (uint64_t k = 0; k < r % 7; k++)
            add_random_op(&text, &model, cw_mix64(r + k));
        size_t size = (size_t)(r >> 20) % 50 + 1;
        bool drop = (r >> 40) & 1;
        cw_str_addf(&text, ",{\"op\":\"batch\",\"size\":%zu,\"drop_remainder\":%s}", size,
                    drop ? "true" : "false");
        if (drop)
            model.n -= model.n % size;
        struct cw_plan *plan = plan_of(cw_str_text(&text), 1);
        size_t n = 0;
        int64_t *rows = rows_of(plan, 0, &n);
        if (n != model.n || (n && memcmp(rows, model.v, n * sizeof(*rows))) ||
            cw_plan_info(plan)->elements != (int64_t)n)
            fail_msg("%s: %zu rows, expected %zu", cw_str_text(&text), n, model.n);
        cw_mem_free(rows);
        cw_mem_free(model.v);
        cw_plan_unref(plan);
    }
}

static void test_shuffle(void **state)
{
    (void)state;
    struct cw_plan *plan = plan_of(
        "{\"op\":\"range\",\"stop\":500},{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":32}", 7);
    size_t n = 0, m = 0;
    int64_t *a = rows_of(plan, 0, &n), *b = rows_of(plan, 1, &m);
    bool seen[500] = {0};
    assert_int_equal(n, 500);
    assert_int_equal(m, 500);
    assert_memory_not_equal(a, b, sizeof(*a) * n);
    for (size_t i = 0; i < n; i++) {
        assert_false(seen[a[i]]);
        seen[a[i]] = true;
    }
    cw_mem_free(a);
    cw_mem_free(b);
    cw_plan_unref(plan);
}

/* What comes of a filter is what comes without it, less what it leaves out: also behind a shuffle
 * moved above it. */
static void test_filter(void **state)
{
    (void)state;
    const char *dense = "{\"op\":\"range\",\"stop\":700},{\"op\":\"shuffle\",\"name\":\"s\"},{"
                        "\"op\":\"batch\",\"size\":10}";
    const char *sparse[] = {
        "{\"op\":\"range\",\"stop\":700},{\"op\":\"shuffle\",\"name\":\"s\"},{\"op\":\"filter\","
        "\"expr\":\"x % 7 == 2\"},{\"op\":\"batch\",\"size\":10}",
        "{\"op\":\"range\",\"stop\":700},{\"op\":\"filter\",\"expr\":\"x % 7 == "
        "2\"},{\"op\":\"shuffle\",\"name\":\"s\"},{\"op\":\"take\",\"count\":20},{\"op\":\"batch\","
        "\"size\":10}",
        "{\"op\":\"range\",\"stop\":700},{\"op\":\"filter\",\"expr\":\"x % 7 == "
        "2\"},{\"op\":\"shuffle\",\"name\":\"s\"},{\"op\":\"inflate\",\"factor\":8192}"};
    struct cw_plan *plan = plan_of(dense, 7);
    size_t n = 0, left = 0;
    int64_t *all = rows_of(plan, 2, &n);
    cw_plan_unref(plan);
    for (size_t i = 0; i < n; i++)
        if (all[i] % 7 == 2)
            all[left++] = all[i];
    for (size_t k = 0; k < CW_ARRAY_LEN(sparse); k++) {
        plan = plan_of(sparse[k], 7);
        int64_t *rows = rows_of(plan, 2, &n);
        size_t factor = k == 2 ? 8192 : 1;
        assert_int_equal(n, left * factor);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(rows[i], all[i / factor]);
        cw_mem_free(rows);
        cw_plan_unref(plan);
    }
    cw_mem_free(all);
}

static void test_strings(void **state)
{
    (void)state;
    struct cw_plan *plan = plan_of(
        "{\"op\":\"from_values\",\"values\":[\"a\",\"\",\"ccc\"]},{\"op\":\"batch\",\"size\":4}",
        1);
    struct cw_batch *batch = NULL;
    assert_int_equal(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, NULL), 0);
    const int64_t want[] = {0, 1, 1, 4};
    assert_int_equal(batch->tensors[0].field.dims[0], 3);
    assert_int_equal(batch->tensors[0].bytes, sizeof(want) + 4);
    assert_memory_equal(cw_batch_data(batch, 0), want, sizeof(want));
    assert_memory_equal((const char *)cw_batch_data(batch, 0) + sizeof(want), "accc", 4);
    cw_batch_unref(batch);
    cw_plan_unref(plan);
}

static const char *const bad_nodes[] = {
    "{\"op\":\"range\",\"stop\":100},{\"op\":\"eval\",\"expr\":\"1 % (x % "
    "10)\",\"name\":\"div\"},{\"op\":\"batch\",\"size\":16}",
    "{\"op\":\"range\",\"stop\":100},{\"op\":\"eval\",\"expr\":\"1 % (x % "
    "10)\",\"name\":\"div\"},{\"op\":\"batch\",\"size\":16,\"drop_remainder\":true}",
    "{\"op\":\"range\",\"stop\":100},{\"op\":\"eval\",\"expr\":\"1 % (x % "
    "10)\",\"name\":\"div\"},{\"op\":\"filter\",\"expr\":\"true\"},{\"op\":\"batch\",\"size\":16}",
    "{\"op\":\"range\",\"stop\":100},{\"op\":\"eval\",\"expr\":\"1 % (x % 10)\",\"name\":\"div\"}",
};

static void test_bad_elements(void **state)
{
    (void)state;
    for (size_t k = 0; k < CW_ARRAY_LEN(bad_nodes); k++) {
        struct cw_plan *plan = plan_of(bad_nodes[k], 1);
        struct cw_batch *batch = NULL;
        struct cw_err err = {0};
        uint64_t rows = 0;
        assert_true(cw_exec_run(plan, 0, 0, CW_BAD_FAIL, &batch, &err) < 0);
        assert_non_null(strstr(err.msg, "node \"div\" (eval), element 0 (number 0): "));
        struct cw_hash here = hash_here(plan, 0, CW_BAD_SKIP),
                       pool = hash_pool(plan, 3, 0, CW_BAD_SKIP, &rows);
        assert_true(cw_hash_eq(here, pool));
        assert_int_equal(rows, k == 1 ? 86 : 90);
        cw_plan_unref(plan);
    }
}

/* Whichever thread fails first, the lowest bad row is the one that is named. */
static void test_lowest_error(void **state)
{
    (void)state;
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"stop\":200},{\"op\":\"sleep\",\"ms\":0.05},{\"op\":\"eval\","
                "\"expr\":\"1 % (x % 50 - 17)\"},{\"op\":\"batch\",\"size\":100}",
                1);
    struct cw_exec *exec = cw_exec_new(4);
    struct job *jobs = run_all(exec, plan, 0, CW_BAD_FAIL, 2);
    assert_null(jobs[0].batch);
    assert_non_null(strstr(jobs[0].err.msg, "element 17 "));
    assert_non_null(strstr(jobs[1].err.msg, "element 117 "));
    free_jobs(jobs, 2);
    cw_exec_free(exec);
    cw_plan_unref(plan);
}

static void test_cancel(void **state)
{
    (void)state;
    enum { N = 200 };
    struct cw_plan *plan = plan_of("{\"op\":\"range\",\"stop\":1000},{\"op\":\"sleep\",\"ms\":20},{"
                                   "\"op\":\"batch\",\"size\":5}",
                                   1);
    struct cw_exec *exec = cw_exec_new(2);
    struct job *jobs = CW_NEW_ARRAY(struct job, N);
    struct waiter waiter = {.left = N};
    cw_mutex_init(&waiter.mutex);
    cw_cond_init(&waiter.cond);
    for (size_t i = 0; i < N; i++) {
        jobs[i].waiter = &waiter;
        jobs[i].item =
            (struct cw_exec_item){.plan = plan, .item = i, .done = on_done, .arg = &jobs[i]};
        cw_exec_submit(exec, &jobs[i].item);
        if (i == N / 2)
            cw_exec_cancel(exec, plan);
    }
    cw_exec_free(exec); /* the rest is cancelled here */
    assert_int_equal(waiter.left, 0);
    size_t cancelled = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(jobs[i].batch || jobs[i].err.code == CW_E_CANCELLED);
        cancelled += !jobs[i].batch;
    }
    assert_true(cancelled > 0);
    free_jobs(jobs, N);
    cw_cond_fini(&waiter.cond);
    cw_mutex_fini(&waiter.mutex);
    cw_plan_unref(plan);
}

static struct cw_buf *no_memory(void *arg, size_t bytes, struct cw_err *err)
{
    size_t *asked = arg;
    *asked = bytes;
    cw_err_set(err, CW_E_AGAIN, "no slot");
    return NULL;
}

static void test_alloc_fails(void **state)
{
    (void)state;
    const char *nodes[] = {
        "{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":16}",
        "{\"op\":\"from_values\",\"values\":[\"a\",\"b\"]},{\"op\":\"batch\",\"size\":16}",
        "{\"op\":\"range\",\"stop\":100},{\"op\":\"batch\",\"size\":16},{\"op\":\"cast\",\"dtype\":\"i32\"}"};
    const size_t bytes[] = {128, 26, 64};
    for (size_t k = 0; k < CW_ARRAY_LEN(nodes); k++) {
        struct cw_plan *plan = plan_of(nodes[k], 1);
        struct cw_exec *exec = cw_exec_new(2);
        struct waiter waiter = {.left = 1};
        struct job job = {.waiter = &waiter};
        size_t asked = 0;
        cw_mutex_init(&waiter.mutex);
        cw_cond_init(&waiter.cond);
        job.item = (struct cw_exec_item){
            .plan = plan, .done = on_done, .arg = &job, .alloc = no_memory, .alloc_arg = &asked};
        cw_exec_submit(exec, &job.item);
        cw_mutex_lock(&waiter.mutex);
        while (waiter.left)
            cw_cond_wait(&waiter.cond, &waiter.mutex);
        cw_mutex_unlock(&waiter.mutex);
        assert_null(job.batch);
        assert_int_equal(job.err.code, CW_E_AGAIN);
        assert_true(asked >= bytes[k]);
        cw_exec_free(exec);
        cw_plan_unref(plan);
        cw_cond_fini(&waiter.cond);
        cw_mutex_fini(&waiter.mutex);
    }
}

/* A decoder that makes only what the crop behind it wants gives the same bytes: the cast between
 * them, which does nothing, keeps them apart. */
static void test_want(void **state)
{
    (void)state;
    const char *between[] = {"", ",{\"op\":\"cast\",\"dtype\":\"u8\"}"};
    struct cw_hash hashes[2];
    for (size_t k = 0; k < 2; k++) {
        cw_autofree char *nodes = cw_mem_printf(
            "{\"op\":\"files\",\"pattern\":[\"%s/image_4*.jpg\",\"%s/image_rgb.png\"]},"
            "{\"op\":\"repeat\",\"count\":8},{\"op\":\"read_file\"},"
            "{\"op\":\"decode_image\",\"channels\":3}%s,"
            "{\"op\":\"random_resized_crop\",\"size\":[9,7]},{\"op\":\"batch\",\"size\":5}",
            CW_TEST_IMAGES, CW_TEST_IMAGES, between[k]);
        struct cw_plan *plan = plan_of(nodes, 5);
        uint64_t rows = 0;
        hashes[k] = hash_pool(plan, 2, 1, CW_BAD_FAIL, &rows);
        assert_true(rows >= 24);
        cw_plan_unref(plan);
    }
    assert_true(cw_hash_eq(hashes[0], hashes[1]));
}

static int on_trace(void *arg, int64_t row, const struct cw_node *node, const struct cw_spec *spec,
                    const struct cw_element *element, const char *source, struct cw_err *err)
{
    struct cw_str *out = arg;
    (void)err;
    assert_int_equal(spec->n, element->n);
    cw_str_addf(out, "%lld %s %s\n", (long long)row, node->name, source);
    return 0;
}

static void test_trace(void **state)
{
    (void)state;
    struct cw_plan *plan =
        plan_of("{\"op\":\"range\",\"start\":5,\"stop\":9},{\"op\":\"cast\",\"dtype\":\"f32\"},{"
                "\"op\":\"batch\",\"size\":2},{\"op\":\"eval\",\"expr\":\"x+1\"}",
                1);
    CW_STR_AUTO out = {0};
    struct cw_err err = {0};
    assert_int_equal(cw_exec_trace(plan, 0, 1, on_trace, &out, &err), 0);
    assert_string_equal(
        cw_str_text(&out),
        "0 range number 7\n0 cast number 7\n1 range number 8\n1 cast number 8\n-1 eval number 8\n");
    cw_plan_unref(plan);
}

static int on_number(void *arg, int64_t row, const struct cw_node *node, const struct cw_spec *spec,
                     const struct cw_element *element, const char *source, struct cw_err *err)
{
    struct model *model = arg;
    (void)row;
    (void)node;
    (void)spec;
    (void)source;
    (void)err;
    memcpy(&model->v[model->n++], element->fields[0].data, sizeof(int64_t));
    return 0;
}

/* Positions are mapped one by one when an item is traced, else in runs. */
static void test_runs_of_positions(void **state)
{
    (void)state;
    struct cw_plan *plan = plan_of(
        "{\"op\":\"range\",\"stop\":301},{\"op\":\"shuffle\",\"window\":64},"
        "{\"op\":\"repeat\",\"count\":3},{\"op\":\"shuffle\"},{\"op\":\"skip\",\"count\":2},"
        "{\"op\":\"shuffle\"},{\"op\":\"batch\",\"size\":200}",
        3);
    struct model model = {.v = CW_NEW_ARRAY(int64_t, 1000)};
    size_t n = 0;
    int64_t *rows = rows_of(plan, 4, &n);
    for (uint64_t i = 0; i < cw_plan_info(plan)->items; i++)
        assert_int_equal(cw_exec_trace(plan, 4, i, on_number, &model, NULL), 0);
    assert_int_equal(n, 901);
    assert_int_equal(model.n, n);
    assert_memory_equal(model.v, rows, n * sizeof(*rows));
    cw_mem_free(rows);
    cw_mem_free(model.v);
    cw_plan_unref(plan);
}

static void test_counts(void **state)
{
    (void)state;
    struct cw_plan *plan = plan_of("{\"op\":\"range\",\"stop\":100},{\"op\":\"shuffle\"},{\"op\":"
                                   "\"cast\",\"dtype\":\"f32\"},{\"op\":\"batch\",\"size\":16}",
                                   1);
    uint64_t rows;
    struct cw_exec_count counts[4];
    hash_pool(plan, 3, 0, CW_BAD_FAIL, &rows);
    cw_exec_counts(plan, counts);
    assert_int_equal(counts[0].elements, 100);
    assert_int_equal(counts[1].elements, 100);
    assert_int_equal(counts[2].elements, 100);
    assert_int_equal(counts[2].bytes_out, 400);
    assert_int_equal(counts[3].elements, 7);
    assert_true(counts[2].cpu_ns > 0);
    cw_plan_unref(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_random_chains),
        cmocka_unit_test(test_shuffle),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_bad_elements),
        cmocka_unit_test(test_lowest_error),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_alloc_fails),
        cmocka_unit_test(test_want),
        cmocka_unit_test(test_trace),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_runs_of_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
