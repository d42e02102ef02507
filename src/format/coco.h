/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations of objects in images, in the JSON form of COCO: lists `images`, `annotations` and, if
 * there is one, `categories`. A file is read once into an index; any thread may use it then. */
#ifndef CW_FORMAT_COCO_H
#define CW_FORMAT_COCO_H

#include "base/err.h"

struct cw_coco_image {
    int64_t id;
    const char *name; /* `file_name`; its text, not ended by a zero */
    size_t name_n;
    int64_t h, w;
    size_t first, n; /* its annotations */
};
struct cw_coco_object {
    int64_t category;
    float box[4]; /* x, y, width, height */
    float area;   /* NaN: the file does not say */
    bool is_crowd;
    const char *shape; /* `segmentation`, as JSON; NULL: there is none */
    size_t shape_n;
};
struct cw_coco {
    char *text; /* what names and shapes point to */
    size_t images_n, objects_n, categories_n;
    struct cw_coco_image *images;   /* in the order of the file */
    struct cw_coco_object *objects; /* by image, in the order of the file */
    int64_t *categories;            /* ids, ascending */
};

/* Takes the text, n bytes from cw_mem, also when it fails. Messages say which image or annotation is
 * wrong. */
int cw_coco_new(char *text, size_t n, struct cw_coco **ret_coco, struct cw_err *err);
void cw_coco_free(struct cw_coco *coco);
/* The number of a category in the order of ids, from 1; 0: it is none. */
int64_t cw_coco_number(const struct cw_coco *coco, int64_t category);

/* Draws the shape of an object into an image of h x w: `value` where the object is. Shapes are
 * polygons, or run lengths, plain or compressed; pixels are those of pycocotools. `work` has
 * CW_COCO_WORK(h, w) bytes, which are 0, and are so again unless it fails. */
#define CW_COCO_WORK(h, w) ((size_t)(h) * (size_t)(w) + 1)
int cw_coco_draw(const struct cw_coco_object *object, int64_t h, int64_t w, uint8_t value,
                 uint8_t *work, uint8_t *dst, struct cw_err *err);

#endif
