/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/files.h"

#include <stdlib.h>
#include <string.h>
#include <jpeglib.h>
#include "base/mem.h"

static void die(const char *what, const char *path)
{
    fprintf(stderr, "%s: %s\n", path, what);
    exit(1);
}

static struct bench_file read_file(const char *path)
{
    struct bench_file file = {0};
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        die("cannot be opened", path);
    const long n = ftell(f);
    rewind(f);
    file.n = n > 0 ? (size_t)n : 0;
    file.bytes = cw_mem_new(file.n + 1);
    if (n <= 0 || fread(file.bytes, 1, file.n, f) != file.n)
        die("cannot be read", path);
    fclose(f);
    return file;
}

long bench_files_read(struct bench_files *files, int argc, char **argv, long rounds)
{
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "-n") == 0) {
        rounds = strtol(argv[2], NULL, 10);
        first = 3;
    }
    if (first >= argc || rounds < 1) {
        fprintf(stderr, "usage: %s [-n ROUNDS] FILE...\n", argv[0]);
        exit(2);
    }
    *files = (struct bench_files){.n = (size_t)(argc - first)};
    files->v = CW_NEW_ARRAY(struct bench_file, files->n);
    for (size_t i = 0; i < files->n; i++)
        files->v[i] = read_file(argv[first + (int)i]);
    return rounds;
}

void bench_files_free(struct bench_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        cw_mem_free(files->v[i].bytes);
    cw_mem_free(files->v);
    cw_mem_free(files->pixels);
}

void bench_decode(struct bench_files *files, size_t i)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    d.err = jpeg_std_error(&errors); /* ends the program on errors */
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, files->v[i].bytes, files->v[i].n);
    jpeg_read_header(&d, TRUE);
    d.out_color_space = JCS_RGB;
    jpeg_start_decompress(&d);
    const size_t stride = (size_t)d.output_width * 3, need = stride * d.output_height;
    if (need > files->pixels_bytes) {
        files->pixels = cw_mem_grow(files->pixels, need, 1);
        files->pixels_bytes = need;
    }
    while (d.output_scanline < d.output_height) {
        JSAMPROW rows[16];
        for (size_t k = 0; k < 16; k++)
            rows[k] =
                files->pixels + CW_MIN(d.output_scanline + k, (size_t)d.output_height - 1) * stride;
        jpeg_read_scanlines(&d, rows, 16);
    }
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
}

void bench_read_codes(struct bench_files *files, size_t i)
{
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, files->v[i].bytes, files->v[i].n);
    jpeg_read_header(&d, TRUE);
    (void)jpeg_read_coefficients(&d);
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
}

void bench_decode_all(struct bench_files *files)
{
    for (size_t i = 0; i < files->n; i++)
        bench_decode(files, i);
}
