/* SPDX-License-Identifier: Apache-2.0 */
#include "bare_cached.h"

#include <fcntl.h>
#include <glusterfs/api/glfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "format/chunk.h"

static struct cw_mutex lock = CW_MUTEX_INIT;
static struct cw_cond changed;
static size_t under_way; /* lock */
static glfs_t *fs;
static char gluster_path[256];

void bare_die(const char *what, const struct cw_err *err)
{
    fprintf(stderr, "bench_cached: %s: %s\n", what, err && err->msg[0] ? err->msg : "failed");
    exit(1);
}

/* ---- where records are ---- */

static void find_records(struct bare *bare, struct cw_store *store, uint32_t chunk)
{
    struct cw_chunk_index *index = NULL;
    struct cw_err err = {0};

    if (cw_chunk_verify(store, bare->names[chunk], &index, &err) != 0)
        bare_die(bare->names[chunk], &err);
    for (uint32_t i = 0; i < index->records_n; i++) {
        const struct cw_chunk_frame *frame = &index->frames[index->records[i].frame];

        bare->records[index->records[i].id] = (struct bare_record){
            chunk, frame->offset + index->records[i].offset, frame->offset, frame->stored};
    }
    bare->bytes[chunk] =
        index->frames[index->frames_n - 1].offset + index->frames[index->frames_n - 1].stored;
    cw_chunk_index_free(index);
}

/* ---- files ---- */

static void connect_gluster(const char *url)
{
    char host[256], volume[256];

    cw_cond_init(&changed);
    if (sscanf(url, "gluster://%255[^/,]/%255[^/?]%255[^?]", host, volume, gluster_path) < 3)
        bare_die("a URL of one host and a path", NULL);
    fs = glfs_new(volume);
    if (!fs || glfs_set_volfile_server(fs, "tcp", host, 24007) != 0 ||
        glfs_set_logging(fs, "/dev/null", 5) != 0 || glfs_init(fs) != 0)
        bare_die("glfs_init", NULL);
}

static void *open_one(const struct bare *bare, size_t i)
{
    const char *dir = strchr(bare->url, ':') + 1;
    CW_CLEANUP(cw_mem_free_at)
    char *path = cw_mem_printf("%.*s/%s", (int)strcspn(dir, "?"), dir, bare->names[i]);

    if (bare->kind == BARE_GLUSTER) {
        CW_CLEANUP(cw_mem_free_at)
        char *there = cw_mem_printf("%s/%s", gluster_path, bare->names[i]);
        glfs_fd_t *fd = glfs_open(fs, there, O_RDONLY);

        if (!fd)
            bare_die(there, NULL);
        return fd;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        bare_die(path, NULL);
    if (bare->kind == BARE_READ)
        return (void *)(intptr_t)fd;
    void *map = mmap(NULL, bare->bytes[i], PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        bare_die("mmap", NULL);
    close(fd);
    return map;
}

static void close_one(const struct bare *bare, size_t i, void *opened)
{
    if (bare->kind == BARE_GLUSTER)
        glfs_close(opened);
    else if (bare->kind == BARE_READ)
        close((int)(intptr_t)opened);
    else
        munmap(opened, bare->bytes[i]);
}

void bare_open(struct bare *bare, struct cw_store *store)
{
    void **opened = CW_NEW_ARRAY(void *, bare->names_n);

    if (bare->kind == BARE_GLUSTER && !fs)
        connect_gluster(bare->url);
    bare->records = CW_NEW_ARRAY(struct bare_record, bare->records_n);
    bare->bytes = CW_NEW_ARRAY(uint64_t, bare->names_n);
    for (uint32_t i = 0; i < bare->names_n; i++) {
        find_records(bare, store, i);
        opened[i] = open_one(bare, i);
    }
    bare->opened = opened;
}

void bare_close(struct bare *bare)
{
    for (size_t i = 0; i < bare->names_n; i++)
        close_one(bare, i, bare->opened[i]);
    cw_mem_free((void *)(uintptr_t)bare->opened);
    cw_mem_free(bare->records);
    cw_mem_free(bare->bytes);
}

/* ---- the loops ---- */

static void leave(void)
{
    cw_mutex_lock(&lock);
    under_way--;
    cw_cond_signal(&changed);
    cw_mutex_unlock(&lock);
}

static void on_read(glfs_fd_t *fd, ssize_t n, struct glfs_stat *pre, struct glfs_stat *post,
                    void *arg)
{
    (void)fd, (void)pre, (void)post;
    if (n != (ssize_t)(intptr_t)arg)
        bare_die("glfs_pread_async", NULL);
    leave();
}

static void read_gluster(glfs_fd_t *fd, uint64_t offset, void *dst, size_t n)
{
    cw_mutex_lock(&lock);
    while (under_way == BARE_DEPTH)
        cw_cond_wait(&changed, &lock);
    under_way++;
    cw_mutex_unlock(&lock);
    if (glfs_pread_async(fd, dst, n, (off_t)offset, 0, on_read, (void *)(intptr_t)n) != 0)
        bare_die("glfs_pread_async", NULL);
}

static void bring(const struct bare *bare, uint32_t chunk, uint64_t offset, size_t n, size_t *at)
{
    void *from = bare->opened[chunk];

    if (*at + n > bare->ring_bytes)
        *at = 0;
    unsigned char *dst = bare->ring + *at;
    *at += CW_ALIGN_UP(n, (size_t)64);
    if (bare->kind == BARE_MAP)
        memcpy(dst, (const unsigned char *)from + offset, n);
    else if (bare->kind == BARE_GLUSTER)
        read_gluster(from, offset, dst, n);
    else if (pread((int)(intptr_t)from, dst, n, (off_t)offset) != (ssize_t)n)
        bare_die("pread", NULL);
}

/* before: the record that was brought last; NULL: none */
static uint64_t sum_frame(const struct bare *bare, const struct bare_record *before,
                          const struct bare_record *record)
{
    if (before && before->chunk == record->chunk && before->frame == record->frame)
        return 0;
    const unsigned char *map = bare->opened[record->chunk];
    return cw_hash_u64(map + record->frame, record->frame_bytes);
}

double bare_run(const struct bare *bare)
{
    static volatile uint64_t sums; /* so that they are computed */
    const struct bare_record *before = NULL;
    int64_t begin = cw_clock_ns();
    size_t at = 0;

    if (bare->order || bare->kind == BARE_MAP) {
        for (size_t i = 0; i < bare->records_n; i++) {
            const struct bare_record *record = &bare->records[bare->order ? bare->order[i] : i];

            if (bare->with_sums)
                sums = sums + sum_frame(bare, before, record);
            before = record;
            bring(bare, record->chunk, record->offset, bare->record_bytes, &at);
        }
    } else {
        for (uint32_t i = 0; i < bare->names_n; i++)
            for (uint64_t offset = 0; offset < bare->bytes[i]; offset += BARE_BLOCK)
                bring(bare, i, offset,
                      (size_t)CW_MIN(bare->bytes[i] - offset, (uint64_t)BARE_BLOCK), &at);
    }
    if (bare->kind == BARE_GLUSTER) {
        cw_mutex_lock(&lock);
        while (under_way)
            cw_cond_wait(&changed, &lock);
        cw_mutex_unlock(&lock);
    }
    return (double)(cw_clock_ns() - begin) * 1e-9;
}
