/* SPDX-License-Identifier: Apache-2.0 */
/* Memory-mapped files whose pages may become unreadable, because the file is truncated or its disk
 * fails. The kernel then sends SIGBUS to the thread that touches such a page. The handler of that
 * signal replaces the whole mapping by zeros, so the thread goes on and the process lives. The user
 * checks the mapping after each use (cw_mapped_is_broken), and drops what was made from it.
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
/* Maps the first `bytes` bytes of a file for reading. Returns NULL if the kernel cannot map it, or
 * too many files are mapped. */
struct cw_mapped *cw_mapped_new(int fd, size_t bytes) CW_MUST_CHECK;
/* Unmaps the file; no thread may use the memory any more. Accepts NULL. */
void cw_mapped_free(struct cw_mapped *mapped);
const void *cw_mapped_data(const struct cw_mapped *mapped);
/* Whether a page could not be read, so that the whole mapping is zeros now. *ret_offset: the offset
 * that was touched. */
bool cw_mapped_is_broken(const struct cw_mapped *mapped, size_t *ret_offset /* may be NULL */);

/* Orders the caller's reads before it and after it (acquire). It must be called after the bytes
 * were used and before cw_mapped_is_broken is asked. */
static inline void cw_mapped_fence(void)
{
#if defined(__SANITIZE_THREAD__)
    /* gcc knows no other fence there: this one keeps the compiler's order, and x86 keeps the order
     * of loads */
    atomic_signal_fence(memory_order_acquire);
#else
    atomic_thread_fence(memory_order_acquire);
#endif
}

#endif
