/* SPDX-License-Identifier: Apache-2.0 */
/* The public API against real daemons ("local:" with two workers): positions and resumption in
 * every mode, several consumers and jobs, cancelling, lifetimes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "cachew/cachew.h"

#define WAIT_MS 120000
#define BATCHES_MAX 4096

static const char dense[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 1000}, {\"op\": "
                            "\"shuffle\"}, {\"op\": \"batch\", \"size\": 7}]}";
static const char sparse[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 3000}, {\"op\": "
                             "\"shuffle\"}, {\"op\": \"filter\", \"expr\": \"x % 3 == 0\"},"
                             " {\"op\": \"skip\", \"count\": 5}, {\"op\": \"take\", \"count\": "
                             "900}, {\"op\": \"batch\", \"size\": 7}]}";

static struct cachew_client *client;
static struct cachew_error error;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        int rc_ = (call);                                                                          \
        if (rc_ < 0)                                                                               \
            fail_msg("%s: %d %s", #call, rc_, error.message);                                      \
    } while (0)

static struct cachew_client *connect_local(int workers)
{
    struct cachew_client *local = NULL;
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    options.local_workers = workers;
    options.local_threads = 1;
    options.timeout_ms = WAIT_MS;
    CHECK(cachew_connect("local:", &options, &local, &error));
    return local;
}

static int on_setup(void **arg)
{
    (void)arg;
    client = connect_local(2);
    return 0;
}

static int on_teardown(void **arg)
{
    (void)arg;
    cachew_disconnect(client);
    return 0;
}

static struct cachew_job *start(const char *text, const struct cachew_job_options *options)
{
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *job = NULL;
    CHECK(cachew_pipeline_parse(text, strlen(text), &pipeline, &error));
    CHECK(cachew_job_start(client, pipeline, options, &job, &error));
    cachew_pipeline_release(pipeline);
    return job;
}

/* What was delivered: a digest a batch, 0 for the end of an epoch. */
struct list {
    uint64_t v[BATCHES_MAX];
    size_t n;
};

static uint64_t digest(const struct cachew_batch *batch)
{
    struct cachew_tensor tensor;
    uint64_t h = 1 + 31 * cachew_batch_epoch(batch) + 17 * cachew_batch_number(batch);
    for (size_t i = 0; i < cachew_batch_tensors(batch); i++) {
        assert_int_equal(cachew_batch_tensor(batch, i, &tensor), 0);
        h = cw_mix64(h ^ cw_hash_u64(tensor.data, tensor.bytes));
    }
    return h;
}

/* The next one, into the list; false after the last epoch. */
static bool step(struct cachew_job *job, struct list *list)
{
    struct cachew_batch *batch = NULL;
    int rc = cachew_job_next(job, WAIT_MS, &batch, &error);
    CHECK(rc);
    assert_true(list->n < BATCHES_MAX);
    list->v[list->n++] = rc == 1 ? digest(batch) : 0;
    if (rc == 1)
        cachew_batch_release(batch);
    return rc == 1 || !cachew_job_done(job);
}

