/* SPDX-License-Identifier: Apache-2.0 */
/* Memory. Small control structures come from cw_mem_new and friends, which never return NULL: a
 * process that cannot get a few bytes ends with a message (docs/decisions/0001-memory.md). Sizes
 * that data, a peer or a file decide go through cw_mem_try*, whose NULL the caller turns into
 * CW_E_NOMEM. */
#ifndef CW_BASE_MEM_H
#define CW_BASE_MEM_H

#include <stdarg.h>
#include <stdbool.h>
#include "base/compiler.h"

void *cw_mem_new(size_t bytes) CW_MUST_CHECK; /* zeroed, never NULL */
/* zeroed, overflow-checked, never NULL */
void *cw_mem_new_array(size_t n, size_t size) CW_MUST_CHECK;
/* like realloc to n*size; never NULL */
void *cw_mem_grow(void *p, size_t n, size_t size) CW_MUST_CHECK;
/* Not zeroed; returns NULL if there is no memory. */
void *cw_mem_try(size_t bytes) CW_MUST_CHECK;
/* Like realloc; returns NULL if there is no memory, and then p stays valid. */
void *cw_mem_try_grow(void *p, size_t bytes) CW_MUST_CHECK;
void *cw_mem_try_aligned(size_t align, size_t bytes) CW_MUST_CHECK;
/* Allocates memory for large data: aligned to a page, and in huge pages if the size is a multiple
 * of those (which means fewer page faults, and longer transfers of devices). */
#define CW_MEM_PAGE ((size_t)4096)
void *cw_mem_try_pages(size_t bytes) CW_MUST_CHECK;
/* Large memory that is about to be written from end to end: the system gives all of it at once, which costs a part
 * of what a fault for each page does. Only a hint. */
void cw_mem_prefault(void *p, size_t bytes);
/* Returns the bytes that the allocator uses for an allocation of so many bytes: with its header,
 * and rounded up to its step, or to pages if it is large. */
size_t cw_mem_cost(size_t bytes);
void cw_mem_free(void *p); /* also frees memory of try_aligned and try_pages; accepts NULL */
char *cw_mem_strdup(const char *s) CW_MUST_CHECK; /* NULL gives NULL */
char *cw_mem_strndup(const char *s, size_t n) CW_MUST_CHECK;
void *cw_mem_dup(const void *p, size_t bytes) CW_MUST_CHECK;
/* Copies data that are not read again soon. Larger pieces bypass the processor's caches, whose
 * contents stay, and dst is not read first (non-temporal stores). */
void cw_mem_copy_nontemporal(void *restrict dst, const void *restrict src, size_t n);
/* What this thread has written past the caches is seen by others before what it writes from here on. The
 * copy above does so itself. */
void cw_mem_fence_nontemporal(void);
char *cw_mem_printf(const char *fmt, ...) CW_PRINTF(1, 2) CW_MUST_CHECK;

/* A reserve for emergencies. cw_mem_reserve sets so many bytes aside. When an allocation, large
 * or small, finds no memory, the reserve is freed, once, so that small allocations go on
 * succeeding. Whoever polls cw_mem_is_short then frees memory, and calls cw_mem_give_back, which
 * sets the reserve aside again and returns the allocator's idle memory to the system. Any
 * thread. */
void cw_mem_reserve(size_t bytes);
bool cw_mem_is_short(void);
void cw_mem_give_back(void);

#define CW_NEW(type) ((type *)cw_mem_new(sizeof(type)))
#define CW_NEW_ARRAY(type, n) ((type *)cw_mem_new_array((n), sizeof(type)))
/* Makes room for one more entry in a growable array {array, n, cap}. */
#define CW_GROW(array, n, cap)                                                                     \
    do {                                                                                           \
        if ((n) >= (cap)) {                                                                        \
            (cap) = (cap) ? 2 * (cap) : 8;                                                         \
            (array) = cw_mem_grow((array), (cap), sizeof(*(array)));                               \
        }                                                                                          \
    } while (0)

/* `cw_autofree char *s = ...;` frees at the end of the scope. */
void cw_mem_free_at(void *p_to_pointer);
#define cw_autofree CW_CLEANUP(cw_mem_free_at)
/* Hands over an owned pointer: returns it, and leaves NULL behind. */
#define cw_steal(p) cw_mem_steal((void *)(p))
void *cw_mem_steal(void *p_to_pointer);

#endif
