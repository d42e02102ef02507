/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file of annotations into an index. */
#include "format/coco.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "format/json_find.h"
#include "format/json_list.h"
#include "format/json_text.h"

/* The items of a list of objects, one after the other. */
struct items {
    const char *p, *end;
    const char *what; /* for messages */
    size_t n;         /* how many there were */
};

static int wrong(const struct items *items, const char *how, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s[%zu] %s", items->what, items->n, how);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void pass_spaces(struct items *items)
{
    while (items->p < items->end && is_space(*items->p))
        items->p++;
}

/* Finds the end of an object, that is, its bracket that closes. cw_json_find, which has passed over
 * the list, saw that there is one. */
static const char *end_of(const char *p, const char *end)
{
    size_t depth = 0;
    for (; p < end; p++) {
        if (*p == '"') {
            for (p++; p < end && *p != '"'; p++)
                p += *p == '\\';
        } else if (*p == '{' || *p == '[') {
            depth++;
        } else if ((*p == '}' || *p == ']') && --depth == 0) {
            return p + 1;
        }
    }
    return NULL;
}

/* Gives the next object; returns 0 at the end. */
static int next_item(struct items *items, const char **ret_p, size_t *ret_n, struct cw_err *err)
{
    pass_spaces(items);
    if (items->p < items->end && *items->p == ',' && items->n > 0) {
        items->p++;
        pass_spaces(items);
    } else if (items->p == items->end) {
        return 0;
    } else if (items->n > 0) {
        return wrong(items, "does not begin with a comma", err);
    }
    if (items->p == items->end || *items->p != '{')
        return wrong(items, "is no object", err);
    const char *end = end_of(items->p, items->end);
    if (!end)
        return wrong(items, "is not closed", err);
    *ret_p = items->p;
    *ret_n = (size_t)(end - items->p);
    items->p = end;
    return 1;
}

static struct items items_of(const struct cw_json_slice *list, const char *what)
{
    const bool is_list = list->kind == CW_JSON_LIST && list->n >= 2;
    return (struct items){.p = is_list ? list->p + 1 : NULL,
                          .end = is_list ? list->p + list->n - 1 : NULL,
                          .what = what};
}

static int get_i64(const struct cw_json_slice *slice, int64_t *ret_v, struct cw_err *err)
{
    size_t used;
    if (slice->kind != CW_JSON_NUMBER)
        return cw_err_set(err, CW_E_CORRUPT, "is a %s, not a number",
                          cw_json_kind_name(slice->kind));
    return cw_json_scalar(slice->p, slice->n, CW_DTYPE_I64, ret_v, &used, err);
}

/* Makes room for one more of an array that doubles. */
static void *grown(void *v, size_t n, size_t each)
{
    return n & (n - 1) ? v : cw_mem_grow(v, n ? 2 * n : 1, each);
}

/* ---- images ---- */

static int read_name(const struct cw_json_slice *slice, struct cw_coco_image *image,
                     struct cw_err *err)
{
    if (slice->kind != CW_JSON_STRING || slice->n == 0)
        return cw_err_set(err, CW_E_CORRUPT, "has no file_name");
    image->name = slice->p;
    image->name_n = slice->n;
    if (!slice->is_escaped)
        return 0;
    /* The text gets shorter, so it has room where it stands, in the text that is ours. */
    char *own = (char *)(uintptr_t)slice->p;
    cw_autofree char *text = cw_mem_new(slice->n);
    const int rc = cw_json_unescape(slice->p, slice->n, text, &image->name_n, err);
    if (rc == 0)
        memcpy(own, text, image->name_n);
    return rc;
}

enum { IMAGE_ID, IMAGE_NAME, IMAGE_H, IMAGE_W, IMAGE_KEYS };
static const char *const image_keys[IMAGE_KEYS] = {"id", "file_name", "height", "width"};

static int read_image(const struct cw_json_slice *slices, struct cw_coco_image *image,
                      struct cw_err *err)
{
    int rc = get_i64(&slices[IMAGE_ID], &image->id, err);
    if (rc < 0)
        return cw_err_wrap(err, "id");
    rc = read_name(&slices[IMAGE_NAME], image, err);
    if (rc == 0)
        rc = get_i64(&slices[IMAGE_H], &image->h, err);
    if (rc == 0)
        rc = get_i64(&slices[IMAGE_W], &image->w, err);
    if (rc == 0 && (image->h < 1 || image->w < 1 || image->h > 65535 || image->w > 65535))
        rc = cw_err_set(err, CW_E_CORRUPT, "is %lld x %lld pixels", (long long)image->h,
                        (long long)image->w);
    return rc;
}

/* The image with an id, found in a list that is sorted by it. */
struct by_id {
    int64_t id;
    size_t image;
};

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = ((const struct by_id *)a)->id, y = ((const struct by_id *)b)->id;
    return (x > y) - (x < y);
}

