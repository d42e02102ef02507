/* SPDX-License-Identifier: Apache-2.0 */
/* Reads tar files from header to header, through a window. */
#include "format/tar.h"

#include "base/arena.h"
#include "base/mem.h"
#include "format/tar_pax.h"

#include <string.h>

/* One read covers many small members. Behind a large member only a little is read, since the next
 * one may be as large. */
#define WINDOW_BYTES ((size_t)256 << 10)
#define SMALL_WINDOW_BYTES ((size_t)16 << 10)
#define LARGE_BYTES ((uint64_t)128 << 10)

/* Where the fields of a header are. */
enum { SIZE_AT = 124, SUM_AT = 148, TYPE_AT = 156, MAGIC_AT = 257, PREFIX_AT = 345 };
enum { NAME_BYTES = 100, SIZE_BYTES = 12, SUM_BYTES = 8, PREFIX_BYTES = 155 };

struct cw_tar {
    const struct cw_readable *file;
    uint64_t offset; /* of the next header */
    size_t members;  /* that were found, of all types */
    uint8_t *window;
    uint64_t window_begin;
    size_t window_n, window_cap;
    uint64_t last_bytes; /* size of the latest member */
    bool headers_only;   /* the data are not there */
    /* of the member that is being read */
    uint64_t head;
    struct cw_tar_pax pax; /* what its extended headers say */
    char name[NAME_BYTES + PREFIX_BYTES + 2];
};

struct cw_tar *cw_tar_new(const struct cw_readable *file, uint64_t offset)
{
    struct cw_tar *tar = CW_NEW(struct cw_tar);
    tar->file = file;
    tar->offset = offset;
    return tar;
}

void cw_tar_free(struct cw_tar *tar)
{
    if (!tar)
        return;
    cw_mem_free(tar->window);
    cw_mem_free(tar);
}

static int fail(const struct cw_tar *tar, const char *why, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT, "%s: member %zu at byte %llu: %s", tar->file->name,
                      tar->members, (unsigned long long)tar->offset, why);
}

static int truncated(const struct cw_tar *tar, struct cw_err *err)
{
    return cw_err_set(err, CW_E_CORRUPT,
                      "%s: member %zu at byte %llu: truncated, the file ends at byte %llu%s",
                      tar->file->name, tar->members, (unsigned long long)tar->offset,
                      (unsigned long long)tar->file->size,
                      tar->offset == tar->file->size ? " without an end mark" : "");
}

/* Reads a window that begins at `offset`. */
static int load_window(struct cw_tar *tar, uint64_t offset, size_t bytes, struct cw_err *err)
{
    size_t n = (size_t)CW_MIN((uint64_t)bytes, tar->file->size - offset);
    if (n > tar->window_cap) {
        cw_mem_free(tar->window);
        tar->window_n = 0;
        tar->window_cap = 0;
        tar->window = cw_mem_try(n);
        if (!tar->window)
            return cw_err_set(err, CW_E_NOMEM, "%s: no memory", tar->file->name);
        tar->window_cap = n;
    }
    int rc = cw_readable_get(tar->file, offset, tar->window, n, err);
    tar->window_begin = offset;
    tar->window_n = rc < 0 ? 0 : n;
    return rc;
}

/* Returns n bytes at `offset`, which lie in the file. They are valid until the next call. */
static int bytes_at(struct cw_tar *tar, uint64_t offset, size_t n, const uint8_t **ret_bytes,
                    struct cw_err *err)
{
    size_t least = tar->last_bytes > LARGE_BYTES ? SMALL_WINDOW_BYTES : WINDOW_BYTES;
    bool inside = tar->window_n >= n && offset >= tar->window_begin &&
                  offset - tar->window_begin <= tar->window_n - n;
    int rc = inside ? 0 : load_window(tar, offset, CW_MAX(least, n), err);
    if (rc == 0)
        *ret_bytes = tar->window + (offset - tar->window_begin);
    return rc;
}

