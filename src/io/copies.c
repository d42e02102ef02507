/* SPDX-License-Identifier: Apache-2.0 */
#include "io/copies.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/str.h"

#define MAX_DEFAULT ((uint64_t)16 << 30)

static _Atomic uint64_t bytes, copied, max; /* max 0: it was not asked for yet */

static uint64_t max_of_environment(void)
{
    const char *text = getenv("CACHEW_SOURCE_COPIES");
    uint64_t n = 0;
    if (!text || !*text)
        return MAX_DEFAULT;
    if (cw_str_to_bytes(text, &n) && n > 0)
        return n;
    cw_log_warn("io", "CACHEW_SOURCE_COPIES is no number of bytes such as 20G: 16 GiB it is");
    return MAX_DEFAULT;
}

static uint64_t max_of(void)
{
    uint64_t n = atomic_load(&max);
    if (n == 0) {
        n = max_of_environment();
        atomic_store(&max, n);
    }
    return n;
}

int cw_io_copies_add(uint64_t n, struct cw_err *err)
{
    uint64_t limit = max_of();
    if (atomic_fetch_add(&bytes, n) + n <= limit) {
        atomic_fetch_add(&copied, n);
        return 0;
    }
    atomic_fetch_sub(&bytes, n);
    return cw_err_set(err, CW_E_IO,
                      "the server has no ranges, and copies of such objects would need more than "
                      "%llu bytes (CACHEW_SOURCE_COPIES)",
                      (unsigned long long)limit);
}

void cw_io_copies_remove(uint64_t n)
{
    atomic_fetch_sub(&bytes, n);
}

void cw_io_copies_get(struct cw_io_copies *ret_copies)
{
    *ret_copies = (struct cw_io_copies){atomic_load(&bytes), max_of(), atomic_load(&copied)};
}
