/* SPDX-License-Identifier: Apache-2.0 */
/* Source `coco`: images with the objects in them, as COCO's annotations say. */
#include "base/mem.h"
#include "format/coco.h"
#include "ops/op_util.h"
#include "ops/source/file_source.h"

#include <string.h>

#define FILE_MAX (INT64_C(4) << 30)

enum masks { NONE, CLASSES, OBJECTS };
static const char *const masks_names[] = {"none", "classes", "objects", NULL};
enum labels { IDS, NUMBERS };
static const char *const labels_names[] = {"ids", "numbers", NULL};

struct coco_opts {
    struct cw_str_list pattern;
    char *images;
    int box_format, labels, masks;
    bool crowds;
};
struct coco_state {
    struct cw_file_source source; /* loads a struct cw_coco for each file */
};

#define OFFSET(member) offsetof(struct coco_opts, member)
static const struct cw_opt options[] = {
    {.name = "box_format",
     .help =
         "what the numbers of a box are: corners, or a corner and the size, or corners in parts of "
         "the image",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(box_format),
     .def = "\"xyxy\"",
     .names = cw_box_format_names},
    {.name = "crowds",
     .help = "whether annotations of crowds are objects, too",
     .type = CW_OPT_BOOL,
     .offset = OFFSET(crowds),
     .def = "false"},
    {.name = "images",
     .help = "the folder of the images, which is put before their names",
     .type = CW_OPT_STR,
     .offset = OFFSET(images),
     .flags = CW_OPT_REQUIRED},
    {.name = "labels",
     .help = "category ids as they are, or their numbers in the order of ids, from 1",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(labels),
     .def = "\"ids\"",
     .names = labels_names},
    {.name = "masks",
     .help = "whether there is a mask: of the objects' labels, or of their numbers in the image, "
             "from 1",
     .type = CW_OPT_ENUM,
     .offset = OFFSET(masks),
     .def = "\"none\"",
     .names = masks_names},
    CW_FILE_PATTERN_ROW(OFFSET(pattern)),
    {0},
};

enum { PATH, IMAGE_ID, BOXES, LABELS, AREA, CROWD, MASK, FIELDS };

static int infer(const void *opts, const struct cw_spec *in, size_t in_n, struct cw_spec *ret_spec,
                 struct cw_err *err)
{
    const struct coco_opts *o = opts;
    static const struct {
        const char *name;
        enum cw_dtype dtype;
        int rank;
        int64_t dims[2];
    } fields[FIELDS] = {{"path", CW_DTYPE_STR, 0, {0}},      {"image_id", CW_DTYPE_I64, 0, {0}},
                        {"boxes", CW_DTYPE_F32, 2, {-1, 4}}, {"labels", CW_DTYPE_I64, 1, {-1}},
                        {"area", CW_DTYPE_F32, 1, {-1}},     {"iscrowd", CW_DTYPE_U8, 1, {-1}},
                        {"mask", CW_DTYPE_U8, 2, {-1, -1}}};
    CW_SPEC_AUTO spec = {0};
    int rc = 0;
    (void)in;
    (void)in_n;
    for (int i = 0; rc == 0 && i < (o->masks == NONE ? MASK : FIELDS); i++)
        rc = cw_spec_add(&spec, fields[i].name, fields[i].dtype, fields[i].rank, fields[i].dims,
                         err);
    if (rc == 0)
        *ret_spec = cw_spec_take(&spec);
    return rc;
}

static int load(void *state, size_t i, void **ret_loaded, struct cw_err *err)
{
    struct coco_state *s = state;
    struct cw_file_use use;
    struct cw_coco *coco = NULL;
    int rc = cw_file_set_use(s->source.files, i, &use, err);
    if (rc < 0)
        return rc;
    const uint64_t n = use.readable.size;
    char *text = n <= FILE_MAX ? cw_mem_try((size_t)n + 1) : NULL;
    rc = text ? cw_readable_get(&use.readable, 0, text, (size_t)n, err)
              : cw_err_set(err, CW_E_NOMEM, "no memory for %llu bytes of annotations",
                           (unsigned long long)n);
    cw_file_set_release(s->source.files, &use);
    if (rc < 0)
        cw_mem_free(text);
    else
        rc = cw_coco_new(text, (size_t)n, &coco, err);
    if (rc < 0)
        return cw_err_wrap(err, "%s", s->source.files->v[i].path);
    *ret_loaded = coco;
    return 0;
}

