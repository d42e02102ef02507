/* SPDX-License-Identifier: Apache-2.0 */
/* Source `yolo`: images with the objects in them, as YOLO's label files say. */
#include "format/yolo.h"

#include <string.h>
#include "base/mem.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"

#define FILE_MAX ((uint64_t)64 << 20)
#define LABELS "/labels/"
#define IMAGES "/images/"

struct yolo_opts {
    struct cw_str_list pattern;
    char *images, *suffix;
};

#define OFFSET(member) offsetof(struct yolo_opts, member)
static const struct cw_opt options[] = {
    {.name = "images",
     .help = "the folder of the images, which is put before their names; none = the label file's, "
             "with \"images\" for the last folder \"labels\"",
     .type = CW_OPT_STR,
     .offset = OFFSET(images),
     .def = "\"\""},
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {.name = "suffix",
     .help = "what the name of an image ends with, in place of \".txt\"",
     .type = CW_OPT_STR,
     .offset = OFFSET(suffix),
     .def = "\".jpg\""},
    {0},
};

enum { PATH, BOXES, CLASSES, FIELDS };

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const int64_t boxes[] = {-1, 4}, classes[] = {-1};
    CW_SPEC_AUTO spec = {0};
    (void)opts;
    (void)in;
    (void)in_n;
    int rc = cw_spec_add(&spec, "path", CW_DTYPE_STR, 0, NULL, err);
    if (rc == 0)
        rc = cw_spec_add(&spec, "boxes", CW_DTYPE_F32, 2, boxes, err);
    if (rc == 0)
        rc = cw_spec_add(&spec, "labels", CW_DTYPE_I64, 1, classes, err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

/* The parts of which the path of an image is made. */
struct image_path {
    const char *part[3];
    size_t n[3];
};

/* Finds the last folder "labels" in a path. */
static const char *find_labels(const char *path)
{
    const char *found = NULL;
    for (const char *at = path; (at = strstr(at, LABELS)) != NULL; at++)
        found = at;
    return found;
}

static int find_image(const struct yolo_opts *o, const char *path, struct image_path *ret_image,
                      struct cw_err *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
               *dot = strrchr(name, '.'),
               *end = dot && strcmp(dot, ".txt") == 0 ? dot : path + strlen(path);
    const size_t folder_n = strlen(o->images);
    if (folder_n > 0) {
        const bool has_slash = o->images[folder_n - 1] == '/';
        *ret_image = (struct image_path){{o->images, "/", name},
                                         {folder_n, !has_slash, (size_t)(end - name)}};
        return 0;
    }
    const char *labels = find_labels(path);
    if (!labels)
        return cw_err_set(
            err, CW_E_INVALID,
            "%s lies in no folder \"labels\": option images must say where the images are", path);
    const char *rest = labels + strlen(LABELS);
    *ret_image = (struct image_path){
        {path, IMAGES, rest}, {(size_t)(labels - path), strlen(IMAGES), (size_t)(end - rest)}};
    return 0;
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct cw_file_source *s = state;
    (void)how;
    (void)err;
    s->files->v[i].records = 1;
    return 0;
}

static const struct cw_file_source_kind kind = {.state_bytes = sizeof(struct cw_file_source),
                                                .prepare = prepare};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct yolo_opts *o = opts;
    void *state = NULL;
    int rc = cw_file_source_new(&kind, &o->pattern, how, &state, err);
    const struct cw_file_source *s = state;
    struct image_path image;
    for (size_t i = 0; rc == 0 && i < s->files->n; i++)
        rc = find_image(o, s->files->v[i].path, &image, err);
    if (rc < 0)
        cw_file_source_free(state);
    else
        *ret_state = state;
    return rc;
}

static int put_path(const struct cw_op_ctx *ctx, const struct yolo_opts *o, const char *of_labels,
                    struct cw_view *view, struct cw_err *err)
{
    struct image_path image;
    const size_t suffix_n = strlen(o->suffix);
    const int rc = find_image(o, of_labels, &image, err);
    if (rc < 0)
        return rc;
    *view = (struct cw_view){.dtype = CW_DTYPE_STR,
                             .bytes = image.n[0] + image.n[1] + image.n[2] + suffix_n};
    char *to = cw_op_scratch(ctx, view->bytes + 1, err);
    view->data = to;
    if (!to)
        return CW_E_NOMEM;
    for (size_t i = 0; i < CW_ARRAY_LEN(image.part); i++) {
        memcpy(to, image.part[i], image.n[i]);
        to += image.n[i];
    }
    memcpy(to, o->suffix, suffix_n);
    return 0;
}

