/* SPDX-License-Identifier: Apache-2.0 */
/* Ids are usually positions, small and dense. Their places are kept in pages of 512 (8 bytes a
 * record), and a hash table finds the page. Ids of several mixed sources lie anywhere in 64 bits:
 * each has a cell of its own in a second hash table. Tables only grow. Readers may still look into
 * a table that was replaced, so old tables are kept until the end; together they are at most half
 * as large as the present one. */
#include <string.h>

#include "cache/record/record_state.h"

#define PAGE_BITS 9
#define PAGE_N ((size_t)1 << PAGE_BITS)
/* ids at least this large are taken to come from several mixed sources */
#define FAR ((uint64_t)1 << 40)
#define FIRST_CAP 64

struct cell {
    _Atomic uint64_t key; /* 0: the cell is empty; a key never changes once it is set */
    _Atomic uint64_t value;
};
struct page {
    _Atomic uint64_t places[PAGE_N];
};
struct cw_id_table {
    struct cw_id_table *older;
    size_t cap, n;
    struct cell cells[];
};

static struct cell *probe(struct cw_id_table *table, uint64_t key)
{
    for (size_t i = (size_t)cw_mix64(key);; i++) {
        struct cell *cell = &table->cells[i & (table->cap - 1)];
        uint64_t k = atomic_load_explicit(&cell->key, memory_order_acquire);

        if (k == key || k == 0)
            return cell;
    }
}

static uint64_t table_get(const _Atomic(struct cw_id_table *) *root, uint64_t key)
{
    struct cw_id_table *table = atomic_load_explicit(root, memory_order_acquire);
    struct cell *cell = table ? probe(table, key) : NULL;

    return cell && atomic_load_explicit(&cell->key, memory_order_acquire)
               ? atomic_load_explicit(&cell->value, memory_order_acquire)
               : 0;
}

static void enter(struct cw_id_table *table, uint64_t key, uint64_t value)
{
    struct cell *cell = probe(table, key);

    atomic_store_explicit(&cell->value, value, memory_order_release);
    if (atomic_load_explicit(&cell->key, memory_order_relaxed) == 0) {
        atomic_store_explicit(&cell->key, key, memory_order_release);
        table->n++;
    }
}

/* Returns a table with room for one more key, or NULL if there is no memory. */
static struct cw_id_table *table_with_room(_Atomic(struct cw_id_table *) *root)
{
    struct cw_id_table *table = atomic_load_explicit(root, memory_order_relaxed);

    if (table && table->n < table->cap / 8 * 5)
        return table;
    size_t cap = table ? 2 * table->cap : FIRST_CAP;
    struct cw_id_table *bigger = cw_mem_try(sizeof(*bigger) + cap * sizeof(struct cell));
    if (!bigger)
        return NULL;
    memset(bigger, 0, sizeof(*bigger) + cap * sizeof(struct cell));
    bigger->cap = cap;
    bigger->older = table;
    for (size_t i = 0; table && i < table->cap; i++) {
        uint64_t value = atomic_load_explicit(&table->cells[i].value, memory_order_relaxed);

        if (value)
            enter(bigger, atomic_load_explicit(&table->cells[i].key, memory_order_relaxed), value);
    }
    atomic_store_explicit(root, bigger, memory_order_release);
    return bigger;
}

static bool table_set(_Atomic(struct cw_id_table *) *root, uint64_t key, uint64_t value)
{
    struct cw_id_table *table = atomic_load_explicit(root, memory_order_relaxed);

    /* Setting a key that is in the table cannot fail; removing one that is not in it does
     * nothing. */
    if (table && atomic_load_explicit(&probe(table, key)->key, memory_order_relaxed) == key) {
        enter(table, key, value);
        return true;
    }
    if (!value)
        return true;
    table = table_with_room(root);
    if (table)
        enter(table, key, value);
    return table != NULL;
}

static struct page *page_of(uint64_t value)
{
    /* Cells hold numbers; the number of a page is its address. */
    return (struct page *)(uintptr_t)value;
}

uint64_t cw_id_map_get(const struct cw_id_map *ids, uint64_t id)
{
    if (CW_UNLIKELY(id >= FAR))
        return table_get(&ids->far, id);
    struct page *page = page_of(table_get(&ids->pages, (id >> PAGE_BITS) + 1));
    return page ? atomic_load_explicit(&page->places[id & (PAGE_N - 1)], memory_order_acquire) : 0;
}

bool cw_id_map_set(struct cw_id_map *ids, uint64_t id, uint64_t place)
{
    if (id >= FAR)
        return table_set(&ids->far, id, place);
    uint64_t key = (id >> PAGE_BITS) + 1;
    struct page *page = page_of(table_get(&ids->pages, key));
    if (!page) {
        if (!place)
            return true;
        page = cw_mem_try_aligned(64, sizeof(*page));
        if (!page)
            return false;
        memset(page, 0, sizeof(*page));
        if (!table_set(&ids->pages, key, (uintptr_t)page)) {
            cw_mem_free(page);
            return false;
        }
    }
    atomic_store_explicit(&page->places[id & (PAGE_N - 1)], place, memory_order_release);
    return true;
}

static void free_tables(struct cw_id_table *table)
{
    while (table) {
        struct cw_id_table *older = table->older;

        cw_mem_free(table);
        table = older;
    }
}

void cw_id_map_fini(struct cw_id_map *ids)
{
    struct cw_id_table *pages = atomic_load(&ids->pages);

    for (size_t i = 0; pages && i < pages->cap; i++)
        cw_mem_free(page_of(atomic_load_explicit(&pages->cells[i].value, memory_order_relaxed)));
    free_tables(pages);
    free_tables(atomic_load(&ids->far));
}
