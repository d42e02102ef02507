/* SPDX-License-Identifier: Apache-2.0 */
/* For bench_formats.py: the least that can be done to read records in an order: pread and a checksum.
 *
 * usage: bare_pread NAME BATCH EPOCHS plain|tfrecord one|ring LIST FILE...
 *
 * LIST has for each record, in the order in which they are read: u32 number of its FILE, u32 bytes, u64 first byte.
 * The checksum is that of `cachew run` of batches with one field NAME, a `str`; of TFRecord files that of the record
 * is verified as well. `one`: all records are read into the same memory, which stays in the processor's cache. `ring`:
 * into 64 MiB, one behind another, and the checksum of a batch is computed when all of it is there, as it must be where
 * batches are handed to somebody else. Prints the CPU seconds of an epoch, without the first one, and the checksum. */
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cachew/tensor.h"
#include "format/crc32c.h"
#include "format/tfrecord.h"

#define RING_BYTES ((size_t)64 << 20)

struct record {
    uint32_t file, bytes;
    uint64_t at;
};
struct loop {
    const char *name;
    struct record *records;
    size_t n, batch;
    int *fds;
    uint8_t *memory;  /* for the largest record, or the ring */
    size_t at;        /* in the ring */
    int64_t *offsets; /* for a batch */
    const uint8_t **data;
    bool framed, ring;
    struct cw_hasher *one, *all;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void read_records(struct loop *l, const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in || fseek(in, 0, SEEK_END) != 0)
        die(path);
    const size_t bytes = (size_t)ftell(in);
    size_t most = 0;
    l->n = bytes / sizeof(struct record);
    l->records = cw_mem_new(bytes + 1);
    rewind(in);
    if (fread(l->records, sizeof(struct record), l->n, in) != l->n)
        die(path);
    fclose(in);
    for (size_t i = 0; i < l->n; i++)
        most = CW_MAX(most, (size_t)l->records[i].bytes);
    l->memory = cw_mem_new(l->ring ? RING_BYTES : most + CW_TFRECORD_FRAME_BYTES);
}

static const uint8_t *read_one(struct loop *l, const struct record *r)
{
    const size_t head = l->framed ? CW_TFRECORD_HEADER_BYTES : 0;
    const size_t bytes = r->bytes + (l->framed ? CW_TFRECORD_FRAME_BYTES : 0);
    uint32_t sum;
    if (l->ring && bytes > RING_BYTES - l->at)
        l->at = 0;
    uint8_t *frame = l->memory + l->at, *data = frame + head;
    if (pread(l->fds[r->file], frame, bytes, (off_t)(r->at - head)) != (ssize_t)bytes)
        die("pread");
    l->at += l->ring ? bytes : 0;
    if (!l->framed)
        return data;
    memcpy(&sum, data + r->bytes, sizeof(sum));
    if (cw_crc32c_masked(data, r->bytes) != le32toh(sum))
        die("checksum");
    return data;
}

static void read_batch(struct loop *l, size_t first, size_t n)
{
    cw_hasher_reset(l->one);
    cw_hasher_add_str(l->one, l->name);
    cw_hasher_add_u64(l->one, CACHEW_STR);
    cw_hasher_add_u64(l->one, 1);
    cw_hasher_add_u64(l->one, n);
    l->offsets[0] = 0;
    for (size_t i = 0; i < n; i++)
        l->offsets[i + 1] = l->offsets[i] + l->records[first + i].bytes;
    cw_hasher_add(l->one, l->offsets, (n + 1) * sizeof(*l->offsets));
    for (size_t i = 0; i < n; i++) {
        l->data[i] = read_one(l, &l->records[first + i]);
        if (!l->ring)
            cw_hasher_add(l->one, l->data[i], l->records[first + i].bytes);
    }
    for (size_t i = 0; l->ring && i < n; i++)
        cw_hasher_add(l->one, l->data[i], l->records[first + i].bytes);
    const struct cw_hash digest = cw_hasher_get(l->one);
    cw_hasher_add_u64(l->all, digest.hi);
    cw_hasher_add_u64(l->all, digest.lo);
}

static void read_epoch(struct loop *l)
{
    cw_hasher_reset(l->all);
    for (size_t i = 0; i < l->n; i += l->batch)
        read_batch(l, i, CW_MIN(l->batch, l->n - i));
}

int main(int argc, char **argv)
{
    if (argc < 8)
        return 2;
    struct loop l = {.name = argv[1],
                     .batch = strtoul(argv[2], NULL, 10),
                     .framed = strcmp(argv[4], "tfrecord") == 0,
                     .ring = strcmp(argv[5], "ring") == 0,
                     .one = cw_hasher_new(),
                     .all = cw_hasher_new()};
    const int epochs = (int)strtol(argv[3], NULL, 10);
    char text[CW_HASH_TEXT_BYTES];
    read_records(&l, argv[6]);
    l.data = cw_mem_new(l.batch * sizeof(*l.data));
    l.offsets = cw_mem_new((l.batch + 1) * sizeof(*l.offsets));
    l.fds = cw_mem_new((size_t)argc * sizeof(*l.fds));
    for (int i = 7; i < argc; i++)
        if ((l.fds[i - 7] = open(argv[i], O_RDONLY | O_CLOEXEC)) < 0)
            die(argv[i]);
    read_epoch(&l);
    const int64_t begin = cw_clock_thread_cpu_ns();
    for (int i = 0; i < epochs; i++)
        read_epoch(&l);
    const int64_t ns = cw_clock_thread_cpu_ns() - begin;
    cw_hash_text(cw_hasher_get(l.all), text);
    printf("%.6f %s\n", (double)ns / 1e9 / epochs, text);
    cw_hasher_free(l.one);
    cw_hasher_free(l.all);
    cw_mem_free(l.records);
    cw_mem_free(l.memory);
    cw_mem_free(l.offsets);
    cw_mem_free(l.data);
    cw_mem_free(l.fds);
    return 0;
}
