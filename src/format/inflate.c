/* SPDX-License-Identifier: Apache-2.0 */
/* Has gzip and zstd files inflated by what knows them. */
#include "format/inflate.h"

#include "base/mem.h"
#include "format/gz.h"
#include "format/zst.h"

#define FIRST_BYTES ((size_t)64 << 10)

/* One of the two is NULL. */
struct cw_inflater {
    struct cw_gz *gz;
    struct cw_zst *zst;
};

bool cw_inflate_is_name(const char *path)
{
    return cw_gz_is_name(path) || cw_zst_is_name(path);
}

int cw_inflater_new(const struct cw_readable *file, struct cw_inflater **ret_inflater,
                    struct cw_err *err)
{
    struct cw_inflater in = {0};
    if (cw_zst_is_name(file->name))
        in.zst = cw_zst_new(file);
    else
        in.gz = cw_gz_new(file);
    if (!in.zst && !in.gz)
        return cw_err_set(err, CW_E_NOMEM, "%s: no memory to inflate it", file->name);
    *ret_inflater = CW_NEW(struct cw_inflater);
    **ret_inflater = in;
    return 0;
}

void cw_inflater_free(struct cw_inflater *in)
{
    if (!in)
        return;
    cw_gz_free(in->gz);
    cw_zst_free(in->zst);
    cw_mem_free(in);
}

int cw_inflater_step(struct cw_inflater *in, void *dst, size_t n, size_t *ret_n, bool *ret_is_place,
                     struct cw_err *err)
{
    return in->gz ? cw_gz_step(in->gz, dst, n, ret_n, ret_is_place, err)
                  : cw_zst_step(in->zst, dst, n, ret_n, ret_is_place, err);
}

int cw_inflater_read(struct cw_inflater *in, void *dst, size_t n, size_t *ret_n, struct cw_err *err)
{
    int rc = 0;
    if (in->gz)
        return cw_gz_read(in->gz, dst, n, ret_n, err);
    *ret_n = 0;
    while (rc == 0 && *ret_n < n) {
        size_t got = 0;
        bool is_place;
        rc = cw_zst_step(in->zst, (char *)dst + *ret_n, n - *ret_n, &got, &is_place, err);
        *ret_n += got;
    }
    return CW_MIN(rc, 0);
}

size_t cw_inflater_place(struct cw_inflater *in, struct cw_inflate_place *ret_place,
                         uint8_t window[CW_INFLATE_WINDOW_BYTES])
{
    struct cw_gz_place place = {.is_member = true};
    size_t n = 0;
    if (in->gz)
        n = cw_gz_place(in->gz, &place, window);
    else
        place.from = cw_zst_offset(in->zst);
    *ret_place = (struct cw_inflate_place){
        .from = place.from, .bits = place.bits, .needs_window = !place.is_member};
    return n;
}

int cw_inflater_enter(struct cw_inflater *in, const struct cw_inflate_place *place,
                      const uint8_t *window, size_t window_n, struct cw_err *err)
{
    const struct cw_gz_place at = {
        .from = place->from, .bits = place->bits, .is_member = !place->needs_window};
    if (in->gz)
        return cw_gz_enter(in->gz, &at, window, window_n, err);
    cw_zst_enter(in->zst, place->from);
    return 0;
}

/* ---- the beginning of a file ---- */

static int read_head(struct cw_inflater *in, const struct cw_readable *file, size_t most,
                     char **bytes, size_t *ret_n, struct cw_err *err)
{
    size_t cap = 0, got = 1;
    *ret_n = 0;
    while (got > 0 && *ret_n < most) {
        if (*ret_n == cap) {
            cap = CW_MIN(CW_MAX(FIRST_BYTES, 2 * cap), most);
            char *grown = cw_mem_try_grow(*bytes, cap);
            if (!grown)
                return cw_err_set(err, CW_E_NOMEM, "%s: no memory for more than %zu inflated bytes",
                                  file->name, *ret_n);
            *bytes = grown;
        }
        int rc = cw_inflater_read(in, *bytes + *ret_n, cap - *ret_n, &got, err);
        if (rc < 0)
            return rc;
        *ret_n += got;
    }
    return 0;
}

int cw_inflate_head(const struct cw_readable *file, size_t most, char **ret_bytes, size_t *ret_n,
                    bool *ret_is_all, struct cw_err *err)
{
    struct cw_inflater *in = NULL;
    cw_autofree char *bytes = cw_mem_try(1);
    char next;
    size_t more = 0;
    int rc = cw_inflater_new(file, &in, err);
    if (rc == 0)
        rc = read_head(in, file, most, &bytes, ret_n, err);
    if (rc == 0)
        rc = cw_inflater_read(in, &next, 1, &more, err);
    cw_inflater_free(in);
    if (rc < 0)
        return rc;
    *ret_is_all = more == 0;
    *ret_bytes = cw_steal(&bytes);
    return 0;
}
