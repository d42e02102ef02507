/* SPDX-License-Identifier: Apache-2.0 */
/* A file of a source that is read as a whole, by one call, and inflated if its name says that it is compressed. */
#ifndef CW_OPS_SOURCE_WHOLE_FILE_H
#define CW_OPS_SOURCE_WHOLE_FILE_H

#include "ops/source/inflated.h"

struct cw_whole_file {
    struct cw_readable readable; /* what is in the file */
    struct cw_inflated *inflated;
    struct cw_access_points *points;
    struct cw_inflated_view view;
};
/* Opens what is in a file that is in use; *ret_file refers to itself and to `use`, so neither is moved. More than
 * `max` bytes are an error. */
int cw_whole_file_open(const struct cw_file_use *use, int64_t max, struct cw_whole_file *ret_file,
                       struct cw_err *err);
void cw_whole_file_close(struct cw_whole_file *file);
/* The code of an error of a range of a file without an index. What is wrong with it is not a bad element that may be
 * left out, since the records in it would be lost: such a code becomes STATE. */
int cw_range_error(int rc, struct cw_err *err);

#endif
