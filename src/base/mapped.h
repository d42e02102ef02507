/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory whose pages may turn out to be unreadable: the file is cut short, or its disk
 * fails. The kernel says so by SIGBUS to whoever touches such a page. Here a handler of that
 * signal puts zeros in the place of the whole mapping, so the thread goes on and the process
 * lives; the user looks at the mapping after each use (cw_mapped_is_broken) and drops what was
 * made from it.
 *
 * The handler is installed with the first mapping of the process, so a process that maps nothing
 * has none. A SIGBUS at any other address goes to the handler that was there before, or ends the
 * process as it does without this one. Any thread may call these functions. */
#ifndef CW_BASE_MAPPED_H
#define CW_BASE_MAPPED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include "base/compiler.h"

struct cw_mapped;
/* The first `bytes` bytes of a file, to be read. NULL: the kernel does not map it, or too many
 * are mapped. */
struct cw_mapped *cw_mapped_new(int fd, size_t bytes) CW_MUST_CHECK;
void cw_mapped_free(struct cw_mapped *mapped); /* nobody touches it any more; accepts NULL */
const void *cw_mapped_data(const struct cw_mapped *mapped);
/* Whether a page could not be read, so that all of it is zeros now; *ret_offset: where that was
 * found. */
bool cw_mapped_is_broken(const struct cw_mapped *mapped, size_t *ret_offset /* may be NULL */);

/* What the caller read before this is older than what it reads after it: for who looks whether
 * bytes that were used are good. */
static inline void cw_mapped_fence(void)
{
#if defined(__SANITIZE_THREAD__)
    /* gcc knows no other fence there; it keeps the compiler's order, and x86 keeps that of loads */
    atomic_signal_fence(memory_order_acquire);
#else
    atomic_thread_fence(memory_order_acquire);
#endif
}

#endif
