/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a pipeline, sets, manifests, and control messages as such. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cachew/v1/fleet.pb-c.h"
#include "codec/codec.h"
#include "wire/wire_int.h"

/* Parts that are packed already stand in the message as if it had been packed with them. */
static void test_parts(void **state)
{
    (void)state;
    char job_id[] = "j1", name[] = "p";
    uint8_t bytes[300] = {1, 2, 3};
    Cachew__V1__Graph graph = CACHEW__V1__GRAPH__INIT;
    graph.name = name;
    Cachew__V1__JobSpec spec = CACHEW__V1__JOB_SPEC__INIT;
    spec.job_id = job_id;
    spec.seed = 77;
    Cachew__V1__WorkerCommand command = CACHEW__V1__WORKER_COMMAND__INIT;
    command.generation = 5;
    struct cw_buf *bufs[CW_WIRE_PART_BUFS_MAX], *manifest = cw_buf_copy(bytes, sizeof(bytes));
    const struct cw_wire_part parts[] = {{"graph", cw_wire_pack(&graph.base)},
                                         {"manifest", manifest}};
    size_t n = cw_wire_pack_parts(&command.base, CACHEW__V1__WORKER_COMMAND__KIND_JOB, &spec.base,
                                  parts, 2, bufs);
    assert_int_equal(n, 5);
    assert_ptr_equal(bufs[4], manifest); /* not copied */
    uint8_t all[1000];
    size_t all_n = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(all + all_n, bufs[i]->data, bufs[i]->len);
        all_n += bufs[i]->len;
        cw_buf_unref(bufs[i]);
    }
    Cachew__V1__WorkerCommand *back = cachew__v1__worker_command__unpack(NULL, all_n, all);
    assert_non_null(back);
    assert_int_equal(back->generation, 5);
    assert_int_equal(back->kind_case, CACHEW__V1__WORKER_COMMAND__KIND_JOB);
    assert_string_equal(back->job->job_id, "j1");
    assert_int_equal(back->job->seed, 77);
    assert_string_equal(back->job->graph->name, "p");
    assert_int_equal(back->job->manifest.len, sizeof(bytes));
    assert_memory_equal(back->job->manifest.data, bytes, sizeof(bytes));
    cachew__v1__worker_command__free_unpacked(back, NULL);
    const struct cw_wire_part none = {"graph", NULL};
    n = cw_wire_pack_parts(NULL, 0, &spec.base, &none, 1, bufs);
    assert_int_equal(n, 1);
    assert_int_equal(bufs[0]->len, protobuf_c_message_get_packed_size(&spec.base));
    cw_buf_unref(bufs[0]);
    cw_buf_unref(parts[0].buf);
    cw_buf_unref(manifest);
}

/* Images of any height and 224 columns, with lengths and a mask; and a label, which stays as it is. */
static void set_padded(struct cw_plan_info *info)
{
    static const int64_t dims[] = {-1, -1, 224, 3};
    struct cw_err err = {0};
    *info = (struct cw_plan_info){.sparse = true, .chunk = 5, .join = {.take = -1, .batch = 32}};
    assert_int_equal(cw_spec_add(&info->out, "image", CW_DTYPE_F32, 4, dims, &err), 0);
    assert_int_equal(cw_spec_add(&info->out, "label", CW_DTYPE_STR, 1, dims, &err), 0);
    assert_int_equal(cw_spec_add(&info->out, "image_length", CW_DTYPE_I64, 1, dims, &err), 0);
    assert_int_equal(cw_spec_add(&info->out, "image_mask", CW_DTYPE_BOOL, 2, dims, &err), 0);
    info->pads = cw_pads_new(2);
    info->pads->extra = 2;
    info->pads->field[0].is = true;
    info->pads->field[0].how = (struct cw_pad){.on = {true},
                                               .to = {-1, 224, 3},
                                               .multiple = 16,
                                               .value = {1, 2, 0xff, 4},
                                               .left = true,
                                               .length = 2,
                                               .mask = 3};
}

