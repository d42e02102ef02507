/* SPDX-License-Identifier: Apache-2.0 */
/* Whose memory it is. An actor that is killed loses all that was allocated while it ran, by its own
 * code and by libraries: so the allocator is ours here, and keeps a list of blocks per actor. Under
 * the address sanitizer, which has an allocator of its own, its hooks keep a table. */
#include "core.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif

static struct sim_mem *owner; /* of what is allocated now */

struct sim_mem *sim_mem_enter(struct sim_mem *mem)
{
    struct sim_mem *before = owner;

    owner = mem;
    return before;
}

#ifndef HAS_ASAN
#define MAGIC 0x5349d00du
#define MAPPED_BYTES (1 << 20) /* blocks of so many are mapped */

struct block { /* right before what the caller gets */
    struct block *prev, *next;
    struct sim_mem *owner; /* NULL: nobody's, not in a list */
    size_t bytes;
    void *base; /* what the C library gave; NULL: of a pool */
    uint64_t magic;
};
_Static_assert(sizeof(struct block) % 16 == 0, "what follows a block must be aligned");

struct sim_mem {
    struct block blocks; /* a ring */
    size_t n, bytes;
};

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t bytes);
void __libc_free(void *p);

struct sim_mem *sim_mem_open(void)
{
    struct sim_mem *mem = __libc_malloc(sizeof(*mem));

    mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES); /* else it grows with what is freed */

    if (!mem)
        abort();
    *mem = (struct sim_mem){.n = 0};
    mem->blocks.prev = mem->blocks.next = &mem->blocks;
    return mem;
}

static void link_block(struct block *block)
{
    struct sim_mem *mem = block->owner;

    if (!mem)
        return;
    block->prev = mem->blocks.prev;
    block->next = &mem->blocks;
    block->prev->next = block->next->prev = block;
    mem->n++;
    mem->bytes += block->bytes;
}

static void unlink_block(struct block *block)
{
    struct sim_mem *mem = block->owner;

    if (!mem)
        return;
    block->prev->next = block->next;
    block->next->prev = block->prev;
    mem->n--;
    mem->bytes -= block->bytes;
}

/* Small blocks come from pools by their size, which is a multiple of POOL_STEP. They are most of all,
 * and the C library would take longer. What is free is kept, also for other actors. */
#define POOL_STEP 64
#define POOLS_N 24
#define POOL_BYTES ((size_t)1 << 18)
struct idle {
    struct idle *next;
};
static struct idle *pools[POOLS_N];

static size_t pool_of(size_t bytes)
{
    return (sizeof(struct block) + bytes + POOL_STEP - 1) / POOL_STEP;
}

static void fill_pool(size_t which)
{
    size_t size = which * POOL_STEP;
    char *at = __libc_malloc(POOL_BYTES);

    for (size_t i = 0; at && i < POOL_BYTES / size; i++, at += size) {
        struct idle *idle = (struct idle *)(void *)at;
        idle->next = pools[which];
        pools[which] = idle;
    }
}

static struct block *take_pooled(size_t bytes, bool zeroed)
{
    size_t which = pool_of(bytes);

    if (!pools[which])
        fill_pool(which);
    struct idle *idle = pools[which];
    if (!idle)
        return NULL;
    pools[which] = idle->next;
    if (zeroed)
        memset((struct block *)(void *)idle + 1, 0, bytes);
    return (void *)idle;
}

static void give_pooled(struct block *block)
{
    struct idle *idle = (struct idle *)(void *)block;
    size_t which = pool_of(block->bytes);

    idle->next = pools[which];
    pools[which] = idle;
}

static void *take(size_t align, size_t bytes, bool zeroed)
{
    if (align <= 16 && bytes <= (POOLS_N - 1) * POOL_STEP - sizeof(struct block)) {
        struct block *block = take_pooled(bytes, zeroed);
        if (!block)
            return NULL;
        *block = (struct block){.owner = owner, .bytes = bytes, .magic = MAGIC};
        link_block(block);
        return block + 1;
    }
    size_t extra = sizeof(struct block) + (align > 16 ? align : 0);

    if (bytes > SIZE_MAX / 2 || align > SIZE_MAX / 4) {
        errno = ENOMEM;
        return NULL;
    }
    /* Large ones are mapped, and pages of them that nobody touches cost nothing. */
    char *base = zeroed ? __libc_calloc(1, extra + bytes) : __libc_malloc(extra + bytes);
    if (!base)
        return NULL;
    uintptr_t at = (uintptr_t)base + sizeof(struct block);
    if (align > 16)
        at = (at + align - 1) & ~(uintptr_t)(align - 1);
    struct block *block = (struct block *)(at - sizeof(struct block));
    *block = (struct block){.owner = owner, .bytes = bytes, .base = base, .magic = MAGIC};
    link_block(block);
    return (void *)at;
}

static struct block *block_of(void *p)
{
    struct block *block = (struct block *)p - 1;

