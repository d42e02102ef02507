/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes of a pipeline may be cached, and the keys of the cache. */
#include "base/mem.h"
#include "wire/wire_int.h"

typedef Cachew__V1__Cacheable cacheable_pb;

void cw_wire_key_to(struct cw_hash key, uint8_t ret_bytes[CW_WIRE_KEY_BYTES])
{
    for (size_t i = 0; i < 8; i++) {
        ret_bytes[i] = (uint8_t)(key.hi >> (56 - 8 * i));
        ret_bytes[8 + i] = (uint8_t)(key.lo >> (56 - 8 * i));
    }
}

int cw_wire_key_from(const ProtobufCBinaryData *bytes, struct cw_hash *ret_key, struct cw_err *err)
{
    struct cw_hash key = {0};
    if (bytes->len != CW_WIRE_KEY_BYTES)
        return cw_err_set(err, CW_E_CORRUPT, "a key of the cache has %zu bytes, not %d", bytes->len, CW_WIRE_KEY_BYTES);
    for (size_t i = 0; i < 8; i++) {
        key.hi = key.hi << 8 | bytes->data[i];
        key.lo = key.lo << 8 | bytes->data[8 + i];
    }
    *ret_key = key;
    return 0;
}

void cw_wire_cacheable_to(const struct cw_graph *graph, const struct cw_plan_cacheable *nodes, Cachew__V1__PlanInfo *message)
{
    message->cacheable = CW_NEW_ARRAY(cacheable_pb *, graph->n + 1);
    message->n_cacheable = graph->n;
    for (size_t i = 0; i < graph->n; i++) {
        const struct cw_plan_cacheable *from = &nodes[i];
        cacheable_pb *to = message->cacheable[i] = CW_NEW(cacheable_pb);
        cachew__v1__cacheable__init(to);
        to->node = cw_mem_strdup(graph->nodes[i].name);
        to->op = cw_mem_strdup(graph->nodes[i].op);
        to->ids = from->ids;
        to->asked = from->asked;
        to->whole = from->whole;
        if (from->mark)
            to->mark = cw_mem_strdup(from->mark);
        if (from->why_not) {
            to->why_not = cw_mem_strdup(from->why_not);
            continue;
        }
        to->key = (ProtobufCBinaryData){CW_WIRE_KEY_BYTES, cw_mem_new(CW_WIRE_KEY_BYTES)};
        cw_wire_key_to(from->key, to->key.data);
    }
}

int cw_wire_cacheable_from(const cacheable_pb *message, struct cw_plan_cacheable *ret_node, struct cw_err *err)
{
    struct cw_plan_cacheable node = {
        .why_not = message->why_not[0] ? message->why_not : NULL,
        .ids = message->ids,
        .asked = message->asked != 0,
        .mark = message->mark[0] ? message->mark : NULL,
        .whole = message->whole != 0,
    };
    int code = node.why_not ? 0 : cw_wire_key_from(&message->key, &node.key, err);
    if (code)
        return cw_err_wrap(err, "node \"%.60s\"", message->node);
    *ret_node = node;
    return 0;
}
