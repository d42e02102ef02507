/* SPDX-License-Identifier: Apache-2.0 */
/* Inflates the beginning of a file, and looks where it could be entered. */
#include "ops/source/inflate_cost.h"

#include <string.h>

#include "base/mem.h"
#include "format/access_points.h"
#include "ops/source/file_set.h"

/* Records are counted in so much; access points are looked for in more. */
#define HEAD_BYTES ((size_t)4 << 20)
#define LOOK_BYTES ((uint64_t)32 << 20)

struct look {
    const struct cw_readable *file;
    uint64_t every;
    struct cw_inflater *in;
    char *
        bytes; /* HEAD_BYTES of them: the first ones stay, what comes behind goes to the last of them */
    uint64_t inflated, stretches,
        last;        /* bytes; whole stretches, and where the last of them ends */
    uint64_t packed; /* bytes of the file that were inflated */
    bool is_all;
};

/* Whether a stretch ends where the inflater is. */
static bool ends_stretch(struct look *l, bool is_place)
{
    struct cw_inflate_place place;
    const uint64_t n = l->inflated - l->last;
    if (!is_place || n < CW_MIN(l->every, CW_ACCESS_SMALL_BYTES))
        return false;
    (void)cw_inflater_place(l->in, &place, NULL);
    return !place.needs_window || n >= l->every;
}

static int look_on(struct look *l, struct cw_err *err)
{
    struct cw_inflate_place end;
    int rc = 0;
    while (rc == 0 && l->inflated < CW_MAX(LOOK_BYTES, 2 * l->every)) {
        const uint64_t at = CW_MIN(l->inflated, (uint64_t)(HEAD_BYTES / 2));
        size_t got = 0;
        bool is_place = false;
        rc = cw_inflater_step(l->in, l->bytes + at, HEAD_BYTES - (size_t)at, &got, &is_place, err);
        l->inflated += got;
        if (rc == 0 && ends_stretch(l, is_place)) {
            l->stretches++;
            l->last = l->inflated;
        }
    }
    (void)cw_inflater_place(l->in, &end, NULL);
    l->packed = end.from;
    l->is_all = rc > 0;
    return CW_MIN(rc, 0);
}

uint64_t cw_inflate_count_lines(const char *p, size_t n, uint64_t *ret_bytes)
{
    uint64_t lines = 0;
    const char *at = p, *end;
    while ((end = memchr(at, '\n', n - (size_t)(at - p))) != NULL) {
        lines++;
        at = end + 1;
    }
    *ret_bytes = (uint64_t)(at - p);
    return lines;
}

/* Without a whole stretch the file is one, whose size is estimated. */
static void measure(const struct look *l, cw_inflate_count_fn *count, struct cw_op_reads *ret)
{
    uint64_t bytes = 0;
    const size_t n = (size_t)CW_MIN(l->inflated, (uint64_t)(HEAD_BYTES / 2));
    const uint64_t records = count(l->bytes, n, &bytes);
    const double ratio = l->packed > 0 ? (double)l->inflated / (double)l->packed : 1;
    *ret = (struct cw_op_reads){.what = "inflated", .option = "inflated_max", .share = "a quarter"};
    if (records == 0)
        return;
    ret->element = (double)bytes / (double)records;
    if (l->stretches > 0)
        ret->together = (double)l->last / (double)l->stretches;
    else
        ret->together = l->is_all ? (double)l->inflated : ratio * (double)l->file->size;
    ret->block = ret->together;
    ret->stored = ret->together / ratio;
}

int cw_inflate_cost(const struct cw_str_list *patterns, int64_t max, int64_t every,
                    cw_inflate_count_fn *count, struct cw_op_reads *ret_reads, struct cw_err *err)
{
    const struct cw_op_open how = {0};
    struct look look = {.every = (uint64_t)every};
    struct cw_readable file;
    struct cw_io_file opened;
    cw_autofree char *path = NULL;
    int rc = cw_file_first(patterns, &how, &path, err);
    if (rc < 0)
        return rc;
    if (!cw_inflate_is_name(path))
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s is not compressed", path);
    rc = cw_readable_open(path, &opened, &file, err);
    if (rc < 0)
        return rc;
    cw_autofree char *bytes = cw_mem_new(HEAD_BYTES);
    look.file = &file;
    look.bytes = bytes;
    rc = cw_inflater_new(&file, &look.in, err);
    if (rc == 0)
        rc = look_on(&look, err);
    if (rc == 0)
        measure(&look, count, ret_reads);
    ret_reads->memory = (double)max;
    cw_inflater_free(look.in);
    cw_io_close(&opened);
    return rc == 0 && ret_reads->element <= 0
               ? cw_err_set(err, CW_E_UNSUPPORTED, "%s has no record", path)
               : rc;
}
