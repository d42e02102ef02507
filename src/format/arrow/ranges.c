/* SPDX-License-Identifier: Apache-2.0 */
/* Says where the bytes of a column lie, without reading any. */
#include "base/compiler.h"
#include "format/arrow/arrow_slab.h"

/* A buffer may be a little longer than its values, which shifts what is in proportion to it. */
enum { PADDING = 64 };
/* Strings and lists are not all of one length: of what is estimated a part more is read on both sides. */
enum { GUESS_PART = 8, GUESS_BYTES = 4096 };

struct ranges {
    const struct cw_arrow_batch *batch;
    const struct cw_arrow_places *places;
    int64_t first, n;
    void (*add)(void *arg, uint64_t begin, uint64_t end);
    void *arg;
};

/* Adds the part of a buffer that the rows have, or all of it if it is compressed. */
static void add_buffer(const struct ranges *r, const struct cw_arrow_node *node, unsigned which,
                       bool is_guess)
{
    const size_t number = cw_arrow_buffer_of(r->places, node, which);
    if (number >= r->places->buffers_n)
        return;
    const int64_t at = r->places->numbers[2 * number], bytes = r->places->numbers[2 * number + 1];
    if (at < 0 || bytes <= 0 || (uint64_t)at > r->batch->body_bytes ||
        (uint64_t)bytes > r->batch->body_bytes - (uint64_t)at)
        return; /* it is damaged, which is told when it is read */
    double begin = 0, end = (double)bytes;
    if (!r->batch->is_packed && r->places->rows > 0) {
        const double row = (double)bytes / (double)r->places->rows, rows = row * (double)r->n,
                     more = is_guess ? rows / GUESS_PART + GUESS_BYTES : PADDING;
        begin = CW_MAX(row * (double)r->first - more, 0.0);
        end = CW_MIN(row * (double)r->first + rows + more, (double)bytes);
    }
    const uint64_t base = r->batch->body + (uint64_t)at;
    if (end > begin)
        r->add(r->arg, base + (uint64_t)begin, base + (uint64_t)end);
}

static unsigned buffers_of(const struct cw_arrow_node *node)
{
    switch (node->layout) {
    case CW_ARROW_STRINGS:
        return node->has_dictionary ? 2 : 3;
    case CW_ARROW_FIXED:
    case CW_ARROW_BITS:
    case CW_ARROW_LIST:
        return 2;
    case CW_ARROW_FIXED_LIST:
    case CW_ARROW_STRUCT:
        return node->has_dictionary ? 2 : 1;
    case CW_ARROW_OTHER:
        break;
    }
    return 0;
}

void cw_arrow_slab_ranges(const struct cw_arrow_head *head, size_t leaf,
                          const struct cw_arrow_batch *batch, const struct cw_arrow_places *places,
                          int64_t first, int64_t n,
                          void (*add)(void *arg, uint64_t begin, uint64_t end), void *arg)
{
    const struct ranges r = {batch, places, first, n, add, arg};
    size_t path[CW_ARROW_DEPTH_MAX + 1], depth = 0;
    bool is_guess = false; /* how many values there are below a list is not known */
    for (int at = (int)head->leaves[leaf].node; at >= 0; at = head->nodes[at].parent)
        path[depth++] = (size_t)at;
    while (depth > 0) {
        const struct cw_arrow_node *node = &head->nodes[path[--depth]];
        for (unsigned which = 0; which < buffers_of(node); which++)
            add_buffer(&r, node, which, is_guess || which == 2);
        is_guess = is_guess || node->layout == CW_ARROW_LIST;
    }
}

void cw_arrow_dictionary_ranges(const struct cw_arrow_head *head, size_t leaf,
                                const struct cw_arrow_batch *batch,
                                void (*add)(void *arg, uint64_t begin, uint64_t end), void *arg)
{
    const struct cw_arrow_node *node = &head->nodes[head->leaves[leaf].node];
    for (size_t i = 0; node->has_dictionary && i < batch->dictionaries; i++) {
        const struct cw_arrow_batch *part = &head->dictionaries[i];
        if (part->id != node->dictionary)
            continue;
        add(arg, part->meta, part->meta + part->meta_bytes);
        add(arg, part->body, part->body + part->body_bytes);
    }
}
