/* SPDX-License-Identifier: Apache-2.0 */
/* What `cachew check` notes about pipelines that are correct. */
#include "support/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "client/tool/view/check_notes.h"

struct notes {
    size_t n;
    char text[2048]; /* "NODE: TEXT" of each, a line each */
};

static void add(void *arg, const char *node, const char *text)
{
    struct notes *notes = arg;
    size_t len = strlen(notes->text);
    notes->n++;
    snprintf(&notes->text[len], sizeof(notes->text) - len, "%s: %s\n", node, text);
}

static struct notes notes_of(const char *nodes)
{
    struct notes notes = {0};
    struct cw_graph *graph = NULL;
    struct cw_checked *checked = NULL;
    struct cw_err err = {0};
    char text[2048];
    snprintf(text, sizeof(text), "{\"pipeline\":[%s]}", nodes);
    if (cw_graph_parse(text, strlen(text), "", &graph, &err) != 0 ||
        cw_graph_check(graph, &checked, &err) != 0)
        fail_msg("%s", err.msg);
    tool_check_notes(checked, add, &notes);
    cw_checked_unref(checked);
    cw_graph_unref(graph);
    return notes;
}

static void expect(const struct notes *notes, const char *part)
{
    if (!strstr(notes->text, part))
        fail_msg("\"%s\" is not in: %s", part, notes->text);
}

static void a_good_pipeline(void **state)
{
    (void)state;
    struct notes notes = notes_of(
        "{\"op\":\"files\",\"pattern\":\"/d/*.jpg\"},{\"op\":\"shuffle\"},{\"op\":\"read_file\"},"
        "{\"op\":\"decode_image\"},{\"op\":\"resize\",\"size\":[8,8]},{\"op\":\"batch\",\"size\":"
        "4}");
    if (notes.n != 0)
        fail_msg("%s", notes.text);
}

static void what_goes_wrong_with_images(void **state)
{
    (void)state;
    struct notes notes = notes_of("{\"op\":\"files\",\"pattern\":\"/d/"
                                  "*.jpg\"},{\"op\":\"shuffle\"},{\"op\":\"decode_image\"},"
                                  "{\"op\":\"batch\",\"size\":4}");
    assert_int_equal(notes.n, 2);
    expect(&notes, "decode_image: it is given paths");
    expect(&notes,
           "batch: all elements of a batch must have one shape, and what comes in is image: ");
}

static void what_is_left_out(void **state)
{
    (void)state;
    struct notes notes = notes_of("{\"op\":\"range\",\"stop\":5},"
                                  "{\"op\":\"batch\",\"size\":8,\"drop_remainder\":true}");
    assert_int_equal(notes.n, 1);
    expect(&notes, "batch: drop_remainder leaves out up to 7 elements");
    notes = notes_of("{\"op\":\"range\",\"stop\":5},"
                     "{\"op\":\"batch\",\"size\":8,\"drop_remainder\":false}");
    assert_int_equal(notes.n, 0);
}

/* Sequences that differ in length: what can be done about it is told, unless it is done. */
static void what_differs_in_length(void **state)
{
#define SEQUENCES "{\"op\":\"jsonl\",\"pattern\":\"/d/*.jsonl\",\"schema\":\"tokens: i32[?]\"},"
    (void)state;
    struct notes notes = notes_of(SEQUENCES "{\"op\":\"batch\",\"size\":4}");
    assert_int_equal(notes.n, 1);
    expect(&notes, "or say `ragged`");
    notes = notes_of(SEQUENCES "{\"op\":\"window\",\"size\":4}");
    assert_int_equal(notes.n, 1);
    expect(&notes, "or use padded_batch");
    assert_int_equal(notes_of(SEQUENCES "{\"op\":\"padded_batch\",\"size\":4}").n, 0);
    assert_int_equal(notes_of(SEQUENCES "{\"op\":\"batch\",\"size\":4,\"ragged\":true}").n, 0);
}

/* What a node that has another's place does with files. */
static void whole_files(void **state)
{
#define RANGES "{\"op\":\"text_ranges\",\"pattern\":\"/d/*.csv\""
    (void)state;
    struct notes notes = notes_of(RANGES ",\"quote\":\"'\"}");
    assert_int_equal(notes.n, 1);
    expect(&notes, "text_ranges: each file is one range");
    assert_int_equal(notes_of(RANGES "}").n, 0);
}

/* What works inside items leaves out the end of each. */
static void what_is_left_out_of_items(void **state)
{
    (void)state;
    struct notes notes =
        notes_of("{\"op\":\"range\",\"stop\":9},{\"op\":\"filter\",\"expr\":\"x > 3\"},"
                 "{\"op\":\"batch\",\"size\":8,\"drop_remainder\":true,"
                 "\"within\":\"item\"}");
    expect(&notes, "up to 7 elements of each item");
    notes = notes_of("{\"op\":\"range\",\"stop\":9},{\"op\":\"batch\",\"size\":2},"
                     "{\"op\":\"rebatch\",\"size\":8,\"drop_remainder\":true}");
    expect(&notes, "up to 7 elements of each item");
}

