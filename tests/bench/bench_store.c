/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading files of a store beside a bare loop that does the same: pwrite and fsync,
 * mmap and memcpy for dir:; glfs_pwrite_async and glfs_pread_async of libgfapi with the same
 * block size (1 MiB) and depth (8) for gluster:. Both in turn, several rounds in one run; a line
 * each with the medians.
 *
 *   bench_store URL [FILES [MIB [ROUNDS]]]          default 8 files of 64 MiB, 5 rounds
 *
 * A volume to try it on: tests/support/glusterd.sh run 127.0.0.9 (prints URLs). Build with the
 * release preset and -DBUILD_TESTING=ON. */
#include <fcntl.h>
#include <glusterfs/api/glfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "cache/store/store.h"

#define BLOCK ((size_t)1 << 20)
#define DEPTH 8
#define ROUNDS_MAX 15

static size_t files = 8, blocks = 64, rounds = 5;
static const char *dir; /* of dir:, or NULL */
static char gluster_path[512];
static glfs_t *fs;
static uint8_t *data; /* of one file */
static struct cw_store *store;

static struct cw_mutex lock = CW_MUTEX_INIT;
static struct cw_cond changed;
static size_t under_way; /* lock */

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench_store: %s failed\n", what);
    exit(1);
}
static void enter(void)
{
    cw_mutex_lock(&lock);
    while (under_way == DEPTH)
        cw_cond_wait(&changed, &lock);
    under_way++;
    cw_mutex_unlock(&lock);
}
static void leave(void)
{
    cw_mutex_lock(&lock);
    under_way--;
    cw_cond_signal(&changed);
    cw_mutex_unlock(&lock);
}
static void drain(void)
{
    cw_mutex_lock(&lock);
    while (under_way > 0)
        cw_cond_wait(&changed, &lock);
    cw_mutex_unlock(&lock);
}

/* ---- the store ---- */

static void store_write(size_t i)
{
    struct iovec part = {data, blocks * BLOCK};
    struct cw_err err = {0};
    char name[32];

    snprintf(name, sizeof(name), "bench/%zu", i);
    if (cw_store_put(store, name, &part, 1, &err) < 0)
        fprintf(stderr, "%s\n", err.msg);
    must(err.code == 0, "put");
}
static void on_read(struct cw_store_read *read, int rc)
{
    (void)read;
    must(rc == 0, "read");
    leave();
}
static void store_read(size_t i, uint8_t *dst)
{
    struct cw_store_read *reads = CW_NEW_ARRAY(struct cw_store_read, blocks);
    struct cw_store_file *file;
    struct cw_err err = {0};
    uint64_t bytes;
    char name[32];

    snprintf(name, sizeof(name), "bench/%zu", i);
    must(cw_store_file_open(store, name, &file, &bytes, &err) == 0, "open");
    const uint8_t *map = cw_store_file_map(file);
    for (size_t b = 0; b < blocks; b++) {
        if (map) {
            memcpy(dst + b * BLOCK, map + b * BLOCK, BLOCK);
            continue;
        }
        enter();
        reads[b] = (struct cw_store_read){
            .file = file, .offset = b * BLOCK, .dst = dst + b * BLOCK, .n = BLOCK, .done = on_read};
        cw_store_file_read_start(&reads[b]);
    }
    drain();
    cw_store_file_close(file);
    cw_mem_free(reads);
}

/* ---- bare ---- */

