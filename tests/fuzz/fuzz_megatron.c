/* SPDX-License-Identifier: Apache-2.0 */
/* Indices of token files: the first byte chooses sequences or documents, the rest is the .idx. */
#include <stdint.h>

#include "base/mem.h"
#include "format/megatron.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static uint64_t data_bytes(const struct cw_megatron_head *head, const uint8_t *lengths)
{
    uint64_t tokens = 0;
    for (uint64_t i = 0; i < head->sequences; i++)
        tokens += lengths[4 * i] | (uint64_t)lengths[4 * i + 1] << 8;
    return tokens * cw_dtype_bytes(head->dtype);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    struct cw_readable_bytes bytes = {data + 1, n - 1};
    struct cw_readable idx = cw_readable_mem("f.idx", &bytes);
    struct cw_megatron_head head;
    struct cw_line_index *index = NULL;
    struct cw_err err = {0};
    if (cw_megatron_head_read(&idx, &head, &err) < 0) {
        CW_ASSERT(err.msg[0]);
        return 0;
    }
    const uint64_t end = data_bytes(&head, data + 1 + 34);
    if (cw_megatron_index(&idx, &head, data[0] & 1, end, &index, &err) < 0) {
        CW_ASSERT(err.msg[0]);
        return 0;
    }
    const uint64_t units = cw_line_index_n(index);
    CW_ASSERT(units == (data[0] & 1 ? head.documents : head.sequences));
    for (uint64_t k = 0; k < units; k++)
        CW_ASSERT(cw_line_index_at(index, k) <= cw_line_index_at(index, k + 1));
    CW_ASSERT(cw_line_index_at(index, units) == end);
    cw_line_index_free(index);
    return 0;
}