static void test_padded(void **state)
{
    (void)state;
    struct cw_plan_info info, back = {0};
    struct cw_err err = {0};
    set_padded(&info);
    Cachew__V1__PlanInfo *message = cw_wire_info_to(&info);
    assert_int_equal(cw_wire_info_from(message, &back, &err), 0);
    assert_true(cw_pads_eq(info.pads, back.pads));
    assert_int_equal(back.pads->extra, 2);
    back.pads->field[0].how.value[2] = 0;
    assert_false(cw_pads_eq(info.pads, back.pads));
    assert_false(cw_pads_eq(info.pads, NULL));
    cw_wire_info_fini(&back);
    cw_wire_info_fini(&info);
    cw_wire_info_free(message);
}

/* What a peer says of how rows are filled up must fit the batch, in each number. */
static void test_padded_lies(void **state)
{
    (void)state;
    for (int lie = 0; lie < 15; lie++) {
        struct cw_plan_info info, back = {0};
        struct cw_err err = {0};
        set_padded(&info);
        Cachew__V1__PlanInfo *message = cw_wire_info_to(&info);
        Cachew__V1__Pad *pad = message->pads[0];
        int64_t *const numbers[] = {&pad->multiple, &pad->to[0], &pad->to[1]};
        uint32_t *const words[] = {&pad->field, &pad->length, &pad->mask, &message->row_fields};
        if (lie < 3)
            *numbers[lie] = INT64_MAX;
        else if (lie < 6)
            *numbers[lie - 3] = -7;
        else if (lie < 14)
            *words[lie % 4] = lie < 10 ? 1000000 : 1;
        else
            pad->n_on = 2;
        assert_int_equal(cw_wire_info_from(message, &back, &err), CW_E_CORRUPT);
        pad->n_on = 3;
        cw_wire_info_fini(&info);
        cw_wire_info_free(message);
    }
}

static void test_info(void **state)
{
    (void)state;
    struct cw_plan_info info = {
        .sparse = true,
        .items = 7,
        .elements = -1,
        .batch = 64,
        .chunk = 64,
        .fingerprint = {1, UINT64_MAX},
        .pipeline_sum = 5,
        .files_sum = UINT64_MAX,
        .identity = CW_IDENTITY_SAMPLE,
        .join = {.skip = 3, .take = -1, .batch = 32, .drop_remainder = true, .whole = true},
        .item_bytes = -1};
    const int64_t dims[] = {-1, 224, 3};
    struct cw_err err = {0};
    assert_int_equal(cw_spec_add(&info.out, "image", CW_DTYPE_F32, 3, dims, &err), 0);
    assert_int_equal(cw_spec_add(&info.out, "label", CW_DTYPE_STR, 1, dims, &err), 0);
    Cachew__V1__PlanInfo *message = cw_wire_info_to(&info);
    struct cw_plan_info back;
    assert_int_equal(cw_wire_info_from(message, &back, &err), 0);
    assert_true(cw_spec_eq(&info.out, &back.out));
    assert_true(back.sparse && back.items == 7 && back.elements == -1 && back.batch == 64 &&
                back.chunk == 64 && back.item_bytes == -1);
    assert_true(back.join.skip == 3 && back.join.take == -1 && back.join.batch == 32 &&
                back.join.drop_remainder && back.join.whole);
    assert_true(cw_hash_eq(back.fingerprint, info.fingerprint));
    assert_true(back.pipeline_sum == 5 && back.files_sum == UINT64_MAX &&
                back.identity == CW_IDENTITY_SAMPLE);

    message->chunk = 0;
    assert_int_equal(cw_wire_info_from(message, &back, &err), CW_E_CORRUPT);
    message->chunk = 1;
    message->batch = -5;
    assert_int_equal(cw_wire_info_from(message, &back, &err), CW_E_CORRUPT);
    message->batch = 1;
    message->out->fields[0]->dtype = 77;
    assert_int_equal(cw_wire_info_from(message, &back, &err), CW_E_CORRUPT);
    message->out->fields[0]->dtype = 1;
    message->out->fields[0]->dims[1] = -7;
    assert_int_equal(cw_wire_info_from(message, &back, &err), CW_E_CORRUPT);
    assert_int_equal(cw_wire_info_from(NULL, &back, &err), CW_E_CORRUPT);
    cw_wire_info_free(message);
    cw_wire_info_free(NULL);
    cw_spec_fini(&info.out);
    cw_spec_fini(&back.out);
}

