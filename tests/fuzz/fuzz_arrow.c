/* SPDX-License-Identifier: Apache-2.0 */
/* Arrow's files and streams: footer, heads of messages, schema, buffers, dictionaries. The first byte
 * chooses whether nulls are filled; the rest is the file. What is read must be within the memory that the
 * slab says. */
#include <string.h>

#include "base/mem.h"
#include "format/arrow/arrow_slab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { BYTES_MAX = 4 << 20, LEAVES_MAX = 32, BATCHES_MAX = 4, ROWS_MAX = 5000 };

static uint64_t sum;

static void touch(const void *p, size_t n)
{
    const uint8_t *bytes = p;
    for (size_t i = 0; i < n; i++)
        sum += bytes[i];
}

static void look(const struct cw_arrow_slab *s)
{
    if (s->null)
        touch(s->null, s->rows);
    for (size_t i = 0; s->entry && i < s->rows; i++)
        CW_ASSERT(s->entry[i] <= s->entry[i + 1]);
    CW_ASSERT(!s->entry || s->entry[s->rows] <= s->values_n);
    CW_ASSERT(s->entry || s->values_n >= s->rows);
    if (s->width > 0) {
        touch(s->fixed, s->values_n * s->width);
        return;
    }
    for (size_t i = 0; i < s->values_n; i++)
        CW_ASSERT(s->strings.v[i].at + s->strings.v[i].n <= s->strings.used);
    touch(s->strings.bytes, s->strings.used);
}

/* Each range lies in the body of the batch. */
static void look_at_range(void *arg, uint64_t begin, uint64_t end)
{
    const struct cw_arrow_batch *batch = arg;
    CW_ASSERT(begin <= end && begin >= batch->body && end <= batch->body + batch->body_bytes);
}

static void read_slab(const struct cw_readable *file, const struct cw_arrow_head *head,
                      const struct cw_arrow_want *want, const struct cw_arrow_batch *batch,
                      const struct cw_arrow_places *places, const struct cw_arrow_slab *dictionary)
{
    struct cw_arrow_slab slab;
    struct cw_err err = {0};
    const int64_t first = batch->is_packed ? 0 : batch->rows / 3, rest = batch->rows - first,
                  n = batch->is_packed ? batch->rows : CW_MIN(rest, (int64_t)ROWS_MAX);
    cw_arrow_slab_ranges(head, want->leaf, batch, places, first, n, look_at_range,
                         (void *)(uintptr_t)batch);
    int rc = cw_arrow_slab_read(file, head, want, batch, places, first, n, dictionary, &slab, &err);
    CW_ASSERT(rc == 0 || err.msg[0]);
    if (rc < 0)
        return;
    look(&slab);
    cw_arrow_slab_fini(&slab);
}

static void read_batch(const struct cw_readable *file, const struct cw_arrow_head *head,
                       const struct cw_arrow_want *want, const struct cw_arrow_batch *batch)
{
    const struct cw_arrow_node *node = &head->nodes[head->leaves[want->leaf].node];
    struct cw_arrow_slab dictionary = {0};
    struct cw_arrow_places places = {0};
    struct cw_err err = {0};
    int rc = node->has_dictionary
                 ? cw_arrow_dictionary_read(file, head, want, batch, &dictionary, &err)
                 : 0;
    if (rc == 0 && node->has_dictionary)
        look(&dictionary);
    if (rc == 0)
        rc = cw_arrow_places_read(file, batch, false, &places, &err);
    if (rc == 0)
        read_slab(file, head, want, batch, &places, node->has_dictionary ? &dictionary : NULL);
    CW_ASSERT(rc == 0 || err.msg[0]);
    cw_arrow_places_fini(&places);
    cw_arrow_slab_fini(&dictionary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const uint8_t fill[8] = {1};
    if (n == 0)
        return 0;
    struct cw_readable_bytes bytes = {data + 1, n - 1};
    struct cw_readable file = cw_readable_mem("f", &bytes);
    struct cw_arrow_head head;
    struct cw_err err = {0};
    int rc = cw_arrow_head_read(&file, &head, &err);
    CW_ASSERT(rc == 0 || err.msg[0]);
    if (rc < 0)
        return 0;
    for (size_t i = 0; i < CW_MIN(head.leaves_n, (size_t)LEAVES_MAX); i++) {
        struct cw_arrow_want want = {.leaf = i, .bytes_max = BYTES_MAX};
        struct cw_field type;
        if (cw_arrow_leaf_type(&head, i, &type, &err) < 0)
            continue;
        const struct cw_arrow_node *node = &head.nodes[head.leaves[i].node];
        if (data[0] & 1 && !node->is_bytes) {
            want.fill = fill;
            want.fill_bytes = type.dtype == CW_DTYPE_STR ? 3 : cw_dtype_bytes(type.dtype);
        }
        for (size_t b = 0; b < CW_MIN(head.batches_n, (size_t)BATCHES_MAX); b++)
            read_batch(&file, &head, &want, &head.batches[b]);
    }
    cw_arrow_head_fini(&head);
    return 0;
}
