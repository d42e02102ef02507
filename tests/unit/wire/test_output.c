/* SPDX-License-Identifier: Apache-2.0 */
/* Batches over a real stream, and data messages that lie. */
#include <stdio.h>
#include <string.h>

#include "unit/rpc/world.h"
#include "base/limits.h"
#include "base/mem.h"
#include "data/ragged.h"
#include "wire/wire.h"

static const struct cw_bad_element bad_element = {.elements = 1,
                                                  .position = 7,
                                                  .record = 2,
                                                  .file = "/data/a.tfrecord",
                                                  .source = "/data/a.tfrecord record 2",
                                                  .node = "pictures",
                                                  .op = "decode_image",
                                                  .reason = "no image"};

static void describe_bad(struct cw_batch *batch)
{
    batch->bad = cw_bad_list_new();
    cw_bad_list_add(batch->bad, 0, &bad_element);
}

static void check_bad(const struct cw_batch *batch)
{
    assert_int_equal(cw_bad_list_n(batch->bad), 1);
    const struct cw_bad_element *bad = cw_bad_list_at(batch->bad, 0);
    assert_true(bad->elements == 1 && bad->position == 7 && bad->record == 2);
    assert_string_equal(bad->file, bad_element.file);
    assert_string_equal(bad->source, bad_element.source);
    assert_string_equal(bad->node, bad_element.node);
    assert_string_equal(bad->op, bad_element.op);
    assert_string_equal(bad->reason, bad_element.reason);
}

#define ROW_BYTES 2

/* Adds the rows of "rows" u8 [n, ragged]: each has two numbers. */
static void add_rows(struct cw_batch *batch, size_t n)
{
    static const int64_t dims[] = {ROW_BYTES};
    struct cw_ragged_writer writer;
    struct cw_err err = {0};
    char *to = (char *)batch->buf->data + batch->tensors[2].offset;
    assert_int_equal(cw_ragged_write_begin(&writer, &batch->tensors[2].field, to, &err), 0);
    for (size_t i = 0; i < n; i++)
        memset(cw_ragged_write_row(&writer, dims), (int)(i % 100), ROW_BYTES);
}

/* A batch of three tensors: "x" f32 [n, 3], "name" str [n] and "rows" u8 [n, ragged]. */
static struct cw_batch *make_batch(uint64_t item, size_t n)
{
    struct cw_batch *batch = cw_batch_new(3);
    struct cw_err err = {0};
    size_t bytes = 0;
    batch->epoch = 2;
    batch->item = item;
    batch->elements = n;
    batch->skipped = 1;
    describe_bad(batch);
    batch->tensors[0].field =
        (struct cw_field){.name = "x", .dtype = CW_DTYPE_F32, .rank = 2, .dims = {(int64_t)n, 3}};
    batch->tensors[1].field =
        (struct cw_field){.name = "name", .dtype = CW_DTYPE_STR, .rank = 1, .dims = {(int64_t)n}};
    batch->tensors[1].bytes = (n + 1) * sizeof(int64_t) + n;
    batch->tensors[2].field = (struct cw_field){
        .name = "rows", .dtype = CW_DTYPE_U8, .rank = 2, .dims = {(int64_t)n, CW_DIM_RAGGED}};
    batch->tensors[2].bytes = CW_ALIGN_UP((n + 1) * sizeof(int64_t), (size_t)64) + n * ROW_BYTES;
    assert_int_equal(cw_batch_layout(batch, &bytes, &err), 0);
    batch->buf = cw_buf_new(bytes);
    memset(batch->buf->data, 0, bytes);
    char *data = batch->buf->data;
    for (size_t i = 0; i < n * 3; i++) {
        float x = (float)i + (float)item;
        memcpy(data + i * sizeof x, &x, sizeof x);
    }
    int64_t *offsets = (int64_t *)(void *)(data + batch->tensors[1].offset);
    for (size_t i = 0; i <= n; i++)
        offsets[i] = (int64_t)i;
    memset(offsets + n + 1, 'a' + (int)(item % 26), n);
    add_rows(batch, n);
    assert_int_equal(cw_batch_validate(batch, &err), 0);
    return batch;
}

static struct cw_hash hash_of(const struct cw_batch *batch)
{
    struct cw_hasher *hasher = cw_hasher_new();
    cw_batch_hash(batch, hasher);
    struct cw_hash hash = cw_hasher_get(hasher);
    cw_hasher_free(hasher);
    return hash;
}

