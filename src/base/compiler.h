/* SPDX-License-Identifier: Apache-2.0 */
/* Compiler attributes and small macros that every file may use. */
#ifndef CW_BASE_COMPILER_H
#define CW_BASE_COMPILER_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define CW_MUST_CHECK __attribute__((warn_unused_result))
#define CW_PRINTF(fmt_idx, args_idx) __attribute__((format(printf, fmt_idx, args_idx)))
#define CW_NORETURN __attribute__((noreturn))
#define CW_CLEANUP(fn) __attribute__((cleanup(fn)))
#define CW_LIKELY(x) __builtin_expect(!!(x), 1)
#define CW_UNLIKELY(x) __builtin_expect(!!(x), 0)

#define CW_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CW_MIN(a, b) ((a) < (b) ? (a) : (b))
#define CW_MAX(a, b) ((a) > (b) ? (a) : (b))
#define CW_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
/* Rounds x up to a multiple of a, a power of two. */
#define CW_ALIGN_UP(x, a) (((x) + ((a)-1)) & ~((a)-1))

/* Asserts what only a mistake in this program can violate; it is checked in every build. Errors
 * that input, a peer or a disk can cause are error codes, never assertions. */
#define CW_ASSERT(x) (CW_LIKELY(x) ? (void)0 : cw_assert_failed(#x, __FILE__, __LINE__))
CW_NORETURN void cw_assert_failed(const char *expr, const char *file, int line);

#endif
