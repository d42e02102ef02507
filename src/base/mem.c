/* SPDX-License-Identifier: Apache-2.0 */
/* All memory of the process is allocated here: no other file calls malloc and its like. */
#include "base/mem.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Larger sizes are never granted: they come from damaged input, and sanitizers end a process that
 * asks for them. */
#define TRY_MAX ((size_t)1 << 39)
#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE ((size_t)128 << 10) /* the allocator may give such an allocation pages of its own */

static CW_NORETURN void die(size_t bytes)
{
    fprintf(stderr, "level=error mod=mem msg=\"out of memory\" bytes=%zu\n", bytes);
    abort();
}

/* ---- the reserve for emergencies ---- */

static _Atomic(void *) reserve;
static size_t reserve_bytes; /* set once, before other threads exist */

/* Takes the reserve: address space that counts against limits, but uses no memory until it is
 * touched. */
static void take_reserve(void)
{
    void *none = NULL,
         *p = mmap(NULL, reserve_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p != MAP_FAILED && !atomic_compare_exchange_strong(&reserve, &none, p))
        munmap(p, reserve_bytes);
}

/* Frees the reserve. Returns whether there was one. */
static bool free_reserve(void)
{
    void *p = atomic_exchange(&reserve, NULL);

    return p && munmap(p, reserve_bytes) == 0;
}

void cw_mem_reserve(size_t bytes)
{
    reserve_bytes = bytes;
    take_reserve();
}

bool cw_mem_is_short(void)
{
    return reserve_bytes > 0 && !atomic_load_explicit(&reserve, memory_order_relaxed);
}

void cw_mem_give_back(void)
{
    malloc_trim(0);
    if (cw_mem_is_short())
        take_reserve();
}

/* Finishes a large allocation, for data: without memory the caller gets NULL. */
static void *finish_large(void *p)
{
    if (CW_UNLIKELY(!p))
        (void)free_reserve();
    return p;
}

/* ---- allocations ---- */

static size_t product(size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes))
        die(SIZE_MAX);
    return bytes;
}

void *cw_mem_new(size_t bytes)
{
    void *p = calloc(1, bytes ? bytes : 1);

    if (CW_UNLIKELY(!p) && free_reserve())
        p = calloc(1, bytes ? bytes : 1);
    if (!p)
        die(bytes);
    return p;
}

void *cw_mem_new_array(size_t n, size_t size)
{
    return cw_mem_new(product(n, size));
}

void *cw_mem_grow(void *p, size_t n, size_t size)
{
    size_t bytes = product(n, size);
    void *q = realloc(p, bytes ? bytes : 1);

    if (CW_UNLIKELY(!q) && free_reserve())
        q = realloc(p, bytes ? bytes : 1);
    if (!q)
        die(bytes);
    return q;
}

void *cw_mem_try(size_t bytes)
{
    return bytes <= TRY_MAX ? finish_large(malloc(bytes ? bytes : 1)) : NULL;
}

void *cw_mem_try_grow(void *p, size_t bytes)
{
    return bytes <= TRY_MAX ? finish_large(realloc(p, bytes ? bytes : 1)) : NULL;
}

void *cw_mem_try_aligned(size_t align, size_t bytes)
{
    void *p = NULL;

    if (bytes > TRY_MAX)
        return NULL;
    return finish_large(posix_memalign(&p, align, bytes ? bytes : 1) == 0 ? p : NULL);
}

void *cw_mem_try_pages(size_t bytes)
{
    const size_t align = bytes && bytes % HUGE_PAGE == 0 ? HUGE_PAGE : CW_MEM_PAGE;
    void *p = cw_mem_try_aligned(align, bytes);

    if (p && align == HUGE_PAGE)
        (void)madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

/* Less costs about as much page by page. */
#define PREFAULT_MIN ((size_t)64 << 10)

void cw_mem_prefault(void *p, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    const uintptr_t begin = CW_ALIGN_UP((uintptr_t)p, (uintptr_t)CW_MEM_PAGE),
                    end = ((uintptr_t)p + bytes) & ~((uintptr_t)CW_MEM_PAGE - 1);
    if (bytes >= PREFAULT_MIN)
        (void)madvise((char *)p + (begin - (uintptr_t)p), end - begin, MADV_POPULATE_WRITE);
#else
    (void)p;
    (void)bytes;
#endif
}

#ifdef __SSE2__
/* smaller copies would soon be evicted from the caches anyway */
#define NONTEMPORAL_MIN ((size_t)16 << 10)
#define LINE ((size_t)64)

static void stream_lines(char *restrict dst, const char *restrict src, size_t n)
{
    for (size_t at = 0; at < n; at += LINE)
        for (size_t i = 0; i < LINE; i += sizeof(__m128i))
            _mm_stream_si128((__m128i *)(void *)(dst + at + i),
                             _mm_loadu_si128((const __m128i *)(const void *)(src + at + i)));
    _mm_sfence();
}
#endif

void cw_mem_fence_nontemporal(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

void cw_mem_copy_nontemporal(void *restrict dst, const void *restrict src, size_t n)
{
    char *to = dst;
    const char *from = src;

    if (n == 0)
        return;
#ifdef __SSE2__
    if (n >= NONTEMPORAL_MIN) {
        size_t first = (size_t)(-(uintptr_t)to % LINE), whole = (n - first) / LINE * LINE;

        memcpy(to, from, first);
        stream_lines(to + first, from + first, whole);
        to += first + whole;
        from += first + whole;
        n -= first + whole;
    }
#endif
    memcpy(to, from, n);
}

size_t cw_mem_cost(size_t bytes)
{
    const size_t head = sizeof(size_t), step = 2 * sizeof(size_t);

    if (bytes >= LARGE)
        return bytes > SIZE_MAX - 2 * CW_MEM_PAGE ? SIZE_MAX
                                                  : CW_ALIGN_UP(bytes + step, CW_MEM_PAGE);
    return CW_MAX(CW_ALIGN_UP(bytes + head, step), 2 * step);
}

void cw_mem_free(void *p)
{
    free(p);
}

char *cw_mem_strdup(const char *s)
{
    return s ? cw_mem_dup(s, strlen(s) + 1) : NULL;
}

char *cw_mem_strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = cw_mem_new(len + 1);

    memcpy(copy, s, len);
    return copy;
}

void *cw_mem_dup(const void *p, size_t bytes)
{
    void *copy = malloc(bytes ? bytes : 1);

    if (CW_UNLIKELY(!copy) && free_reserve())
        copy = malloc(bytes ? bytes : 1);
    if (!copy)
        die(bytes);
    if (bytes)
        memcpy(copy, p, bytes);
    return copy;
}

char *cw_mem_printf(const char *fmt, ...)
{
    va_list args;
    char *s = NULL;

    va_start(args, fmt);
    int n = vasprintf(&s, fmt, args);
    va_end(args);
    if (n < 0)
        die(0);
    return s;
}

void cw_mem_free_at(void *p_to_pointer)
{
    free(cw_mem_steal(p_to_pointer));
}

/* memcpy is used because the type of the pointer is not known here. */
void *cw_mem_steal(void *p_to_pointer)
{
    void *p;
    void *null = NULL;

    memcpy(&p, p_to_pointer, sizeof(p));
    memcpy(p_to_pointer, &null, sizeof(null));
    return p;
}
