/* SPDX-License-Identifier: Apache-2.0 */
/* What a trainer sees of a batch; DLPack; recipes; receive memory; calls that must fail well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/log.h"
#include "base/mem.h"
#include "cachew/cachew.h"
#include "client/model/trainer_batch.h"
#include "client/model/client_job.h"
#include "client/transport/recvpool.h"

/* As a program would declare it, from dlpack.h 0.8. */
struct DLManagedTensor {
    struct {
        void *data;
        struct {
            int32_t device_type, device_id;
        } device;
        int32_t ndim;
        struct {
            uint8_t code, bits;
            uint16_t lanes;
        } dtype;
        int64_t *shape, *strides;
        uint64_t byte_offset;
    } dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
};

static struct cachew_batch *sample(void)
{
    struct cw_batch *data = cw_batch_new(2);
    struct cw_err err = {0};
    size_t bytes;
    data->elements = 3;
    data->skipped = 1;
    data->tensors[0].field = (struct cw_field){"x", CW_DTYPE_F32, 2, {3, 2}};
    data->tensors[1].field = (struct cw_field){"s", CW_DTYPE_STR, 1, {3}};
    data->tensors[1].bytes = 4 * 8 + 6;
    assert_int_equal(cw_batch_layout(data, &bytes, &err), 0);
    data->buf = cw_buf_new(bytes);
    float *x = (float *)(void *)((char *)data->buf->data + data->tensors[0].offset);
    for (int i = 0; i < 6; i++)
        x[i] = (float)i;
    int64_t *offsets = (int64_t *)(void *)((char *)data->buf->data + data->tensors[1].offset);
    const int64_t want[] = {0, 1, 3, 6};
    memcpy(offsets, want, sizeof(want));
    memcpy(offsets + 4, "abbccc", 6);
    struct cachew_batch *batch = cw_public_batch_new();
    batch->data = data;
    batch->epoch = 2;
    batch->number = 77;
    batch->seed = 5;
    batch->fingerprint = (struct cw_hash){0x0123456789abcdef, 0xfedcba9876543210};
    return batch;
}

static void test_tensors(void **arg)
{
    (void)arg;
    struct cachew_batch *batch = sample();
    struct cachew_tensor tensor;
    assert_int_equal(cachew_batch_tensors(batch), 2);
    assert_int_equal(cachew_batch_find(batch, "x", &tensor), 0);
    assert_int_equal(tensor.dtype, CACHEW_F32);
    assert_int_equal(tensor.rank, 2);
    assert_int_equal(tensor.dims[0], 3);
    assert_int_equal(tensor.bytes, 24);
    assert_int_equal((uintptr_t)tensor.data % 64, 0);
    assert_int_equal(cachew_batch_find(batch, "s", &tensor), 0);
    assert_int_equal(tensor.bytes, 6);
    assert_int_equal(tensor.offsets[2], 3);
    assert_memory_equal(tensor.data, "abbccc", 6);
    assert_int_equal(cachew_batch_find(batch, "y", &tensor), CACHEW_E_NOT_FOUND);
    assert_int_equal(cachew_batch_tensor(batch, 2, &tensor), CACHEW_E_NOT_FOUND);
    assert_int_equal(cachew_batch_elements(batch), 3);
    assert_int_equal(cachew_batch_epoch(batch), 2);
    assert_int_equal(cachew_batch_number(batch), 77);
    assert_int_equal(cachew_batch_skipped(batch), 1);
    char recipe[CW_RECIPE_BYTES];
    assert_int_equal(cachew_batch_recipe(batch, recipe, sizeof(recipe)), 0);
    assert_string_equal(recipe, "cachew1:0123456789abcdeffedcba9876543210:5:2:77");
    assert_int_equal(cachew_batch_recipe(batch, recipe, 10), CACHEW_E_LIMIT);
    cachew_batch_release(batch);
}

