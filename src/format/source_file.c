/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of sources, through the hook of the source cache if one is set. */
#include "format/source_file.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"

static _Atomic(const struct cw_source_hook *) hook_of_process;
static _Thread_local uint64_t store_of_thread;

static const struct cw_source_hook *hook(void)
{
    return atomic_load_explicit(&hook_of_process, memory_order_acquire);
}

void cw_source_hook_set(const struct cw_source_hook *h)
{
    atomic_store_explicit(&hook_of_process, h, memory_order_release);
}

bool cw_source_is_cached(void)
{
    return hook() != NULL;
}

void cw_source_use_store(uint64_t cache_id)
{
    store_of_thread = cache_id;
}

uint64_t cw_source_store_used(void)
{
    return store_of_thread;
}

int cw_source_read(const struct cw_source_file *file, uint64_t offset, void *dst, size_t n,
                   struct cw_err *err)
{
    const struct cw_source_hook *h = hook();
    return h ? h->read(h->arg, file, offset, dst, n, err)
             : cw_io_read(file->io, offset, dst, n, file->stop, err);
}

void cw_source_ahead(struct cw_ahead *ahead, const char *path, const struct cw_file_stamp *stamp,
                     uint64_t offset, uint64_t n)
{
    const struct cw_source_hook *h = hook();
    uint64_t size = (uint64_t)stamp->size;
    if (offset >= size || !cw_ahead_is_for(path))
        return;
    n = CW_MIN(n, size - offset);
    if (h && h->ahead)
        h->ahead(h->arg, ahead, path, stamp, offset, n);
    else
        cw_ahead_add(ahead, path, offset, n);
}

bool cw_source_keeps(void)
{
    const struct cw_source_hook *h = hook();
    return h && h->keeps && h->keeps(h->arg);
}

int cw_source_block_get(const struct cw_source_file *file, uint64_t block, bool load,
                        struct cw_source_block *ret_block, struct cw_err *err)
{
    const struct cw_source_hook *h = hook();
    uint64_t begin = block * CW_SOURCE_BLOCK_BYTES;
    if (block >= cw_source_blocks(file->stamp.size))
        return cw_err_set(err, CW_E_INVALID, "%s: has no block %llu", file->path,
                          (unsigned long long)block);
    *ret_block = (struct cw_source_block){
        .bytes = CW_MIN((uint64_t)CW_SOURCE_BLOCK_BYTES, (uint64_t)file->stamp.size - begin)};
    if (h)
        return h->block(h->arg, file, block, load, ret_block, err);
    return load ? cw_err_set(err, CW_E_UNSUPPORTED,
                             "this worker has no source cache (cachew-worker --source-cache-dir "
                             "and others)")
                : 0;
}

bool cw_source_is_settled(const struct cw_source_file *file, int64_t age_ms)
{
    if (file->io->info.is_object)
        return file->io->info.version[0] != '\0';
    return cw_clock_wall_ms() - file->stamp.mtime_ns / 1000000 >= age_ms;
}

static int read_source(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    return cw_source_read(arg, offset, dst, n, err);
}

struct cw_readable cw_source_readable(const struct cw_source_file *file)
{
    struct cw_readable readable = {
        .name = file->path, .size = (uint64_t)file->stamp.size, .read_at = read_source};
    memcpy(&readable.arg, &file, sizeof(file)); /* read_source only reads through it */
    return readable;
}
