/* SPDX-License-Identifier: Apache-2.0 */
/* Reads directories of zip archives, and finds their members. */
#include "format/zip.h"

#include <endian.h>
#include <string.h>

#include "base/mem.h"

enum {
    END_BYTES = 22,
    LOCATOR_BYTES = 20, /* of zip64, before the end */
    END64_BYTES = 56,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MAX = 65535,
    ENCRYPTED = 1 << 0 /* a flag */
};
static const uint32_t END_MARK = 0x06054b50, LOCATOR_MARK = 0x07064b50, END64_MARK = 0x06064b50,
                      ENTRY_MARK = 0x02014b50, LOCAL_MARK = 0x04034b50;

static uint16_t get_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return le16toh(v);
}

static uint32_t get_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

static uint64_t get_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

static int damaged(const struct cw_readable *file, uint64_t byte, const char *why,
                   struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: byte %llu: %s", file->name, (unsigned long long)byte,
                      why);
}

/* ---- the end ---- */

/* What the end of an archive says of its directory. */
struct end {
    uint64_t at; /* where the records of the end begin */
    uint64_t directory, bytes, entries;
};

/* Finds the end record in the last n bytes of the file. Returns its offset there; n: there is none. A
 * comment may stand behind it. */
static size_t find_mark(const uint8_t *p, size_t n)
{
    for (size_t at = n < END_BYTES ? 0 : n - END_BYTES + 1; at-- > 0;)
        if (get_u32(p + at) == END_MARK && get_u16(p + at + 20) == n - at - END_BYTES)
            return at;
    return n;
}

/* Looks into the last n bytes. */
static int look_for_end(const struct cw_readable *file, uint64_t n, uint64_t *ret_at,
                        uint8_t ret_end[END_BYTES], struct cw_err *err)
{
    cw_autofree uint8_t *tail = cw_mem_new((size_t)n + 1);
    int rc = cw_readable_get(file, file->size - n, tail, (size_t)n, err);
    if (rc < 0)
        return rc;
    const size_t at = find_mark(tail, (size_t)n);
    if (at == n)
        return cw_err_set(
            err, CW_E_CORRUPT,
            "%s: not a zip file, or truncated: it does not end with a zip's directory", file->name);
    memcpy(ret_end, tail + at, END_BYTES);
    *ret_at = file->size - n + at;
    return 0;
}

/* Reads what archives have for which the numbers of the end record are too small. */
static int read_end64(const struct cw_readable *file, struct end *end, struct cw_err *err)
{
    uint8_t locator[LOCATOR_BYTES], record[END64_BYTES];
    if (end->at < LOCATOR_BYTES + END64_BYTES)
        return 0;
    int rc = cw_readable_get(file, end->at - LOCATOR_BYTES, locator, LOCATOR_BYTES, err);
    if (rc < 0 || get_u32(locator) != LOCATOR_MARK)
        return rc;
    const uint64_t at = get_u64(locator + 8);
    if (at > end->at - LOCATOR_BYTES - END64_BYTES || get_u32(locator + 4) != 0 ||
        get_u32(locator + 16) > 1)
        return damaged(file, end->at - LOCATOR_BYTES,
                       "the zip64 record is not in this file, or the archive has several disks",
                       err);
    rc = cw_readable_get(file, at, record, END64_BYTES, err);
    if (rc < 0)
        return rc;
    if (get_u32(record) != END64_MARK || get_u32(record + 16) != 0 || get_u32(record + 20) != 0)
        return damaged(file, at, "no zip64 record is where the end of the archive says", err);
    *end = (struct end){.at = at,
                        .entries = get_u64(record + 32),
                        .bytes = get_u64(record + 40),
                        .directory = get_u64(record + 48)};
    return 0;
}

