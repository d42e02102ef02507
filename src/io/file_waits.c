/* SPDX-License-Identifier: Apache-2.0 */
/* A read is tried first so that the kernel gives what is there and does not wait (RWF_NOWAIT). File systems
 * that cannot do so are judged by how long a read took. To try costs a tenth of a read of 1 KB, so of small
 * reads, as long as hardly any wait, one in so many is tried. */
#include "io/file_waits.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"

#define ONE 65536       /* the share of reads that waited, as a number: all of them */
#define AVERAGED_LOG2 6 /* over how many reads it is averaged */
#define BEGIN_SHARE (ONE / 32)
#define END_SHARE (ONE / 256)
/* Longer reads have waited: so much, and a nanosecond a byte. */
#define SLOW_NS 500000
#define SMALL_BYTES ((size_t)16 << 10)
#define TRIED_OF_SMALL 8

static _Atomic int32_t share;
static atomic_bool waits_now;

/* Threads may overwrite each other's notes: the average does not need each of them. */
void cw_file_waits_note(bool has_waited)
{
    int32_t s = atomic_load_explicit(&share, memory_order_relaxed);
    if (s == 0 && !has_waited)
        return;
    int32_t step = ((has_waited ? ONE : 0) - s) / (1 << AVERAGED_LOG2);
    s = step == 0 && !has_waited ? 0 : s + step;
    atomic_store_explicit(&share, s, memory_order_relaxed);
    bool waits = s > (cw_file_waits() ? END_SHARE : BEGIN_SHARE);
    if (waits != cw_file_waits())
        atomic_store_explicit(&waits_now, waits, memory_order_relaxed);
}

bool cw_file_waits(void)
{
    return atomic_load_explicit(&waits_now, memory_order_relaxed);
}

void cw_file_waits_reset(void)
{
    atomic_store_explicit(&share, 0, memory_order_relaxed);
    atomic_store_explicit(&waits_now, false, memory_order_relaxed);
}

static ssize_t read_timed(int fd, void *dst, size_t n, uint64_t offset)
{
    int64_t begin = cw_clock_ns();
    ssize_t got = pread(fd, dst, n, (off_t)offset);
    cw_file_waits_note(cw_clock_ns() - begin > SLOW_NS + (int64_t)n);
    return got;
}

ssize_t cw_file_read_noted(int fd, void *dst, size_t n, uint64_t offset, void (*waits)(void))
{
    static _Thread_local unsigned small;
    if (n < SMALL_BYTES && !cw_file_waits() && small++ % TRIED_OF_SMALL != 0)
        return pread(fd, dst, n, (off_t)offset);
    const struct iovec part = {dst, n};
    ssize_t got = preadv2(fd, &part, 1, (off_t)offset, RWF_NOWAIT);
    if (got < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL))
        return read_timed(fd, dst, n, offset);
    /* a short read is one that would have to wait for the rest, or that ends with the file: who asks for
     * what is there notes the former as it goes on */
    bool has_waited = got < 0 && errno == EAGAIN;
    cw_file_waits_note(has_waited);
    if (!has_waited)
        return got;
    if (waits)
        waits();
    return pread(fd, dst, n, (off_t)offset);
}