static void test_cacheable(void **state)
{
    (void)state;
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    char json[] = "{\"pipeline\": [{\"op\": \"range\", \"stop\": 3}, {\"op\": \"random_flip\"}]}";
    assert_int_equal(cw_graph_parse(json, strlen(json), "test", &graph, &err), 0);
    const struct cw_plan_cacheable nodes[2] = {
        {.key = {0x0102030405060708u, 0x090a0b0c0d0e0f10u},
         .ids = 3,
         .asked = true,
         .mark = "here",
         .whole = true},
        {.why_not = "it is random"},
    };
    const struct cw_plan_info info = {.items = 3, .item_bytes = -1, .join = {.take = -1}};
    Cachew__V1__PlanInfo *message = cw_wire_info_to(&info);
    cw_wire_cacheable_to(graph, nodes, message);
    struct cw_plan_cacheable back;
    struct cw_plan_info info_back;
    assert_int_equal(message->n_cacheable, 2);
    assert_string_equal(message->cacheable[0]->op, "range");
    assert_string_equal(message->cacheable[1]->node, "random_flip");
    assert_int_equal(message->cacheable[0]->key.data[1], 2);
    assert_int_equal(message->cacheable[0]->key.data[15], 16);
    assert_int_equal(cw_wire_cacheable_from(message->cacheable[0], &back, &err), 0);
    assert_true(!back.why_not && back.ids == 3 && back.asked && back.whole &&
                cw_hash_eq(back.key, nodes[0].key));
    assert_string_equal(back.mark, "here");
    assert_int_equal(cw_wire_cacheable_from(message->cacheable[1], &back, &err), 0);
    assert_string_equal(back.why_not, "it is random");
    assert_true(!back.mark && !back.asked && !back.whole);
    assert_int_equal(cw_wire_info_from(message, &info_back, &err), 0);
    message->cacheable[0]->key.len = 15;
    assert_int_equal(cw_wire_info_from(message, &info_back, &err), CW_E_CORRUPT);
    assert_non_null(strstr(err.msg, "range"));
    cw_wire_info_free(message);
    cw_graph_unref(graph);
}

static void test_sets(void **state)
{
    (void)state;
    struct cw_set set = {0}, back = {0};
    struct cw_err err = {0};
    size_t n = 1;
    Cachew__V1__Interval **intervals = cw_wire_set_to(&set, &n);
    assert_int_equal(n, 0);
    cw_mem_free(intervals);
    cw_set_add(&set, 0, 5);
    cw_set_add(&set, 7, 8);
    cw_set_add(&set, 100, UINT64_MAX);
    intervals = cw_wire_set_to(&set, &n);
    assert_int_equal(n, 3);
    assert_int_equal(cw_wire_set_from(intervals, n, &back, &err), 0);
    assert_true(cw_set_eq(&set, &back));
    intervals[1]->lo = intervals[1]->hi;
    assert_int_equal(cw_wire_set_from(intervals, n, &back, &err), CW_E_CORRUPT);
    cw_mem_free(intervals);
    cw_set_fini(&set);
    cw_set_fini(&back);
}

