/* SPDX-License-Identifier: Apache-2.0 */
/* YOLO's label files: a line for each object, with the number of its class, and the middle and size of its box or the
 * corners of a polygon, in parts of the image's width and height. */
#ifndef CW_FORMAT_YOLO_H
#define CW_FORMAT_YOLO_H

#include "base/err.h"

/* How many objects a file has at most: its lines. */
size_t cw_yolo_room(const char *text, size_t n);
/* Reads all objects: of each the class, and the corners (x1, y1, x2, y2) of its box, or of the hull of its polygon. There
 * is room for cw_yolo_room() of them. CORRUPT, with the line, for what is no object. */
int cw_yolo_read(const char *text, size_t n, int64_t *ret_class, float *ret_box, size_t *ret_n,
                 struct cw_err *err);

#endif
