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

static int replay(void *arg, uint64_t offset, void *dst, size_t n, struct cw_err *err)
{
    const struct cw_read_ranges *r = arg;
    const uint8_t *p = r->kept;
    for (size_t left = r->kept_n, head = 2 * sizeof(uint64_t); left >= head;) {
        uint64_t place[2];
        memcpy(place, p, head);
        const uint64_t begin = le64toh(place[0]), bytes = le64toh(place[1]);
        p += head;
        left -= head;
        if (bytes > left)
            break;
        if (offset >= begin && offset - begin <= bytes && n <= bytes - (offset - begin)) {
            memcpy(dst, p + (offset - begin), n);
            return 0;
        }
        p += bytes;
        left -= (size_t)bytes;
    }
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