/* Takes the payload of one output after the other, as a client does. */
static void check_outputs(struct cw_rpc_msg *msg, struct cw_batch *const *batches,
                          const uint64_t *slots, size_t n)
{
    struct cw_wire_data data;
    struct cw_err err = {0};
    if (cw_wire_data_parse(msg, &data, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(data.head->n_outputs, n);
    size_t at = data.payload_offset;
    for (size_t i = 0; i < n; i++) {
        struct cw_batch *back;
        if (cw_wire_output_from(data.head->outputs[i], &back, &err) != 0)
            fail_msg("%s", err.msg);
        assert_true(back->epoch == 2 && back->item == batches[i]->item &&
                    back->elements == batches[i]->elements && back->skipped == 1);
        check_bad(back);
        assert_true(data.head->outputs[i]->slot == (slots ? slots[i] : 0));
        if (!slots || !slots[i]) {
            size_t bytes = (size_t)data.head->outputs[i]->payload_bytes;
            back->buf = cw_buf_new(bytes);
            assert_int_equal(cw_rpc_msg_copy(msg, at, back->buf->data, bytes), 0);
            at += bytes;
            assert_int_equal(cw_batch_validate(back, &err), 0);
            assert_true(cw_hash_eq(hash_of(back), hash_of(batches[i])));
        }
        cw_batch_unref(back);
    }
    assert_int_equal(at, data.payload_offset + data.payload_len);
    cw_wire_data_fini(&data);
}

static void round_trip(struct world *world, struct inbox *inbox, struct cw_batch *const *batches,
                       const uint64_t *slots, size_t n)
{
    size_t before = inbox->n;
    cw_wire_send_outputs(inbox->stream, batches, slots, n);
    inbox_wait_n(inbox, before + 1);
    (void)world;
    struct cw_rpc_msg *msg = cw_rpc_msg_from(inbox->last->data, inbox->last->len, 1000);
    check_outputs(msg, batches, slots, n);
    cw_rpc_msg_unref(msg);
    /* protobuf-c itself reads the same. */
    Cachew__V1__DataMessage *whole =
        cachew__v1__data_message__unpack(NULL, inbox->last->len, inbox->last->data);
    assert_non_null(whole);
    assert_int_equal(whole->n_outputs, n);
    cachew__v1__data_message__free_unpacked(whole, NULL);
}

static void test_outputs(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox inbox = {.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &inbox);
    struct cw_batch *batches[4] = {make_batch(0, 10), make_batch(1, 0), make_batch(27, 50000),
                                   cw_batch_new(0)};
    batches[3]->epoch = 2;
    batches[3]->skipped = 1;
    describe_bad(batches[3]); /* an output without tensors or bytes */
    const uint64_t slots[4] = {0, 5, 9, 0};
    round_trip(&world, &inbox, batches, NULL, 4);
    round_trip(&world, &inbox, batches, slots, 4);
    round_trip(&world, &inbox, batches, NULL, 1);
    round_trip(&world, &inbox, batches + 3, NULL, 1);
    round_trip(&world, &inbox, batches, NULL, 0);
    inbox_fini(&inbox);
    world_close(&world);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(batches[i]->refs, 1);
        cw_batch_unref(batches[i]);
    }
}

/* Outputs that were packed before go with others, in the order in which they were added. */
static void test_packed(void **state)
{
    struct world world;
    (void)state;
    world_open(&world, "127.0.0.1:0");
    struct inbox inbox = {.world = &world};
    inbox.stream = cw_channel_stream(world.channel, "/test.S/Echo", &inbox_cb, &inbox);
    enum { N = 40 };
    struct cw_batch *batches[N];
    for (size_t i = 0; i < N; i++)
        batches[i] = i % 7 == 6 ? cw_batch_new(0) : make_batch(i, i * i * i);
    for (size_t i = 6; i < N; i += 7)
        describe_bad(batches[i]);
    for (unsigned which = 0; which < 4; which++) { /* all packed, every second, every third, none */
        struct cw_wire_outbox *box = cw_wire_outbox_new();
        for (size_t i = 0; i < N; i++) {
            batches[i]->epoch = 2;
            batches[i]->item = i;
            batches[i]->skipped = 1;
            if (which == 3 || i % (which + 1) != 0) {
                cw_wire_outbox_add(box, batches[i], 0);
                continue;
            }
            struct cw_wire_size size = cw_wire_output_size(batches[i]);
            assert_int_equal(size.payload, batches[i]->buf ? batches[i]->buf->len : 0);
            cw_autofree uint8_t *packed = cw_mem_new(size.head + size.payload);
            cw_wire_output_pack(batches[i], size, packed);
            cw_wire_outbox_add_packed(box, size, packed);
        }
        size_t before = inbox.n;
        cw_wire_outbox_send(box, inbox.stream);
        inbox_wait_n(&inbox, before + 1);
        struct cw_rpc_msg *msg = cw_rpc_msg_from(inbox.last->data, inbox.last->len, 1000);
        check_outputs(msg, batches, NULL, N);
        cw_rpc_msg_unref(msg);
    }
    inbox_fini(&inbox);
    world_close(&world);
    for (size_t i = 0; i < N; i++)
        cw_batch_unref(batches[i]);
}

static int parse(const void *p, size_t n, struct cw_err *err)
{
    struct cw_wire_data data;
    struct cw_rpc_msg *msg = cw_rpc_msg_from(p, n, 7);
    int code = cw_wire_data_parse(msg, &data, err);
    if (code == 0)
        cw_wire_data_fini(&data);
    cw_rpc_msg_unref(msg);
    return code;
}

static void test_bad_messages(void **state)
{
    (void)state;
    Cachew__V1__Output output = CACHEW__V1__OUTPUT__INIT, *outputs[] = {&output};
    Cachew__V1__DataMessage message = CACHEW__V1__DATA_MESSAGE__INIT;
    struct cw_err err = {0};
    uint8_t payload[5] = "abcd", bytes[256];
    message.outputs = outputs;
    message.n_outputs = 1;
    message.payload = (ProtobufCBinaryData){sizeof payload, payload};
    output.payload_bytes = sizeof payload;
    size_t n = cachew__v1__data_message__pack(&message, bytes);
    assert_int_equal(parse(bytes, n, &err), 0);
    for (size_t cut = 1; cut < n; cut++)
        assert_int_equal(parse(bytes, cut, &err), CW_E_CORRUPT);
    memcpy(bytes + n, bytes, 2); /* something behind the payload */
    assert_int_equal(parse(bytes, n + 2, &err), CW_E_CORRUPT);
    for (int more = -1; more <= 1; more += 2) { /* shares that do not add up */
        output.payload_bytes = (uint64_t)((int)sizeof payload + more);
        n = cachew__v1__data_message__pack(&message, bytes);
        assert_int_equal(parse(bytes, n, &err), CW_E_CORRUPT);
    }
    assert_int_equal(parse("", 0, &err), 0); /* an empty message is one */
    /* A head without end. */
    struct cw_buf *big = cw_buf_new(20u << 20);
    memset(big->data, 0, big->len);
    memcpy(big->data, "\x0a\xfa\xff\xff\x09", 5); /* welcome, of nearly all that follows */
    struct cw_wire_data data;
    struct cw_rpc_msg *msg = cw_rpc_msg_from(big->data, big->len, 65536);
    assert_true(cw_wire_data_parse(msg, &data, &err) < 0);
    cw_rpc_msg_unref(msg);
    cw_buf_unref(big);
}

static void refuse(const Cachew__V1__Output *output, const char *what)
{
    struct cw_batch *batch;
    struct cw_err err = {0};
    assert_true(cw_wire_output_from(output, &batch, &err) < 0);
    if (!strstr(err.msg, what))
        fail_msg("\"%s\" does not say \"%s\"", err.msg, what);
}

static void test_bad_headers(void **state)
{
    (void)state;
    char name[] = "x";
    int64_t dims[9] = {4, 3};
    Cachew__V1__TensorHeader tensor = CACHEW__V1__TENSOR_HEADER__INIT, *tensors[32];
    Cachew__V1__Output output = CACHEW__V1__OUTPUT__INIT;
    struct cw_batch *batch;
    struct cw_err err = {0};
    for (size_t i = 0; i < CW_ARRAY_LEN(tensors); i++)
        tensors[i] = &tensor;
    output.item = 77;
    output.tensors = tensors;
    output.n_tensors = 1;
    output.payload_bytes = 64;
    tensor.name = name;
    tensor.dtype = CW_DTYPE_F32;
    tensor.dims = dims;
    tensor.n_dims = 2;
    tensor.bytes = 48;
    assert_int_equal(cw_wire_output_from(&output, &batch, &err), 0);
    cw_batch_unref(batch);
    output.n_tensors = 2;
    refuse(&output, "x"); /* the name twice */
    output.n_tensors = 32;
    refuse(&output, "item 77");
    output.n_tensors = 1;
    tensor.bytes = 47;
    refuse(&output, "shape");
    tensor.bytes = 48;
    tensor.offset = 64;
    refuse(&output, "outside");
    tensor.offset = 4;
    refuse(&output, "outside");
    tensor.offset = UINT64_MAX - 63;
    refuse(&output, "outside");
    tensor.offset = 0;
    tensor.n_dims = 9;
    refuse(&output, "rank");
    tensor.n_dims = 2;
    dims[0] = -1;
    refuse(&output, "size");
    dims[0] = INT64_MAX;
    refuse(&output, "size");
    dims[0] = 4;
    tensor.dtype = CW_DTYPE_N;
    refuse(&output, "dtype");
    tensor.dtype = CW_DTYPE_STR;
    refuse(&output, "strings"); /* 12 strings need 13 offsets */
    output.payload_bytes = UINT64_MAX;
    refuse(&output, "bytes");
    output.payload_bytes = output.n_tensors = 0;
    Cachew__V1__BadElement bad = CACHEW__V1__BAD_ELEMENT__INIT, *bads[CW_BAD_LISTED_MAX + 1];
    for (size_t i = 0; i < CW_ARRAY_LEN(bads); i++)
        bads[i] = &bad;
    output.bad = bads;
    output.n_bad = CW_BAD_LISTED_MAX;
    assert_int_equal(cw_wire_output_from(&output, &batch, &err), 0);
    cw_batch_unref(batch);
    output.n_bad++;
    refuse(&output, "bad elements");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_bad_messages),
        cmocka_unit_test(test_bad_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
