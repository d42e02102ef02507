/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that say which nodes of a pipeline may be cached. */
#include "base/mem.h"
#include "wire/wire_int.h"

typedef Cachew__V1__Cacheable cacheable_pb;

void cw_wire_cacheable_to(const struct cw_graph *graph, const struct cw_plan_cacheable *nodes,
                          Cachew__V1__PlanInfo *message)
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
        to->key = (ProtobufCBinaryData){CW_WIRE_HASH_BYTES, cw_mem_new(CW_WIRE_HASH_BYTES)};
        cw_wire_hash_to(from->key, to->key.data);
    }
}

int cw_wire_cacheable_from(const cacheable_pb *message, struct cw_plan_cacheable *ret_node,
                           struct cw_err *err)
{
    struct cw_plan_cacheable node = {
        .why_not = message->why_not[0] ? message->why_not : NULL,
        .ids = message->ids,
        .asked = message->asked != 0,
        .mark = message->mark[0] ? message->mark : NULL,
        .whole = message->whole != 0,
    };
    if (!node.why_not && !cw_wire_hash_from(message->key, &node.key))
        return cw_err_set(err, CW_E_CORRUPT,
                          "node \"%.60s\": its key in the cache has %zu bytes, not %d",
                          message->node, message->key.len, CW_WIRE_HASH_BYTES);
    *ret_node = node;
    return 0;
}
