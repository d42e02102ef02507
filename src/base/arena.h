/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocator for one thread, for the memory that one element needs while it is computed. Reset
 * keeps the memory (at most `keep_bytes` of it), so a steady state allocates nothing. */
#ifndef CW_BASE_ARENA_H
#define CW_BASE_ARENA_H

#include "base/compiler.h"

struct cw_arena;
struct cw_arena *cw_arena_new(size_t keep_bytes) CW_MUST_CHECK;
void cw_arena_free(struct cw_arena *arena);
/* 64-byte aligned, not zeroed; NULL when memory is short. bytes 0 gives a valid pointer. */
void *cw_arena_alloc(struct cw_arena *arena, size_t bytes) CW_MUST_CHECK;
void cw_arena_reset(struct cw_arena *arena);
size_t cw_arena_used(const struct cw_arena *arena);

#endif