    if (block->magic != MAGIC)
        abort(); /* not from here, or freed before */
    return block;
}

static void give(struct block *block)
{
    unlink_block(block);
    block->magic = 0;
    if (block->base)
        __libc_free(block->base);
    else
        give_pooled(block);
}

__attribute__((visibility("default"))) void *malloc(size_t bytes)
{
    return take(16, bytes, false);
}

__attribute__((visibility("default"))) void free(void *p)
{
    if (p)
        give(block_of(p));
}

__attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / 4 / size) {
        errno = ENOMEM;
        return NULL;
    }
    return take(16, n * size, true);
}

__attribute__((visibility("default"))) void *realloc(void *p, size_t bytes)
{
    if (!p)
        return take(16, bytes, false);
    struct block *block = block_of(p);
    struct sim_mem *mem = sim_mem_enter(block->owner);
    void *new = take(16, bytes, false);
    if (new) {
        memcpy(new, p, block->bytes < bytes ? block->bytes : bytes);
        give(block);
    }
    sim_mem_enter(mem);
    return new;
}

__attribute__((visibility("default"))) void *aligned_alloc(size_t align, size_t bytes)
{
    return take(align, bytes, false);
}

__attribute__((visibility("default"))) void *memalign(size_t align, size_t bytes)
{
    return take(align, bytes, false);
}

__attribute__((visibility("default"))) int posix_memalign(void **ret, size_t align, size_t bytes)
{
    void *p = take(align, bytes, false);

    if (!p)
        return ENOMEM;
    *ret = p;
    return 0;
}

__attribute__((visibility("default"))) size_t malloc_usable_size(void *p)
{
    return p ? block_of(p)->bytes : 0;
}

void sim_mem_close(struct sim_mem *mem, size_t *ret_blocks, size_t *ret_bytes)
{
    *ret_blocks = mem->n;
    *ret_bytes = mem->bytes;
    while (mem->blocks.next != &mem->blocks)
        give(mem->blocks.next);
    __libc_free(mem);
}

#else /* HAS_ASAN */
#include <sys/mman.h>

/* Of the sanitizer's runtime; gcc has no header for them. */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                              void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *p);

/* Every block of every actor: open addressing, keyed by address. */
struct entry {
    const volatile void *p; /* NULL: empty */
    struct sim_mem *owner;  /* NULL: taken out */
};
static struct entry *table;
static size_t table_cap, table_used; /* used: taken out ones too */
struct sim_mem {
    size_t n, bytes;
};
static bool is_hooked;

static size_t slot_of(const volatile void *p, const struct entry *at, size_t cap)
{
    size_t i = (size_t)(((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u >> 20) & (cap - 1);

    while (at[i].p && at[i].p != p)
        i = (i + 1) & (cap - 1);
    return i;
}

static struct entry *map_table(size_t cap)
{
    void *p = mmap(NULL, cap * sizeof(struct entry), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        abort();
    return p;
}

static void grow(void)
{
    size_t live = 0;
    for (size_t i = 0; i < table_cap; i++)
        live += table[i].owner != NULL;
    size_t cap = table_cap ? table_cap : 1 << 16;
    while (live * 4 > cap)
        cap *= 2;
    struct entry *next = map_table(cap);
    for (size_t i = 0; i < table_cap; i++)
        if (table[i].owner)
            next[slot_of(table[i].p, next, cap)] = table[i];
    if (table)
        munmap(table, table_cap * sizeof(struct entry));
    table = next;
    table_cap = cap;
    table_used = live;
}

static void on_malloc(const volatile void *p, size_t bytes)
{
    (void)bytes;
    if (!owner || !p)
        return;
    if (2 * (table_used + 1) > table_cap)
        grow();
    struct entry *entry = &table[slot_of(p, table, table_cap)];
    table_used += entry->p == NULL;
    *entry = (struct entry){.p = p, .owner = owner};
    owner->n++;
}

static void on_free(const volatile void *p)
{
    if (!table || !p)
        return;
    struct entry *entry = &table[slot_of(p, table, table_cap)];
    if (!entry->owner)
        return;
    entry->owner->n--;
    entry->owner = NULL;
}

struct sim_mem *sim_mem_open(void)
{
    if (!is_hooked && __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) == 0)
        abort();
    is_hooked = true;
    struct sim_mem *before = sim_mem_enter(NULL), *mem = calloc(1, sizeof(*mem));
    sim_mem_enter(before);
    if (!mem)
        abort();
    return mem;
}

void sim_mem_close(struct sim_mem *mem, size_t *ret_blocks, size_t *ret_bytes)
{
    *ret_blocks = mem->n;
    *ret_bytes = 0;
    for (size_t i = 0; mem->n > 0 && i < table_cap; i++) {
        if (table[i].owner == mem) {
            void *p = (void *)(uintptr_t)table[i].p;
            *ret_bytes += __sanitizer_get_allocated_size(p);
            free(p); /* takes it out by the hook */
        }
    }
    free(mem);
}
#endif
