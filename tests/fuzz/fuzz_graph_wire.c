/* SPDX-License-Identifier: Apache-2.0 */
/* A packed pipeline from a peer: read, and what could be read packs, and reads back as the same. */
#include <string.h>

#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cw_graph *graph, *back;
    struct cw_err err = {0};
    if (cw_wire_graph_unpack(data, size, &graph, &err) != 0) {
        CW_ASSERT(err.msg[0] != '\0');
        return 0;
    }
    struct cw_buf *packed = cw_wire_graph_pack(graph);
    int code = cw_wire_graph_unpack(packed->data, packed->len, &back, &err);
    CW_ASSERT(code == 0);
    struct cw_buf *again = cw_wire_graph_pack(back);
    CW_ASSERT(packed->len == again->len && memcmp(packed->data, again->data, packed->len) == 0);
    cw_buf_unref(packed);
    cw_buf_unref(again);
    cw_graph_unref(graph);
    cw_graph_unref(back);
    return 0;
}
