/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes JPEG files. */
#include "ops/kernels/jpeg_write.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <jpeglib.h>
#include "base/mem.h"

#define BYTES_FIRST ((size_t)64 << 10)

struct cw_jpeg_writer {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr to;
    jmp_buf fail;
    char message[JMSG_LENGTH_MAX];
    uint8_t *bytes;
    size_t cap;
};

CW_NORETURN static void on_error(j_common_ptr common)
{
    struct cw_jpeg_writer *writer = common->client_data;
    common->err->format_message(common, writer->message);
    longjmp(writer->fail, 1);
}

static void on_message(j_common_ptr common, int level)
{
    (void)common;
    (void)level;
}

static void on_begin(j_compress_ptr c)
{
    struct cw_jpeg_writer *writer = c->client_data;
    writer->to.next_output_byte = writer->bytes;
    writer->to.free_in_buffer = writer->cap;
}

/* All of the memory is full. */
static boolean on_full(j_compress_ptr c)
{
    struct cw_jpeg_writer *writer = c->client_data;
    uint8_t *more = cw_mem_try_grow(writer->bytes, 2 * writer->cap);
    if (!more) {
        snprintf(writer->message, sizeof(writer->message), "no memory");
        longjmp(writer->fail, 1);
    }
    writer->bytes = more;
    writer->to.next_output_byte = more + writer->cap;
    writer->to.free_in_buffer = writer->cap;
    writer->cap *= 2;
    return TRUE;
}

static void on_end(j_compress_ptr c)
{
    (void)c;
}

struct cw_jpeg_writer *cw_jpeg_writer_new(void)
{
    struct cw_jpeg_writer *writer = CW_NEW(struct cw_jpeg_writer);
    writer->cap = BYTES_FIRST;
    writer->bytes = cw_mem_new(writer->cap);
    writer->c.err = jpeg_std_error(&writer->errors);
    writer->errors.error_exit = on_error;
    writer->errors.emit_message = on_message;
    writer->c.client_data = writer;
    if (setjmp(writer->fail)) {
        cw_mem_free(writer->bytes);
        cw_mem_free(writer);
        return NULL;
    }
    jpeg_create_compress(&writer->c);
    writer->c.client_data = writer;
    writer->to.init_destination = on_begin;
    writer->to.empty_output_buffer = on_full;
    writer->to.term_destination = on_end;
    writer->c.dest = &writer->to;
    return writer;
}

void cw_jpeg_writer_free(struct cw_jpeg_writer *writer)
{
    if (!writer)
        return;
    jpeg_destroy_compress(&writer->c);
    cw_mem_free(writer->bytes);
    cw_mem_free(writer);
}

static void set_up(struct jpeg_compress_struct *c, const struct cw_jpeg_image *image)
{
    c->image_height = (JDIMENSION)image->h;
    c->image_width = (JDIMENSION)image->w;
    c->input_components = image->channels;
    c->in_color_space = image->channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(c);
    jpeg_set_quality(c, image->quality, TRUE);
    c->dct_method = JDCT_ISLOW;
    c->optimize_coding = image->optimize;
    c->comp_info[0].h_samp_factor = image->channels == 3 && image->sampling != CW_JPEG_444 ? 2 : 1;
    c->comp_info[0].v_samp_factor = image->channels == 3 && image->sampling == CW_JPEG_420 ? 2 : 1;
    if (image->progressive)
        jpeg_simple_progression(c);
}

int cw_jpeg_write(struct cw_jpeg_writer *writer, const struct cw_jpeg_image *image,
                  const uint8_t **ret_bytes, size_t *ret_n, struct cw_err *err)
{
    struct jpeg_compress_struct *c = &writer->c;
    const size_t stride = (size_t)image->w * (size_t)image->channels;
    if (setjmp(writer->fail)) {
        jpeg_abort_compress(c);
        return cw_err_set(err, CW_E_NOMEM, "cannot write a JPEG image: %s", writer->message);
    }
    set_up(c, image);
    jpeg_start_compress(c, TRUE);
    while (c->next_scanline < c->image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(image->samples + c->next_scanline * stride);
        jpeg_write_scanlines(c, &row, 1);
    }
    jpeg_finish_compress(c);
    *ret_bytes = writer->bytes;
    *ret_n = writer->cap - writer->to.free_in_buffer;
    return 0;
}