static int sort_ids(const struct cw_coco *coco, struct by_id *ids, struct cw_err *err)
{
    for (size_t i = 0; i < coco->images_n; i++)
        ids[i] = (struct by_id){coco->images[i].id, i};
    if (coco->images_n > 1)
        qsort(ids, coco->images_n, sizeof(*ids), compare_ids);
    for (size_t i = 1; i < coco->images_n; i++)
        if (ids[i].id == ids[i - 1].id)
            return cw_err_set(err, CW_E_CORRUPT, "two images have the id %lld",
                              (long long)ids[i].id);
    return 0;
}

/* ---- annotations ---- */

static int read_box(const struct cw_json_slice *slice, float ret_box[4], struct cw_err *err)
{
    if (slice->kind != CW_JSON_LIST)
        return cw_err_set(err, CW_E_CORRUPT, "bbox is a %s, not a list of 4 numbers",
                          cw_json_kind_name(slice->kind));
    const char *p = slice->p, *end = slice->p + slice->n;
    for (int i = 0; i < 4; i++) {
        size_t used;
        for (p++; p < end && is_space(*p); p++)
            ;
        int rc = cw_json_scalar(p, (size_t)(end - p), CW_DTYPE_F32, &ret_box[i], &used, err);
        if (rc < 0)
            return cw_err_wrap(err, "bbox");
        for (p += used; p < end && is_space(*p); p++)
            ;
        if (p >= end || *p != (i < 3 ? ',' : ']'))
            return cw_err_set(err, CW_E_CORRUPT, "bbox is no list of 4 numbers");
    }
    return 0;
}

enum {
    OBJECT_IMAGE,
    OBJECT_CATEGORY,
    OBJECT_BOX,
    OBJECT_AREA,
    OBJECT_CROWD,
    OBJECT_SHAPE,
    OBJECT_KEYS
};
static const char *const object_keys[OBJECT_KEYS] = {"image_id", "category_id", "bbox",
                                                     "area",     "iscrowd",     "segmentation"};

static int read_object(const struct cw_json_slice *slices, int64_t *ret_image,
                       struct cw_coco_object *object, struct cw_err *err)
{
    const struct cw_json_slice *shape = &slices[OBJECT_SHAPE], *area = &slices[OBJECT_AREA];
    int64_t crowd = 0;
    size_t used;
    int rc = get_i64(&slices[OBJECT_IMAGE], ret_image, err);
    if (rc < 0)
        return cw_err_wrap(err, "image_id");
    rc = get_i64(&slices[OBJECT_CATEGORY], &object->category, err);
    if (rc < 0)
        return cw_err_wrap(err, "category_id");
    rc = read_box(&slices[OBJECT_BOX], object->box, err);
    object->area = NAN;
    if (rc == 0 && area->kind == CW_JSON_NUMBER)
        rc = cw_json_scalar(area->p, area->n, CW_DTYPE_F32, &object->area, &used, err);
    if (rc == 0 && slices[OBJECT_CROWD].kind == CW_JSON_NUMBER)
        rc = get_i64(&slices[OBJECT_CROWD], &crowd, err);
    object->is_crowd = crowd != 0;
    const bool has_shape = shape->kind == CW_JSON_LIST || shape->kind == CW_JSON_OBJECT;
    object->shape = has_shape ? shape->p : NULL;
    object->shape_n = has_shape ? shape->n : 0;
    return rc;
}

/* ---- the file ---- */

static int compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int read_images(struct cw_coco *coco, struct items items, struct cw_err *err)
{
    struct cw_json_plan *plan = NULL;
    struct cw_json_slice slices[IMAGE_KEYS];
    const char *p;
    size_t n;
    int rc = cw_json_plan_new(image_keys, IMAGE_KEYS, &plan, err);
    while (rc == 0 && (rc = next_item(&items, &p, &n, err)) > 0) {
        coco->images = grown(coco->images, coco->images_n, sizeof(*coco->images));
        struct cw_coco_image *image = &coco->images[coco->images_n++];
        *image = (struct cw_coco_image){0};
        rc = cw_json_find(plan, p, n, slices, err);
        if (rc == 0)
            rc = read_image(slices, image, err);
        if (rc < 0)
            cw_err_wrap(err, "images[%zu]", items.n);
        items.n++;
    }
    cw_json_plan_free(plan);
    return rc;
}

static int read_categories(struct cw_coco *coco, struct items items, struct cw_err *err)
{
    static const char *const keys[] = {"id"};
    struct cw_json_plan *plan = NULL;
    struct cw_json_slice slice;
    const char *p;
    size_t n;
    int rc = cw_json_plan_new(keys, 1, &plan, err);
    while (rc == 0 && (rc = next_item(&items, &p, &n, err)) > 0) {
        coco->categories = grown(coco->categories, coco->categories_n, sizeof(int64_t));
        rc = cw_json_find(plan, p, n, &slice, err);
        if (rc == 0)
            rc = get_i64(&slice, &coco->categories[coco->categories_n++], err);
        if (rc < 0)
            cw_err_wrap(err, "categories[%zu]", items.n);
        items.n++;
    }
    cw_json_plan_free(plan);
    if (rc == 0 && coco->categories_n > 1)
        qsort(coco->categories, coco->categories_n, sizeof(int64_t), compare_i64);
    return rc;
}