static void run_all(const char *text, struct cachew_job_options *options, struct list *list)
{
    struct cachew_job *job = start(text, options);
    while (step(job, list)) {
    }
    cachew_job_close(job);
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Of several consumers each step has the same batches as the next n of the sequence; who has
 * which of them depends on n. */
static void sort_steps(struct list *want, struct list *got, size_t begin, size_t end, size_t n)
{
    for (size_t i = begin; i < end; i += n) {
        size_t len = CW_MIN(n, end - i);
        qsort(want->v + i, len, sizeof(want->v[0]), compare);
        qsort(got->v + i, len, sizeof(got->v[0]), compare);
    }
}

static void assert_same(const struct list *want, const struct list *got)
{
    assert_int_equal(want->n, got->n);
    for (size_t i = 0; i < want->n; i++)
        if (want->v[i] != got->v[i])
            fail_msg("batch %zu differs", i);
}

/* Stops after `cut` steps, saves the place, goes on in a new job. with_last 0 gives the last
 * batch out again. */
static void run_cut(const char *text, struct cachew_job_options *options, size_t cut, int with_last,
                    struct list *list)
{
    char token[4096];
    size_t bytes = 0;
    struct cachew_job *job = start(text, options);
    for (size_t i = 0; i < cut; i++)
        step(job, list);
    CHECK(cachew_job_token(job, with_last, token, sizeof(token), &bytes, &error));
    if (!options->unordered)
        assert_true(bytes <= CACHEW_TOKEN_BYTES);
    if (!with_last && cut > 0 && list->v[list->n - 1] != 0)
        list->n--;
    cachew_job_close(job);
    struct cachew_job_options again = *options;
    again.token = token;
    again.token_bytes = bytes;
    run_all(text, &again, list);
}

static void check_resume(const char *text)
{
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    options.seed = 11;
    options.epochs = 2;
    static struct list want, got;
    want.n = 0;
    run_all(text, &options, &want);
    const size_t cuts[] = {0, 1, 37, want.n / 2 - 1, want.n / 2, want.n / 2 + 1, want.n - 2};
    for (size_t i = 0; i < CW_ARRAY_LEN(cuts); i++)
        for (int with_last = 0; with_last < 2; with_last++) {
            got.n = 0;
            run_cut(text, &options, cuts[i], with_last, &got);
            assert_same(&want, &got);
        }
}

static void test_resume_dense(void **arg)
{
    (void)arg;
    check_resume(dense);
}

static void test_resume_sparse(void **arg)
{
    (void)arg;
    check_resume(sparse);
}

/* ---- plans as options ---- */

#define OP_A "{\"op\": \"eval\", \"name\": \"a\", \"expr\": \"x + 1\"}"
#define OP_B "{\"op\": \"eval\", \"name\": \"b\", \"expr\": \"x * 2\"}"
#define OP_F "{\"op\": \"filter\", \"name\": \"f\", \"expr\": \"x % 3 == 0\"}"
#define OP_Z "{\"op\": \"burn\", \"name\": \"z\", \"ms\": 0}"
#define CHAIN(middle)                                                                              \
    "{\"pipeline\": [{\"op\": \"range\", \"name\": \"r\", \"stop\": 2000}, " middle                \
    ", {\"op\": \"batch\", \"name\": \"n\", \"size\": 7}]}"

/* A relaxed plan makes the pipeline in its order the job's own: so it is with a token, too. */
static void test_relaxed_plan(void **arg)
{
    (void)arg;
    static struct list want, got;
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    want.n = got.n = 0;
    run_all(CHAIN(OP_B ", " OP_A), &options, &want);
    options.plan = "{\"plan\": 1, \"exact\": false, \"order\": [\"r\", \"b\", \"a\", \"n\"]}";
    options.relaxed = 1;
    run_cut(CHAIN(OP_A ", " OP_B), &options, 10, 1, &got);
    assert_same(&want, &got);
}

static void test_exact_plan(void **arg)
{
    (void)arg;
    static struct list want, got;
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    want.n = got.n = 0;
    run_all(CHAIN(OP_Z ", " OP_F), &options, &want);
    options.plan = "{\"plan\": 1, \"order\": [\"r\", \"f\", \"z\", \"n\"]}";
    run_all(CHAIN(OP_Z ", " OP_F), &options, &got);
    assert_same(&want, &got);
}

static void test_refused_plan(void **arg)
{
    (void)arg;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *job = NULL;
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    options.plan = "{\"plan\": 1, \"order\": [\"r\", \"b\", \"a\", \"n\"]}";
    CHECK(cachew_pipeline_parse(CHAIN(OP_A ", " OP_B), strlen(CHAIN(OP_A ", " OP_B)), &pipeline,
                                &error));
    assert_int_equal(cachew_job_start(client, pipeline, &options, &job, &error), CACHEW_E_INVALID);
    assert_non_null(strstr(error.message, "job option plan: "));
    assert_non_null(strstr(error.message, "\"b\""));
    cachew_pipeline_release(pipeline);
}

static uint64_t sum_of(const struct list *list)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < list->n; i++)
        sum += list->v[i];
    return sum;
}