/* Two rows of 2 and 1 numbers; two rows of 1 x 2 and 2 x 1. */
static struct cachew_batch *ragged_sample(void)
{
    static const int64_t flat[8] = {0, 2, 3}, shaped[8] = {0, 2, 4, 1, 2, 2, 1};
    struct cw_batch *data = cw_batch_new(3);
    struct cw_err err = {0};
    size_t bytes;
    data->elements = 2;
    data->tensors[0].field = (struct cw_field){"t", CW_DTYPE_F32, 2, {2, CW_DIM_RAGGED}};
    data->tensors[0].bytes = 64 + 3 * 4;
    data->tensors[1].field =
        (struct cw_field){"m", CW_DTYPE_U8, 3, {2, CW_DIM_RAGGED, CW_DIM_RAGGED}};
    data->tensors[1].bytes = 64 + 4;
    data->tensors[2].field = (struct cw_field){"n", CW_DTYPE_I64, 1, {2}};
    assert_int_equal(cw_batch_layout(data, &bytes, &err), 0);
    data->buf = cw_buf_new(bytes);
    memset(data->buf->data, 0, bytes);
    memcpy(data->buf->data, flat, sizeof(flat));
    memcpy((char *)data->buf->data + data->tensors[1].offset, shaped, sizeof(shaped));
    memcpy((char *)data->buf->data + data->tensors[1].offset + 64, "abcd", 4);
    assert_int_equal(cw_batch_validate(data, &err), 0);
    struct cachew_batch *batch = cw_public_batch_new();
    batch->data = data;
    return batch;
}

static void test_ragged(void **arg)
{
    (void)arg;
    struct cachew_batch *batch = ragged_sample();
    struct cachew_tensor tensor, begins, shapes;
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct DLManagedTensor *export = NULL;
    assert_int_equal(cachew_batch_tensor(batch, 0, &tensor), 0);
    assert_true(tensor.rank == 1 && tensor.dims[0] == 3 && tensor.bytes == 12);
    assert_int_equal((uintptr_t)tensor.data % 64, 0);
    assert_int_equal(cachew_batch_ragged(batch, 0, &begins, &shapes), 0);
    assert_string_equal(begins.name, "t");
    assert_true(begins.dtype == CACHEW_I64 && begins.rank == 1 && begins.dims[0] == 3);
    assert_int_equal(((const int64_t *)begins.data)[1], 2);
    assert_true(!shapes.name && !shapes.data && shapes.rank == 0);
    assert_int_equal(cachew_batch_tensor(batch, 1, &tensor), 0);
    assert_true(tensor.rank == 1 && tensor.dims[0] == 4);
    assert_memory_equal(tensor.data, "abcd", 4);
    assert_int_equal(cachew_batch_ragged(batch, 1, &begins, NULL), 0);
    assert_int_equal(cachew_batch_ragged(batch, 1, &begins, &shapes), 0);
    assert_true(shapes.rank == 2 && shapes.dims[0] == 2 && shapes.dims[1] == 2);
    assert_true(shapes.bytes == 32 && ((const int64_t *)shapes.data)[2] == 2);
    assert_int_equal(cachew_batch_ragged(batch, 2, &begins, &shapes), CACHEW_E_UNSUPPORTED);
    assert_true(!begins.data && !shapes.data);
    assert_int_equal(cachew_batch_ragged(batch, 3, &begins, &shapes), CACHEW_E_NOT_FOUND);
    assert_int_equal(cachew_batch_dlpack(batch, 0, &export, &error), 0);
    assert_true(export->dl_tensor.ndim == 1 && export->dl_tensor.shape[0] == 3);
    export->deleter(export);
    cachew_batch_release(batch);
}

