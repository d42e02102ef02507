/* SPDX-License-Identifier: Apache-2.0 */
#include "example_data.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "graph/graph.h"
#include "support/cm.h"

#define WIDTH 764
#define ROWS 512

static char *folder;

/* ---- files ---- */

static char *path_of(const char *name)
{
    return cw_mem_printf("%s/%s", folder, name);
}

static void link_to(const char *stored, const char *name)
{
    cw_autofree char *from = cw_mem_printf("%s/%s", CW_TEST_DATA, stored), *to = path_of(name);
    assert_int_equal(symlink(from, to), 0);
}

static void write_to(const char *name, const void *head, size_t head_n, const void *rest,
                     size_t rest_n)
{
    cw_autofree char *path = path_of(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(head, 1, head_n, file), head_n);
    if (rest_n)
        assert_int_equal(fwrite(rest, 1, rest_n, file), rest_n);
    assert_int_equal(fclose(file), 0);
}

/* An .npy file of small numbers. */
static void write_table(void)
{
    static float rows[ROWS * WIDTH];
    char head[128];
    cw_autofree char *shape =
        cw_mem_printf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", ROWS, WIDTH);
    for (size_t i = 0; i < CW_ARRAY_LEN(rows); i++)
        rows[i] = (float)(i * 37 % 1009) / 64;
    memset(head, ' ', sizeof(head));
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(head + 10, shape, strlen(shape));
    head[sizeof(head) - 1] = '\n';
    write_to("models/table.npy", head, sizeof(head), rows, sizeof(rows));
}

/* A WAV file of 22,050 Hz with a noise in it. */
static void write_sound(const char *name)
{
    static int16_t samples[6000];
    static const uint32_t rates[] = {22050, 2 * 22050},
                          sizes[] = {36 + sizeof(samples), 16, sizeof(samples)};
    static const uint16_t kinds[] = {1, 1}, widths[] = {2, 16};
    char head[44];
    for (size_t i = 0; i < CW_ARRAY_LEN(samples); i++)
        samples[i] = (int16_t)((int)(i * i * 7919 % 20011) - 10005);
    memcpy(head, "RIFF....WAVEfmt ", 16);
    memcpy(head + 4, &sizes[0], 4);
    memcpy(head + 16, &sizes[1], 4);
    memcpy(head + 20, kinds, sizeof(kinds));
    memcpy(head + 24, rates, sizeof(rates));
    memcpy(head + 32, widths, sizeof(widths));
    memcpy(head + 36, "data", 4);
    memcpy(head + 40, &sizes[2], 4);
    write_to(name, head, sizeof(head), samples, sizeof(samples));
}

/* Files that other tests read, below more/ by their names. */
static void link_more(void)
{
    static const char *const files[] = {"arrow_plain.arrow",
                                        "arrow_lz4.arrow",
                                        "json_a.jsonl",
                                        "json_b.jsonl",
                                        "megatron_many.bin",
                                        "megatron_many.idx",
                                        "npy_rows_a.npy",
                                        "npy_rows_b.npy",
                                        "packed.tfrecord.zst",
                                        "parquet_snappy_v2.parquet",
                                        "parquet_zstd_v1.parquet",
                                        "records_a.tfrecord",
                                        "records_b.tfrecord",
                                        "wds_plain.tar"};
    for (size_t i = 0; i < CW_ARRAY_LEN(files); i++) {
        cw_autofree char *name = cw_mem_printf("more/%s", files[i]);
        link_to(files[i], name);
    }
    link_to("json_all.jsonl.zst", "web/0.jsonl.zst");
    link_to("json_all.jsonl.zst", "books/0.jsonl.zst");
    link_to("parquet_snappy_v2.parquet", "articles/0.parquet");
    link_to("parquet_zstd_v1.parquet", "articles/1.parquet");
    link_to("image_420.jpg", "train/cat/0.jpg");
    link_to("image_444.jpg", "train/dog/1.jpeg");
}

/* A table of forty columns, and one of tokens. */
static void write_numbers(void)
{
    static uint16_t tokens[2000];
    struct cw_str text = {0};
    for (size_t i = 0; i < CW_ARRAY_LEN(tokens); i++)
        tokens[i] = (uint16_t)(i * i * 7919 % 50021);
    write_to("tokens/0.bin", tokens, sizeof(tokens), NULL, 0);
    cw_str_add(&text, "clicked,words");
    for (int c = 1; c <= 38; c++)
        cw_str_addf(&text, ",n%02d", c);
    for (int row = 0; row < 70; row++) {
        cw_str_addf(&text, "\n%d,%s", row % 2, row % 3 ? "a" : "");
        for (int word = 0; word < row % 4; word++)
            cw_str_addf(&text, " w%d", row * word % 11);
        for (int c = 1; c <= 38; c++)
            cw_str_addf(&text, c == 7 && row % 9 == 4 ? "," : ",%d.%d", row * c % 101 - 50, c % 8);
    }
    write_to("clicks/0.csv", text.s, text.len, NULL, 0);
    cw_str_fini(&text);
}