static void test_resume_unordered(void **arg)
{
    (void)arg;
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    static struct list want, got;
    options.epochs = 2;
    want.n = 0;
    run_all(dense, &options, &want);
    options.unordered = 1;
    const size_t cuts[] = {0, 1, 50, 143, 144, 200};
    for (size_t i = 0; i < CW_ARRAY_LEN(cuts); i++)
        for (int with_last = 0; with_last < 2; with_last++) {
            got.n = 0;
            run_cut(dense, &options, cuts[i], with_last, &got);
            assert_int_equal(got.n, want.n);
            assert_true(sum_of(&got) == sum_of(&want));
        }
}

/* n consumers in step, from the tokens of a former set of consumers or from the start; their
 * batches by number. Stops after `rounds` of each, and leaves their tokens. */
struct group {
    size_t n;
    char tokens[8][CACHEW_TOKEN_BYTES];
    size_t token_bytes[8];
};

static void run_group(const char *text, const char *name, const struct group *from,
                      struct group *group, size_t rounds, struct list *list)
{
    struct cachew_job *jobs[8];
    struct list own;
    for (size_t c = 0; c < group->n; c++) {
        struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
        options.name = name;
        options.seed = 3;
        options.mode = CACHEW_COORDINATED;
        options.consumers = (uint32_t)group->n;
        options.consumer = (uint32_t)c;
        if (from) {
            options.token = from->tokens[c % from->n];
            options.token_bytes = from->token_bytes[c % from->n];
        }
        jobs[c] = start(text, &options);
    }
    bool ended = false;
    for (size_t r = 0; r < rounds && !ended; r++)
        for (size_t c = 0; c < group->n; c++) {
            own.n = 0;
            step(jobs[c], &own);
            ended |= own.v[0] == 0;
            if (own.v[0])
                list->v[list->n++] = own.v[0];
        }
    for (size_t c = 0; c < group->n; c++) {
        CHECK(cachew_job_token(jobs[c], 1, group->tokens[c], CACHEW_TOKEN_BYTES,
                               &group->token_bytes[c], &error));
        cachew_job_close(jobs[c]);
    }
}

static void check_consumers(const char *text, const char *name)
{
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    static struct list want, got;
    static struct group three = {.n = 3}, two = {.n = 2}, five = {.n = 5};
    char names[3][64];
    for (int i = 0; i < 3; i++)
        snprintf(names[i], sizeof(names[i]), "%s-%d", name, i);
    options.seed = 3;
    want.n = got.n = 0;
    run_all(text, &options, &want);
    want.n--; /* the end of the epoch */
    run_group(text, names[0], NULL, &three, 7, &got);
    assert_int_equal(got.n, 21);
    /* another number of consumers goes on with the same sequence */
    run_group(text, names[1], &three, &two, 9, &got);
    assert_int_equal(got.n, 39);
    run_group(text, names[2], &two, &five, SIZE_MAX, &got);
    sort_steps(&want, &got, 0, 21, 3);
    sort_steps(&want, &got, 21, 39, 2);
    sort_steps(&want, &got, 39, got.n, 5);
    assert_same(&want, &got);
}

static void test_consumers_dense(void **arg)
{
    (void)arg;
    check_consumers(dense, "dense");
}

static void test_consumers_sparse(void **arg)
{
    (void)arg;
    check_consumers(sparse, "sparse");
}