static bool is_zero(const uint8_t *p, size_t n)
{
    return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* Reads digits of base 8, or a number of base 256 that its first bit announces. */
static bool read_number(const uint8_t *p, size_t n, uint64_t *ret_number)
{
    uint64_t v = 0;
    size_t i = 0;
    if (p[0] & 0x80) {
        v = p[0] & 0x7f;
        for (i = 1; i < n; i++) {
            if (v >> 55)
                return false;
            v = v << 8 | p[i];
        }
        *ret_number = v;
        return true;
    }
    while (i < n && p[i] == ' ')
        i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        v = v << 3 | (uint64_t)(p[i] - '0');
    *ret_number = v;
    return i == n || p[i] == ' ' || p[i] == '\0';
}

/* Some old programs added the bytes up as signed ones. */
static bool is_sum_right(const uint8_t *header)
{
    uint64_t said;
    uint32_t sum = SUM_BYTES * ' ';
    int32_t signed_sum = SUM_BYTES * ' ';
    if (!read_number(header + SUM_AT, SUM_BYTES, &said))
        return false;
    for (size_t i = 0; i < CW_TAR_BLOCK_BYTES; i++) {
        if (i == SUM_AT)
            i += SUM_BYTES;
        sum += header[i];
        signed_sum += (int8_t)header[i];
    }
    return said == sum || (int64_t)said == signed_sum;
}

static int bad_header(const struct cw_tar *tar, const uint8_t *header, struct cw_err *err)
{
    bool gzip = header[0] == 0x1f && header[1] == 0x8b;
    bool zstd = memcmp(header, "\x28\xb5\x2f\xfd", 4) == 0;
    if (tar->offset == 0 && (gzip || zstd))
        return fail(tar, "this is a compressed file: its name should end in .gz or .zst", err);
    return fail(tar,
                tar->offset == 0 ? "not a tar file"
                                 : "the checksum of its header does not match: damaged",
                err);
}

/* The end mark is followed by zeros only: what else is there would be missing unnoticed. */
static int check_end(struct cw_tar *tar, struct cw_err *err)
{
    const uint8_t *p = NULL;
    int rc = 0;
    tar->last_bytes = 0;
    for (uint64_t at = tar->offset; at < tar->file->size && rc == 0;) {
        size_t n = (size_t)CW_MIN((uint64_t)CW_TAR_BLOCK_BYTES, tar->file->size - at);
        rc = bytes_at(tar, at, n, &p, err);
        if (rc == 0 && !is_zero(p, n)) {
            tar->offset = at;
            return fail(tar, "bytes behind the end mark (tar files cannot be joined with cat)",
                        err);
        }
        at += n;
    }
    return rc;
}

/* Copies the name of the header. */
static void take_name(struct cw_tar *tar, const uint8_t *header, struct cw_tar_member *member)
{
    size_t n = 0;
    bool ustar = memcmp(header + MAGIC_AT, "ustar", 6) == 0;
    if (ustar && header[PREFIX_AT] != 0) {
        n = strnlen((const char *)header + PREFIX_AT, PREFIX_BYTES);
        memcpy(tar->name, header + PREFIX_AT, n);
        tar->name[n++] = '/';
    }
    size_t name_n = strnlen((const char *)header, NAME_BYTES);
    memcpy(tar->name + n, header, name_n);
    member->name = tar->pax.name_n > 0 ? tar->pax.name : tar->name;
    member->name_n = tar->pax.name_n > 0 ? tar->pax.name_n : n + name_n;
}

/* Sets where the data of the header at tar->offset are, and checks that the file has them. */
static int find_data(struct cw_tar *tar, const uint8_t *header, bool extended,
                     struct cw_tar_member *member, struct cw_err *err)
{
    if (!read_number(header + SIZE_AT, SIZE_BYTES, &member->bytes))
        return fail(tar, "its size is not a number", err);
    if (!extended && tar->pax.has_size)
        member->bytes = tar->pax.size;
    member->data = tar->offset + CW_TAR_BLOCK_BYTES;
    bool must_be_there = extended || !tar->headers_only;
    return must_be_there && member->bytes > tar->file->size - member->data ? truncated(tar, err)
                                                                           : 0;
}

/* Goes to the header behind the member. The last block may be cut: then the end mark is missing. */
static void pass(struct cw_tar *tar, const struct cw_tar_member *member)
{
    uint64_t blocks = (member->bytes + CW_TAR_BLOCK_BYTES - 1) / CW_TAR_BLOCK_BYTES;
    uint64_t left = tar->file->size - member->data;
    tar->offset =
        member->data + (blocks > left / CW_TAR_BLOCK_BYTES ? left : blocks * CW_TAR_BLOCK_BYTES);
    tar->last_bytes = member->bytes;
}

/* Reads a header that is about the next one, or about all. */
static int read_extended(struct cw_tar *tar, char type, const struct cw_tar_member *member,
                         struct cw_err *err)
{
    const uint8_t *p = NULL;
    const char *why = NULL;
    if (member->bytes > CW_TAR_PAX_BYTES_MAX)
        return fail(tar, "its extended header is too long", err);
    int rc = bytes_at(tar, member->data, (size_t)member->bytes, &p, err);
    if (rc < 0)
        return rc;
    if (type == 'L')
        why = cw_tar_pax_name(&tar->pax, (const char *)p,
                              strnlen((const char *)p, (size_t)member->bytes));
    else if (type != 'K')
        why = cw_tar_pax_read(&tar->pax, (const char *)p, (size_t)member->bytes, type == 'g');
    return why ? fail(tar, why, err) : 0;
}

enum what { IS_FILE, IS_EXTENDED, IS_NOTHING, IS_REFUSED };

static enum what what_is(char type, const char **ret_why)
{
    switch (type) {
    case '\0':
    case '0':
    case '7':
        return IS_FILE;
    case 'L':
    case 'K':
    case 'x':
    case 'X':
    case 'g':
        return IS_EXTENDED;
    case '3':
    case '4':
    case '5':
    case '6':
    case 'D':
    case 'V':
        return IS_NOTHING;
    case '1':
    case '2':
        *ret_why = "a link (write the file with --dereference --hard-dereference)";
        return IS_REFUSED;
    case 'S':
        *ret_why = "a sparse file (write the file without --sparse)";
        return IS_REFUSED;
    case 'M':
        *ret_why = "a part of a file that began in another volume";
        return IS_REFUSED;
    default:
        *ret_why = "its type is none that is known";
        return IS_REFUSED;
    }
}

/* Directories, also those of old programs, which mark them by their name only. */
static bool is_nothing(enum what what, const struct cw_tar_member *member)
{
    return what == IS_NOTHING || (member->name_n > 0 && member->name[member->name_n - 1] == '/');
}

/* Handles a header. Returns 1 if it is that of a file, 0 to go on. */
static int take_header(struct cw_tar *tar, const uint8_t *header, struct cw_tar_member *member,
                       struct cw_err *err)
{
    const char *why = NULL;
    char type = (char)header[TYPE_AT];
    enum what what = what_is(type, &why);
    int rc = what == IS_REFUSED ? fail(tar, why, err)
                                : find_data(tar, header, what == IS_EXTENDED, member, err);
    if (rc < 0)
        return rc;
    if (what == IS_EXTENDED) {
        rc = read_extended(tar, type, member, err);
        pass(tar, member);
        return rc;
    }
    take_name(tar, header, member);
    member->head = tar->head;
    bool nothing = is_nothing(what, member);
    if (nothing && type != 'D')
        member->bytes = 0;
    if (!nothing && memchr(member->name, 0, member->name_n))
        return fail(tar, "its name has a zero byte", err);
    pass(tar, member);
    tar->members++;
    tar->head = tar->offset;
    return nothing ? 0 : 1;
}

int cw_tar_next(struct cw_tar *tar, struct cw_tar_member *ret_member, struct cw_err *err)
{
    int rc = 0;
    tar->head = tar->offset;
    cw_tar_pax_reset(&tar->pax);
    while (rc == 0) {
        const uint8_t *header = NULL;
        if (tar->file->size - tar->offset < CW_TAR_BLOCK_BYTES)
            return truncated(tar, err);
        rc = bytes_at(tar, tar->offset, CW_TAR_BLOCK_BYTES, &header, err);
        if (rc < 0)
            return rc;
        if (is_zero(header, CW_TAR_BLOCK_BYTES))
            return tar->head == tar->offset
                       ? check_end(tar, err)
                       : fail(tar, "an extended header without a member behind it", err);
        if (!is_sum_right(header))
            return bad_header(tar, header, err);
        size_t before = tar->members;
        rc = take_header(tar, header, ret_member, err);
        if (rc == 0 && tar->members > before)
            cw_tar_pax_reset(&tar->pax);
    }
    return rc;
}

int cw_tar_name(const char *file, const void *p, size_t n, struct cw_arena *arena, char **ret_name,
                size_t *ret_name_n, struct cw_err *err)
{
    struct cw_readable_bytes bytes = {p, n};
    struct cw_readable readable = cw_readable_mem(file, &bytes);
    struct cw_tar_member member;
    struct cw_tar *tar = cw_tar_new(&readable, 0);
    tar->headers_only = true;
    int rc = cw_tar_next(tar, &member, err);
    if (rc == 0)
        rc = cw_err_set(err, CW_E_CORRUPT, "%s: no header where one was", file);
    if (rc > 0) {
        *ret_name = cw_arena_alloc(arena, member.name_n);
        *ret_name_n = member.name_n;
        rc = *ret_name ? 0 : cw_err_set(err, CW_E_NOMEM, "%s: no memory", file);
        if (rc == 0 && member.name_n > 0)
            memcpy(*ret_name, member.name, member.name_n);
    }
    cw_tar_free(tar);
    return rc;
}