static void patterns(void **state)
{
    (void)state;
    struct notes notes = notes_of("{\"op\":\"files\",\"pattern\":\"photos/*.jpg\"}");
    assert_int_equal(notes.n, 1);
    expect(&notes, "files: the pattern does not begin with /");
    notes = notes_of("{\"op\":\"files\",\"pattern\":\"~/photos/*.jpg\"}");
    assert_int_equal(notes.n, 1);
    expect(&notes, "~ and variables are for shells");
    notes = notes_of("{\"op\":\"files\",\"pattern\":\"/photos/{a..e}.jpg\"}");
    assert_int_equal(notes.n, 1);
    expect(&notes, "are neither {a,b} nor {0..9} and stand for themselves");
    assert_int_equal(notes_of("{\"op\":\"files\",\"pattern\":\"/photos/*.{jpg,png}\"}").n, 0);
    assert_int_equal(notes_of("{\"op\":\"files\",\"pattern\":\"/photos/\\\\{a}.jpg\"}").n, 0);
    assert_int_equal(notes_of("{\"op\":\"files\",\"pattern\":\"/photos/*.jpg\"}").n, 0);
}

/* What compression costs out of order: of a .gz file with lines of 100 bytes, of which 655 and more are inflated
 * together. */
static void what_is_inflated_for_nothing(void **state)
{
    char path[] = "/tmp/cachew-notes-XXXXXX.gz", nodes[256], line[101];
    int fd = mkstemps(path, 3);
    gzFile f = gzdopen(fd, "wb");
    (void)state;
    for (int i = 0; i < 20000; i++) {
        snprintf(line, sizeof(line), "%-99d\n", i);
        assert_int_equal(gzwrite(f, line, 100), 100);
    }
    assert_int_equal(gzclose(f), Z_OK);
#define PACKED "{\"op\":\"text_lines\",\"inflate_every\":65536,\"pattern\":\"%s\"}"
    snprintf(nodes, sizeof(nodes), PACKED ",{\"op\":\"shuffle\"}", path);
    struct notes notes = notes_of(nodes);
    assert_int_equal(notes.n, 1);
    const char *of = strstr(notes.text, "for each byte that is used ");
    assert_non_null(of);
    const long times = strtol(of + strlen("for each byte that is used "), NULL, 10);
    assert_true(times >= 655 && times <= 20000);
    expect(&notes, "a shuffle with `blocks` makes that about 1, with 20.3 MiB of what is inflated");
    snprintf(nodes, sizeof(nodes), PACKED ",{\"op\":\"shuffle\",\"blocks\":true}", path);
    assert_int_equal(notes_of(nodes).n, 0);
    snprintf(nodes, sizeof(nodes),
             "{\"op\":\"text_lines\",\"inflate_every\":65536,\"inflated_max\":1000000,\"pattern\":"
             "\"%s\"},{\"op\":\"shuffle\"}",
             path);
    notes = notes_of(nodes);
    expect(&notes, "a shuffle with `blocks` and a `window` of 1 or less");
    snprintf(nodes, sizeof(nodes),
             "{\"op\":\"text_lines\",\"inflate_every\":65536,\"inflated_max\":1000000,\"pattern\":"
             "\"%s\"},{\"op\":\"shuffle\",\"blocks\":true}",
             path);
    notes = notes_of(nodes);
    expect(&notes,
           "a window of the shuffle needs 20.3 MiB of what is inflated, and inflated_max allows "
           "976.6 KiB");
    snprintf(nodes, sizeof(nodes), PACKED ",{\"op\":\"shuffle\",\"window\":%ld}", path,
             16 * times + 16);
    assert_int_equal(notes_of(nodes).n, 0);
    snprintf(nodes, sizeof(nodes), PACKED ",{\"op\":\"shuffle\",\"window\":%ld}", path, 4 * times);
    notes = notes_of(nodes);
    expect(&notes, "for each byte that is used 5 are inflated");
    snprintf(nodes, sizeof(nodes),
             "{\"op\":\"text_lines\",\"inflate_every\":65536,\"inflated_max\":1000000,\"pattern\":"
             "\"%s\"},"
             "{\"op\":\"shuffle\",\"window\":%ld}",
             path, 16 * times + 16);
    notes = notes_of(nodes);
    expect(&notes, "a window of the shuffle needs ");
    expect(&notes, " and inflated_max allows 976.6 KiB");
    snprintf(nodes, sizeof(nodes), PACKED ",{\"op\":\"take\",\"count\":5}", path);
    assert_int_equal(notes_of(nodes).n, 0);
    assert_int_equal(unlink(path), 0);
}

/* What is decoded of a Parquet file whose row groups have 200 rows, and are a page each. */
static void what_is_decoded_for_nothing(void **state)
{
    (void)state;
#define TABLE                                                                                      \
    "{\"op\":\"parquet\",\"pattern\":\"" CW_TEST_DATA "/parquet_none_v1.parquet\",\"columns\":"    \
    "[\"i64\"],\"types\":{\"i64\":\"i64\"}}"
    struct notes notes = notes_of(TABLE ",{\"op\":\"shuffle\"}");
    assert_int_equal(notes.n, 1);
    expect(&notes, "each is decoded with 200 neighbours: for each byte that is used 200 are");
    expect(&notes, "a shuffle with `blocks` makes that about 1");
    expect(&notes, "(cache, half of --budget)");
    assert_int_equal(notes_of(TABLE ",{\"op\":\"shuffle\",\"blocks\":true}").n, 0);
    assert_int_equal(notes_of(TABLE).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_pipeline),
        cmocka_unit_test(what_goes_wrong_with_images),
        cmocka_unit_test(what_is_left_out),
        cmocka_unit_test(what_differs_in_length),
        cmocka_unit_test(whole_files),
        cmocka_unit_test(what_is_left_out_of_items),
        cmocka_unit_test(patterns),
        cmocka_unit_test(what_is_inflated_for_nothing),
        cmocka_unit_test(what_is_decoded_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
