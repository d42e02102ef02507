/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a YOLO label file: there is room for what is read, and boxes are near the image. */
#include <string.h>

#include "base/mem.h"
#include "format/yolo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct cw_err err = {0};
    size_t objects = 0;
    cw_autofree char *text = cw_mem_new(n + 1);
    if (n > 0)
        memcpy(text, data, n);
    const size_t room = cw_yolo_room(text, n);
    cw_autofree int64_t *class = CW_NEW_ARRAY(int64_t, room + 1);
    cw_autofree float *box = CW_NEW_ARRAY(float, 4 * room + 1);
    const int rc = cw_yolo_read(text, n, class, box, &objects, &err);
    CW_ASSERT(rc == 0 || (rc == CW_E_CORRUPT && err.msg[0]));
    CW_ASSERT(rc < 0 || objects <= room);
    for (size_t i = 0; rc == 0 && i < objects; i++) {
        CW_ASSERT(class[i] >= 0);
        for (int k = 0; k < 4; k++)
            CW_ASSERT(box[4 * i + (size_t)k] >= -1 && box[4 * i + (size_t)k] <= 2);
    }
    return 0;
}
