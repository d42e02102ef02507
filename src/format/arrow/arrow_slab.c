/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes a column of a record batch. The way goes from the field of the schema down to the one that has
 * the values; what is known of a level are its items: a range of them, and which are null. */
#include "format/arrow/arrow_slab.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"
#include "format/arrow/buffers.h"
#include "format/arrow/items.h"

void cw_arrow_slab_fini(struct cw_arrow_slab *slab)
{
    cw_mem_free(slab->fixed);
    cw_byte_strings_fini(&slab->strings);
    cw_mem_free(slab->entry);
    cw_mem_free(slab->null);
    *slab = (struct cw_arrow_slab){0};
}

/* Gives nulls of values the fill, or marks their rows. */
static const char *settle_nulls(struct cw_arrow_items *items, const struct cw_arrow_want *want,
                                struct cw_arrow_slab *slab)
{
    if (!items->null)
        return NULL;
    if (want->fill)
        return cw_arrow_fill(items, want, slab);
    const char *fault = cw_arrow_null_rows(slab);
    const size_t each = slab->entry || slab->rows == 0 ? 0 : items->n / slab->rows;
    for (size_t row = 0; !fault && row < slab->rows; row++) {
        const size_t inner = slab->entry ? items->per_entry : 1;
        const size_t begin = slab->entry ? slab->entry[row] * inner : row * each,
                     end = slab->entry ? slab->entry[row + 1] * inner : (row + 1) * each;
        if (end > begin && memchr(items->null + begin, 1, end - begin))
            slab->null[row] = 1;
    }
    return fault;
}

/* Strings in lists of one length have entries, too. */
static const char *make_entries(const struct cw_arrow_items *items, struct cw_arrow_slab *slab)
{
    if (slab->width > 0 || slab->entry || !items->in_fixed_lists || slab->rows == 0)
        return NULL;
    slab->entry = cw_mem_try((slab->rows + 1) * sizeof(*slab->entry));
    if (!slab->entry)
        return "no memory for its lists";
    for (size_t row = 0; row <= slab->rows; row++)
        slab->entry[row] = row * (items->n / slab->rows);
    return NULL;
}

/* Goes down to the values, from the outermost field to the leaf. */
static int read_levels(struct cw_arrow_items *items, const struct cw_arrow_head *head, size_t leaf,
                       bool is_dictionary, const struct cw_arrow_want *want,
                       struct cw_arrow_slab *slab, struct cw_err *err)
{
    size_t path[CW_ARROW_DEPTH_MAX + 1], n = 0;
    int rc = 0;
    for (int at = (int)leaf; at >= 0 && !is_dictionary; at = head->nodes[at].parent)
        path[n++] = (size_t)at;
    while (rc == 0 && n > 1) {
        const struct cw_arrow_node *node = &head->nodes[path[--n]];
        rc = cw_arrow_items_validity(items, node, err);
        if (rc == 0 && node->layout == CW_ARROW_FIXED_LIST)
            rc = cw_arrow_items_enter_fixed(items, node, err);
        else if (rc == 0 && node->layout == CW_ARROW_LIST)
            rc = cw_arrow_items_enter(items, node, want->fill != NULL, slab, err);
    }
    return rc;
}

static int read_column(struct cw_arrow_items *items, const struct cw_arrow_head *head,
                       const struct cw_arrow_want *want, const struct cw_arrow_slab *dictionary,
                       bool is_dictionary, struct cw_arrow_slab *slab, struct cw_err *err)
{
    const size_t leaf = head->leaves[want->leaf].node;
    struct cw_arrow_node node = head->nodes[leaf];
    if (is_dictionary) { /* it is a batch of one column: the dictionary's values */
        node.buffer = node.views = 0;
        node.has_dictionary = false;
        node.parent = -1;
    }
    slab->width = node.layout == CW_ARROW_STRINGS ? 0 : node.width;
    int rc = read_levels(items, head, leaf, is_dictionary, want, slab, err);
    if (rc == 0)
        rc = cw_arrow_items_validity(items, &node, err);
    if (rc == 0)
        rc = node.has_dictionary ? cw_arrow_values_look_up(items, &node, dictionary, slab, err)
                                 : cw_arrow_values_read(items, &node, slab, err);
    if (rc < 0)
        return rc;
    const char *fault = settle_nulls(items, want, slab);
    if (!fault)
        fault = make_entries(items, slab);
    if (fault)
        return cw_arrow_buffers_fail(items->buffers, fault, err);
    cw_arrow_drop_null_lists(items, slab);
    return 0;
}

static int read_slab(const struct cw_readable *file, const struct cw_arrow_head *head,
                     const struct cw_arrow_want *want, const struct cw_arrow_batch *batch,
                     const struct cw_arrow_places *places, int64_t first, int64_t n,
                     const struct cw_arrow_slab *dictionary, bool is_dictionary,
                     struct cw_arrow_slab *ret_slab, struct cw_err *err)
{
    struct cw_arrow_buffers buffers = {.file = file,
                                       .batch = batch,
                                       .places = places,
                                       .column = head->leaves[want->leaf].name,
                                       .bytes_max = want->bytes_max};
    struct cw_arrow_slab slab = {0};
    const int64_t rows = n < 0 ? places->rows : n;
    int rc;
    struct cw_arrow_items items = {
        .buffers = &buffers, .first = (uint64_t)first, .n = (size_t)rows, .per_entry = 1};
    slab.rows = (size_t)rows;
    slab.strings.max = want->bytes_max;
    if (first > places->rows || rows > places->rows - first || (uint64_t)rows > want->bytes_max)
        rc = cw_arrow_buffers_fail(&buffers, "it has another number of rows than it had before",
                                   err);
    else
        rc = read_column(&items, head, want, dictionary, is_dictionary, &slab, err);
    cw_arrow_items_fini(&items);
    if (rc < 0) {
        cw_arrow_slab_fini(&slab);
        return rc;
    }
    slab.bytes = sizeof(slab) + slab.values_n * slab.width + slab.strings.cap +
                 slab.strings.n * sizeof(struct cw_byte_ref) +
                 (slab.entry ? (slab.rows + 1) * sizeof(*slab.entry) : 0) +
                 (slab.null ? slab.rows : 0);
    *ret_slab = slab;
    return 0;
}