static void dir_write(size_t i)
{
    cw_autofree char *temp = cw_mem_printf("%s/bare-%zu.tmp", dir, i),
                     *path = cw_mem_printf("%s/bare-%zu", dir, i);
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    for (size_t b = 0; b < blocks; b++)
        must(pwrite(fd, data + b * BLOCK, BLOCK, (off_t)(b * BLOCK)) == (ssize_t)BLOCK, "pwrite");
    must(fsync(fd) == 0 && close(fd) == 0 && rename(temp, path) == 0, "fsync");
    int parent = open(dir, O_RDONLY | O_DIRECTORY);
    must(fsync(parent) == 0 && close(parent) == 0, "fsync of the directory");
}
static void dir_read(size_t i, uint8_t *dst)
{
    cw_autofree char *path = cw_mem_printf("%s/bare-%zu", dir, i);
    int fd = open(path, O_RDONLY);
    const uint8_t *map = mmap(NULL, blocks * BLOCK, PROT_READ, MAP_SHARED, fd, 0);

    must(map != MAP_FAILED, "mmap");
    for (size_t b = 0; b < blocks; b++)
        memcpy(dst + b * BLOCK, map + b * BLOCK, BLOCK);
    must(munmap((void *)(uintptr_t)map, blocks * BLOCK) == 0 && close(fd) == 0, "munmap");
}
static void on_io(glfs_fd_t *fd, ssize_t rc, struct glfs_stat *pre, struct glfs_stat *post,
                  void *arg)
{
    (void)fd, (void)pre, (void)post, (void)arg;
    must(rc == (ssize_t)BLOCK, "libgfapi");
    leave();
}
static void gluster_write(size_t i)
{
    cw_autofree char *temp = cw_mem_printf("%s/bare-%zu.tmp", gluster_path, i),
                     *path = cw_mem_printf("%s/bare-%zu", gluster_path, i);
    glfs_fd_t *fd = glfs_creat(fs, temp, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    must(fd != NULL, "glfs_creat");
    for (size_t b = 0; b < blocks; b++) {
        enter();
        must(glfs_pwrite_async(fd, data + b * BLOCK, BLOCK, (off_t)(b * BLOCK), 0, on_io, NULL) ==
                 0,
             "glfs_pwrite_async");
    }
    drain();
    must(glfs_fsync(fd, NULL, NULL) == 0 && glfs_close(fd) == 0 && glfs_rename(fs, temp, path) == 0,
         "glfs_fsync");
}
static void gluster_read(size_t i, uint8_t *dst)
{
    cw_autofree char *path = cw_mem_printf("%s/bare-%zu", gluster_path, i);
    glfs_fd_t *fd = glfs_open(fs, path, O_RDONLY);

    must(fd != NULL, "glfs_open");
    for (size_t b = 0; b < blocks; b++) {
        enter();
        must(glfs_pread_async(fd, dst + b * BLOCK, BLOCK, (off_t)(b * BLOCK), 0, on_io, NULL) == 0,
             "glfs_pread_async");
    }
    drain();
    must(glfs_close(fd) == 0, "glfs_close");
}
/* "gluster://host/volume/path?..." */
static void open_bare_gluster(const char *url)
{
    char host[256], volume[256], path[256] = "";

    must(sscanf(url, "gluster://%255[^/,]/%255[^/?]%255[^?]", host, volume, path) >= 2,
         "a URL of one host");
    snprintf(gluster_path, sizeof(gluster_path), "%s", strcmp(path, "/") == 0 ? "" : path);
    fs = glfs_new(volume);
    must(fs && glfs_set_volfile_server(fs, "tcp", host, 24007) == 0 &&
             glfs_set_logging(fs, "/dev/null", 5) == 0 && glfs_init(fs) == 0,
         "glfs_init");
}

static double timed(void (*write)(size_t i), void (*read)(size_t i, uint8_t *dst), uint8_t *dst)
{
    int64_t begin_ns = cw_clock_ns();

    for (size_t i = 0; i < files; i++) {
        if (write)
            write(i);
        else
            read(i, dst);
    }
    return (double)(files * blocks * BLOCK) / 1e6 / ((double)(cw_clock_ns() - begin_ns) / 1e9);
}
static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}
static double median(double *v)
{
    qsort(v, rounds, sizeof(*v), compare);
    return v[rounds / 2];
}
int main(int argc, char **argv)
{
    static double rate[4][ROUNDS_MAX];
    struct cw_err err = {0};
    int64_t n;

    must(argc >= 2, "usage: bench_store URL [FILES [MIB [ROUNDS]]]:");
    size_t *const counts[] = {&files, &blocks, &rounds};
    for (int i = 2; i < argc && i < 5; i++) {
        must(cw_str_to_i64(argv[i], &n) && n > 0, "a number");
        *counts[i - 2] = (size_t)n;
    }
    rounds = CW_MIN(rounds, (size_t)ROUNDS_MAX);
    cw_cond_init(&changed);
    data = cw_mem_try(blocks * BLOCK);
    uint8_t *dst = cw_mem_try(blocks * BLOCK);
    must(data && dst, "memory");
    for (size_t i = 0; i < blocks * BLOCK; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 7);
    if (cw_store_open(argv[1], &store, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        return 1;
    }
    bool is_dir = cw_str_starts(argv[1], "dir:");
    cw_autofree char *path = cw_mem_strdup(is_dir ? argv[1] + 4 : "");
    path[strcspn(path, "?")] = '\0';
    dir = path;
    if (!is_dir)
        open_bare_gluster(argv[1]);
    for (size_t r = 0; r < rounds; r++) {
        rate[0][r] = timed(store_write, NULL, NULL);
        rate[1][r] = timed(is_dir ? dir_write : gluster_write, NULL, NULL);
        rate[2][r] = timed(NULL, store_read, dst);
        must(memcmp(data, dst, blocks * BLOCK) == 0, "what was read back");
        rate[3][r] = timed(NULL, is_dir ? dir_read : gluster_read, dst);
    }
    printf("%s: %zu files of %zu MiB, medians of %zu rounds, MB/s\n", argv[1], files, blocks,
           rounds);
    printf("write  store %7.0f  bare %7.0f  %5.1f %%\n", median(rate[0]), median(rate[1]),
           100 * median(rate[0]) / median(rate[1]));
    printf("read   store %7.0f  bare %7.0f  %5.1f %%\n", median(rate[2]), median(rate[3]),
           100 * median(rate[2]) / median(rate[3]));
    fflush(stdout);
    cw_store_close(store);
    _exit(0); /* glfs_fini takes 10 s */
}