static int read_end(const struct cw_readable *file, struct end *ret_end, struct cw_err *err)
{
    const uint64_t most = CW_MIN(file->size, (uint64_t)END_BYTES + COMMENT_MAX);
    uint8_t record[END_BYTES];
    /* Few archives have a comment: then the last bytes suffice. */
    int rc = look_for_end(file, CW_MIN(most, (uint64_t)END_BYTES), &ret_end->at, record, err);
    if (rc == CW_E_CORRUPT && most > END_BYTES)
        rc = look_for_end(file, most, &ret_end->at, record, err);
    if (rc < 0)
        return rc;
    ret_end->entries = get_u16(record + 10);
    ret_end->bytes = get_u32(record + 12);
    ret_end->directory = get_u32(record + 16);
    rc = read_end64(file, ret_end, err);
    if (rc < 0)
        return rc;
    if (get_u16(record + 4) != get_u16(record + 6) ||
        (get_u16(record + 4) != 0 && get_u16(record + 4) != UINT16_MAX))
        return damaged(file, ret_end->at, "the archive has several disks", err);
    if (ret_end->bytes > ret_end->at || ret_end->directory > ret_end->at - ret_end->bytes)
        return damaged(file, ret_end->at, "the directory of the archive lies behind its end", err);
    if (ret_end->bytes > CW_ZIP_DIRECTORY_BYTES_MAX)
        return cw_err_set(err, CW_E_LIMIT, "%s: its directory has %llu bytes; %llu are allowed",
                          file->name, (unsigned long long)ret_end->bytes,
                          (unsigned long long)CW_ZIP_DIRECTORY_BYTES_MAX);
    return 0;
}

/* ---- entries ---- */

/* Takes a size or an offset that was too large for 32 bits from the zip64 extra. */
static bool take_large(uint64_t *value, const uint8_t **p, const uint8_t *end)
{
    if (*value != UINT32_MAX)
        return true;
    if (end - *p < 8)
        return false;
    *value = get_u64(*p);
    *p += 8;
    return true;
}

/* Reads extras, n bytes. false: they are damaged. */
static bool read_extras(const uint8_t *p, size_t n, struct cw_zip_member *m)
{
    const uint8_t *end = p + n;
    while (end - p >= 4) {
        const uint16_t id = get_u16(p), bytes = get_u16(p + 2);
        p += 4;
        if (bytes > end - p)
            return false;
        const uint8_t *at = p, *extra_end = p + bytes;
        if (id == 1) /* zip64 */
            return take_large(&m->bytes, &at, extra_end) &&
                   take_large(&m->packed_bytes, &at, extra_end) &&
                   take_large(&m->head, &at, extra_end);
        p = extra_end;
    }
    return m->bytes != UINT32_MAX && m->packed_bytes != UINT32_MAX && m->head != UINT32_MAX;
}

/* Reads the entry at p. Returns its length; 0: it is damaged. */
static size_t read_entry(const uint8_t *p, size_t n, struct cw_zip_member *m)
{
    if (n < ENTRY_BYTES || get_u32(p) != ENTRY_MARK)
        return 0;
    const size_t name_n = get_u16(p + 28), extra_n = get_u16(p + 30), comment_n = get_u16(p + 32),
                 bytes = ENTRY_BYTES + name_n + extra_n + comment_n;
    *m = (struct cw_zip_member){.flags = get_u16(p + 8),
                                .method = get_u16(p + 10),
                                .crc = get_u32(p + 16),
                                .packed_bytes = get_u32(p + 20),
                                .bytes = get_u32(p + 24),
                                .head = get_u32(p + 42)};
    if (bytes > n || memchr(p + ENTRY_BYTES, '\0', name_n) ||
        !read_extras(p + ENTRY_BYTES + name_n, extra_n, m))
        return 0;
    m->name = cw_mem_strndup((const char *)p + ENTRY_BYTES, name_n);
    return bytes;
}

