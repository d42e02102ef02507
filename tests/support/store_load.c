/* SPDX-License-Identifier: Apache-2.0 */
/* A store at work, for tests that kill it.
 *
 *   store_load URL put NAME BYTES     one file, whose bytes follow from its name
 *   store_load URL check NAME BYTES   is it there, and right?
 *   store_load URL list
 *   store_load URL copy DIR           files of the directory, whose names are lines of input
 *   store_load URL load BYTES         two threads put files of this size and two read them back,
 *                                     until "quit" comes on standard input; each line of
 *                                     input before is answered with the state so far. At the end
 *                                     every file whose put succeeded is read. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "cache/store/store.h"

#define FILES 8 /* of a writer, replaced again and again while they are read */
#define WRITERS 2

static struct cw_store *store;
static size_t file_bytes;
static atomic_bool stopping;
static atomic_ullong puts_ok, puts_failed, reads_ok, reads_failed, wrong, worst_ms;
static atomic_bool is_there[WRITERS][FILES]; /* its put succeeded; the content never changes */
static char last_error[1100];
static struct cw_mutex lock = CW_MUTEX_INIT; /* last_error */

static void fill(const char *name, uint8_t *p, size_t n)
{
    unsigned salt = 0;

    for (; *name; name++)
        salt = salt * 31 + (unsigned char)*name;
    for (size_t i = 0; i < n; i++)
        p[i] = (uint8_t)((i * 2654435761u + salt) >> 13);
}
static int put_one(const char *name, size_t n, struct cw_err *err)
{
    cw_autofree uint8_t *p = cw_mem_try(n + 1);
    struct iovec part = {p, n};

    if (!p)
        return cw_err_set(err, CW_E_NOMEM, "no memory");
    fill(name, p, n);
    return cw_store_put(store, name, &part, 1, err);
}
/* CORRUPT: other bytes. */
static int check_one(const char *name, size_t n, struct cw_err *err)
{
    cw_autofree uint8_t *want = cw_mem_try(n + 1), *got = cw_mem_try(n + 1);
    struct cw_store_file *file;
    uint64_t bytes;

    if (!want || !got)
        return cw_err_set(err, CW_E_NOMEM, "no memory");
    int rc = cw_store_file_open(store, name, &file, &bytes, err);
    if (rc < 0)
        return rc;
    rc = bytes == n ? cw_store_file_read(file, 0, got, n, err)
                    : cw_err_set(err, CW_E_CORRUPT, "%s has %" PRIu64 " bytes", name, bytes);
    cw_store_file_close(file);
    if (rc < 0)
        return rc;
    fill(name, want, n);
    return memcmp(want, got, n) == 0 ? 0
                                     : cw_err_set(err, CW_E_CORRUPT, "%s holds other bytes", name);
}

