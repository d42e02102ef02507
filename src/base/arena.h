/* SPDX-License-Identifier: Apache-2.0 */
/* Bump allocator for one thread, for the memory that one element needs while it is computed. A
 * reset keeps the memory (at most `keep_bytes` of it), so that nothing is allocated once sizes have
 * settled. */
#ifndef CW_BASE_ARENA_H
#define CW_BASE_ARENA_H

#include "base/compiler.h"

struct cw_arena;
struct cw_arena *cw_arena_new(size_t keep_bytes) CW_MUST_CHECK;
void cw_arena_free(struct cw_arena *arena);
/* Returns memory that is aligned to 64 bytes and not zeroed, or NULL if there is none. For bytes 0
 * the pointer is valid. */
void *cw_arena_alloc(struct cw_arena *arena, size_t bytes) CW_MUST_CHECK;
void cw_arena_reset(struct cw_arena *arena);
/* From now on a reset keeps at most so many bytes. */
void cw_arena_set_keep(struct cw_arena *arena, size_t keep_bytes);
/* Resets it, and gives all its memory back. */
void cw_arena_trim(struct cw_arena *arena);
/* How much memory it has, in use or not. */
size_t cw_arena_bytes(const struct cw_arena *arena);
size_t cw_arena_used(const struct cw_arena *arena);

#endif
