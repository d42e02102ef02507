/* SPDX-License-Identifier: Apache-2.0 */
#include "format/read_ranges.h"

#include <endian.h>
#include <string.h>

static int record(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    struct cw_read_ranges *r = arg;
    const uint64_t head[2] = {htole64(offset), htole64(n)};
    int rc = cw_readable_get(r->from, offset, dst, n, err);
    if (rc < 0)
        return rc;
    cw_str_add_bytes(&r->noted, head, sizeof(head));
    cw_str_add_bytes(&r->noted, dst, n);
    return 0;
}

/* Looks from a noted read on until `end`, both as places in what is kept. */
static bool find(struct cw_read_ranges *r, size_t at, size_t end, uint64_t offset, void *dst,
                 size_t n)
{
    const uint8_t *kept = r->kept;
    for (uint64_t place[2]; at < end && r->kept_n - at >= sizeof(place);) {
        memcpy(place, kept + at, sizeof(place));
        const uint64_t begin = le64toh(place[0]), bytes = le64toh(place[1]);
        if (bytes > r->kept_n - at - sizeof(place))
            break;
        if (offset >= begin && offset - begin <= bytes && n <= bytes - (offset - begin)) {
            memcpy(dst, kept + at + sizeof(place) + (offset - begin), n);
            r->kept_at = at;
            return true;
        }
        at += sizeof(place) + (size_t)bytes;
    }
    return false;
}

static int replay(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    struct cw_read_ranges *r = arg;
    const size_t last = r->kept_at;
    if (find(r, last, r->kept_n, offset, dst, n) || find(r, 0, last, offset, dst, n))
        return 0;
    return cw_err_set(err, CW_E_CORRUPT, "byte %llu of the file was not kept",
                      (unsigned long long)offset);
}

struct cw_readable cw_read_ranges_record(struct cw_read_ranges *r)
{
    struct cw_readable readable = *r->from;
    readable.read_at = record;
    readable.arg = r;
    return readable;
}

struct cw_readable cw_read_ranges_replay(struct cw_read_ranges *r, const char *name, uint64_t size)
{
    return (struct cw_readable){.name = name, .size = size, .read_at = replay, .arg = r};
}
