/* SPDX-License-Identifier: Apache-2.0 */
/* What of a source's files can be read ahead. */
#include "format/source_file.h"
#include "io/file_waits.h"
#include "io/source_url.h"
#include "ops/source/file_set.h"

void cw_file_set_note_scheme(struct cw_file_set *set, const char *path)
{
    set->has_files |= !cw_url_remote_scheme(path);
    set->has_ahead |= cw_url_remote_scheme(path) && cw_ahead_is_for(path);
}

bool cw_file_set_can_ahead(const struct cw_file_set *set)
{
    return set->has_ahead || (set->has_files && cw_file_waits() && cw_ahead_limit() > 0);
}

void cw_file_set_ahead(const struct cw_file_set *set, size_t file, uint64_t offset, uint64_t n,
                       struct cw_ahead *ahead)
{
    cw_source_ahead(ahead, set->v[file].path, &set->v[file].stamp, offset, n);
}