int cw_arrow_slab_read(const struct cw_readable *file, const struct cw_arrow_head *head,
                       const struct cw_arrow_want *want, const struct cw_arrow_batch *batch,
                       const struct cw_arrow_places *places, int64_t first, int64_t n,
                       const struct cw_arrow_slab *dictionary, struct cw_arrow_slab *ret_slab,
                       struct cw_err *err)
{
    return read_slab(file, head, want, batch, places, first, n, dictionary, false, ret_slab, err);
}

/* ---- dictionaries ---- */

/* Makes room for n values in all. */
static bool grow(struct cw_arrow_slab *slab, size_t n)
{
    void *values = slab->width > 0
                       ? cw_mem_try_grow(slab->fixed, CW_MAX(n * slab->width, 1))
                       : cw_mem_try_grow(slab->strings.v, CW_MAX(n, 1) * sizeof(*slab->strings.v));
    uint8_t *null = cw_mem_try_grow(slab->null, CW_MAX(n, 1));
    if (values && slab->width > 0)
        slab->fixed = values;
    else if (values)
        slab->strings.v = values;
    if (null)
        slab->null = null;
    return values && null;
}

/* Appends the values of `more` to those of a dictionary. */
static const char *append(struct cw_arrow_slab *to, const struct cw_arrow_slab *more)
{
    const size_t at = to->rows, n = more->rows, used = to->strings.used;
    if (at + n > to->strings.max / (to->width ? to->width : sizeof(struct cw_byte_ref)))
        return "its dictionary has more values than the limit";
    if (!grow(to, at + n))
        return "no memory for its dictionary";
    const char *fault = cw_byte_strings_room(&to->strings, more->strings.used);
    if (fault)
        return fault;
    if (to->width > 0 && n > 0)
        memcpy(to->fixed + at * to->width, more->fixed, n * to->width);
    for (size_t i = 0; to->width == 0 && i < n; i++)
        to->strings.v[at + i] =
            (struct cw_byte_ref){.at = used + more->strings.v[i].at, .n = more->strings.v[i].n};
    if (more->strings.used > 0)
        memcpy(to->strings.bytes + used, more->strings.bytes, more->strings.used);
    for (size_t i = 0; i < n; i++)
        to->null[at + i] = more->null ? more->null[i] : 0;
    to->strings.used += more->strings.used;
    to->strings.n += to->width > 0 ? 0 : n;
    to->bytes += more->bytes;
    to->rows = to->values_n = at + n;
    return NULL;
}

static int read_part(const struct cw_readable *file, const struct cw_arrow_head *head,
                     const struct cw_arrow_want *want, const struct cw_arrow_batch *part,
                     struct cw_arrow_slab *slab, struct cw_err *err)
{
    struct cw_arrow_slab more;
    struct cw_arrow_places places;
    int rc = cw_arrow_places_read(file, part, true, &places, err);
    if (rc < 0)
        return rc;
    rc = read_slab(file, head, want, part, &places, 0, -1, NULL, true, &more, err);
    cw_arrow_places_fini(&places);
    if (rc < 0)
        return rc;
    const char *fault = append(slab, &more);
    cw_arrow_slab_fini(&more);
    return fault ? cw_err_set(err, CW_E_NOMEM, "%s: column %s: %s", file->name,
                              head->leaves[want->leaf].name, fault)
                 : 0;
}

int cw_arrow_dictionary_read(const struct cw_readable *file, const struct cw_arrow_head *head,
                             const struct cw_arrow_want *want, const struct cw_arrow_batch *batch,
                             struct cw_arrow_slab *ret_slab, struct cw_err *err)
{
    const struct cw_arrow_node *node = &head->nodes[head->leaves[want->leaf].node];
    struct cw_arrow_slab slab = {.width = node->layout == CW_ARROW_STRINGS ? 0 : node->width,
                                 .strings.max = want->bytes_max};
    size_t first = batch->dictionaries, i;
    int rc = 0;
    for (i = 0; i < batch->dictionaries; i++)
        if (head->dictionaries[i].id == node->dictionary &&
            (!head->dictionaries[i].is_delta || first == batch->dictionaries))
            first = i;
    if (first == batch->dictionaries)
        rc = cw_err_set(err, CW_E_CORRUPT, "%s: column %s has no dictionary", file->name,
                        head->leaves[want->leaf].name);
    for (i = first; rc == 0 && i < batch->dictionaries; i++)
        if (head->dictionaries[i].id == node->dictionary)
            rc = read_part(file, head, want, &head->dictionaries[i], &slab, err);
    if (rc < 0)
        cw_arrow_slab_fini(&slab);
    else
        *ret_slab = slab;
    return rc;
}
