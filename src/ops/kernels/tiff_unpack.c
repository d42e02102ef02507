/* SPDX-License-Identifier: Apache-2.0 */
/* PackBits, LZW with codes from the highest bit on, and Deflate, as TIFF 6.0 and its supplement 2 have them. */
#include "ops/kernels/tiff_unpack.h"

#include <string.h>
#include <zlib.h>
#include "base/mem.h"

/* ---- PackBits ---- */

static bool unpack_runs(const struct cw_tiff_piece *piece)
{
    size_t at = 0, made = 0;
    while (made < piece->dst_n && at < piece->src_n) {
        const int8_t head = (int8_t)piece->src[at++];
        if (head == -128)
            continue;
        const size_t n = head >= 0 ? (size_t)head + 1 : (size_t)(1 - head),
                     take = CW_MIN(n, piece->dst_n - made), needs = head >= 0 ? n : 1;
        if (needs > piece->src_n - at)
            return false;
        if (head >= 0)
            memcpy(piece->dst + made, piece->src + at, take);
        else
            memset(piece->dst + made, piece->src[at], take);
        at += needs;
        made += take;
    }
    return made == piece->dst_n;
}

/* ---- LZW ---- */

enum { CLEAR = 256, END = 257, FIRST = 258, CODES = 4096, BITS_MIN = 9, BITS_MAX = 12 };

/* A string of the table is the one before it and a byte more. */
struct strings {
    uint16_t before[CODES], length[CODES];
    uint8_t last[CODES], first[CODES];
    unsigned n;
};

static void strings_clear(struct strings *strings)
{
    for (unsigned i = 0; i < CLEAR; i++) {
        strings->length[i] = 1;
        strings->first[i] = strings->last[i] = (uint8_t)i;
    }
    strings->n = FIRST;
}

static void strings_add(struct strings *strings, unsigned before, uint8_t last)
{
    if (strings->n == CODES)
        return;
    strings->before[strings->n] = (uint16_t)before;
    strings->length[strings->n] = (uint16_t)(strings->length[before] + 1);
    strings->first[strings->n] = strings->first[before];
    strings->last[strings->n++] = last;
}

/* Writes a string from its end, as far as there is room; returns how many bytes. */
static size_t strings_put(const struct strings *strings, unsigned code, uint8_t *dst, size_t room)
{
    const size_t n = strings->length[code], take = CW_MIN(n, room);
    for (size_t i = n; i-- > 0; code = strings->before[code])
        if (i < take)
            dst[i] = strings->last[code];
    return take;
}

struct codes {
    const uint8_t *src;
    size_t n, at; /* bytes */
    uint32_t held;
    unsigned bits; /* of `held` */
};

/* The next code of so many bits, or END where there is none. */
static unsigned next_code(struct codes *codes, unsigned width)
{
    while (codes->bits < width) {
        if (codes->at == codes->n)
            return END;
        codes->held = codes->held << 8 | codes->src[codes->at++];
        codes->bits += 8;
    }
    codes->bits -= width;
    return codes->held >> codes->bits & ((1u << width) - 1);
}

/* Codes become wider one code earlier than the table needs it. */
static unsigned width_of(unsigned n)
{
    unsigned width = BITS_MIN;
    while (width < BITS_MAX && n + 1 >= 1u << width)
        width++;
    return width;
}

static bool unpack_codes(const struct cw_tiff_piece *piece)
{
    cw_autofree struct strings *strings = CW_NEW(struct strings);
    struct codes codes = {.src = piece->src, .n = piece->src_n};
    size_t made = 0;
    unsigned before = CLEAR;
    strings_clear(strings);
    while (made < piece->dst_n) {
        const unsigned code = next_code(&codes, width_of(strings->n));
        if (code == END)
            return false;
        if (code == CLEAR) {
            strings_clear(strings);
            before = CLEAR;
            continue;
        }
        /* The code that comes next in the table is the string before and its own first byte. */
        if (code > strings->n || (code == strings->n && before == CLEAR) ||
            (code >= CLEAR && before == CLEAR))
            return false;
        if (before != CLEAR)
            strings_add(strings, before, strings->first[code == strings->n ? before : code]);
        if (code >= strings->n) /* the table is full */
            return false;
        made += strings_put(strings, code, piece->dst + made, piece->dst_n - made);
        before = code;
    }
    return true;
}

/* ---- Deflate ---- */

static bool unpack_deflate(const struct cw_tiff_piece *piece)
{
    z_stream stream = {0};
    if (piece->src_n > UINT32_MAX || piece->dst_n > UINT32_MAX || inflateInit(&stream) != Z_OK)
        return false;
    stream.next_in = (Bytef *)(uintptr_t)piece->src;
    stream.avail_in = (uInt)piece->src_n;
    stream.next_out = piece->dst;
    stream.avail_out = (uInt)piece->dst_n;
    const int rc = inflate(&stream, Z_FINISH);
    const bool whole = (rc == Z_STREAM_END || rc == Z_BUF_ERROR) && stream.avail_out == 0;
    (void)inflateEnd(&stream);
    return whole;
}

bool cw_tiff_may_hold(enum cw_tiff_packing packing, size_t src_n, size_t dst_n)
{
    if (packing == CW_TIFF_PLAIN)
        return dst_n <= src_n;
    return dst_n / 4096 <= src_n; /* the longest string of LZW, for a code of more than a byte */
}

bool cw_tiff_unpack(enum cw_tiff_packing packing, const struct cw_tiff_piece *piece)
{
    switch (packing) {
    case CW_TIFF_PLAIN:
        if (piece->src_n < piece->dst_n)
            return false;
        memcpy(piece->dst, piece->src, piece->dst_n);
        return true;
    case CW_TIFF_LZW:
        return unpack_codes(piece);
    case CW_TIFF_PACKBITS:
        return unpack_runs(piece);
    case CW_TIFF_DEFLATE:
    case CW_TIFF_DEFLATE_OLD:
        return unpack_deflate(piece);
    }
    return false;
}
