/* SPDX-License-Identifier: Apache-2.0 */
/* Files in memory, and the bare decoding of them that image benchmarks compare with. */
#ifndef BENCH_FILES_H
#define BENCH_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct bench_file {
    uint8_t *bytes;
    size_t n;
};
struct bench_files {
    struct bench_file *v;
    size_t n;
    uint8_t *pixels; /* room for the decoded image */
    size_t pixels_bytes;
};

/* Reads the files named on the command line ([-n ROUNDS] FILE...), all of them into memory;
 * returns the rounds. Ends the program with a message when a file cannot be read. */
long bench_files_read(struct bench_files *files, int argc, char **argv, long rounds);
void bench_files_free(struct bench_files *files);
/* Decodes every file fully to RGB. Ends the program when one is no JPEG image. */
void bench_decode_all(struct bench_files *files);
void bench_decode(struct bench_files *files, size_t i);
/* Reads the codes of a file only: no inverse DCT, no colours. */
void bench_read_codes(struct bench_files *files, size_t i);

#endif
