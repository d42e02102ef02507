/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the source webdataset, and their indices. An index is made when a file's first sample is read, and
 * by the worker that prepares the job, since the counts come from it. */
#ifndef CW_OPS_SOURCE_WEBDATASET_SOURCE_H
#define CW_OPS_SOURCE_WEBDATASET_SOURCE_H

#include "ops/source/file_source.h"
#include "ops/source/inflated.h"
#include "ops/source/webdataset_columns.h"

struct cw_wds_source {
    struct cw_file_source source; /* loads a struct cw_wds_file for each file */
    struct cw_inflated *inflated;
    struct cw_wds_columns columns;
    struct cw_wds_want want;
};
struct cw_wds_file {
    struct cw_wds_index index;
    struct cw_access_points *points; /* of a .gz or .zst, or NULL */
};

extern const struct cw_file_source_kind cw_wds_source_kind;

/* Checks that there are samples, if members of any are there: where all of them are left out, the message names the
 * extensions of the first. For a source that was opened without a manifest. */
int cw_wds_source_check(struct cw_wds_source *source, struct cw_err *err);

#endif