static void test_dlpack(void **arg)
{
    (void)arg;
    struct cachew_batch *batch = sample();
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct DLManagedTensor *tensor = NULL;
    assert_int_equal(cachew_batch_dlpack(batch, 1, &tensor, &error), CACHEW_E_UNSUPPORTED);
    assert_int_equal(cachew_batch_dlpack(batch, 9, &tensor, &error), CACHEW_E_NOT_FOUND);
    assert_int_equal(cachew_batch_dlpack(batch, 0, &tensor, &error), 0);
    cachew_batch_release(batch); /* the tensor keeps it */
    assert_int_equal(tensor->dl_tensor.device.device_type, 1);
    assert_int_equal(tensor->dl_tensor.ndim, 2);
    assert_int_equal(tensor->dl_tensor.shape[1], 2);
    assert_int_equal(tensor->dl_tensor.dtype.code, 2);
    assert_int_equal(tensor->dl_tensor.dtype.bits, 32);
    assert_int_equal(tensor->dl_tensor.dtype.lanes, 1);
    assert_true(((float *)tensor->dl_tensor.data)[5] == 5.0f);
    tensor->deleter(tensor);
}

/* As a program would declare it, from dlpack.h 1.0. */
struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    struct {
        void *data;
        struct {
            int32_t device_type, device_id;
        } device;
        int32_t ndim;
        struct {
            uint8_t code, bits;
            uint16_t lanes;
        } dtype;
        int64_t *shape, *strides;
        uint64_t byte_offset;
    } dl_tensor;
};

static void test_dlpack_versioned(void **arg)
{
    (void)arg;
    struct cachew_batch *batch = sample();
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct DLManagedTensorVersioned *tensor = NULL;
    assert_int_equal(cachew_batch_dlpack_versioned(batch, 1, &tensor, &error),
                     CACHEW_E_UNSUPPORTED);
    assert_int_equal(cachew_batch_dlpack_versioned(batch, 9, &tensor, &error), CACHEW_E_NOT_FOUND);
    assert_int_equal(cachew_batch_dlpack_versioned(batch, 0, &tensor, &error), 0);
    cachew_batch_release(batch); /* the tensor keeps it */
    assert_int_equal(tensor->version.major, 1);
    assert_int_equal(tensor->flags, 1); /* DLPACK_FLAG_BITMASK_READ_ONLY */
    assert_int_equal(tensor->dl_tensor.ndim, 2);
    assert_int_equal(tensor->dl_tensor.shape[0], 3);
    assert_int_equal(tensor->dl_tensor.strides[0], 2);
    assert_int_equal(tensor->dl_tensor.strides[1], 1);
    assert_int_equal(tensor->dl_tensor.dtype.bits, 32);
    assert_true(((float *)tensor->dl_tensor.data)[5] == 5.0f);
    tensor->deleter(tensor);
}

static void test_no_tensor(void **arg)
{
    (void)arg;
    struct cachew_batch *batch = sample();
    struct cachew_tensor tensor;
    memset(&tensor, 1, sizeof(tensor));
    assert_int_equal(cachew_batch_find(batch, "y", &tensor), CACHEW_E_NOT_FOUND);
    assert_true(tensor.rank == 0 && !tensor.data && tensor.dims[0] == 0);
    memset(&tensor, 1, sizeof(tensor));
    assert_int_equal(cachew_batch_tensor(batch, 2, &tensor), CACHEW_E_NOT_FOUND);
    assert_true(tensor.rank == 0 && !tensor.data && tensor.dims[0] == 0);
    cachew_batch_release(batch);
}

struct heard {
    int n;
    char text[256];
};
static void hear(void *arg, enum cachew_log_level level, const char *module, const char *message)
{
    struct heard *heard = arg;
    heard->n++;
    snprintf(heard->text, sizeof(heard->text), "%d %s %s", (int)level, module, message);
}

static void test_log(void **arg)
{
    (void)arg;
    struct heard first = {0}, second = {0};
    cachew_set_log(CACHEW_LOG_WARN, hear, &first);
    cw_log_warn("client", "it is %d", 5);
    cw_log_info("client", "nobody wants this");
    assert_int_equal(first.n, 1);
    assert_string_equal(first.text, "1 client it is 5");
    cachew_set_log(CACHEW_LOG_DEBUG, hear, &second);
    cw_log_debug("client", "more");
    assert_int_equal(first.n, 1);
    assert_string_equal(second.text, "3 client more");
    cachew_set_log(CACHEW_LOG_INFO, NULL, NULL);
    cw_log_info("client", "to stderr");
    assert_int_equal(second.n, 1);
}

