/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the source for a pattern of data files, by the ends of names. */
#include "client/tool/data_graph.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

#define FILES_THEN(op)                                                                             \
    "{\"op\":\"files\",\"pattern\":%s},{\"op\":\"read_file\"},{\"op\":\"" op "\"}"

/* Names may have .gz or .zst behind these, and may be in capitals. */
static const struct {
    const char *end, *ops; /* %s: the pattern, as JSON text */
} kinds[] = {
    {".parquet", "{\"op\":\"parquet\",\"pattern\":%s}"},
    {".arrow", "{\"op\":\"arrow\",\"pattern\":%s}"},
    {".arrows", "{\"op\":\"arrow\",\"pattern\":%s}"},
    {".feather", "{\"op\":\"arrow\",\"pattern\":%s}"},
    {".jsonl", "{\"op\":\"jsonl\",\"pattern\":%s}"},
    {".ndjson", "{\"op\":\"jsonl\",\"pattern\":%s}"},
    {".csv", "{\"op\":\"csv\",\"pattern\":%s}"},
    {".tsv", "{\"op\":\"csv\",\"separator\":\"\\t\",\"pattern\":%s}"},
    {".txt", "{\"op\":\"text_lines\",\"pattern\":%s}"},
    {".tfrecord", "{\"op\":\"tfrecord\",\"pattern\":%s}"},
    {".tfrecords", "{\"op\":\"tfrecord\",\"pattern\":%s}"},
    {".tar", "{\"op\":\"webdataset\",\"pattern\":%s}"},
    {".npy", "{\"op\":\"npy\",\"pattern\":%s}"},
    {".npz", "{\"op\":\"npz\",\"pattern\":%s}"},
    {".h5", "{\"op\":\"hdf5\",\"pattern\":%s}"},
    {".hdf5", "{\"op\":\"hdf5\",\"pattern\":%s}"},
    {".idx", "{\"op\":\"idx\",\"pattern\":%s}"},
    {"-ubyte", "{\"op\":\"idx\",\"pattern\":%s}"},
    {".chunk", "{\"op\":\"chunks\",\"pattern\":%s}"},
    {".jpg", FILES_THEN("decode_image")},
    {".jpeg", FILES_THEN("decode_image")},
    {".png", FILES_THEN("decode_image")},
    {".webp", FILES_THEN("decode_image")},
    {".gif", FILES_THEN("decode_image")},
    {".bmp", FILES_THEN("decode_image")},
    {".tif", FILES_THEN("decode_image")},
    {".tiff", FILES_THEN("decode_image")},
    {".wav", FILES_THEN("decode_audio")},
    {".flac", FILES_THEN("decode_audio")},
    {".ogg", FILES_THEN("decode_audio")},
    {".opus", FILES_THEN("decode_audio")},
    {".mp3", FILES_THEN("decode_audio")},
};

/* Whether a name of n bytes ends so; `end` has no capitals. */
static bool ends(const char *name, size_t n, const char *end)
{
    const size_t end_n = strlen(end);
    return n >= end_n && strncasecmp(name + n - end_n, end, end_n) == 0;
}

static bool is_pipeline(const char *what)
{
    const size_t n = strlen(what);
    return strcmp(what, "-") == 0 || ends(what, n, ".json") || ends(what, n, ".yaml") ||
           ends(what, n, ".yml");
}

static const char *ops_of(const char *pattern)
{
    size_t n = strlen(pattern);
    if (ends(pattern, n, ".gz"))
        n -= strlen(".gz");
    else if (ends(pattern, n, ".zst"))
        n -= strlen(".zst");
    for (size_t i = 0; i < CW_ARRAY_LEN(kinds); i++)
        if (ends(pattern, n, kinds[i].end))
            return kinds[i].ops;
    return NULL;
}

char *tool_absolute_pattern(const char *pattern)
{
    char dir[4096];
    if (pattern[0] == '/' || strstr(pattern, "://") || !getcwd(dir, sizeof(dir)))
        return cw_mem_strdup(pattern);
    return cw_mem_printf("%s/%s", dir, pattern);
}

int tool_data_graph(const char *what, struct cw_graph **ret_graph, struct cw_err *err)
{
    if (is_pipeline(what))
        return cw_graph_load(strcmp(what, "-") == 0 ? "/dev/stdin" : what, ret_graph, err);
    const char *ops = ops_of(what);
    struct stat st;
    if (!ops && stat(what, &st) == 0 && S_ISDIR(st.st_mode))
        return cw_err_set(err, CW_E_INVALID,
                          "\"%s\" is a directory: give a pattern of files, in quotes, such as "
                          "'DIR/*.jpg' ('DIR/**/*.jpg': at any depth)",
                          what);
    if (!ops)
        return cw_err_set(
            err, CW_E_INVALID,
            "\"%s\": its name says neither that it is a pipeline (.json, .yaml) nor "
            "which source reads it (.parquet, .arrow, .feather, .jsonl, .csv, .tsv, "
            ".txt, .tfrecord, .tar, .npy, .npz, .h5, .idx, .chunk, .jpg, .png, .webp, "
            ".gif, .bmp, .tif, .wav, .flac, .ogg, .mp3): write a pipeline",
            what);
    const char *place = strstr(ops, "%s");
    cw_autofree char *path = tool_absolute_pattern(what);
    CW_STR_AUTO text = {0};
    cw_str_add(&text, "{\"pipeline\":[");
    cw_str_add_bytes(&text, ops, (size_t)(place - ops));
    cw_str_add_json(&text, path, strlen(path));
    cw_str_add(&text, place + 2);
    cw_str_add(&text, "]}");
    return cw_graph_parse(cw_str_text(&text), text.len, what, ret_graph, err);
}