static void name_of(size_t writer, size_t i, char *ret_name, size_t cap)
{
    snprintf(ret_name, cap, "load/%zu/%02zu.chunk", writer, i);
}
static void note(int rc, const struct cw_err *err, int64_t begin_ns, atomic_ullong *ok,
                 atomic_ullong *failed)
{
    unsigned long long ms = (unsigned long long)((cw_clock_ns() - begin_ns) / 1000000),
                       worst = atomic_load(&worst_ms);

    while (ms > worst && !atomic_compare_exchange_weak(&worst_ms, &worst, ms))
        ;
    if (rc == 0) {
        atomic_fetch_add(ok, 1);
        return;
    }
    atomic_fetch_add(failed, 1);
    if (rc == CW_E_CORRUPT)
        atomic_fetch_add(&wrong, 1);
    cw_mutex_lock(&lock);
    snprintf(last_error, sizeof(last_error), "%s: %s", cw_err_name(rc), err->msg);
    cw_mutex_unlock(&lock);
    cw_clock_sleep_ns(10000000);
}
static void writer_thread(void *arg)
{
    size_t writer = (size_t)(uintptr_t)arg;
    char name[64];

    for (size_t i = 0; !atomic_load(&stopping); i = (i + 1) % FILES) {
        struct cw_err err = {0};
        int64_t begin_ns = cw_clock_ns();
        name_of(writer, i, name, sizeof(name));
        int rc = put_one(name, file_bytes, &err);
        note(rc, &err, begin_ns, &puts_ok, &puts_failed);
        if (rc == 0)
            atomic_store(&is_there[writer][i], true);
    }
}
static void reader_thread(void *arg)
{
    size_t writer = (size_t)(uintptr_t)arg;
    char name[64];

    for (size_t i = 0; !atomic_load(&stopping); i = (i + 1) % FILES) {
        struct cw_err err = {0};
        int64_t begin_ns = cw_clock_ns();
        if (!atomic_load(&is_there[writer][i])) {
            cw_clock_sleep_ns(1000000);
            continue;
        }
        name_of(writer, i, name, sizeof(name));
        int rc = check_one(name, file_bytes, &err);
        note(rc, &err, begin_ns, &reads_ok, &reads_failed);
    }
}
static void print_state(const char *what)
{
    cw_mutex_lock(&lock);
    printf("{\"%s\":1,\"puts_ok\":%llu,\"puts_failed\":%llu,\"reads_ok\":%llu,\"reads_failed\":%"
           "llu,\"wrong\":%llu,\"worst_ms\":%llu,\"away\":%d,\"last\":\"%s\"}\n",
           what, atomic_load(&puts_ok), atomic_load(&puts_failed), atomic_load(&reads_ok),
           atomic_load(&reads_failed), atomic_load(&wrong), atomic_load(&worst_ms),
           cw_store_is_unavailable(store, NULL), last_error);
    cw_mutex_unlock(&lock);
    fflush(stdout);
}
static int check_all(void)
{
    size_t lost = 0, files = 0;
    char name[64];

    for (size_t w = 0; w < WRITERS; w++)
        for (size_t i = 0; i < FILES; i++) {
            struct cw_err err = {0};
            if (!atomic_load(&is_there[w][i]))
                continue;
            files++;
            name_of(w, i, name, sizeof(name));
            if (check_one(name, file_bytes, &err) < 0) {
                fprintf(stderr, "lost: %s: %s\n", name, err.msg);
                lost++;
            }
        }
    printf("{\"end\":1,\"files\":%zu,\"lost\":%zu}\n", files, lost);
    return lost == 0 ? 0 : 1;
}
static int load(void)
{
    struct cw_thread threads[2 * WRITERS] = {0};
    char line[64];

    for (uintptr_t w = 0; w < WRITERS; w++) {
        cw_thread_start(&threads[2 * w], "writer", writer_thread, (void *)w);     // NOLINT
        cw_thread_start(&threads[2 * w + 1], "reader", reader_thread, (void *)w); // NOLINT
    }
    while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n") != 0)
        print_state("state");
    atomic_store(&stopping, true);
    for (size_t i = 0; i < CW_ARRAY_LEN(threads); i++)
        cw_thread_join(&threads[i]);
    print_state("stopped");
    return check_all();
}
static int print_file(void *arg, const char *name, uint64_t bytes, int64_t mtime_ms)
{
    (void)arg, (void)mtime_ms;
    printf("%s %" PRIu64 "\n", name, bytes);
    return 0;
}
static int copy_one(const char *dir, const char *name, struct cw_err *err)
{
    cw_autofree char *path = cw_mem_printf("%s/%s", dir, name);
    CW_STR_AUTO bytes = {0};
    char part[4096];
    size_t n;
    FILE *file = fopen(path, "re");

    if (!file)
        return cw_err_errno(err, errno, "%s", path);
    while ((n = fread(part, 1, sizeof(part), file)) > 0)
        cw_str_add_bytes(&bytes, part, n);
    fclose(file);
    struct iovec one = {bytes.s, bytes.len};
    return cw_store_put(store, name, &one, 1, err);
}
static int copy_all(const char *dir, struct cw_err *err)
{
    char name[256];
    int rc = 0;

    while (rc == 0 && fgets(name, sizeof(name), stdin)) {
        name[strcspn(name, "\n")] = '\0';
        rc = copy_one(dir, name, err);
    }
    return rc;
}
static int run(int argc, char **argv, struct cw_err *err)
{
    uint64_t n = 0;

    if (argc == 5 && strcmp(argv[2], "put") == 0 && cw_str_to_bytes(argv[4], &n))
        return put_one(argv[3], n, err);
    if (argc == 5 && strcmp(argv[2], "check") == 0 && cw_str_to_bytes(argv[4], &n))
        return check_one(argv[3], n, err);
    if (argc == 4 && strcmp(argv[2], "copy") == 0)
        return copy_all(argv[3], err);
    if (argc == 3 && strcmp(argv[2], "list") == 0)
        return cw_store_list(store, "", print_file, NULL, err);
    if (argc == 4 && strcmp(argv[2], "load") == 0 && cw_str_to_bytes(argv[3], &n)) {
        file_bytes = n;
        return load() ? cw_err_set(err, CW_E_CORRUPT, "files are lost") : 0;
    }
    return cw_err_set(err, CW_E_INVALID,
                      "usage: store_load URL put|check NAME BYTES, list, load BYTES, copy DIR");
}
int main(int argc, char **argv)
{
    struct cw_err err = {0};
    int rc = argc < 3 ? cw_err_set(&err, CW_E_INVALID, "usage: store_load URL COMMAND...")
                      : cw_store_open(argv[1], &store, &err);

    if (rc == 0) {
        rc = run(argc, argv, &err);
        cw_store_close(store);
    }
    if (rc < 0)
        fprintf(stderr, "%s: %s\n", cw_err_name(rc), err.msg);
    return rc == 0 ? 0 : 1;
}