/* Annotations in the order of the file, and the image of each. */
struct found {
    struct cw_coco_object *objects;
    size_t *images;
    size_t n;
};

static int find_image(const struct cw_coco *coco, const struct by_id *ids, int64_t id,
                      size_t *ret_image, struct cw_err *err)
{
    const struct by_id key = {.id = id};
    const struct by_id *at =
        coco->images_n > 0 ? bsearch(&key, ids, coco->images_n, sizeof(*ids), compare_ids) : NULL;
    if (!at)
        return cw_err_set(err, CW_E_CORRUPT, "there is no image with the id %lld", (long long)id);
    *ret_image = at->image;
    return 0;
}

static int read_objects(const struct cw_coco *coco, struct items items, const struct by_id *ids,
                        struct found *found, struct cw_err *err)
{
    struct cw_json_plan *plan = NULL;
    struct cw_json_slice slices[OBJECT_KEYS];
    const char *p;
    size_t n;
    int64_t id;
    int rc = cw_json_plan_new(object_keys, OBJECT_KEYS, &plan, err);
    while (rc == 0 && (rc = next_item(&items, &p, &n, err)) > 0) {
        found->objects = grown(found->objects, found->n, sizeof(*found->objects));
        found->images = grown(found->images, found->n, sizeof(size_t));
        rc = cw_json_find(plan, p, n, slices, err);
        if (rc == 0)
            rc = read_object(slices, &id, &found->objects[found->n], err);
        if (rc == 0)
            rc = find_image(coco, ids, id, &found->images[found->n], err);
        if (rc < 0)
            cw_err_wrap(err, "annotations[%zu]", items.n);
        found->n++;
        items.n++;
    }
    cw_json_plan_free(plan);
    return rc;
}

/* Puts annotations in the order of their images. */
static void group(struct cw_coco *coco, const struct found *found)
{
    size_t at = 0;
    coco->objects_n = found->n;
    coco->objects = CW_NEW_ARRAY(struct cw_coco_object, found->n + 1);
    for (size_t i = 0; i < found->n; i++)
        coco->images[found->images[i]].n++;
    for (size_t i = 0; i < coco->images_n; i++) {
        coco->images[i].first = at;
        at += coco->images[i].n;
        coco->images[i].n = 0;
    }
    for (size_t i = 0; i < found->n; i++) {
        struct cw_coco_image *image = &coco->images[found->images[i]];
        coco->objects[image->first + image->n++] = found->objects[i];
    }
}

static int read_file(struct cw_coco *coco, size_t n, struct cw_err *err)
{
    enum { IMAGES, OBJECTS, CATEGORIES, LISTS };
    static const char *const lists[LISTS] = {"images", "annotations", "categories"};
    struct cw_json_slice slices[LISTS];
    struct cw_json_plan *plan = NULL;
    struct found found = {0};
    int rc = cw_json_plan_new(lists, LISTS, &plan, err);
    if (rc == 0)
        rc = cw_json_find(plan, coco->text, n, slices, err);
    cw_json_plan_free(plan);
    for (int i = 0; rc == 0 && i < CATEGORIES; i++)
        if (slices[i].kind != CW_JSON_LIST)
            rc = cw_err_set(err, CW_E_CORRUPT, "there is no list \"%s\"", lists[i]);
    if (rc == 0)
        rc = read_images(coco, items_of(&slices[IMAGES], lists[IMAGES]), err);
    if (rc == 0)
        rc = read_categories(coco, items_of(&slices[CATEGORIES], lists[CATEGORIES]), err);
    cw_autofree struct by_id *ids = CW_NEW_ARRAY(struct by_id, coco->images_n + 1);
    if (rc == 0)
        rc = sort_ids(coco, ids, err);
    if (rc == 0)
        rc = read_objects(coco, items_of(&slices[OBJECTS], lists[OBJECTS]), ids, &found, err);
    if (rc == 0)
        group(coco, &found);
    cw_mem_free(found.objects);
    cw_mem_free(found.images);
    return rc;
}

int cw_coco_new(char *text, size_t n, struct cw_coco **ret_coco, struct cw_err *err)
{
    struct cw_coco *coco = CW_NEW(struct cw_coco);
    coco->text = text;
    const int rc = read_file(coco, n, err);
    if (rc < 0)
        cw_coco_free(coco);
    else
        *ret_coco = coco;
    return rc;
}

void cw_coco_free(struct cw_coco *coco)
{
    if (!coco)
        return;
    cw_mem_free(coco->text);
    cw_mem_free(coco->images);
    cw_mem_free(coco->objects);
    cw_mem_free(coco->categories);
    cw_mem_free(coco);
}

int64_t cw_coco_number(const struct cw_coco *coco, int64_t category)
{
    const int64_t *at =
        coco->categories_n > 0
            ? bsearch(&category, coco->categories, coco->categories_n, sizeof(int64_t), compare_i64)
            : NULL;
    return at ? at - coco->categories + 1 : 0;
}