static int read_entries(const struct cw_readable *file, const struct end *end, const uint8_t *p,
                        struct cw_zip *zip, struct cw_err *err)
{
    const size_t n = (size_t)end->bytes;
    size_t at = 0;
    for (uint64_t i = 0; i < end->entries; i++) {
        CW_GROW(zip->v, zip->n, zip->cap);
        const size_t bytes = read_entry(p + at, n - at, &zip->v[zip->n]);
        if (bytes == 0)
            return damaged(file, end->directory + at, "an entry of the directory is damaged", err);
        zip->n++;
        at += bytes;
    }
    return at == n
               ? 0
               : damaged(file, end->directory + at, "the directory has more than its entries", err);
}

int cw_zip_read(const struct cw_readable *file, struct cw_zip *ret_zip, struct cw_err *err)
{
    struct cw_zip zip = {0};
    struct end end = {0};
    int rc = read_end(file, &end, err);
    if (rc < 0)
        return rc;
    zip.directory = end.directory;
    cw_autofree uint8_t *directory = cw_mem_new((size_t)end.bytes + 1);
    rc = cw_readable_get(file, end.directory, directory, (size_t)end.bytes, err);
    if (rc == 0)
        rc = read_entries(file, &end, directory, &zip, err);
    if (rc < 0)
        cw_zip_fini(&zip);
    else
        *ret_zip = zip;
    return rc;
}

void cw_zip_fini(struct cw_zip *zip)
{
    for (size_t i = 0; i < zip->n; i++)
        cw_mem_free(zip->v[i].name);
    cw_mem_free(zip->v);
    *zip = (struct cw_zip){0};
}

/* ---- members ---- */

static const char *method_name(uint16_t method)
{
    static const struct {
        uint16_t method;
        const char *name;
    } known[] = {{1, "shrink"}, {6, "implode"}, {9, "deflate64"}, {12, "bzip2"}, {14, "lzma"},
                 {93, "zstd"},  {95, "xz"},     {98, "PPMd"},     {99, "AES"}};
    for (size_t i = 0; i < CW_ARRAY_LEN(known); i++)
        if (known[i].method == method)
            return known[i].name;
    return "not known";
}

static int check_member(const struct cw_readable *file, const struct cw_zip_member *m,
                        struct cw_err *err)
{
    if (m->flags & ENCRYPTED)
        return cw_err_set(err, CW_E_UNSUPPORTED, "%s: member %s is encrypted", file->name, m->name);
    if (m->method != CW_ZIP_STORED && m->method != CW_ZIP_DEFLATED)
        return cw_err_set(err, CW_E_UNSUPPORTED,
                          "%s: member %s is compressed with method %u (%s); stored and deflated "
                          "members can be read",
                          file->name, m->name, m->method, method_name(m->method));
    if (m->method == CW_ZIP_STORED && m->packed_bytes != m->bytes)
        return cw_err_set(err, CW_E_CORRUPT, "%s: member %s is stored, and has two sizes",
                          file->name, m->name);
    return 0;
}

int cw_zip_locate(const struct cw_readable *file, const struct cw_zip *zip,
                  const struct cw_zip_member *m, uint64_t *ret_begin, struct cw_err *err)
{
    uint8_t local[LOCAL_BYTES];
    int rc = check_member(file, m, err);
    if (rc < 0)
        return rc;
    if (zip->directory < LOCAL_BYTES || m->head > zip->directory - LOCAL_BYTES)
        return damaged(file, m->head, "a member's header lies behind the members", err);
    rc = cw_readable_get(file, m->head, local, LOCAL_BYTES, err);
    if (rc < 0)
        return rc;
    if (get_u32(local) != LOCAL_MARK)
        return damaged(file, m->head, "no member is where the directory says", err);
    const uint64_t begin = m->head + LOCAL_BYTES + get_u16(local + 26) + get_u16(local + 28);
    if (begin > zip->directory || m->packed_bytes > zip->directory - begin)
        return damaged(file, m->head, "the member is longer than the archive", err);
    *ret_begin = begin;
    return 0;
}
