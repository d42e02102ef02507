/* SPDX-License-Identifier: Apache-2.0 */
/* Finds written pages in /proc/self/pagemap, 8 bytes a page: a page of the mapping that is not the
 * file's is a copy, which the first write has made. For a batch of 10 MB looking takes 0.1 to
 * 0.2 ms. To give up all of its pages, and to map them again, would take four times as long. */
#include "shm/private_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGES 1024 /* that are looked at with one call */
/* A mapping up to this size is given up whole: that costs less than looking. */
#define ALL_BYTES (64 << 10)

/* Bits of an entry (Documentation/admin-guide/mm/pagemap.rst). */
#define IS_THERE (UINT64_C(3) << 62) /* in memory, or swapped out */
#define IS_FILE (UINT64_C(1) << 61)  /* a page of the file */

static bool is_written(uint64_t entry)
{
    return (entry & IS_THERE) != 0 && (entry & IS_FILE) == 0;
}

/* Locked pages cannot be given up (EINVAL). */
static void give_up(char *data, size_t bytes)
{
    if (madvise(data, bytes, MADV_DONTNEED) != 0 && errno == EINVAL && munlock(data, bytes) == 0)
        (void)madvise(data, bytes, MADV_DONTNEED);
}

/* Drops what is written of n pages from `data` on. */
static void drop_runs(char *data, const uint64_t *entries, size_t n, size_t page)
{
    for (size_t i = 0; i < n; i++) {
        size_t begin = i;
        while (i < n && is_written(entries[i]))
            i++;
        if (i > begin)
            give_up(data + begin * page, (i - begin) * page);
    }
}

/* Returns how many pages of n were looked at: fewer if the kernel does not tell. */
static size_t drop_written(int pagemap, char *data, size_t n, size_t page)
{
    uint64_t entries[PAGES];
    size_t done = 0;
    while (done < n) {
        size_t wanted = n - done < PAGES ? n - done : PAGES;
        ssize_t got = pread(pagemap, entries, wanted * sizeof(entries[0]),
                            (off_t)(((uintptr_t)data / page + done) * sizeof(entries[0])));
        if (got < (ssize_t)sizeof(entries[0]))
            break;
        drop_runs(data + done * page, entries, (size_t)got / sizeof(entries[0]), page);
        done += (size_t)got / sizeof(entries[0]);
    }
    return done;
}

void cw_private_pages_drop(void *data, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = (bytes + page - 1) / page, done = 0;
    /* It is opened anew each time: in a forked child an older descriptor would tell of the parent. */
    int pagemap = bytes > ALL_BYTES ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
    if (pagemap >= 0) {
        done = drop_written(pagemap, data, n, page);
        close(pagemap);
    }
    if (done < n)
        give_up((char *)data + done * page, (n - done) * page);
}

static bool is_written_at(int pagemap, const void *at, size_t page)
{
    uint64_t entry = 0;
    off_t offset = (off_t)((uintptr_t)at / page * sizeof(entry));
    return pread(pagemap, &entry, sizeof(entry), offset) == sizeof(entry) && is_written(entry);
}

void cw_private_pages_check(void *data, size_t bytes, size_t cap)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int pagemap = bytes > 0 ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
    if (pagemap < 0)
        return;
    /* (Of a batch that was smaller only the first pages were given up.) */
    bool is_copied = is_written_at(pagemap, data, page) ||
                     is_written_at(pagemap, (const char *)data + bytes - 1, page);
    close(pagemap);
    if (is_copied && munlock(data, cap) == 0)
        give_up(data, cap);
}