void example_data_make(bool lossy)
{
    static const char *const folders[] = {"photos",   "objects", "clips", "speech",    "prose",
                                          "models",   "rides",   "web",   "books",     "trips",
                                          "tokens",   "clicks",  "train", "train/cat", "train/dog",
                                          "articles", "more"};
    static const char trips[] =
        "zone,paid?,unused,fare,passengers,Distance (km)\nnorth,true,,7.25,,1.5\n"
        "\"a\nb\",0,x,3,4,\nsouth,false,,12.5,2,0.25\n";
    static const char lines[] = "the keeper of lantern light\n\nsea wind don't 1845\n";
    static const char rides[] =
        "fare,distance,passengers,zone\n12.5,3.25,1,north\n4,,2,south\n0,1e3,,\"a, b\"\n";
    static const char objects[] = "{\"images\":[{\"id\":1,\"file_name\":\"0.jpg\",\"height\":300,"
                                  "\"width\":400}],\"categories\":"
                                  "[{\"id\":3,\"name\":\"x\"}],\"annotations\":[{\"id\":1,\"image_"
                                  "id\":1,\"category_id\":3,\"area\":"
                                  "30,\"iscrowd\":0,\"bbox\":[5,4,12,9]}]}";
    char name[] = "/tmp/test_examples.XXXXXX";
    folder = cw_mem_printf("%s", mkdtemp(name));
    for (size_t i = 0; i < CW_ARRAY_LEN(folders); i++) {
        cw_autofree char *path = path_of(folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    link_to("image_420.jpg", "photos/0.jpg");
    link_to("image_444.jpg", "photos/1.jpg");
    link_to("image_420.jpg", "objects/0.jpg");
    if (lossy) {
        link_to("audio_2372b6fd.file", "clips/0.mp3");
        link_to("audio_ba288556.file", "clips/1.mp3");
    } else {
        write_sound("clips/0.mp3");
    }
    write_sound("speech/0.wav");
    link_to("train-images-idx3-ubyte", "digits.idx");
    link_to("tokens/vocab.json", "models/vocab.json");
    link_to("tokens/merges.txt", "models/merges.txt");
    write_to("prose/lines.txt", lines, sizeof(lines) - 1, NULL, 0);
    write_to("rides/0.csv", rides, sizeof(rides) - 1, NULL, 0);
    write_to("objects.json", objects, sizeof(objects) - 1, NULL, 0);
    write_to("trips/0.csv", trips, sizeof(trips) - 1, NULL, 0);
    write_table();
    write_numbers();
    link_more();
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

void example_data_remove(void)
{
    (void)nftw(folder, remove_one, 16, FTW_PHYS | FTW_DEPTH);
    cw_mem_free(folder);
}

/* ---- pipelines ---- */

/* The text with the folder for each /data. */
static char *with_folder(const char *text)
{
    struct cw_str out = {0};
    const char *at = text;
    for (const char *found; (found = strstr(at, "/data/")) != NULL; at = found + strlen("/data"))
        cw_str_addf(&out, "%.*s%s", (int)(found - at), at, folder);
    cw_str_add(&out, at);
    char *copy = cw_mem_printf("%s", cw_str_text(&out));
    cw_str_fini(&out);
    return copy;
}

struct cw_plan *example_data_plan_of(const char *name, const char *text, uint64_t seed)
{
    cw_autofree char *placed = with_folder(text);
    struct cw_err err = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_plan *plan = NULL;
    if (cw_graph_parse(placed, strlen(placed), "", &graph, &err) < 0 ||
        cw_graph_check(graph, &checked, &err) < 0 ||
        cw_plan_new(checked, seed, NULL, &plan, &err) < 0)
        fail_msg("%s: %s", name, err.msg);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return plan;
}

struct cw_plan *example_data_plan(const char *name, uint64_t seed)
{
    static const char drop[] = ", \"drop_remainder\": true";
    cw_autofree char *path = cw_mem_printf("%s/%s.json", CW_TEST_EXAMPLES, name);
    char text[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    const size_t n = fread(text, 1, sizeof(text) - 1, file);
    assert_true(n < sizeof(text) - 1);
    assert_int_equal(fclose(file), 0);
    text[n] = 0;
    char *found = strstr(text, drop);
    if (found)
        memmove(found, found + strlen(drop), strlen(found + strlen(drop)) + 1);
    return example_data_plan_of(name, text, seed);
}