static void test_manifest(void **state)
{
    (void)state;
    struct cw_value manifest = {0}, back = {0};
    struct cw_err err = {0};
    cw_value_set_object(&manifest);
    struct cw_value *files = cw_value_set_list(cw_value_member(&manifest, "files"), 1000);
    for (size_t i = 0; i < 1000; i++)
        cw_value_set_str(&files[i], "/data/photos/some/where/name.jpg");
    struct cw_buf *packed = cw_wire_manifest_pack(&manifest);
    assert_true(packed->len < 1000);
    assert_int_equal(cw_wire_manifest_unpack(packed->data, packed->len, 1 << 20, &back, &err), 0);
    assert_true(cw_value_eq(&manifest, &back));
    cw_value_fini(&back);
    assert_true(cw_wire_manifest_unpack(packed->data, packed->len / 2, 1 << 20, &back, &err) < 0);
    assert_int_equal(cw_wire_manifest_unpack("{}", 2, 1 << 20, &back, &err), CW_E_CORRUPT);
    assert_int_equal(cw_wire_manifest_unpack("", 0, 1 << 20, &back, &err), CW_E_CORRUPT);
    /* A frame that says that it holds 2^62 bytes. */
    static const uint8_t bomb[] = {0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0,
                                   0,    0,    0,    0,    0x40, 1, 0, 0};
    assert_int_equal(cw_wire_manifest_unpack(bomb, sizeof bomb, 1 << 20, &back, &err), CW_E_LIMIT);
    cw_buf_unref(packed);
    cw_value_fini(&manifest);
}

/* Some bytes that would become gigabytes of values are refused before they do. */
static void test_manifest_memory(void **state)
{
    (void)state;
    const size_t zeros = 1 << 20;
    CW_STR_AUTO text = {0};
    cw_str_add_char(&text, '[');
    for (size_t i = 0; i < zeros; i++)
        cw_str_add(&text, "0,");
    cw_str_add(&text, "0]");
    struct cw_buf *packed = cw_codec_pack(cw_str_text(&text), text.len);
    struct cw_value back = {0};
    struct cw_err err = {0};
    assert_true(packed->len < 1000);
    assert_int_equal(cw_wire_manifest_unpack(packed->data, packed->len, 16 * zeros, &back, &err),
                     CW_E_LIMIT);
    assert_int_equal(
        cw_wire_manifest_unpack(packed->data, packed->len, (size_t)1 << 30, &back, &err), 0);
    assert_int_equal(back.n, zeros + 1);
    cw_value_fini(&back);
    cw_buf_unref(packed);
}

static int unpack_hello(const char *address, const char *version, struct cw_err *err)
{
    Cachew__V1__WorkerMessage message = CACHEW__V1__WORKER_MESSAGE__INIT;
    Cachew__V1__WorkerHello hello = CACHEW__V1__WORKER_HELLO__INIT;
    message.kind_case = CACHEW__V1__WORKER_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    hello.address = (char *)(uintptr_t)address;
    hello.version = (char *)(uintptr_t)version;
    struct cw_buf *packed = cw_wire_pack(&message.base);
    ProtobufCMessage *back = cw_wire_unpack_bytes(&cachew__v1__worker_message__descriptor,
                                                  packed->data, packed->len, err);
    cw_buf_unref(packed);
    if (!back)
        return err->code;
    protobuf_c_message_free_unpacked(back, NULL);
    return 0;
}

static void test_names(void **state)
{
    static const char *const bad[] = {"a\xff",    "\x1b[2J", "a\nb",
                                      "\xc2\x9b", "\x7f",    "\xed\xa0\x80"};
    static char good[] = "h\xc3\xa9 [::1]:80 \xf0\x9f\x98\x80", none[] = "";
    struct cw_err err = {0};
    (void)state;
    assert_int_equal(unpack_hello(good, none, &err), 0);
    for (size_t i = 0; i < CW_ARRAY_LEN(bad); i++) {
        assert_int_equal(unpack_hello(bad[i], none, &err), CW_E_INVALID);
        assert_non_null(strstr(err.msg, "address"));
        assert_int_equal(unpack_hello(good, bad[i], &err), CW_E_INVALID);
    }
}

/* Texts for people are cleaned; their length stays. */
static void test_texts(void **state)
{
    (void)state;
    Cachew__V1__ItemFailed failed = CACHEW__V1__ITEM_FAILED__INIT;
    char error[] = "no file \xff\x1b[2J\xc3\xa9\n\tthere";
    struct cw_err err = {0};
    failed.error = error;
    struct cw_buf *packed = cw_wire_pack(&failed.base);
    Cachew__V1__ItemFailed *back = (Cachew__V1__ItemFailed *)cw_wire_unpack_bytes(
        &cachew__v1__item_failed__descriptor, packed->data, packed->len, &err);
    assert_non_null(back);
    assert_string_equal(back->error, "no file ??[2J\xc3\xa9\n\tthere");
    protobuf_c_message_free_unpacked(&back->base, NULL);
    cw_buf_unref(packed);
}

