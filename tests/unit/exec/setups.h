/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines, and nodes of them at which elements are cached. */
#ifndef CW_TESTS_EXEC_SETUPS_H
#define CW_TESTS_EXEC_SETUPS_H

#include <stdbool.h>
#include <stddef.h>

#define NODES_MAX 4
#define RANGE(n) "{\"op\":\"range\",\"stop\":" #n "}"
#define BATCH(n) "{\"op\":\"batch\",\"size\":" #n "}"
#define CACHE "{\"op\":\"cache\",\"name\":\"c\"}"
#define SHUFFLE "{\"op\":\"shuffle\"}"
#define EVAL(name, expr) "{\"op\":\"eval\",\"name\":\"" name "\",\"expr\":\"" expr "\"}"
#define FILTER(name, expr) "{\"op\":\"filter\",\"name\":\"" name "\",\"expr\":\"" expr "\"}"

struct setup {
    const char *nodes;
    const char *cached[NODES_MAX]; /* names, topmost first */
    size_t records;                /* at the topmost after an epoch */
    bool partly;                   /* other elements in each epoch, or the same ones twice */
};
static const struct setup setups[] = {
    {RANGE(500) "," EVAL("e", "x + 3") "," CACHE "," SHUFFLE "," BATCH(64), {"c"}, 500, false},
    {RANGE(500) "," SHUFFLE "," EVAL("e", "x + 3") "," CACHE "," BATCH(7), {"c"}, 500, false},
    {RANGE(100) "," CACHE "," BATCH(10), {"c"}, 100, false},
    {RANGE(100), {"range"}, 100, false},
    /* several at a time, none of them an operator `cache` */
    {RANGE(300) "," EVAL("a", "x * 2") "," SHUFFLE
                                       "," EVAL("b", "x + 1") "," EVAL("d", "x % 17") "," BATCH(16),
     {"d", "b", "range"},
     300,
     false},
    {RANGE(300) "," SHUFFLE ",{\"op\":\"take\",\"count\":100}," EVAL("b", "x + 1") "," BATCH(16),
     {"b"},
     100,
     true},
    {RANGE(90) "," EVAL("a", "x * 2") "," SHUFFLE ",{\"op\":\"repeat\",\"count\":3}," BATCH(16),
     {"a"},
     90,
     true},
    /* filters: in front of it, behind it, both */
    {RANGE(700) "," EVAL("a", "x * 2") "," FILTER("f", "x % 3 == 0") "," EVAL("b",
                                                                              "x + 1") "," BATCH(8),
     {"a"},
     700,
     false},
    {RANGE(700) "," EVAL("a", "x * 2") "," FILTER("f", "x % 3 == 0") "," SHUFFLE "," EVAL(
         "b", "x + 1") "," BATCH(8),
     {"b"},
     700,
     false},
    {RANGE(700) "," FILTER("f", "x % 3 == 0") ",{\"op\":\"take\",\"count\":50}," EVAL(
         "b", "x + 1") "," BATCH(8),
     {"b"},
     700,
     false},
    {RANGE(700) "," EVAL("a", "x * 2") "," FILTER("f", "x % 3 == 0") "," EVAL(
         "b", "x + 1") "," FILTER("g", "x % 2 == 1") "," CACHE "," BATCH(8),
     {"c", "b", "a"},
     700,
     false},
    /* strings, inner batches, batches behind each other */
    {"{\"op\":\"from_values\",\"values\":[\"a\",\"\",\"ccc\",\"dd\",\"e\"]}," SHUFFLE "," CACHE
     "," BATCH(2),
     {"c"},
     5,
     false},
    {RANGE(104) ",{\"op\":\"batch\",\"name\":\"inner\",\"size\":8}," EVAL(
         "e", "x + 1") "," SHUFFLE "," BATCH(3),
     {"e", "inner", "range"},
     13,
     false},
    {"{\"op\":\"from_values\",\"values\":[\"a\",\"\",\"ccc\",\"dd\",\"e\"]}," CACHE
     "," BATCH(2) "," SHUFFLE,
     {"c"},
     5,
     false},
    /* whole batches, alone and above rows */
    {RANGE(100) "," EVAL("e", "x + 1") "," BATCH(8) "," CACHE "," SHUFFLE, {"c"}, 13, false},
    {RANGE(104) "," EVAL("e", "x + 1") "," BATCH(8) "," EVAL(
         "g", "x * 2") "," SHUFFLE ",{\"op\":\"repeat\",\"count\":2}," EVAL("h", "x * 3"),
     {"h", "g", "batch", "e"},
     13,
     true},
    {RANGE(100) "," EVAL("e", "x + 1") "," BATCH(8) "," EVAL("g", "x * 2") "," EVAL("h", "x * 3"),
     {"g", "batch", "e"},
     13,
     false},
    /* operators inside items, whose rows come from caches */
    {RANGE(700) "," EVAL("a", "x * 2") "," SHUFFLE "," FILTER(
         "f", "x % 3 == 0") ",{\"op\":\"batch\",\"size\":8,\"within\":"
                            "\"item\",\"span\":90}," EVAL("b", "x + 1"),
     {"a"},
     700,
     false},
    {RANGE(700) "," EVAL("a", "x * 2") ",{\"op\":\"batch\",\"name\":\"four\",\"size\":4}," SHUFFLE
                                       ",{\"op\":\"unbatch\",\"span\":40}," EVAL(
                                           "b", "x + 1") "," BATCH(6),
     {"four", "a"},
     175,
     false},
    /* zips, and a node that two others read */
    {"{\"op\":\"range\",\"stop\":80,\"field\":\"a\"}," EVAL(
         "ea", "a + 1") ",{\"op\":\"range\",\"stop\":70,\"field\":\"b\",\"name\":\"rb\"},"
                        "{\"op\":\"zip\",\"name\":\"z\",\"inputs\":[\"ea\",\"rb\"]},"
                        "{\"op\":\"eval\",\"expr\":\"a * b\",\"out\":\"p\",\"name\":\"p\"}," SHUFFLE
                        "," BATCH(16),
     {"p", "z", "ea", "rb"},
     70,
     false},
    {"{\"op\":\"range\",\"stop\":80,\"field\":\"a\"},{\"op\":\"batch\",\"size\":4,\"name\":\"ba\"},"
     "{\"op\":\"range\",\"stop\":20,\"field\":\"b\",\"name\":\"rb\"},{\"op\":\"zip\",\"name\":"
     "\"z\",\"inputs\":[\"ba\",\"rb\"]}," SHUFFLE "," BATCH(3),
     {"z", "ba", "rb", "range"},
     20,
     false},
    {"{\"op\":\"files\",\"pattern\":\"" CW_TEST_IMAGES "/image_*.jpg\"},{\"op\":\"read_file\"},"
     "{\"op\":\"zip\",\"inputs\":[\"files\",\"read_file\"]}," SHUFFLE "," BATCH(2),
     {"read_file"},
     0,
     false},
};

#endif
