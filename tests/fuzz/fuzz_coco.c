/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of COCO's annotations: images and objects lie in their arrays, and each shape is
 * drawn inside of a small image, or is an error. */
#include <string.h>

#include "base/mem.h"
#include "format/coco.h"

#define SIDE_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void draw(const struct cw_coco_object *object, int64_t h, int64_t w)
{
    struct cw_err err = {0};
    cw_autofree uint8_t *work = cw_mem_new(CW_COCO_WORK(h, w));
    cw_autofree uint8_t *mask = cw_mem_new((size_t)(h * w));
    const int rc = cw_coco_draw(object, h, w, 7, work, mask, &err);
    CW_ASSERT(rc == 0 || (rc == CW_E_CORRUPT && err.msg[0]));
    for (int64_t i = 0; i < h * w; i++)
        CW_ASSERT(mask[i] == 0 || mask[i] == 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_err err = {0};
    struct cw_coco *coco = NULL;
    char *text = cw_mem_new(n + 1);
    size_t objects = 0;
    if (n > 0)
        memcpy(text, data, n);
    const int rc = cw_coco_new(text, n, &coco, &err);
    CW_ASSERT(rc == 0 || (rc < 0 && err.msg[0]));
    for (size_t i = 0; rc == 0 && i < coco->images_n; i++) {
        const struct cw_coco_image *image = &coco->images[i];
        CW_ASSERT(image->name >= coco->text && image->name + image->name_n <= coco->text + n);
        CW_ASSERT(image->first == objects && image->first + image->n <= coco->objects_n);
        objects += image->n;
        for (size_t k = 0; k < image->n; k++)
            draw(&coco->objects[image->first + k], CW_MIN(image->h, SIDE_MAX),
                 CW_MIN(image->w, SIDE_MAX));
    }
    CW_ASSERT(rc < 0 || objects == coco->objects_n);
    if (rc == 0)
        cw_coco_free(coco);
    return 0;
}
