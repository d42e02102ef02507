/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines over the wire: the same back, byte for byte the same packed; and lies are refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "wire/wire.h"

static const char *const texts[] = {
    "{\"name\":\"n\",\"pipeline\":[{\"op\":\"range\",\"stop\":10},{\"op\":\"batch\",\"size\":4}]}",
    "{\"pipeline\":[{\"op\":\"files\",\"pattern\":[\"/a/*\",\"/"
    "b\"]},{\"op\":\"shuffle\"},{\"op\":\"read_file\"},"
    "{\"op\":\"random_flip\",\"p\":0.5,\"keep_position\":true,\"name\":\"flip\"},"
    "{\"op\":\"normalize\",\"mean\":[0.485,1.0,-1e-300],\"std\":[1,2,9007199254740993],\"fields\":["
    "\"image\"],\"depends_on\":[\"flip\"]},"
    "{\"op\":\"x\",\"deep\":{\"a\":[null,true,false,[[]],{}],\"s\":\"\\u00e4\\n\"}}]}",
    ("{\"pipeline\":[{\"op\":\"range\",\"name\":\"a\"},"
     "{\"op\":\"range\",\"name\":\"b\",\"inputs\":[]},"
     "{\"op\":\"zip\",\"inputs\":[\"b\",\"a\"]}]}"),
};

static char *text_of(const struct cw_graph *graph)
{
    struct cw_str out = {0};
    cw_graph_print(graph, &out);
    return cw_str_take(&out);
}

static void test_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < CW_ARRAY_LEN(texts); i++) {
        struct cw_err err = {0};
        struct cw_graph *graph, *back;
        if (cw_graph_parse(texts[i], strlen(texts[i]), "test", &graph, &err) != 0)
            fail_msg("%s", err.msg);
        struct cw_buf *packed = cw_wire_graph_pack(graph);
        if (cw_wire_graph_unpack(packed->data, packed->len, &back, &err) != 0)
            fail_msg("%s", err.msg);
        cw_autofree char *a = text_of(graph), *b = text_of(back);
        assert_string_equal(a, b);
        struct cw_buf *again = cw_wire_graph_pack(back);
        assert_int_equal(packed->len, again->len);
        assert_memory_equal(packed->data, again->data, packed->len);
        /* cut or changed: an error or another graph, never a crash */
        for (size_t cut = 0; cut < packed->len; cut++) {
            struct cw_graph *other = NULL;
            if (cw_wire_graph_unpack(packed->data, cut, &other, &err) == 0)
                cw_graph_unref(other);
            uint8_t *bytes = again->data;
            bytes[cut] ^= 0x41;
            if (cw_wire_graph_unpack(bytes, again->len, &other, &err) == 0)
                cw_graph_unref(other);
            bytes[cut] ^= 0x41;
        }
        cw_buf_unref(packed);
        cw_buf_unref(again);
        cw_graph_unref(graph);
        cw_graph_unref(back);
    }
}

static void expect_refused(const Cachew__V1__Graph *message, int code)
{
    struct cw_graph *graph = NULL;
    struct cw_err err = {0};
    assert_int_equal(cw_wire_graph_from(message, &graph, &err), code);
    assert_true(strlen(err.msg) > 0);
}

static void test_lies(void **state)
{
    (void)state;
    char name[] = "r", op[] = "range";
    uint32_t self[] = {0};
    Cachew__V1__Node node = CACHEW__V1__NODE__INIT, *nodes[] = {&node};
    Cachew__V1__Graph graph = CACHEW__V1__GRAPH__INIT;
    expect_refused(NULL, CW_E_INVALID);
    expect_refused(&graph, CW_E_INVALID); /* no nodes */
    node.name = name;
    node.op = op;
    graph.nodes = nodes;
    graph.n_nodes = 1;
    node.inputs = self;
    node.n_inputs = 1;
    expect_refused(&graph, CW_E_INVALID); /* reads itself */
    node.n_inputs = 0;

    Cachew__V1__Value value = CACHEW__V1__VALUE__INIT;
    node.options = &value;
    expect_refused(&graph, CW_E_CORRUPT); /* options that are no object */
    Cachew__V1__Value__Object object = CACHEW__V1__VALUE__OBJECT__INIT;
    char *keys[] = {op, op};
    Cachew__V1__Value inner = CACHEW__V1__VALUE__INIT, *values[] = {&inner, &inner};
    value.kind_case = CACHEW__V1__VALUE__KIND_OBJECT;
    value.object = &object;
    object.keys = keys;
    object.values = values;
    object.n_keys = 1;
    expect_refused(&graph, CW_E_CORRUPT); /* a key without value */
    object.n_values = 1;
    expect_refused(&graph, CW_E_CORRUPT); /* a value of no kind */
    inner.kind_case = CACHEW__V1__VALUE__KIND_NULL;
    object.n_keys = object.n_values = 2;
    expect_refused(&graph, CW_E_CORRUPT); /* a key twice */
    inner.kind_case = CACHEW__V1__VALUE__KIND_NUMBER;
    inner.number = (double)NAN;
    object.n_keys = object.n_values = 1;
    expect_refused(&graph, CW_E_CORRUPT);
}

/* Lists in lists in lists: refused before anybody recurses into them. */
static void test_deep(void **state)
{
    enum { DEPTH = 200000 };
    (void)state;
    struct cw_str inner = {0}, outer = {0};
    /* from the inside out would be quadratic: lengths are not checked against the end here */
    for (int i = 0; i < DEPTH; i++) {
        cw_str_add_bytes(&inner, "\x32\xff\xff\xff\x7f\x0a\xff\xff\xff\x7f", 10);
    }
    cw_str_add_bytes(&outer, "\x12\xff\xff\xff\x7f\x42\xff\xff\xff\x7f", 10);
    cw_str_add_bytes(&outer, inner.s, inner.len);
    struct cw_graph *graph;
    struct cw_err err = {0};
    assert_int_equal(cw_wire_graph_unpack(outer.s, outer.len, &graph, &err), CW_E_CORRUPT);
    cw_str_fini(&inner);
    cw_str_fini(&outer);
    /* The same with proper lengths, as deep as a message can tell with short ones. */
    uint8_t bytes[4 * 300], *start = bytes + sizeof bytes;
    size_t n = 0;
    for (int i = 0; i < 250; i++) {
        int field = i % 2 ? 6 : 1; /* Value.list, List.items */
        uint8_t head[4] = {(uint8_t)(field << 3 | 2)};
        size_t h = 1;
        head[h++] = (uint8_t)(n < 128 ? n : (n & 0x7f) | 0x80);
        if (n >= 128)
            head[h++] = (uint8_t)(n >> 7);
        start -= h;
        memcpy(start, head, h);
        n += h;
    }
    struct cw_rpc_msg *msg = cw_rpc_msg_from(start, n, 100);
    assert_null(cw_wire_unpack(&cachew__v1__value__descriptor, msg, &err));
    assert_int_equal(err.code, CW_E_LIMIT);
    cw_rpc_msg_unref(msg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_lies),
        cmocka_unit_test(test_deep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
