/* SPDX-License-Identifier: Apache-2.0 */
/* Handing a 10 MB batch from one process to another in shared memory, beside a memcpy of the
 * same bytes in the same run:
 *   build/dev/tests/bench_shm [rounds [read | private]]
 * The writer builds each batch in a slot; timed is what comes after: slot number over a socket,
 * a buffer on the mapped slot in the reader, and the slot number back. The last line:
 *   bench_shm: bytes=10000000 handover_us=... (median, there and back) memcpy_us=... fill_us=...
 *   copies=0
 * The reader looks at the first and the last byte only; with read or private at a byte of each page, which
 * is timed, too. It has mapped the slot for reading, or privately, as for a trainer that may write; then
 * the line also says its CPU time and page faults a batch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "shm/shm.h"

#define BATCH_BYTES ((size_t)10000000)
#define LAST UINT64_MAX /* instead of a slot: there are no more */

static void die(const char *what, const struct cw_err *err)
{
    fprintf(stderr, "bench_shm: %s: %s\n", what, err && err->msg[0] ? err->msg : "failed");
    exit(1);
}

static void on_released(void *arg, uint64_t slot)
{
    if (write(*(int *)arg, &slot, sizeof(slot)) != (ssize_t)sizeof(slot))
        die("release", NULL);
}

/* What the reader has used. */
struct used {
    uint64_t faults, cpu_us;
};

static struct used used_until_now(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (struct used){(uint64_t)usage.ru_minflt,
                         (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
                             (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)};
}

/* The trainer. Its last message is what it has used behind the first batch. */
static void reader(int fds, int numbers, const char *how)
{
    struct cw_shm_view *view = cw_shm_view_new(strcmp(how, "private") == 0);
    struct cw_err err = {0};
    uint64_t slot;
    struct used before = {0};
    for (size_t i = 0; read(numbers, &slot, sizeof(slot)) == (ssize_t)sizeof(slot) && slot != LAST;
         i++) {
        struct cw_buf *buf = NULL;
        while (cw_shm_view_buf(view, slot, BATCH_BYTES, on_released, &numbers, &buf, &err) ==
               CW_E_NOT_FOUND) {
            uint64_t id = 0;
            size_t cap = 0;
            int memfd = -1, rc;
            while ((rc = cw_shm_recv_fd(fds, &id, &cap, &memfd, &err)) == CW_E_AGAIN) {
            }
            if (rc != 0 || cw_shm_view_add(view, id, cap, memfd, &err) != 0)
                die("slot", &err);
        }
        const unsigned char *bytes = buf->data;
        for (size_t at = 0; at < BATCH_BYTES; at += *how ? 4096 : BATCH_BYTES - 1)
            if (bytes[0] != bytes[at])
                die("bytes differ", NULL);
        cw_buf_unref(buf);
        before = i == 0 ? used_until_now() : before;
    }
    struct used used = used_until_now();
    used = (struct used){used.faults - before.faults, used.cpu_us - before.cpu_us};
    if (write(numbers, &used, sizeof(used)) != (ssize_t)sizeof(used))
        die("the end", NULL);
    cw_shm_view_free(view);
    exit(0);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double median_us(int64_t *ns, size_t n)
{
    qsort(ns, n, sizeof(*ns), by_size);
    return (double)ns[n / 2] / 1e3;
}

struct times {
    int64_t *handover, *copy, *fill;
};

static void write_one(struct cw_shm_pool *pool, int fds, int numbers, size_t i, struct times *times,
                      void *copy_to)
{
    struct cw_err err = {0};
    struct cw_buf *buf = cw_shm_pool_get(pool, BATCH_BYTES, &err);
    if (!buf)
        die("pool", &err);
    int64_t t0 = cw_clock_ns();
    memset(buf->data, (int)i, BATCH_BYTES);
    int64_t t1 = cw_clock_ns();
    memcpy(copy_to, buf->data, BATCH_BYTES);
    int64_t t2 = cw_clock_ns();
    static uint64_t known; /* one slot is used again and again */
    size_t cap = 0;
    int memfd = cw_shm_pool_fd(pool, buf, &cap);
    if (buf->tag != known && cw_shm_send_fd(fds, buf->tag, cap, memfd, &err) != 0)
        die("descriptor", &err);
    known = buf->tag;
    uint64_t back = 0;
    if (write(numbers, &buf->tag, sizeof(buf->tag)) != (ssize_t)sizeof(buf->tag) ||
        read(numbers, &back, sizeof(back)) != (ssize_t)sizeof(back) || back != buf->tag)
        die("hand-over", NULL);
    int64_t t3 = cw_clock_ns();
    times->fill[i] = t1 - t0;
    times->copy[i] = t2 - t1;
    times->handover[i] = t3 - t2;
    cw_buf_unref(buf);
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 500;
    const char *how = argc > 2 ? argv[2] : "";
    struct cw_err err = {0};
    char name[64];
    int listen_fd = -1, numbers[2], client_fd = -1, worker_fd = -1;
    if (rounds < 3 || cw_shm_listen(name, sizeof(name), &listen_fd, &err) != 0 ||
        cw_shm_connect(name, 1, &client_fd, &err) != 0 ||
        cw_shm_accept(listen_fd, &worker_fd, &err) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, numbers) != 0)
        die("sockets", &err);
    pid_t child = fork();
    if (child == 0) {
        close(numbers[0]);
        close(worker_fd);
        reader(client_fd, numbers[1], how);
    }
    close(numbers[1]);
    struct cw_shm_pool *pool = cw_shm_pool_new((size_t)256 << 20);
    struct times times = {CW_NEW_ARRAY(int64_t, rounds), CW_NEW_ARRAY(int64_t, rounds),
                          CW_NEW_ARRAY(int64_t, rounds)};
    void *copy_to = cw_mem_new(BATCH_BYTES);
    for (size_t i = 0; i < rounds; i++)
        write_one(pool, worker_fd, numbers[0], i, &times, copy_to);
    const uint64_t last = LAST;
    struct used used;
    if (write(numbers[0], &last, sizeof(last)) != (ssize_t)sizeof(last) ||
        read(numbers[0], &used, sizeof(used)) != (ssize_t)sizeof(used))
        die("the end", NULL);
    close(numbers[0]);
    int status = 0;
    waitpid(child, &status, 0);
    printf("bench_shm: bytes=%zu handover_us=%.1f memcpy_us=%.1f fill_us=%.1f copies=0",
           BATCH_BYTES, median_us(times.handover, rounds), median_us(times.copy, rounds),
           median_us(times.fill, rounds));
    if (*how)
        printf(" %s cpu_us=%.1f faults=%.1f", how, (double)used.cpu_us / (double)(rounds - 1),
               (double)used.faults / (double)(rounds - 1));
    printf("\n");
    cw_mem_free(copy_to);
    cw_mem_free(times.handover);
    cw_mem_free(times.copy);
    cw_mem_free(times.fill);
    cw_shm_pool_free(pool);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}