static void test_recvpool(void **arg)
{
    (void)arg;
    struct cw_recvpool *pool = cw_recvpool_new(1 << 20);
    const size_t sizes[] = {0,     1,     16383,  16384,   16385,         20480,
                            20481, 65536, 100000, 1 << 20, (1 << 20) + 1, 5000000};
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < CW_ARRAY_LEN(sizes); i++) {
            struct cw_buf *buf = cw_recvpool_get(pool, sizes[i]);
            assert_int_equal(buf->len, sizes[i]);
            assert_true(buf->cap >= sizes[i]);
            assert_int_equal((uintptr_t)buf->data % CW_BUF_ALIGN, 0);
            if (sizes[i])
                memset(buf->data, 1, sizes[i]);
            cw_buf_unref(buf);
        }
    struct cw_buf *a = cw_recvpool_get(pool, 100000);
    void *data = a->data;
    cw_buf_unref(a);
    a = cw_recvpool_get(pool, 99999);
    assert_ptr_equal(a->data, data); /* used again */
    cw_recvpool_free(pool);
    cw_buf_unref(a); /* outlives its pool */
}

static void test_bad_calls(void **arg)
{
    (void)arg;
    struct cachew_error error = CACHEW_ERROR_INIT;
    struct cachew_client *client = NULL;
    struct cachew_connect_options options = CACHEW_CONNECT_OPTIONS_INIT;
    assert_int_equal(cachew_connect("nowhere", NULL, &client, &error), CACHEW_E_INVALID);
    assert_non_null(strstr(error.message, "HOST:PORT"));
    assert_int_equal(cachew_connect(NULL, NULL, &client, &error), CACHEW_E_INVALID);
    options.struct_size = 0;
    assert_int_equal(cachew_connect("127.0.0.1:1", &options, &client, &error), CACHEW_E_INVALID);
    options.struct_size = sizeof(options);
    options.timeout_ms = 1;
    assert_int_equal(cachew_connect("127.0.0.1:1", &options, &client, &error),
                     CACHEW_E_UNAVAILABLE);
    assert_non_null(strstr(error.message, "127.0.0.1:1"));
    assert_non_null(strstr(error.message, "is cachew-dispatcher running there?"));
    cachew_disconnect(NULL);
    cachew_job_close(NULL);
    cachew_batch_release(NULL);
    assert_int_equal(cachew_job_next(NULL, 0, NULL, &error), CACHEW_E_STATE);
    assert_string_equal(cachew_code_name(CACHEW_E_STATE), "STATE");
    assert_string_equal(cachew_dtype_name(CACHEW_F32), "f32");
    assert_int_equal(cachew_dtype_bytes(CACHEW_I64), 8);
}