static void unload(void *loaded)
{
    cw_coco_free(loaded);
}

static int prepare(void *state, size_t i, const struct cw_op_open *how, struct cw_err *err)
{
    struct coco_state *s = state;
    const void *loaded = NULL;
    int rc = cw_file_source_get(&s->source, i, &loaded, err);
    if (rc < 0)
        return rc;
    const struct cw_coco *coco = loaded;
    if (how->manifest)
        return cw_file_source_compare(&s->source, i, coco->images_n, "images", err);
    s->source.files->v[i].records = (int64_t)coco->images_n;
    return 0;
}

static const struct cw_file_source_kind kind = {
    .state_bytes = sizeof(struct coco_state), .prepare = prepare, .load = load, .unload = unload};

static int open_files(const void *opts, const struct cw_op_open *how, void **ret_state,
                      struct cw_err *err)
{
    const struct coco_opts *o = opts;
    return cw_file_source_new(&kind, &o->pattern, how, ret_state, err);
}

/* ---- elements ---- */

/* an element being made */
struct making {
    const struct cw_op_ctx *ctx;
    const struct coco_opts *o;
    const struct cw_coco *coco;
    const struct cw_coco_image *image;
    const struct cw_coco_object **objects; /* those that are given */
    int64_t *labels;
    size_t n;
};

static int choose(struct making *m, struct cw_err *err)
{
    const size_t n = m->image->n;
    m->objects = cw_op_scratch(m->ctx, (n + 1) * sizeof(*m->objects), err);
    m->labels = m->objects ? cw_op_scratch(m->ctx, (n + 1) * sizeof(int64_t), err) : NULL;
    if (!m->labels)
        return CW_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const struct cw_coco_object *object = &m->coco->objects[m->image->first + i];
        if (object->is_crowd && !m->o->crowds)
            continue;
        const int64_t number = cw_coco_number(m->coco, object->category);
        if (m->o->labels == NUMBERS && number == 0)
            return cw_err_set(err, CW_E_CORRUPT, "category %lld is not in \"categories\"",
                              (long long)object->category);
        m->labels[m->n] = m->o->labels == NUMBERS ? number : object->category;
        m->objects[m->n++] = object;
    }
    return 0;
}

static int put_path(struct making *m, struct cw_view *view, struct cw_err *err)
{
    const size_t folder_n = strlen(m->o->images);
    const bool slash = folder_n > 0 && m->o->images[folder_n - 1] != '/';
    view->dtype = CW_DTYPE_STR;
    view->bytes = folder_n + slash + m->image->name_n;
    char *to = cw_op_scratch(m->ctx, view->bytes + 1, err);
    if (!to)
        return CW_E_NOMEM;
    view->data = to;
    memcpy(to, m->o->images, folder_n);
    if (slash)
        to[folder_n] = '/';
    memcpy(to + folder_n + slash, m->image->name, m->image->name_n);
    return 0;
}

/* Makes a view of numbers of n rows, with memory. */
static int put_rows(struct making *m, enum cw_dtype dtype, size_t each, struct cw_view *view,
                    struct cw_err *err)
{
    view->dtype = dtype;
    view->rank = each > 1 ? 2 : 1;
    view->dims[0] = (int64_t)m->n;
    view->dims[1] = each > 1 ? (int64_t)each : 0;
    view->bytes = m->n * each * cw_dtype_bytes(dtype);
    view->data = cw_op_scratch(m->ctx, view->bytes + 1, err);
    return view->data ? 0 : CW_E_NOMEM;
}

static int put_objects(struct making *m, struct cw_view *fields, struct cw_err *err)
{
    int rc = put_rows(m, CW_DTYPE_F32, 4, &fields[BOXES], err);
    if (rc == 0)
        rc = put_rows(m, CW_DTYPE_F32, 1, &fields[AREA], err);
    if (rc == 0)
        rc = put_rows(m, CW_DTYPE_U8, 1, &fields[CROWD], err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < m->n; i++) {
        const struct cw_coco_object *object = m->objects[i];
        const struct cw_motion_boxes box = {.v = object->box, .n = 1, .format = CW_BOX_XYWH};
        double xyxy[4];
        cw_motion_box(&box, 0, xyxy);
        cw_motion_box_put(m->o->box_format, m->image->h, m->image->w, xyxy,
                          (float *)fields[BOXES].data + 4 * i);
        ((float *)fields[AREA].data)[i] = object->area;
        ((uint8_t *)fields[CROWD].data)[i] = object->is_crowd;
    }
    fields[LABELS] = (struct cw_view){.dtype = CW_DTYPE_I64,
                                      .rank = 1,
                                      .dims = {(int64_t)m->n},
                                      .bytes = m->n * sizeof(int64_t),
                                      .data = m->labels};
    return 0;
}