/* Reads a whole file into memory of the element. */
static int read_text(const struct cw_op_ctx *ctx, struct cw_file_source *s, size_t file,
                     char **ret_text, size_t *ret_n, struct cw_err *err)
{
    struct cw_file_use use;
    int rc = cw_file_set_use(s->files, file, &use, err);
    if (rc < 0)
        return rc;
    const uint64_t n = use.readable.size;
    if (n > FILE_MAX)
        rc = cw_err_set(err, CW_E_LIMIT, "a label file of %llu bytes: at most %llu",
                        (unsigned long long)n, (unsigned long long)FILE_MAX);
    *ret_n = (size_t)n;
    *ret_text = rc == 0 ? cw_op_scratch(ctx, (size_t)n + 1, err) : NULL;
    if (rc == 0)
        rc = *ret_text ? cw_readable_get(&use.readable, 0, *ret_text, (size_t)n, err) : CW_E_NOMEM;
    cw_file_set_release(s->files, &use);
    return rc;
}

static int put_objects(const struct cw_op_ctx *ctx, const char *text, size_t n,
                       struct cw_view *fields, struct cw_err *err)
{
    const size_t room = cw_yolo_room(text, n);
    size_t objects = 0;
    int64_t *class = cw_op_scratch(ctx, (room + 1) * sizeof(*class), err);
    float *box = class ? cw_op_scratch(ctx, (room + 1) * 4 * sizeof(*box), err) : NULL;
    if (!box)
        return CW_E_NOMEM;
    const int rc = cw_yolo_read(text, n, class, box, &objects, err);
    fields[BOXES] = (struct cw_view){.dtype = CW_DTYPE_F32,
                                     .rank = 2,
                                     .dims = {(int64_t)objects, 4},
                                     .bytes = objects * 4 * sizeof(*box),
                                     .data = box};
    fields[CLASSES] = (struct cw_view){.dtype = CW_DTYPE_I64,
                                       .rank = 1,
                                       .dims = {(int64_t)objects},
                                       .bytes = objects * sizeof(*class),
                                       .data = class};
    return rc;
}

static int read_image(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                      struct cw_element *ret_element, struct cw_err *err)
{
    struct cw_file_source *s = state;
    const char *path = s->files->v[pos].path;
    char *text = NULL;
    size_t n = 0;
    ret_element->n = FIELDS;
    int rc = put_path(ctx, opts, path, &ret_element->fields[PATH], err);
    if (rc == 0)
        rc = read_text(ctx, s, (size_t)pos, &text, &n, err);
    if (rc == 0)
        rc = put_objects(ctx, text, n, ret_element->fields, err);
    return rc;
}

static void describe(const void *opts, void *state, int64_t pos, struct cw_str *out)
{
    const struct cw_file_source *s = state;
    (void)opts;
    cw_str_add(out, s->files->v[pos].path);
}

static const char *locate(const void *opts, void *state, int64_t pos, int64_t *ret_record)
{
    const struct cw_file_source *s = state;
    (void)opts;
    *ret_record = -1;
    return s->files->v[pos].path;
}

const struct cw_op cw_op_yolo = {
    .name = "yolo",
    .version = 1,
    .summary = "images with boxes and labels of objects, from YOLO's label files",
    .doc = "Reads label files in the form of Darknet and Ultralytics' YOLO, sorted bytewise, and "
           "gives for each `path`, that of its\n"
           "image, which `read_file` makes bytes of, and of the objects in the order of the file "
           "`boxes` and `labels`, the numbers of\n"
           "their classes. A line has a class, from 0, and the middle, width and height of a box, "
           "or the corners of a polygon,\n"
           "of which the box is the hull. `boxes` are corners in parts of the image: say "
           "`\"box_format\": \"relative\"` to operators\n"
           "that move them. An empty file is an image without objects. Numbers up to 1.01 count as "
           "rounded.\n"
           "\n"
           "The image of `.../labels/train/7.txt` is `.../images/train/7.jpg`, as Ultralytics "
           "looks for it, or lies in the folder\n"
           "`images`. An image without a label file is not found: give it an empty one. Equal "
           "lines are given twice. Patterns as\n"
           "for `files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct yolo_opts),
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_image,
    .manifest = cw_file_source_manifest,
    .describe = describe,
    .locate = locate,
    .ahead = cw_file_source_ahead,
};