/* A job and a client as a forked child sees them. */
static void test_fork(void **arg)
{
    (void)arg;
    struct cachew_job job = {.magic = CW_JOB_MAGIC, .pid = getpid()};
    struct cachew_batch *batch = sample();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct cachew_error error = CACHEW_ERROR_INIT;
        struct cachew_batch *got = NULL;
        int rc = cachew_job_next(&job, 0, &got, &error);
        cachew_batch_release(batch);
        _exit(rc == CACHEW_E_STATE && strstr(error.message, "fork") ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    cachew_batch_release(batch);
}

/* What was left out of a batch: what is described, and one more for the rest. */
static void test_bad_elements(void **state)
{
    (void)state;
    struct cachew_job job = {.magic = CW_JOB_MAGIC, .pid = getpid()};
    struct cachew_bad_element bad = CACHEW_BAD_ELEMENT_INIT;
    const struct cw_bad_element first = {.elements = 2,
                                         .position = 8,
                                         .record = 3,
                                         .file = "a.tfrecord",
                                         .source = "a.tfrecord record 3",
                                         .node = "n",
                                         .op = "o",
                                         .reason = "r"};
    assert_int_equal(cachew_job_bad(&job, 0, &bad), CACHEW_E_NOT_FOUND);
    assert_null(bad.source);
    job.last_bad = (struct cw_job_bad){.epoch = 4, .number = 5, .n = 9, .list = cw_bad_list_new()};
    cw_bad_list_add(job.last_bad.list, 0, &first);
    assert_int_equal(cachew_job_bad(&job, 0, &bad), 0);
    assert_true(bad.epoch == 4 && bad.batch == 5 && bad.elements == 2 && bad.position == 8 &&
                bad.record == 3);
    assert_string_equal(bad.file, "a.tfrecord");
    assert_string_equal(bad.source, "a.tfrecord record 3");
    assert_string_equal(bad.node, "n");
    assert_string_equal(bad.op, "o");
    assert_string_equal(bad.reason, "r");
    assert_int_equal(cachew_job_bad(&job, 1, &bad), 0);
    assert_true(bad.elements == 7 && bad.position == -1 && bad.record == -1);
    assert_string_equal(bad.file, "");
    assert_string_equal(bad.reason, "not described");
    assert_int_equal(cachew_job_bad(&job, 2, &bad), CACHEW_E_NOT_FOUND);
    job.last_bad.n = 2;
    assert_int_equal(cachew_job_bad(&job, 1, &bad), CACHEW_E_NOT_FOUND);
    bad.struct_size = 0;
    assert_int_equal(cachew_job_bad(&job, 0, &bad), CACHEW_E_INVALID);
    bad.struct_size = offsetof(struct cachew_bad_element, batch); /* an older program's */
    bad.batch = 77;
    assert_int_equal(cachew_job_bad(&job, 0, &bad), 0);
    assert_true(bad.epoch == 4 && bad.batch == 77);
    assert_int_equal(cachew_job_bad(NULL, 0, &bad), CACHEW_E_STATE);
    cw_bad_list_unref(job.last_bad.list);
}

static void test_recipe(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "cachew1:",
        "cachew1:00112233445566778899aabbccddeeff:1:2",
        "cachew1:00112233445566778899aabbccddeeff:1:2:3:4",
        "cachew1:00112233445566778899aabbccddeeff:1:2:",
        "cachew1:00112233445566778899aabbccddeef:1:2:3",
        "cachew2:00112233445566778899aabbccddeeff:1:2:3",
        "cachew1:00112233445566778899aabbccddeeff:1:-2:3",
        "cachew1:00112233445566778899aabbccddeeff:1:2:18446744073709551616",
    };
    char text[CW_RECIPE_BYTES];
    struct cw_recipe recipe;
    assert_int_equal(cw_recipe_print((struct cw_hash){1, UINT64_MAX}, UINT64_MAX, UINT64_MAX - 1, 0,
                                     text, sizeof(text)),
                     0);
    assert_true(cw_recipe_parse(text, &recipe));
    assert_true(recipe.fingerprint.hi == 1 && recipe.fingerprint.lo == UINT64_MAX);
    assert_true(recipe.seed == UINT64_MAX && recipe.epoch == UINT64_MAX - 1 && recipe.number == 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++)
        assert_false(cw_recipe_parse(bad[i], &recipe));
    memset(text, '1', sizeof(text));
    memcpy(text, "cachew1:", 8);
    text[sizeof(text) - 1] = 0;
    assert_false(cw_recipe_parse(text, &recipe));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recipe),
        cmocka_unit_test(test_bad_elements),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_ragged),
        cmocka_unit_test(test_dlpack),
        cmocka_unit_test(test_recvpool),
        cmocka_unit_test(test_dlpack_versioned),
        cmocka_unit_test(test_no_tensor),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_bad_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