static int put_mask(struct making *m, struct cw_view *view, struct cw_err *err)
{
    const int64_t h = m->image->h, w = m->image->w;
    uint8_t *work = cw_op_scratch(m->ctx, CW_COCO_WORK(h, w), err);
    *view = (struct cw_view){.dtype = CW_DTYPE_U8, .rank = 2, .dims = {h, w}};
    view->bytes = (size_t)h * (size_t)w;
    view->data = work ? cw_op_scratch(m->ctx, view->bytes, err) : NULL;
    if (!view->data)
        return CW_E_NOMEM;
    memset(view->data, 0, view->bytes);
    memset(work, 0, CW_COCO_WORK(h, w));
    for (size_t i = 0; i < m->n; i++) {
        const int64_t value = m->o->masks == CLASSES ? m->labels[i] : (int64_t)i + 1;
        if (value < 1 || value > 255)
            return cw_err_set(err, CW_E_LIMIT,
                              "object %zu: a mask has values of 1 to 255, and this one's is %lld",
                              i, (long long)value);
        const int rc = cw_coco_draw(m->objects[i], h, w, (uint8_t)value, work, view->data, err);
        if (rc < 0)
            return cw_err_wrap(err, "object %zu", i);
    }
    return 0;
}

static int read_image(const struct cw_op_ctx *ctx, const void *opts, void *state, int64_t pos,
                      struct cw_element *ret_element, struct cw_err *err)
{
    struct coco_state *s = state;
    const size_t file = cw_file_set_locate(s->source.files, pos);
    const void *loaded = NULL;
    int rc = cw_file_source_get(&s->source, file, &loaded, err);
    if (rc < 0)
        return rc;
    struct making m = {.ctx = ctx, .o = opts, .coco = loaded};
    m.image = &m.coco->images[pos - s->source.files->v[file].first];
    struct cw_view *fields = ret_element->fields;
    memset(fields, 0, FIELDS * sizeof(*fields));
    ret_element->n = m.o->masks == NONE ? MASK : FIELDS;
    fields[IMAGE_ID] = (struct cw_view){
        .dtype = CW_DTYPE_I64, .bytes = sizeof(int64_t), .data = (void *)(uintptr_t)&m.image->id};
    rc = choose(&m, err);
    if (rc == 0)
        rc = put_path(&m, &fields[PATH], err);
    if (rc == 0)
        rc = put_objects(&m, fields, err);
    return rc == 0 && m.o->masks != NONE ? put_mask(&m, &fields[MASK], err) : rc;
}

const struct cw_op cw_op_coco = {
    .name = "coco",
    .version = 1,
    .summary = "images with boxes, labels and masks of objects",
    .doc = "Reads annotations in COCO's JSON form, and gives for each of its images, in the order "
           "of the "
           "file: `path`, the folder `images`\n"
           "and the image's name, which `read_file` makes bytes of; `image_id`; and of its "
           "objects, in "
           "the order of the file, `boxes`,\n"
           "`labels`, `area` (NaN where the file has none) and `iscrowd`. An image without objects "
           "has 0 "
           "of them.\n"
           "\n"
           "`masks` adds a field `mask` u8[height,width] of polygons and run lengths, plain or "
           "compressed, with pixels as pycocotools\n"
           "draws them; where objects overlap, the later one is seen, and 0 is none of them. The "
           "names "
           "are those that other operators\n"
           "move together (pipelines.md, \"What moves together\"). A file is read into memory as a "
           "whole, "
           "on each worker. Patterns as for\n"
           "`files`.",
    .kind = CW_OP_SOURCE,
    .traits = CW_OP_FILES,
    .options = options,
    .options_bytes = sizeof(struct coco_opts),
    .infer = infer,
    .open = open_files,
    .close = cw_file_source_free,
    .count = cw_file_source_count,
    .read = read_image,
    .manifest = cw_file_source_manifest,
    .describe = cw_file_source_describe,
    .locate = cw_file_source_locate,
};