/* The options of a pipeline may hold any character, as a separator may be one. */
static void test_values(void **state)
{
    (void)state;
    Cachew__V1__Value value = CACHEW__V1__VALUE__INIT;
    char text[] = "\x1f\xc3\xa9", broken[] = "\xff";
    struct cw_err err = {0};
    value.kind_case = CACHEW__V1__VALUE__KIND_TEXT;
    for (int i = 0; i < 2; i++) {
        value.text = i == 0 ? text : broken;
        struct cw_buf *packed = cw_wire_pack(&value.base);
        ProtobufCMessage *back =
            cw_wire_unpack_bytes(&cachew__v1__value__descriptor, packed->data, packed->len, &err);
        assert_int_equal(back != NULL, i == 0);
        if (back)
            protobuf_c_message_free_unpacked(back, NULL);
        cw_buf_unref(packed);
    }
}

static void test_unpack(void **state)
{
    (void)state;
    Cachew__V1__FetchHello hello = CACHEW__V1__FETCH_HELLO__INIT;
    Cachew__V1__FetchMessage message = CACHEW__V1__FETCH_MESSAGE__INIT;
    char job[] = "job-1";
    struct cw_err err = {0};
    hello.job_id = job;
    hello.credit = 1u << 30;
    message.kind_case = CACHEW__V1__FETCH_MESSAGE__KIND_HELLO;
    message.hello = &hello;
    struct cw_buf *buf = cw_wire_pack(&message.base);
    struct cw_rpc_msg *msg = cw_rpc_msg_from(buf->data, buf->len, 3);
    Cachew__V1__FetchMessage *back = (Cachew__V1__FetchMessage *)cw_wire_unpack(
        &cachew__v1__fetch_message__descriptor, msg, &err);
    assert_non_null(back);
    assert_int_equal(back->kind_case, CACHEW__V1__FETCH_MESSAGE__KIND_HELLO);
    assert_string_equal(back->hello->job_id, "job-1");
    protobuf_c_message_free_unpacked(&back->base, NULL);
    cw_rpc_msg_unref(msg);
    for (size_t cut = 1; cut < buf->len; cut++) {
        msg = cw_rpc_msg_from(buf->data, cut, 5);
        assert_null(cw_wire_unpack(&cachew__v1__fetch_message__descriptor, msg, &err));
        assert_int_equal(err.code, CW_E_CORRUPT);
        cw_rpc_msg_unref(msg);
    }
    cw_buf_unref(buf);
}

static void test_hash(void **state)
{
    (void)state;
    const struct cw_hash hash = {0x0123456789abcdefu, 0xfedcba9876543210u};
    static const uint8_t expected[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                       0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};
    uint8_t bytes[CW_WIRE_HASH_BYTES];
    struct cw_hash back = {0};
    cw_wire_hash_to(hash, bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
    assert_true(cw_wire_hash_from((ProtobufCBinaryData){sizeof bytes, bytes}, &back));
    assert_true(cw_hash_eq(hash, back));
    assert_false(cw_wire_hash_from((ProtobufCBinaryData){15, bytes}, &back));
    assert_false(cw_wire_hash_from((ProtobufCBinaryData){0, NULL}, &back));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_padded),    cmocka_unit_test(test_padded_lies),
        cmocka_unit_test(test_info),      cmocka_unit_test(test_parts),
        cmocka_unit_test(test_cacheable), cmocka_unit_test(test_sets),
        cmocka_unit_test(test_manifest),  cmocka_unit_test(test_manifest_memory),
        cmocka_unit_test(test_names),     cmocka_unit_test(test_texts),
        cmocka_unit_test(test_values),    cmocka_unit_test(test_unpack),
        cmocka_unit_test(test_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