static void test_foreign_token(void **arg)
{
    (void)arg;
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *job = start(dense, &options);
    char token[CACHEW_TOKEN_BYTES];
    size_t bytes;
    CHECK(cachew_job_token(job, 0, token, sizeof(token), &bytes, &error));
    assert_int_equal(cachew_job_token(job, 0, token, 3, &bytes, &error), CACHEW_E_INVALID);
    cachew_job_close(job);
    CHECK(cachew_pipeline_parse(sparse, strlen(sparse), &pipeline, &error));
    options.token = token;
    options.token_bytes = bytes;
    assert_true(cachew_job_start(client, pipeline, &options, &job, &error) < 0);
    assert_non_null(strstr(error.message, "token"));
    token[bytes / 2] ^= 1;
    assert_int_equal(cachew_job_start(client, pipeline, &options, &job, &error), CACHEW_E_CORRUPT);
    cachew_pipeline_release(pipeline);
}

/* ---- calls and lifetimes ---- */

static const char slow[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 1000}, {\"op\": "
                           "\"sleep\", \"ms\": 60000}, {\"op\": \"batch\", \"size\": 1}]}";

static void cancel_thread(void *job)
{
    cachew_job_cancel(job);
}

static void test_cancel_and_timeout(void **arg)
{
    (void)arg;
    struct cachew_batch *batch = NULL;
    struct cw_thread thread = {0};
    struct cachew_client *shared = client;
    client = connect_local(1); /* its worker sleeps for long: it dies with its client */
    struct cachew_job *stuck = start(slow, NULL), *other = start(slow, NULL);
    assert_int_equal(cachew_job_next(stuck, 0, &batch, &error), CACHEW_E_TIMEOUT);
    do { /* until it is known what is waited for, which the message says then */
        assert_int_equal(cachew_job_next(stuck, 10, &batch, &error), CACHEW_E_TIMEOUT);
        assert_ptr_equal(strstr(error.message, "no batch came within 10 ms"), error.message);
    } while (!strstr(error.message, "within 10 ms: "));
    cw_thread_start(&thread, "cancel", cancel_thread, stuck);
    assert_int_equal(cachew_job_next(stuck, -1, &batch, &error), CACHEW_E_CANCELLED);
    assert_int_equal(cachew_job_next(stuck, -1, &batch, &error), CACHEW_E_CANCELLED);
    cw_thread_join(&thread);
    cachew_job_close(stuck);
    /* the other job is not touched */
    assert_int_equal(cachew_job_next(other, 10, &batch, &error), CACHEW_E_TIMEOUT);
    cachew_job_close(other);
    cachew_disconnect(client);
    client = shared;
}

static void test_batch_outlives_job(void **arg)
{
    (void)arg;
    static const char large[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 4000}, {\"op\": "
                                "\"inflate\", \"factor\": 1000},"
                                " {\"op\": \"batch\", \"size\": 100}]}";
    struct cachew_batch *held[8] = {0};
    uint64_t before[8];
    struct cachew_job *job = start(large, NULL);
    for (int i = 0; i < 8; i++) {
        CHECK(cachew_job_next(job, WAIT_MS, &held[i], &error));
        before[i] = digest(held[i]);
    }
    struct cachew_job_stats stats = {.struct_size = sizeof(stats)};
    assert_int_equal(cachew_job_stats(job, &stats), 0);
    assert_int_equal(stats.batches, 8);
    assert_true(stats.copies <= stats.shm_batches + stats.grpc_batches);
    assert_int_equal(stats.epoch_items, 40);
    cachew_job_close(job);
    job = start(large, NULL); /* new work must not be written where the trainer still reads */
    static struct list list;
    list.n = 0;
    while (step(job, &list)) {
    }
    cachew_job_close(job);
    for (int i = 0; i < 8; i++) {
        assert_true(digest(held[i]) == before[i]);
        cachew_batch_release(held[i]);
    }
}

static void test_errors(void **arg)
{
    (void)arg;
    static const char unknown[] = "{\"pipeline\": [{\"op\": \"rnge\", \"stop\": 4}]}";
    static const char missing[] = "{\"pipeline\": [{\"op\": \"files\", \"pattern\": "
                                  "\"/nonexistent/x.jpg\"}, {\"op\": \"batch\", \"size\": 4}]}";
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_job *job = NULL;
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    CHECK(cachew_pipeline_parse(unknown, strlen(unknown), &pipeline, &error));
    assert_true(cachew_job_start(client, pipeline, NULL, &job, &error) < 0);
    assert_non_null(strstr(error.message, "rnge"));
    cachew_pipeline_release(pipeline);
    CHECK(cachew_pipeline_parse(missing, strlen(missing), &pipeline, &error));
    assert_true(cachew_job_start(client, pipeline, NULL, &job, &error) < 0);
    assert_non_null(strstr(error.message, "/nonexistent/x.jpg"));
    options.consumers = 2;
    assert_int_equal(cachew_job_start(client, pipeline, &options, &job, &error), CACHEW_E_INVALID);
    cachew_pipeline_release(pipeline);
}

static const char *name_of(const struct cachew_spec *spec, size_t i, struct cachew_field *field)
{
    *field = (struct cachew_field)CACHEW_FIELD_INIT;
    assert_int_equal(cachew_spec_field(spec, i, field), 0);
    return field->name;
}

/* What a pipeline gives is known before it gives anything, and each batch is like that. */
static void test_spec(void **arg)
{
    static const char *const texts[] = {
        "{\"pipeline\": [{\"op\": \"range\", \"stop\": 20}, {\"op\": \"eval\", \"expr\": \"x / "
        "2.0\", "
        "\"name\": \"half\"}, {\"op\": \"batch\", \"size\": 8}]}",
        "{\"pipeline\": [{\"op\": \"range\", \"stop\": 20}, {\"op\": \"batch\", \"size\": 8, "
        "\"drop_remainder\": true}]}",
        "{\"pipeline\": [{\"op\": \"range\", \"stop\": 20}, {\"op\": \"filter\", \"expr\": \"x > "
        "3\"}]}"};
    (void)arg;
    for (size_t k = 0; k < 3; k++) {
        struct cachew_pipeline *pipeline = NULL;
        struct cachew_spec *checked = NULL;
        struct cachew_batch *batch = NULL;
        struct cachew_field asked, field;
        struct cachew_tensor tensor;
        CHECK(cachew_pipeline_parse(texts[k], strlen(texts[k]), &pipeline, &error));
        CHECK(cachew_pipeline_check(client, pipeline, &checked, &error));
        CHECK(cachew_pipeline_check(client, pipeline, NULL, &error));
        cachew_pipeline_release(pipeline);
        struct cachew_job *job = start(texts[k], NULL);
        const struct cachew_spec *spec = cachew_job_spec(job);
        assert_int_equal(cachew_spec_fields(spec), 1);
        assert_int_equal(cachew_spec_fields(checked), 1);
        assert_string_equal(name_of(spec, 0, &field), "x");
        assert_string_equal(name_of(checked, 0, &asked), "x");
        assert_int_equal(field.dtype, k == 0 ? CACHEW_F64 : CACHEW_I64);
        assert_int_equal(field.rank, k == 2 ? 0 : 1);
        if (k < 2)
            assert_int_equal(field.dims[0], k == 1 ? 8 : -1);
        assert_int_equal(asked.dtype, field.dtype);
        assert_int_equal(asked.rank, field.rank);
        assert_memory_equal(asked.dims, field.dims, sizeof field.dims);
        while (cachew_job_next(job, WAIT_MS, &batch, &error) > 0) {
            CHECK(cachew_batch_tensor(batch, 0, &tensor));
            assert_string_equal(tensor.name, field.name);
            assert_int_equal(tensor.dtype, field.dtype);
            assert_int_equal(tensor.rank, field.rank);
            assert_true(k != 1 || tensor.dims[0] == 8);
            cachew_batch_release(batch);
        }
        assert_int_equal(cachew_spec_field(spec, 1, &field), CACHEW_E_NOT_FOUND);
        assert_null(field.name);
        field.struct_size = 0;
        assert_int_equal(cachew_spec_field(spec, 0, &field), CACHEW_E_INVALID);
        cachew_spec_free(checked);
        cachew_job_close(job);
    }
    assert_int_equal(cachew_spec_fields(NULL), 0);
    assert_null(cachew_job_spec(NULL));
    cachew_spec_free(NULL);
}

/* What is in files that the dispatcher has not seen is no error, and leaves the spec empty. */
static void check_without_files(void)
{
    static const char text[] =
        "{\"pipeline\": [{\"op\": \"idx\", \"pattern\": \"/nowhere/x.idx\"}]}";
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_spec *spec = NULL;
    CHECK(cachew_pipeline_parse(text, strlen(text), &pipeline, &error));
    CHECK(cachew_pipeline_check(client, pipeline, &spec, &error));
    assert_int_equal(cachew_spec_fields(spec), 0);
    cachew_spec_free(spec);
    cachew_pipeline_release(pipeline);
}

/* A large one, which the dispatcher unpacks and checks beside its loop. */
static void check_large(void)
{
    char *value = cw_mem_new(200001);
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_spec *spec = NULL;
    struct cachew_builder *b = cachew_builder_new(NULL);
    memset(value, 'x', 200000);
    cachew_add(b, "from_values");
    cachew_set_str(b, "field", "text");
    cachew_set_strs(b, "values", (const char *const[]){value}, 1);
    CHECK(cachew_builder_finish(b, &pipeline, &error));
    CHECK(cachew_pipeline_check(client, pipeline, &spec, &error));
    assert_int_equal(cachew_spec_fields(spec), 1);
    cachew_spec_free(spec);
    cachew_pipeline_release(pipeline);
    cw_mem_free(value);
}

/* Errors name the node, its operator and the option. What is too large is left to the job. */
static void test_check_errors(void **arg)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"{\"pipeline\": [{\"op\": \"range\", \"stop\": 9}, {\"op\": \"bach\", \"size\": 4}]}",
         "node \"bach\" (bach): there is no such operator; did you mean \"batch\"?"},
        {"{\"pipeline\": [{\"op\": \"range\", \"stop\": 9}, {\"op\": \"batch\", \"name\": \"b\", "
         "\"size\": "
         "0}]}",
         "node \"b\" (batch): option size"},
        {"{\"pipeline\": [{\"op\": \"idx\", \"pattern\": \"/nowhere/x.idx\"}, {\"op\": \"cast\"}]}",
         "node \"cast\" (cast): option dtype"},
    };
    struct cachew_pipeline *pipeline = NULL;
    struct cachew_spec *spec = NULL;
    (void)arg;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(cachew_pipeline_parse(cases[i].text, strlen(cases[i].text), &pipeline, &error));
        assert_true(cachew_pipeline_check(client, pipeline, &spec, &error) < 0);
        if (!strstr(error.message, cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", error.message, cases[i].says);
        assert_null(spec);
        cachew_pipeline_release(pipeline);
    }
    check_without_files();
    check_large();
    struct cachew_builder *b = cachew_builder_new(NULL);
    char *name = cw_mem_new(300001);
    memset(name, 'x', 300000);
    cachew_add(b, "from_values");
    cachew_set_strs(b, "values", (const char *const[]){name}, 1);
    CHECK(cachew_builder_finish(b, &pipeline, &error));
    assert_int_equal(cachew_pipeline_check(client, pipeline, &spec, &error), CACHEW_E_LIMIT);
    cachew_pipeline_release(pipeline);
    cw_mem_free(name);
    assert_int_equal(cachew_pipeline_check(client, NULL, &spec, &error), CACHEW_E_INVALID);
    assert_int_equal(cachew_pipeline_check(NULL, NULL, &spec, &error), CACHEW_E_STATE);
}

