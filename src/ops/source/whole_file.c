/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/source/whole_file.h"

/* Points inside of a gzip member: they are needed only where not all of it may stay in memory. */
#define INFLATE_EVERY ((int64_t)4 << 20)

int cw_whole_file_open(const struct cw_file_use *use, int64_t max, struct cw_whole_file *ret_file,
                       struct cw_err *err)
{
    struct cw_whole_file *file = ret_file;
    *file = (struct cw_whole_file){.inflated = cw_inflated_new(max, INFLATE_EVERY)};
    int rc = cw_inflated_scan(file->inflated, 0, &use->readable, NULL, &file->points, err);
    file->view =
        (struct cw_inflated_view){file->inflated, 0, file->points, &use->readable, &use->source};
    file->readable = cw_inflated_readable(&file->view);
    if (rc == 0 && file->readable.size > (uint64_t)max)
        rc =
            cw_err_set(err, CW_E_LIMIT,
                       "%s: has %llu bytes, which are read together without an index; option "
                       "inflated_max allows %lld",
                       use->readable.name, (unsigned long long)file->readable.size, (long long)max);
    if (rc < 0)
        cw_whole_file_close(file);
    return rc;
}

void cw_whole_file_close(struct cw_whole_file *file)
{
    cw_access_points_free(file->points);
    cw_inflated_free(file->inflated);
    *file = (struct cw_whole_file){0};
}

int cw_range_error(int rc, struct cw_err *err)
{
    if (!cw_err_is_of_data(rc))
        return rc;
    if (err)
        err->code = CW_E_STATE;
    return CW_E_STATE;
}
