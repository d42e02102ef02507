/* SPDX-License-Identifier: Apache-2.0 */
/* The first frame of GIF files, by giflib. What the frame does not cover has the transparent colour, or
 * colour 0. */
#include <gif_lib.h>
#include <string.h>
#include "base/mem.h"
#include "ops/kernels/still.h"

struct gif {
    GifFileType *file;
    size_t at;
    int transparent; /* the colour that is, or -1 */
    struct cw_still_palette palette;
};

static bool is(const uint8_t *bytes, size_t n)
{
    return n >= 6 && (memcmp(bytes, "GIF87a", 6) == 0 || memcmp(bytes, "GIF89a", 6) == 0);
}

static int on_read(GifFileType *file, GifByteType *dst, int n)
{
    const struct cw_still *still = file->UserData;
    struct gif *gif = still->of;
    const size_t have = CW_MIN((size_t)n, still->n - gif->at);
    memcpy(dst, still->bytes + gif->at, have);
    gif->at += have;
    return (int)have;
}

static int damaged(int code, struct cw_err *err)
{
    const char *text = GifErrorString(code);
    return cw_err_set(err, CW_E_CORRUPT, "damaged GIF image: %s", text ? text : "its data");
}

/* Reads an extension; one of them says which colour is transparent. */
static int read_extension(struct gif *gif, struct cw_err *err)
{
    GifByteType *data;
    GraphicsControlBlock block;
    int code;
    if (DGifGetExtension(gif->file, &code, &data) == GIF_ERROR)
        return damaged(gif->file->Error, err);
    while (data) {
        if (code == GRAPHICS_EXT_FUNC_CODE && data[0] == 4 &&
            DGifExtensionToGCB(data[0], data + 1, &block) == GIF_OK)
            gif->transparent = block.TransparentColor;
        if (DGifGetExtensionNext(gif->file, &data) == GIF_ERROR)
            return damaged(gif->file->Error, err);
    }
    return 0;
}

/* Goes to the first frame. */
static int find_frame(struct gif *gif, struct cw_err *err)
{
    for (;;) {
        GifRecordType type;
        int rc = 0;
        if (DGifGetRecordType(gif->file, &type) == GIF_ERROR)
            return damaged(gif->file->Error, err);
        if (type == IMAGE_DESC_RECORD_TYPE)
            return DGifGetImageDesc(gif->file) == GIF_ERROR ? damaged(gif->file->Error, err) : 0;
        if (type == TERMINATE_RECORD_TYPE)
            return cw_err_set(err, CW_E_CORRUPT, "a GIF file without a frame");
        if (type == EXTENSION_RECORD_TYPE)
            rc = read_extension(gif, err);
        if (rc < 0)
            return rc;
    }
}

static int take_palette(struct gif *gif, struct cw_err *err)
{
    const GifImageDesc *frame = &gif->file->Image;
    const ColorMapObject *map = frame->ColorMap ? frame->ColorMap : gif->file->SColorMap;
    if (!map)
        return cw_err_set(err, CW_E_CORRUPT, "damaged GIF image: there is no palette");
    gif->palette.n = CW_MIN(map->ColorCount, 256);
    for (int i = 0; i < gif->palette.n; i++) {
        gif->palette.rgb[i][0] = map->Colors[i].Red;
        gif->palette.rgb[i][1] = map->Colors[i].Green;
        gif->palette.rgb[i][2] = map->Colors[i].Blue;
    }
    return 0;
}

static int open_file(struct cw_still *still, struct cw_err *err)
{
    struct gif *gif = CW_NEW(struct gif);
    int code = 0;
    gif->transparent = -1;
    still->of = gif;
    gif->file = DGifOpen(still, on_read, &code);
    if (!gif->file)
        return damaged(code, err);
    int rc = find_frame(gif, err);
    if (rc == 0)
        rc = take_palette(gif, err);
    if (rc < 0)
        return rc;
    const GifImageDesc *frame = &gif->file->Image;
    still->h = gif->file->SHeight;
    still->w = gif->file->SWidth;
    still->channels = still->is_index || still->asked == 1 ? 1 : 3;
    if (frame->Left < 0 || frame->Top < 0 || frame->Width < 1 || frame->Height < 1 ||
        frame->Left + frame->Width > still->w || frame->Top + frame->Height > still->h)
        return cw_err_set(err, CW_E_CORRUPT,
                          "damaged GIF image: a frame of %d x %d at %d, %d in %lld x %lld",
                          frame->Height, frame->Width, frame->Top, frame->Left, (long long)still->h,
                          (long long)still->w);
    return 0;
}

/* The row of a frame that is line number i of an interlaced file. */
static int row_of(int i, int h)
{
    static const int first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    for (int pass = 0; pass < 4; pass++) {
        const int rows = h > first[pass] ? (h - first[pass] + step[pass] - 1) / step[pass] : 0;
        if (i < rows)
            return first[pass] + i * step[pass];
        i -= rows;
    }
    return 0;
}

/* What lies around the frame. */
static int fill_around(const struct cw_still *still, const struct gif *gif, uint8_t *dst,
                       struct cw_err *err)
{
    const size_t pixels = (size_t)still->h * (size_t)still->w, c = (size_t)still->channels;
    const uint8_t index = gif->transparent > 0 ? (uint8_t)gif->transparent : 0;
    uint8_t pixel[3] = {0};
    if (gif->file->Image.Height == still->h && gif->file->Image.Width == still->w)
        return 0;
    const int rc = cw_still_colours(still, &gif->palette, &index, 1, pixel, err);
    for (size_t i = 0; rc == 0 && i < pixels; i++)
        memcpy(dst + c * i, pixel, c);
    return rc;
}

static int read_file(struct cw_still *still, uint8_t *dst, struct cw_err *err)
{
    struct gif *gif = still->of;
    const GifImageDesc *frame = &gif->file->Image;
    cw_autofree uint8_t *row = cw_mem_new((size_t)frame->Width);
    int rc = fill_around(still, gif, dst, err);
    for (int i = 0; i < frame->Height && rc == 0; i++) {
        if (DGifGetLine(gif->file, row, frame->Width) == GIF_ERROR)
            return damaged(gif->file->Error, err);
        const int64_t y = frame->Top + (frame->Interlace ? row_of(i, frame->Height) : i);
        rc = cw_still_colours(still, &gif->palette, row, (size_t)frame->Width,
                              dst + (y * still->w + frame->Left) * still->channels, err);
    }
    return rc;
}

static void close_file(struct cw_still *still)
{
    struct gif *gif = still->of;
    int code;
    if (gif && gif->file)
        (void)DGifCloseFile(gif->file, &code);
    cw_mem_free(gif);
}

const struct cw_still_format cw_still_gif = {
    .name = "GIF", .is = is, .open = open_file, .read = read_file, .close = close_file};