/* Digests of all batches, which are overwritten when `writable`. */
static void digest_all(int writable, struct list *list, uint64_t *ret_shm)
{
    static const char wide[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 200000}, {\"op\": "
                               "\"shuffle\"}, {\"op\": \"batch\", \"size\": 8192}]}";
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    struct cachew_job_options job_options = CACHEW_JOB_OPTIONS_INIT;
    struct cachew_job_stats stats = CACHEW_JOB_STATS_INIT;
    struct cachew_client *shared = client;
    options.writable = writable;
    options.local_threads = 1;
    options.timeout_ms = WAIT_MS;
    CHECK(cachew_connect("local:", &options, &client, &error));
    job_options.epochs = 3;
    job_options.window = 4; /* so that slots are used again */
    struct cachew_job *job = start(wide, &job_options);
    list->n = 0;
    while (!cachew_job_done(job)) {
        struct cachew_batch *batch = NULL;
        struct cachew_tensor tensor;
        int rc = cachew_job_next(job, WAIT_MS, &batch, &error);
        CHECK(rc);
        if (rc == 0)
            continue;
        CHECK(cachew_batch_tensor(batch, 0, &tensor));
        list->v[list->n++] = cw_hash_bytes(tensor.data, tensor.bytes).lo;
        void *data = cachew_batch_writable(batch, 0);
        assert_ptr_equal(data, writable ? tensor.data : NULL);
        assert_null(cachew_batch_writable(batch, 1));
        if (writable)
            memset(data, 0xab, tensor.bytes);
        cachew_batch_release(batch);
    }
    CHECK(cachew_job_stats(job, &stats));
    *ret_shm = stats.shm_batches;
    cachew_job_close(job);
    cachew_disconnect(client);
    client = shared;
}

/* What a trainer writes into a batch is in no later one, although the slots are the same. */
static void test_writable(void **arg)
{
    static struct list plain, written;
    uint64_t shm = 0;
    (void)arg;
    digest_all(0, &plain, &shm);
    digest_all(1, &written, &shm);
    assert_int_equal(plain.n, 75);
    assert_int_equal(written.n, plain.n);
    assert_memory_equal(written.v, plain.v, plain.n * sizeof plain.v[0]);
    assert_true(shm > 40);
}

static bool is_readable(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    int n = poll(&poll_fd, 1, timeout_ms);
    assert_true(n >= 0);
    return n == 1;
}

/* The descriptor is readable exactly when cachew_job_next does not wait: it is asked before each
 * call, and batches come one by one, as the window has room for one. */
static void test_descriptor(void **arg)
{
    static const char paced[] =
        "{\"pipeline\": [{\"op\": \"range\", \"stop\": 40}, {\"op\": \"sleep\", "
        "\"ms\": 2}, {\"op\": \"batch\", \"size\": 2}]}";
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    int given = 0, ends = 0, waits = 0;
    (void)arg;
    options.epochs = 2;
    options.window = 1;
    struct cachew_job *job = start(paced, &options);
    int fd = cachew_job_fd(job, &error);
    assert_true(fd >= 0);
    assert_int_equal(cachew_job_fd(job, &error), fd);
    while (!cachew_job_done(job)) {
        struct cachew_batch *batch = NULL;
        bool readable = is_readable(fd, 0);
        int rc = cachew_job_next(job, 0, &batch, &error);
        if (rc == CACHEW_E_TIMEOUT) {
            assert_false(readable);
            assert_true(is_readable(fd, WAIT_MS));
            waits++;
            continue;
        }
        CHECK(rc);
        given += rc == 1;
        ends += rc == 0;
        cachew_batch_release(batch);
    }
    assert_int_equal(given, 40);
    assert_int_equal(ends, 2);
    assert_true(waits > 0);
    assert_true(is_readable(fd, 0)); /* it is over: the next call returns at once */
    cachew_job_close(job);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_int_equal(cachew_job_fd(NULL, &error), CACHEW_E_STATE);
}

/* What ends a job makes it readable, and it stays so. */
static void test_descriptor_of_ends(void **arg)
{
    static const char fails[] =
        "{\"pipeline\": [{\"op\": \"range\", \"stop\": 4}, {\"op\": \"eval\", "
        "\"expr\": \"1 % (x - 3)\"}]}";
    struct cachew_batch *batch = NULL;
    int rc;
    (void)arg;
    struct cachew_job *job = start(fails, NULL);
    int fd = cachew_job_fd(job, &error);
    assert_true(fd >= 0);
    for (rc = 1; rc == 1;) {
        rc = cachew_job_next(job, WAIT_MS, &batch, &error);
        cachew_batch_release(batch);
    }
    assert_true(rc < 0);
    assert_true(is_readable(fd, 0));
    cachew_job_close(job);
    job = start(dense, NULL);
    while (cachew_job_next(job, 0, &batch, &error) >= 0)
        cachew_batch_release(batch);
    fd = cachew_job_fd(job, &error); /* asked for late */
    cachew_job_cancel(job);
    assert_true(is_readable(fd, 0));
    assert_int_equal(cachew_job_next(job, -1, &batch, &error), CACHEW_E_CANCELLED);
    assert_true(is_readable(fd, 0));
    cachew_job_close(job);
}

static void test_forked_child_is_told(void **arg)
{
    (void)arg;
    struct cachew_job *job = start(dense, NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct cachew_batch *batch = NULL;
        int rc = cachew_job_next(job, -1, &batch, &error);
        cachew_job_close(job);
        cachew_disconnect(client);
        _exit(rc == CACHEW_E_STATE ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    static struct list list;
    list.n = 0;
    while (step(job, &list)) { /* and the parent goes on */
    }
    assert_int_equal(list.n, 144);
    cachew_job_close(job);
}

static void test_no_epochs_without_elements(void **arg)
{
    (void)arg;
    static const char nothing[] =
        "{\"pipeline\": [{\"op\": \"range\", \"stop\": 9}, {\"op\": \"filter\", \"expr\": \"x > "
        "10\"}, {\"op\": \"batch\", \"size\": 4}]}";
    struct cachew_job_options options = CACHEW_JOB_OPTIONS_INIT;
    struct cachew_batch *batch = NULL;
    options.epochs = 0; /* without end */
    struct cachew_job *job = start(nothing, &options);
    for (int i = 0; i < 100; i++)
        assert_int_equal(cachew_job_next(job, WAIT_MS, &batch, &error), 0);
    assert_false(cachew_job_done(job));
    cachew_job_close(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume_dense),
        cmocka_unit_test(test_resume_sparse),
        cmocka_unit_test(test_resume_unordered),
        cmocka_unit_test(test_relaxed_plan),
        cmocka_unit_test(test_exact_plan),
        cmocka_unit_test(test_refused_plan),
        cmocka_unit_test(test_consumers_dense),
        cmocka_unit_test(test_consumers_sparse),
        cmocka_unit_test(test_foreign_token),
        cmocka_unit_test(test_cancel_and_timeout),
        cmocka_unit_test(test_batch_outlives_job),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_spec),
        cmocka_unit_test(test_writable),
        cmocka_unit_test(test_descriptor),
        cmocka_unit_test(test_descriptor_of_ends),
        cmocka_unit_test(test_check_errors),
        cmocka_unit_test(test_forked_child_is_told),
        cmocka_unit_test(test_no_epochs_without_elements),
    };
    return cmocka_run_group_tests(tests, on_setup, on_teardown);
}
